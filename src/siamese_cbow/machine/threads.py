"""A thread team: threads that go through one kernel together, phase by phase, and share out its tiles of work.

A batch takes a fraction of a millisecond, too short for Python to hand out its phases. So each Python thread enters a
long kernel once (without the GIL), and the threads keep step by atomic counters. The loop of every such kernel is

    part = team.thread                          # the tiles of a phase fall into parts, one for each thread
    while True:
        tile = next_tile(team, phases, part)    # one that nobody else gets
        if tile.phase == OVER:
            return
        compute the tile
        part = finish(team, tile)               # whoever finishes the last tile of a phase opens the next one

First comes one phase for all batches, then for each batch the same few phases. How the work of a phase is cut into
tiles is written into `Phases` beforehand (`cut`), at the latest in an earlier phase.

A thread has the same part of each phase, so that much of what it needs is in its core's own cache still; only who is
done early, because another thread has lost its core, say, steals tiles of others. Results don't depend on who
computes a tile: it is always the same code in the same order, and nobody else writes to its part of the result. So any
number of threads gives the same bytes.

A phase ends when its tiles are done, not when all threads have arrived: a barrier would wait for a thread that has lost
its core to another program, and halve the speed on a busy machine. Not `prange`: its OpenMP layer ends the process
after a fork, its own pool forbids two callers at once, and a phase of 20 microseconds is too short for either.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.machine.compiling import INLINE, LEAN, PLAIN
from siamese_cbow.machine.intrinsics import atomic_add, atomic_load, atomic_raise, give_way

OVER = -1  # instead of a phase: there is no tile left

# Counters, int64: each on cache lines of its own, so that waiting for one does not slow the others. Last come those of
# the parts, which hold turn * _TURN + tiles taken, so that one atomic step takes both. (A turn is a phase of a batch.)
_OPEN, _DONE, _PARTS, _ROOM = 0, 16, 32, 16
_TURN = 1 << 32
_LAST_TURN = 1 << 30  # beyond all that a kernel may have

# A tile takes up to 100 microseconds. Who waits longer waits for a thread that has lost its core, and gives up its own;
# sooner would hand it to another program for milliseconds.
_SPINS = 100_000


class Team(NamedTuple):
    """The team as a kernel knows it, on one of its threads."""

    counters: NDArray[np.int64]
    n_threads: int
    thread: int


class Phases(NamedTuple):
    """How the work of each phase is cut; each array (n_batches, n_phases), phase 0 stands in the row of batch 0."""

    n: NDArray[np.int64]  # things to do in a strip
    sizes: NDArray[np.int64]  # of these, in a tile
    n_strips: NDArray[np.int64]

    @classmethod
    def of(cls, n_batches: int, n_phases: int) -> Phases:
        """One tile for each batch in phase 0, and no work yet in the others."""
        phases = cls(*(np.full((n_batches, n_phases), value, np.int64) for value in (0, 1, 1)))
        phases.n[0, 0] = n_batches
        return phases


class Tile(NamedTuple):
    """Some work: the things begin <= i < end of a strip, in a phase of a batch."""

    phase: int
    batch: int
    strip: int
    begin: int
    end: int
    thread: int  # that has it
    # what `finish` needs
    turn: int
    n_tiles: int
    part: int


class ThreadTeam:
    """Threads that run one kernel together; plain kernels (see `compiling`) have no atomic counters, and one thread.

    `team.run(kernel, a, b)` calls `kernel(Team(...), a, b)` on every thread and waits for all.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = 1 if PLAIN else n_threads
        self._counters: NDArray[np.int64] = np.zeros(_PARTS + _ROOM * self.n_threads, np.int64)
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="siamese-cbow") if self.n_threads > 1 else None

    def run(self, kernel: Callable[..., None], *arguments: Any) -> None:
        """Call the kernel on every thread and wait; an interrupt is passed on only when all threads are back."""
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
        except BaseException:  # the others would wait for its tile for ever
            self._counters[_OPEN] = _LAST_TURN
            self._counters[_PARTS::_ROOM] = _LAST_TURN * _TURN
            raise

    def __enter__(self) -> ThreadTeam:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._pool is not None:
            self._pool.shutdown()


@njit(**INLINE)
def tiles(n: int, size: int) -> int:
    """How many tiles n things make; at least one, as a phase ends with its last tile: tiles(9, 4) -> 3."""
    return max(1, (n + size - 1) // size)


@njit(**INLINE)
def cut(phases: Phases, batch: int, phase: int, n: int, size: int, n_strips: int) -> None:
    """Say what there is to do in a phase of a batch: n things in each strip, `size` of them in a tile."""
    phases.n[batch, phase] = n
    phases.sizes[batch, phase] = size
    phases.n_strips[batch, phase] = n_strips


@njit(**INLINE)
def cut_evenly(phases: Phases, batch: int, phase: int, n: int, n_strips: int, n_threads: int) -> None:
    """The same where each thing is computed for itself: 100 in one strip, 2 threads -> tiles of 9.

    A few tiles for each thread even out what they take; more would only cost claims. The size may depend on the
    threads, as no result depends on it; tiles of matrix products may not.
    """
    total = n * n_strips
    size = total if n_threads == 1 else (total + 6 * n_threads - 1) // (6 * n_threads)
    cut(phases, batch, phase, n, max(1, min(n, size)), n_strips)


@njit(**INLINE)
def next_item(team: Team) -> int:
    """Where a kernel has only one phase, of tiles that need no order: 0, 1, 2, ... whoever asks."""
    return atomic_add(team.counters, _PARTS, 1)


@njit(**INLINE)
def next_tile(team: Team, phases: Phases, part: int) -> Tile:
    """A tile of the phase that is open, of this part of it or of another one; waits where all have been taken."""
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


@njit(**INLINE)
def part_of(n_tiles: int, part: int, n_threads: int) -> tuple[int, int]:
    """The tiles first <= tile < end of a part: part_of(5, 1, 2) -> (2, 5)."""
    return part * n_tiles // n_threads, (part + 1) * n_tiles // n_threads


@njit(**LEAN)
def _next_part(team: Team, turn: int, part: int) -> int:
    """The part to go on with when all tiles of this one are taken: the next thread's, or after a wait one's own.

    Who opened the phase looks at all parts, so it does no harm if another thread, which came before a part was open,
    waits too soon.
    """
    part = (part + 1) % team.n_threads
    if part == team.thread:
        spins = 0
        while atomic_load(team.counters, _OPEN) <= turn:
            spins += 1
            if spins > _SPINS:
                give_way()
    return part


@njit(**INLINE)
def finish(team: Team, tile: Tile) -> int:
    """Say that a tile is done; the last one of the phase opens the next. The result is the part to go on with."""
    if atomic_add(team.counters, _DONE, 1) < tile.n_tiles - 1:
        return tile.part
    atomic_add(team.counters, _DONE, -tile.n_tiles)
    # Raised, not set: others may be through with the next phase before this thread has opened all of it.
    for opened in range(team.n_threads):
        atomic_raise(team.counters, _PARTS + _ROOM * opened, (tile.turn + 1) * _TURN)
    atomic_raise(team.counters, _OPEN, tile.turn + 1)
    return team.thread
