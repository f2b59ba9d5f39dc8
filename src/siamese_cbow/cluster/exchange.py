"""How workers send arrays to each other: by gloo, which torch brings, or by copies between threads of one process.

    a, b = exchanges of workers 0 and 1
    a.gather(x0), b.gather(x1)                     both get [x0, x1]
    a.swap([[], [x]], [[], [y]])                   a sends x to 1 and gets y from it
    b.swap([[v], []], [[w], []])                   b sends v to 0 and gets w: y becomes v, w becomes x

All workers call the same methods in the same order. What arrives is what was sent, in the order of the workers, so that
nothing depends on who is faster.

Not Ray's objects: between two raylets on one machine 98 MB each way took .34 s by them and .06 s by gloo
(results/cluster.md).
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes
from siamese_cbow.errors import needs

Arrays = Sequence[NDArray[Any]]

# A worker that waits for a lost one is ended by the driver, whom Ray tells; these are for the case that it is not.
MEET_SECONDS, WAIT_SECONDS = 120, 3600


class PeerLostError(Exception):
    """Another worker does not answer; Ray will say which one is lost."""


class Exchange(ABC):
    """Worker `number` of n, and its ways to the others."""

    def __init__(self, number: int, n: int) -> None:
        self.number, self.n = number, n

    @abstractmethod
    def swap(self, outgoing: Sequence[Arrays], incoming: Sequence[Arrays]) -> None:
        """Sends outgoing[i] to worker i and fills incoming[i] with what it sends; nothing to and from itself."""

    def gather(self, own: Bytes) -> Bytes:
        """(size,) of each worker -> (n, size) for all."""
        everyone = np.empty((self.n, len(own)), np.uint8)
        self.swap([[own]] * self.n, [[each] for each in everyone])
        everyone[self.number] = own
        return everyone


class Meeting:
    """Where workers find each other: opened by the first one, its address is for the others."""

    def __init__(self, host: str) -> None:
        store: Any = load_torch().TCPStore
        self._store = store(host, 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=MEET_SECONDS))
        self.address = host, int(self._store.port)


class GlooExchange(Exchange):
    """Between processes on any nodes."""

    def __init__(self, number: int, n: int, meeting: tuple[str, int], host: str) -> None:
        super().__init__(number, n)
        distributed = load_torch()
        kind = distributed.ProcessGroupGloo
        options = kind._Options()
        # By the address that Ray knows: gloo's own guess, by the name of the machine, may be that of another network.
        options._devices = [kind.create_device(hostname=host)]
        options._timeout = timedelta(seconds=WAIT_SECONDS)
        try:
            store = distributed.TCPStore(*meeting, is_master=False, timeout=timedelta(seconds=MEET_SECONDS))
            self._group = kind(distributed.PrefixStore("rows", store), number, n, options)
        except RuntimeError as error:
            raise PeerLostError(str(error)) from error

    def swap(self, outgoing: Sequence[Arrays], incoming: Sequence[Arrays]) -> None:
        """All at once."""
        from torch import from_numpy

        group, others = self._group, [i for i in range(self.n) if i != self.number]
        try:
            calls = [group.recv([from_numpy(a)], i, tag) for i in others for tag, a in enumerate(incoming[i]) if a.size]
            calls += [
                group.send([from_numpy(a)], i, tag) for i in others for tag, a in enumerate(outgoing[i]) if a.size
            ]
            for call in calls:
                call.wait()
        except RuntimeError as error:
            raise PeerLostError(str(error)) from error


class ThreadExchange(Exchange):
    """Between threads of one process: the plain definition of the other, and a cluster without one."""

    def __init__(self, number: int, table: list[Any], barrier: threading.Barrier) -> None:
        super().__init__(number, barrier.parties)
        self._table, self._barrier = table, barrier

    @classmethod
    def several(cls, n: int) -> list[ThreadExchange]:
        """Of n workers that know each other."""
        table, barrier = [None] * n, threading.Barrier(n)
        return [cls(i, table, barrier) for i in range(n)]

    def swap(self, outgoing: Sequence[Arrays], incoming: Sequence[Arrays]) -> None:
        """Everybody shows what is outgoing, copies what is his, and waits for the others to have done so."""
        self._table[self.number] = outgoing
        self._barrier.wait()
        for i in range(self.n):
            if i != self.number:
                for target, source in zip(incoming[i], self._table[i][self.number], strict=True):
                    target[...] = source
        self._barrier.wait()


def load_torch() -> Any:
    """torch.distributed."""
    with needs("torch", "ray"):
        import torch.distributed
    return torch.distributed
