"""Normal numbers drawn on several threads: the same as NumPy's generator, wherever stretches begin."""

from __future__ import annotations

import numpy as np
import pytest

from siamese_cbow.kernels.batch.random import ziggurat
from siamese_cbow.machine.intrinsics import _high_product
from siamese_cbow.training import state
from siamese_cbow.training.state import normals


def drawn(key: int, n: int, threads: int) -> np.ndarray:
    return np.concatenate([numbers.copy() for numbers in normals(np.uint64(key), n, threads, few=0)])


def by_numpy(key: int, n: int) -> np.ndarray:
    return np.random.Generator(np.random.Philox(key=key)).standard_normal(n, dtype=np.float32)


@pytest.mark.parametrize(("key", "n"), [(0, 1), (7, 3_000_000), (2**64 - 1, 300_001)])
def test_every_bit_is_numpys(key: int, n: int) -> None:
    expected = by_numpy(key, n).view(np.uint32)
    for threads in (1, 2, 5):
        np.testing.assert_array_equal(drawn(key, n, threads).view(np.uint32), expected)


def test_stretches_that_begin_inside_a_number_fall_into_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "STRETCH", 64)  # some thirty of 3,000 starts are wrong, sometimes several in a row
    wrong = []
    in_step = state._in_step

    def watched(*arguments: int) -> tuple[np.ndarray, int, int]:
        found = in_step(*arguments)
        wrong.append(found[1])
        return found

    monkeypatch.setattr(state, "_in_step", watched)
    np.testing.assert_array_equal(drawn(3, 200_000, 2), by_numpy(3, 200_000))
    assert sum(wrong) > 10


def test_few_numbers_are_drawn_by_numpy_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(state, "draw_normals")
    np.testing.assert_array_equal(next(normals(np.uint64(9), 1000)), by_numpy(9, 1000))


def test_tables_are_of_equal_area() -> None:
    tables = ziggurat()
    edges, heights = tables.widths[1:].astype(np.float64) * 2**23, tables.heights.astype(np.float64)
    np.testing.assert_allclose(edges * (heights[:-1] - heights[1:]), 0.0049286732339, rtol=1e-3)
    assert len(tables.inside) == len(tables.widths) == len(heights) == 256


def test_the_upper_half_of_a_product() -> None:
    rng = np.random.default_rng(1)
    for a, b in rng.integers(0, 2**64, (100, 2), dtype=np.uint64, endpoint=False):
        assert int(_high_product(a, b)) == int(a) * int(b) >> 64
