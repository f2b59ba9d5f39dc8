"""A thread team: threads that run one kernel together, phase by phase, and share its tiles of work.

A batch takes a fraction of a millisecond, too short for Python to schedule its phases. So each Python thread enters a
long kernel once (without the GIL), and atomic counters keep the threads in step. The loop of every such kernel is

    part = team.thread                          # the tiles of a phase are divided into parts, one per thread
    while True:
        tile = next_tile(team, phases, part)    # one that no other thread gets
        if tile.phase == OVER:
            return
        compute the tile
        part = finish(team, tile)               # whoever finishes the last tile of a phase opens the next one

First comes one phase for all batches, then the same few phases for each batch. `Phases` says how the work of a phase is
divided into tiles; it is filled in (`cut`) in an earlier phase at the latest.

A thread gets the same part of each phase, so much of the data it needs is still in its core's cache; a thread that
finishes early, for instance because another has lost its core, steals tiles from others. Results don't depend on which
thread computes a tile: the code and the order are always the same, and no other tile writes to its part of the result.
So any number of threads gives the same bytes.

A phase ends when its tiles are done, not when all threads have arrived: a barrier would wait for a thread that has lost
its core to another program, and halve the speed on a busy machine. Rejected: `prange`. Its OpenMP layer kills the
process after a fork, its own pool forbids two callers at once, and a phase of 20 microseconds is too short for either.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.machine.compiling import INLINE, LEAN, PLAIN, inner
from siamese_cbow.machine.intrinsics import atomic_add, atomic_load, atomic_raise, give_way

OVER = -1  # instead of a phase: no tile is left

# Counters, int64: each on its own cache lines, so that waiting for one does not slow the others. The parts' counters
# come last and hold turn * _TURN + tiles taken, so that one atomic step reads both. (A turn is a phase of a batch.)
_OPEN, _DONE, _PARTS, _ROOM = 0, 16, 32, 16
_TURN = 1 << 32
_LAST_TURN = 1 << 30  # more than any kernel has

# A tile takes up to 100 microseconds. A longer wait means that another thread has lost its core, so the waiting thread
# yields its own; yielding sooner would hand the core to another program for milliseconds.
_SPINS = 100_000


class Team(NamedTuple):
    """The team as a kernel sees it, on one of its threads."""

    counters: NDArray[np.int64]
    n_threads: int
    thread: int


class Phases(NamedTuple):
    """How the work of each phase is divided; each array is (n_batches, n_phases), phase 0 in the row of batch 0."""

    n: NDArray[np.int64]  # items in a strip
    sizes: NDArray[np.int64]  # items in a tile
    n_strips: NDArray[np.int64]

    @classmethod
    def of(cls, n_batches: int, n_phases: int) -> Phases:
        """One tile for each batch in phase 0, and no work yet in the others."""
        phases = cls(*(np.full((n_batches, n_phases), value, np.int64) for value in (0, 1, 1)))
        phases.n[0, 0] = n_batches
        return phases


class Tile(NamedTuple):
    """A piece of work: the items begin <= i < end of a strip, in a phase of a batch."""

    phase: int
    batch: int
    strip: int
    begin: int
    end: int
    thread: int  # the thread that runs it
    # used by `finish`
    turn: int
    n_tiles: int
    part: int


class ThreadTeam:
    """Threads that run one kernel together; plain kernels (see `compiling`) lack atomic counters and use one thread.

    `team.run(kernel, a, b)` calls `kernel(Team(...), a, b)` on every thread and waits for all.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = 1 if PLAIN else n_threads
        self._counters: NDArray[np.int64] = np.zeros(_PARTS + _ROOM * self.n_threads, np.int64)
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="siamese-cbow") if self.n_threads > 1 else None

    def run(self, kernel: Callable[..., None], *arguments: Any) -> None:
        """Call the kernel on every thread and wait; an interrupt is raised only after all threads have returned."""
        self._counters[:] = 0
        if self._pool is None:
            kernel(Team(self._counters, 1, 0), *arguments)
            return
        calls = [self._pool.submit(self._work, kernel, thread, arguments) for thread in range(self.n_threads)]
        try:
            wait_for(calls)
        except BaseException:
            wait_for(calls)
            raise
        for call in calls:
            call.result()

    def _work(self, kernel: Callable[..., None], thread: int, arguments: tuple[Any, ...]) -> None:
        try:
            kernel(Team(self._counters, self.n_threads, thread), *arguments)
        except BaseException:  # otherwise the others would wait for its tile for ever
            self._counters[_OPEN] = _LAST_TURN
            self._counters[_PARTS::_ROOM] = _LAST_TURN * _TURN
            raise

    def __enter__(self) -> ThreadTeam:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._pool is not None:
            self._pool.shutdown()


