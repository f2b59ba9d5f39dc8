"""A crew: threads that go through one kernel together, phase by phase, sharing out tiles of work.

A batch takes a fraction of a millisecond, too short for Python to hand out its phases. So each Python thread enters a
long kernel once (without the GIL), and the threads keep step by atomic counters in a piece of shared memory:

    while True:
        phase, tile = claim(memory)          # a tile that nobody else gets
        if tile < number of tiles of that phase:
            compute the tile
            finish(memory, phase, n_tiles)   # whoever finishes the last one opens the next phase
        else:
            wait(memory, phase)              # nothing left to do in this phase

Which thread gets which tile is left to chance. Results don't depend on it: a tile is always computed by the same code
in the same order, and nobody else writes to its part of the result. So any number of threads gives the same bytes.

A phase ends when its tiles are done, not when all threads have arrived: a barrier would wait for a thread that has lost
its core to another program, and halve the speed on a busy machine. Not `prange`: its OpenMP layer ends the process
after a fork, its own pool forbids two callers at once, and a phase of 20 microseconds is too short for either.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from siamese_cbow.numba_options import INLINE, LEAN, forget_stale_kernels

forget_stale_kernels(Path(__file__).parent)  # all training kernels are built on this module: nothing is loaded yet

# Crew memory, int64: each counter on cache lines of its own, so that waiting for one does not slow the others.
_NEXT, _DONE, _SIZE = 0, 16, 32
_PHASE = 1 << 32  # _NEXT holds phase * _PHASE + tile, so that one atomic step takes both

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
        self._memory: NDArray[np.int64] = np.zeros(_SIZE, np.int64)
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
def _atomic_store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """array[index] = value"""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[2], _address(context, builder, signature, args), "seq_cst", 8)
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
def claim(memory: NDArray[np.int64]) -> tuple[int, int]:
    """The phase that is open, and the next tile of it that nobody has taken yet."""
    taken = _atomic_add(memory, _NEXT, 1)
    return taken // _PHASE, taken % _PHASE


@njit(**INLINE)
def finish(memory: NDArray[np.int64], phase: int, n_tiles: int) -> None:
    """Say that a tile is done; the last one of the phase opens the next."""
    if _atomic_add(memory, _DONE, 1) == n_tiles - 1:
        _atomic_store(memory, _DONE, 0)
        _atomic_store(memory, _NEXT, (phase + 1) * _PHASE)


@njit(**LEAN)
def wait(memory: NDArray[np.int64], phase: int) -> None:
    """Wait until the phase is over."""
    spins = 0
    while _atomic_load(memory, _NEXT) // _PHASE == phase:
        spins += 1
        if spins > _SPINS:
            _give_way()
