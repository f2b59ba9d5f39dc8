"""Code that runs on a node: errors with the node's name, the node's identity, and the exchange of arrays.

Work itself is in other modules; Ray, which starts it, is imported in `session`.
"""

from __future__ import annotations

import hashlib
import hmac
import selectors
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes
from siamese_cbow.errors import ClusterError, SiameseCBOWError


class Failure(NamedTuple):
    """The error of a piece of work, with the name of its node."""

    kind: type[SiameseCBOWError]
    message: str


def guarded(work: Callable[[], Any]) -> Any:
    """The result of `work`, or a `Failure`."""
    try:
        return work()
    except SiameseCBOWError as error:
        return Failure(type(error), f"{error} [node {node_name()}]")
    except MemoryError as error:
        return Failure(ClusterError, f"node {node_name()} is out of memory ({error}); use fewer workers per node")
    except OSError as error:
        return Failure(ClusterError, f"node {node_name()}: {error}; fix that and run the same command again")


def node_name() -> str:
    """The name of the node this runs on."""
    import ray

    context: Any = ray.get_runtime_context()
    return f"{socket.gethostname()} ({node_address()}, {context.get_node_id()[:8]})"


def node_address() -> str:
    """The address by which other nodes reach this one."""
    import ray

    address: Any = ray.util.get_node_ip_address
    return str(address())


def source_hash() -> str:
    """A hash of the package's code."""
    root = Path(__file__).parents[1]
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def package_version() -> str:
    """The version of this package on this node."""
    from importlib.metadata import version

    return version("siamese-cbow")


# Nested functions are sent to a node as code, so they run even where the package is missing.


def facts_function() -> Callable[..., Any]:
    """A function that returns the package version and code hash on a node; None if the package is missing."""

    def facts(_: str) -> tuple[str, str] | None:
        try:
            from siamese_cbow.cluster.node import package_version, source_hash
        except ImportError as error:
            return None if error.name == "siamese_cbow" else ("of another version", "")
        return package_version(), source_hash()

    return facts


def reader_function() -> Callable[..., Any]:
    """A function that reads a file on a node; None if it is missing."""

    def read(path: str) -> bytes | None:
        try:
            with open(path, "rb") as file:  # noqa: PTH123 (as little as possible is pickled)
                return file.read()
        except OSError:
            return None

    return read


# How workers exchange arrays: by sockets between processes, or by copying between threads of one process.
#
#     a, b = exchanges of workers 0 and 1
#     a.gather(x0), b.gather(x1)                     both get [x0, x1]
#     a.swap([[], [x]], [[], [y]])                   a sends x to 1 and gets y from it
#     b.swap([[v], []], [[w], []])                   b sends v to 0 and gets w: y becomes v, w becomes x
#
# All workers call the same methods in the same order. Arrays arrive in the order of the workers, so that nothing
# depends on which worker is faster.
#
# Rejected: Ray's objects and torch's gloo, which take longer for the same rows (results/cluster.md); loading torch
# also costs every worker a second and 150 MB.

Arrays = Sequence[NDArray[Any]]

# Ray tells the driver about a lost worker, and the driver ends those that wait for it; these limits are a fallback.
MEET_SECONDS, GREET_SECONDS, WAIT_SECONDS = 120.0, 5.0, 3600.0
BUFFER_BYTES = 1 << 23  # of the sockets of a worker, together
SENT_BYTES = 1 << 18  # at a time, so that sending and receiving take turns


class PeerLostError(Exception):
    """Another worker does not answer; Ray will say which one is lost."""


class Exchange(ABC):
    """Worker `number` of n, and its connections to the others."""

    def __init__(self, number: int, n: int) -> None:
        self.number, self.n = number, n

    @abstractmethod
    def swap(self, outgoing: Sequence[Arrays], incoming: Sequence[Arrays]) -> None:
        """Send outgoing[i] to worker i and fill incoming[i] with what it sends; nothing to and from itself."""

    @abstractmethod
    def close(self) -> None:
        """End all connections."""

    def gather(self, own: Bytes) -> Bytes:
        """(size,) of each worker -> (n, size) for all."""
        everyone = np.empty((self.n, len(own)), np.uint8)
        self.swap([[own]] * self.n, [[each] for each in everyone])
        everyone[self.number] = own
        return everyone


class Listener:
    """The socket on which a worker waits for the others to connect."""

    def __init__(self, host: str) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, 0), family=family, backlog=1024)
        self.address = host, int(self._socket.getsockname()[1])

    def exchange(self, number: int, addresses: Sequence[tuple[str, int]], secret: bytes) -> SocketExchange:
        """Connect to the workers before this one, accept connections from those after it; all know the secret."""
        peers: dict[int, socket.socket] = {}
        try:
            for i in range(number):
                peers[i] = socket.create_connection(addresses[i], MEET_SECONDS)
                peers[i].sendall(secret + number.to_bytes(4, "big"))
            self._socket.settimeout(MEET_SECONDS)
            while len(peers) < len(addresses) - 1:
                peer = self._socket.accept()[0]
                caller = _greeted(peer, secret)
                if number < caller < len(addresses) and caller not in peers:
                    peers[caller] = peer
                else:  # a stranger
                    peer.close()
        except OSError as error:
            for peer in peers.values():
                peer.close()
            raise PeerLostError(f"no connection to all other workers: {error}") from error
        finally:
            self._socket.close()
        return SocketExchange(number, peers)