@inner(**INLINE)
def tiles(n: int, size: int) -> int:
    """The number of tiles for n items; at least one, because a phase ends with its last tile: tiles(9, 4) -> 3."""
    return max(1, (n + size - 1) // size)


@inner(**INLINE)
def cut(phases: Phases, batch: int, phase: int, n: int, size: int, n_strips: int) -> None:
    """Define the work of a phase of a batch: n items in each strip, `size` of them per tile."""
    phases.n[batch, phase] = n
    phases.sizes[batch, phase] = size
    phases.n_strips[batch, phase] = n_strips


@inner(**INLINE)
def cut_evenly(phases: Phases, batch: int, phase: int, n: int, n_strips: int, n_threads: int) -> None:
    """Like `cut`, with a tile size for independent items: 100 in one strip, 2 threads -> tiles of 9.

    A few tiles per thread balance the load; more would only add atomic operations. The size may depend on the number of
    threads, because no result depends on it; that of matrix-product tiles may not.
    """
    total = n * n_strips
    size = total if n_threads == 1 else (total + 6 * n_threads - 1) // (6 * n_threads)
    cut(phases, batch, phase, n, max(1, min(n, size)), n_strips)


@inner(**INLINE)
def next_item(team: Team) -> int:
    """The next item, 0, 1, 2, ..., for whichever thread asks first; for kernels with a single phase, in any order."""
    return atomic_add(team.counters, _PARTS, 1)


@inner(**INLINE)
def next_tile(team: Team, phases: Phases, part: int) -> Tile:
    """A tile of the open phase, from this part or another; waits for the next phase if all are taken."""
    n_batches, n_phases = phases.n.shape
    while True:
        taken = atomic_add(team.counters, _PARTS + _ROOM * part, 1)
        turn, place = taken // _TURN, taken % _TURN
        batch, phase = (turn - 1) // (n_phases - 1), 1 + (turn - 1) % (n_phases - 1)
        if turn == 0:
            batch, phase = 0, 0
        if batch >= n_batches:
            return Tile(OVER, batch, 0, 0, 0, team.thread, turn, 0, part)
        n, size = phases.n[batch, phase], phases.sizes[batch, phase]
        tiles_of_strip = tiles(n, size)
        n_tiles = phases.n_strips[batch, phase] * tiles_of_strip
        first, end = part_of(n_tiles, part, team.n_threads)
        if first + place < end:
            strip, begin = (first + place) // tiles_of_strip, (first + place) % tiles_of_strip * size
            return Tile(phase, batch, strip, begin, min(begin + size, n), team.thread, turn, n_tiles, part)
        part = _next_part(team, turn, part)


@inner(**INLINE)
def part_of(n_tiles: int, part: int, n_threads: int) -> tuple[int, int]:
    """The tiles first <= tile < end of a part: part_of(5, 1, 2) -> (2, 5)."""
    return part * n_tiles // n_threads, (part + 1) * n_tiles // n_threads


@inner(**LEAN)
def _next_part(team: Team, turn: int, part: int) -> int:
    """The part to continue with when all tiles of this one are taken: the next thread's, or one's own after a wait.

    The thread that opened the phase checks all parts, so no tile is lost if another thread comes before a part is open
    and waits too soon.
    """
    part = (part + 1) % team.n_threads
    if part == team.thread:
        spins = 0
        while atomic_load(team.counters, _OPEN) <= turn:
            spins += 1
            if spins > _SPINS:
                give_way()
    return part


@inner(**INLINE)
def finish(team: Team, tile: Tile) -> int:
    """Mark a tile as done; the last one of the phase opens the next. Returns the part to continue with."""
    if atomic_add(team.counters, _DONE, 1) < tile.n_tiles - 1:
        return tile.part
    atomic_add(team.counters, _DONE, -tile.n_tiles)
    # Raised, not set: others may have finished the next phase before this thread has opened all of it.
    for opened in range(team.n_threads):
        atomic_raise(team.counters, _PARTS + _ROOM * opened, (tile.turn + 1) * _TURN)
    atomic_raise(team.counters, _OPEN, tile.turn + 1)
    return team.thread
