"""A crew: threads that go through one kernel together, phase by phase, sharing out tiles of work.

A batch takes a fraction of a millisecond, too short for Python to hand out its phases. So each Python thread enters a
long kernel once (without the GIL), and the threads keep step by atomic counters in a piece of shared memory:

    part = thread                              # the tiles of a phase fall into parts, one for each thread
    while True:
        phase, tile = claim(memory, part)      # a tile of the part that nobody else gets
        if tile < number of tiles of that part:
            compute the tile
            part = finish(memory, phase, ...)  # whoever finishes the last tile of a phase opens the next one
        else:
            part = next_part(memory, phase, ...)  # help another thread, or wait when all has been taken

A thread has the same part of each phase, so that much of what it needs is in its core's own cache still; only who is
done early, because another thread has lost its core, say, takes over tiles of others. Results don't depend on who
computes a tile: it is always the same code in the same order, and nobody else writes to its part of the result. So any
number of threads gives the same bytes.

A phase ends when its tiles are done, not when all threads have arrived: a barrier would wait for a thread that has lost
its core to another program, and halve the speed on a busy machine. Not `prange`: its OpenMP layer ends the process
after a fork, its own pool forbids two callers at once, and a phase of 20 microseconds is too short for either.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from types import TracebackType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from siamese_cbow.machine.compiling import INLINE, LEAN

# Crew memory, int64: each counter on cache lines of its own, so that waiting for one does not slow the others. Last
# come the counters of the parts, which hold phase * _PHASES + tiles taken, so that one atomic step takes both.
_PHASE, _DONE, _PARTS, _ROOM = 0, 16, 32, 16
_PHASES = 1 << 32

# A tile takes up to 100 microseconds. Who waits longer waits for a thread that has lost its core, and gives up its own;
# sooner would hand it to another program for milliseconds.
_SPINS = 100_000
_YIELD = "SwitchToThread" if sys.platform == "win32" else "sched_yield"


class Crew:
    """Threads that run one kernel together.

    `crew.run(kernel, a, b)` calls `kernel(memory, n_threads, thread, a, b)` on every thread and waits for all.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._memory: NDArray[np.int64] = np.zeros(_PARTS + _ROOM * n_threads, np.int64)
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="siamese-cbow") if n_threads > 1 else None

    def run(self, kernel: Callable[..., None], *arguments: Any) -> None:
        """Call the kernel on every thread and wait; an interrupt is passed on only when all threads are back."""
        self._memory[:] = 0
        if self._pool is None:
            kernel(self._memory, 1, 0, *arguments)
            return
        calls = [
            self._pool.submit(kernel, self._memory, self.n_threads, thread, *arguments)
            for thread in range(self.n_threads)
        ]
        try:
            wait_for(calls)
        except BaseException:
            wait_for(calls)
            raise
        for call in calls:
            call.result()

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()


@intrinsic
def _atomic_add(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """array[index] += value; the result is the old value."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", _address(context, builder, signature, args), args[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), codegen


@intrinsic
def _atomic_load(typingctx: Any, array: Any, index: Any) -> Any:
    """array[index]"""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_address(context, builder, signature, args), "seq_cst", 8)

    return types.int64(array, types.int64), codegen


@intrinsic
def _atomic_raise(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """array[index] = max(array[index], value)"""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.atomic_rmw("max", _address(context, builder, signature, args), args[2], "seq_cst")
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), codegen


@intrinsic
def _give_way(typingctx: Any) -> Any:
    """Let another thread have this core (matters when there are more threads than free cores)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), _YIELD)
        return builder.call(function, [])

    return types.int32(), codegen


def _address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


@njit(**INLINE)
def claim(memory: NDArray[np.int64], part: int) -> tuple[int, int]:
    """The phase that is open, and the next tile of a part of it that nobody has taken yet, counted from its first."""
    taken = _atomic_add(memory, _PARTS + _ROOM * part, 1)
    return taken // _PHASES, taken % _PHASES


@njit(**INLINE)
def part_of(n_tiles: int, part: int, n_threads: int) -> tuple[int, int]:
    """The tiles first <= tile < end of a part: part_of(5, 1, 2) -> (2, 5)."""
    return part * n_tiles // n_threads, (part + 1) * n_tiles // n_threads


@njit(**INLINE)
def finish(memory: NDArray[np.int64], phase: int, n_tiles: int, n_threads: int, thread: int, part: int) -> int:
    """Say that a tile is done; the last one of the phase opens the next. The result is the part to go on with."""
    if _atomic_add(memory, _DONE, 1) < n_tiles - 1:
        return part
    _atomic_add(memory, _DONE, -n_tiles)
    # Raised, not set: others may be through with the next phase before this thread has opened all of it.
    for opened in range(n_threads):
        _atomic_raise(memory, _PARTS + _ROOM * opened, (phase + 1) * _PHASES)
    _atomic_raise(memory, _PHASE, phase + 1)
    return thread


@njit(**LEAN)
def next_part(memory: NDArray[np.int64], phase: int, n_threads: int, thread: int, part: int) -> int:
    """The part to go on with when all tiles of this one are taken: the next thread's, or after a wait one's own.

    Who opened the phase looks at all parts, so it does no harm if another thread, which came before a part was open,
    waits too soon.
    """
    part = (part + 1) % n_threads
    if part == thread:
        spins = 0
        while _atomic_load(memory, _PHASE) <= phase:
            spins += 1
            if spins > _SPINS:
                _give_way()
    return part