def _greeted(peer: socket.socket, secret: bytes) -> int:
    """The number of the worker that has connected; -1 if it does not know the secret."""
    peer.settimeout(GREET_SECONDS)
    greeting = b""
    try:
        while len(greeting) < len(secret) + 4:
            more = peer.recv(len(secret) + 4 - len(greeting))
            if not more:
                return -1
            greeting += more
    except OSError:
        return -1
    return int.from_bytes(greeting[-4:], "big") if hmac.compare_digest(greeting[:-4], secret) else -1


class SocketExchange(Exchange):
    """Between processes on any nodes."""

    def __init__(self, number: int, peers: dict[int, socket.socket]) -> None:
        super().__init__(number, len(peers) + 1)
        self._peers = peers
        for peer in peers.values():
            peer.setblocking(False)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                peer.setsockopt(socket.SOL_SOCKET, buffer, max(1 << 18, BUFFER_BYTES // 2 // len(peers)))

    def close(self) -> None:
        """Close all sockets."""
        for peer in self._peers.values():
            peer.close()

    def swap(self, outgoing: Sequence[Arrays], incoming: Sequence[Arrays]) -> None:
        """Send and receive to and from all workers at once, each as fast as it can."""
        with selectors.DefaultSelector() as waiting:
            for i, peer in self._peers.items():
                transfer = _Transfer(peer, _views(outgoing[i]), _views(incoming[i]))
                if transfer.events:
                    waiting.register(peer, transfer.events, transfer)
            while waiting.get_map():
                ready = waiting.select(WAIT_SECONDS)
                if not ready:
                    raise PeerLostError(f"another worker was silent for {WAIT_SECONDS:.0f} s")
                for key, events in ready:
                    before = key.data.events
                    key.data.move(events)
                    if not key.data.events:
                        waiting.unregister(key.fileobj)
                    elif key.data.events != before:
                        waiting.modify(key.fileobj, key.data.events, key.data)


def _views(arrays: Arrays) -> list[memoryview]:
    """The bytes of arrays, last array first."""
    return [array.data.cast("B") for array in reversed(arrays) if array.size]


class _Transfer:
    """The arrays still to be sent to another worker and received from it."""

    def __init__(self, peer: socket.socket, outgoing: list[memoryview], incoming: list[memoryview]) -> None:
        self._peer, self._outgoing, self._incoming = peer, outgoing, incoming

    @property
    def events(self) -> int:
        """The socket events to wait for."""
        return (selectors.EVENT_WRITE if self._outgoing else 0) | (selectors.EVENT_READ if self._incoming else 0)

    def move(self, events: int) -> None:
        """Send and receive as much as possible without blocking."""
        try:
            if events & selectors.EVENT_WRITE:
                _advance(self._outgoing, self._peer.send(self._outgoing[-1][:SENT_BYTES]))
            if events & selectors.EVENT_READ:
                n = self._peer.recv_into(self._incoming[-1])
                if n == 0:
                    raise PeerLostError("another worker has closed its connection")
                _advance(self._incoming, n)
        except BlockingIOError:  # not ready after all
            return
        except OSError as error:
            raise PeerLostError(str(error)) from error


def _advance(views: list[memoryview], n: int) -> None:
    """Drop the first n bytes of the last view."""
    views[-1] = views[-1][n:]
    if not views[-1]:
        views.pop()


class ThreadExchange(Exchange):
    """Between threads of one process: the reference for `SocketExchange`, and for tests without a cluster."""

    def __init__(self, number: int, table: list[Any], barrier: threading.Barrier) -> None:
        super().__init__(number, barrier.parties)
        self._table, self._barrier = table, barrier

    @classmethod
    def several(cls, n: int) -> list[ThreadExchange]:
        """Connected exchanges of n workers."""
        table, barrier = [None] * n, threading.Barrier(n)
        return [cls(i, table, barrier) for i in range(n)]

    def close(self) -> None:
        """Nothing is open."""

    def swap(self, outgoing: Sequence[Arrays], incoming: Sequence[Arrays]) -> None:
        """Each worker publishes its outgoing arrays, copies those meant for it, and waits for the others."""
        self._table[self.number] = outgoing
        self._barrier.wait()
        for i in range(self.n):
            if i != self.number:
                for target, source in zip(incoming[i], self._table[i][self.number], strict=True):
                    target[...] = source
        self._barrier.wait()
