"""A team of threads: every tile of every phase once, no phase before the previous one ends, no endless wait."""

import numpy as np
import pytest
from numba import njit

from siamese_cbow.machine.threads import OVER, Phases, ThreadTeam, cut_evenly, finish, next_tile, part_of

N_PHASES = 4


@njit(nogil=True)
def _mark(team, phases, marks, early):
    """Marks all items; early[turn] records a tile that began before the previous phase was complete."""
    part = team.thread
    while True:
        tile = next_tile(team, phases, part)
        if tile.phase == OVER:
            return
        turn = tile.batch * (N_PHASES - 1) + tile.phase
        if turn > 0:
            batch, phase = (tile.batch, tile.phase - 1) if tile.phase > 1 else (tile.batch - 1, N_PHASES - 1)
            if turn == 1:
                batch, phase = 0, 0
            n, strips = phases.n[batch, phase], phases.n_strips[batch, phase]
            for strip in range(strips):
                for i in range(n):
                    if marks[turn - 1, strip, i] == 0:
                        early[turn] = 1
        for i in range(tile.begin, tile.end):
            marks[turn, tile.strip, i] += 1
        part = finish(team, tile)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_tile_is_done_once_and_in_its_phase(threads):
    rng = np.random.default_rng(threads)
    phases, n_turns = Phases.of(30, N_PHASES), 1 + 30 * (N_PHASES - 1)
    for batch in range(30):
        for phase in range(1, N_PHASES):
            n, n_strips = int(rng.integers(0, 30)), int(rng.integers(1, 3))
            cut_evenly(phases, batch, phase, n, n_strips, threads)
            if phase == 2:
                phases.sizes[batch, phase] = rng.integers(1, 9)
    expected = np.zeros((n_turns, 2, 30), np.int64)
    expected[0, 0] = 1
    for batch in range(30):
        for phase in range(1, N_PHASES):
            turn = batch * (N_PHASES - 1) + phase
            expected[turn, : phases.n_strips[batch, phase], : phases.n[batch, phase]] = 1
    marks, early = np.zeros_like(expected), np.zeros(n_turns, np.int64)
    with ThreadTeam(threads) as team:
        for _ in range(100):
            marks[:] = 0
            team.run(_mark, phases, marks, early)
            np.testing.assert_array_equal(marks, expected)
    assert not early.any()


def test_parts_cover_all_tiles_in_order():
    assert [part_of(5, part, 2) for part in range(2)] == [(0, 2), (2, 5)]
    assert [part_of(1, part, 3) for part in range(3)] == [(0, 0), (0, 0), (0, 1)]


def test_tiles_are_small_enough_to_share_out_evenly():
    phases = Phases.of(1, 2)
    for n, n_strips, n_threads, size in [(100, 1, 2, 9), (100, 2, 2, 17), (100, 1, 1, 100), (0, 1, 2, 1), (5, 2, 1, 5)]:
        cut_evenly(phases, 0, 1, n, n_strips, n_threads)
        assert phases.sizes[0, 1] == size


@njit(nogil=True)
def _fail(team, phases):
    part = team.thread
    while True:
        tile = next_tile(team, phases, part)
        if tile.phase == OVER:
            return
        if tile.phase == 1 and tile.batch == 3:
            raise ValueError("no")
        part = finish(team, tile)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_error_in_one_thread_ends_the_others(threads):
    phases = Phases.of(20, 3)
    phases.n[:, 1:] = 1  # one thread gets the tile, the others wait for it
    with ThreadTeam(threads) as team:
        for _ in range(20):
            with pytest.raises(ValueError, match="no"):
                team.run(_fail, phases)
