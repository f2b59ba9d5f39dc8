"""A crew of threads: every tile of every phase once, and no phase before the one before it is over."""

import numpy as np
import pytest
from numba import njit

from siamese_cbow.machine.threads import Crew, claim, finish, next_part, part_of


@njit(nogil=True)
def _mark(memory, n_threads, thread, n_tiles, marks, early):
    """Mark the tiles; early[phase] tells of one that began before all of the phase before had been marked."""
    part = thread
    while True:
        phase, place = claim(memory, part)
        if phase >= len(n_tiles):
            return
        first, end = part_of(n_tiles[phase], part, n_threads)
        if first + place >= end:
            part = next_part(memory, phase, n_threads, thread, part)
            continue
        if phase > 0 and marks[phase - 1, : n_tiles[phase - 1]].min() == 0:
            early[phase] = 1
        marks[phase, first + place] += 1
        part = finish(memory, phase, n_tiles[phase], n_threads, thread, part)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_tile_is_done_once_and_in_its_phase(threads):
    n_tiles = np.random.default_rng(threads).integers(1, 30, size=3000)
    marks, early = np.zeros((len(n_tiles), 30), np.int64), np.zeros(len(n_tiles), np.int64)
    with Crew(threads) as crew:
        for _ in range(3):
            marks[:] = 0
            crew.run(_mark, n_tiles, marks, early)
            np.testing.assert_array_equal(marks, np.arange(30) < n_tiles[:, None])
    assert not early.any()


def test_parts_cover_all_tiles_in_order():
    assert [part_of(5, part, 2) for part in range(2)] == [(0, 2), (2, 5)]
    assert [part_of(1, part, 3) for part in range(3)] == [(0, 0), (0, 0), (0, 1)]
