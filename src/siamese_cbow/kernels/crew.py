"""A crew: threads that go through one kernel together, meeting at barriers and sharing out tiles of work.

A batch takes a fraction of a millisecond, too short for Python to hand out its phases. So each Python thread enters a
long kernel once (without the GIL), and the threads keep step by two things built here on atomic memory: `meet`, a
barrier, and `claim`, which gives each tile of work to exactly one thread.

    for tile in claims: compute it      # every thread: while (tile := claim(memory)) < n_tiles: ...
    meet(memory, n_threads)             # nobody goes on before all tiles are done

Which thread gets which tile is left to chance. Results don't depend on it: a tile is always computed by the same code
in the same order, and nobody else writes to its part of the result. So any number of threads gives the same bytes.

Not `prange`: its OpenMP layer ends the process after a fork, its own pool forbids two callers at once, and a phase of
20 microseconds is too short for either.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401 (Numba's np.dot calls the BLAS of SciPy, which must be there before it is limited)
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

# Crew memory, int64: each counter on cache lines of its own, so that waiting for one does not slow the others.
_ARRIVED, _TURN, _TILE, _SIZE = 0, 16, 32, 48

_SPINS = 2000  # about 2 microseconds: more than a meeting takes when every thread has a core; then give the core away
_YIELD = "SwitchToThread" if sys.platform == "win32" else "sched_yield"


class Crew:
    """Threads that run one kernel together.

    `crew.run(kernel, a, b)` calls `kernel(memory, n_threads, thread, a, b)` on every thread and waits for all.
    BLAS is limited to one thread as long as the crew exists: its own threads below ours would slow everything 40 times.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._memory: NDArray[np.int64] = np.zeros(_SIZE, np.int64)
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="siamese-cbow") if n_threads > 1 else None
        self._limits = threadpool_limits(1, user_api="blas")

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
            wait(calls)
        except BaseException:
            wait(calls)
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
        self._limits.restore_original_limits()


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


@njit(nogil=True, cache=True)
def claim(memory: NDArray[np.int64]) -> int:
    """The number of the next tile that nobody has taken yet: 0, 1, 2, ... since the last meeting."""
    return _atomic_add(memory, _TILE, 1)


@njit(nogil=True, cache=True)
def meet(memory: NDArray[np.int64], n_threads: int) -> None:
    """Wait until every thread is here; then tiles count from 0 again."""
    turn = _atomic_load(memory, _TURN)
    if _atomic_add(memory, _ARRIVED, 1) == n_threads - 1:
        _atomic_store(memory, _ARRIVED, 0)
        _atomic_store(memory, _TILE, 0)
        _atomic_store(memory, _TURN, turn + 1)
        return
    spins = 0
    while _atomic_load(memory, _TURN) == turn:
        spins += 1
        if spins > _SPINS:
            _give_way()
