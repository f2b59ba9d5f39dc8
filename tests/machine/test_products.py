"""The two matrix products of a batch, against NumPy; no number may depend on where its tile begins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from siamese_cbow.machine.intrinsics import aligned
from siamese_cbow.machine.products import combine, dots

WIDTHS = st.sampled_from([16, 48, 304])
UNTOUCHED = np.float32(7)


def matrix(seed: int, *shape: int) -> np.ndarray:
    array = aligned(shape)
    array[:] = np.random.default_rng(seed).standard_normal(shape, np.float32)
    return array


def assert_product(found: np.ndarray, left: np.ndarray, right: np.ndarray, asked: object = ...) -> None:
    """found = left @ right, as exactly as float32 allows: rounding grows with the numbers added up."""
    exact, magnitude = left.astype(np.float64) @ right, np.abs(left).astype(np.float64) @ np.abs(right)
    assert (np.abs(found - exact[asked]) <= 2e-6 * magnitude[asked]).all()


@given(st.data(), WIDTHS, st.booleans())
def test_dots_are_those_of_numpy(data, width, mirror):
    n = data.draw(st.integers(1, 40))
    i, j = sorted(data.draw(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))))
    i_end, j_end = data.draw(st.integers(i + 1, n)), data.draw(st.integers(j + 1, n))
    if mirror:  # as in training: a tile on the diagonal, or one to the right of it
        i, i_end = (j, j_end) if data.draw(st.booleans()) else (i, min(i_end, j + (i == j)))
        i_end = max(i_end, i + 1)
    left = matrix(1, n, width)
    right = left if mirror else matrix(2, n, width)
    scores = np.full((n, n), UNTOUCHED)
    dots(left, i, i_end, right, j, j_end, scores, mirror)
    asked = np.zeros((n, n), bool)
    asked[i:i_end, j:j_end] = True
    if mirror:
        asked |= asked.T
    assert_product(scores[asked], left, right.T, asked)
    assert (scores[~asked] == UNTOUCHED).all()


@given(st.integers(1, 70), st.integers(1, 70), st.integers(0, 5), WIDTHS)
def test_sums_are_those_of_numpy(height, n, first, width):
    panels, rows, out = matrix(1, 2, height, n + 3), matrix(2, n + 3, width), aligned((first + height + 2, width))
    out[:] = UNTOUCHED
    combine(panels, 1, height, rows, n, out, first)
    assert_product(out[first : first + height], panels[1, :, :n], rows[:n])
    assert (out[:first] == UNTOUCHED).all()
    assert (out[first + height :] == UNTOUCHED).all()


def test_a_number_is_the_same_in_any_tile():
    means, n = matrix(3, 61, 304), 61
    scores, other, gradients, again = (aligned(shape) for shape in ((n, n), (n, n), (n, 304), (n, 304)))
    dots(means, 0, n, means, 0, n, scores, True)
    for i in range(0, n, 7):
        dots(means, i, min(i + 7, n), means, 0, n, other, False)
    assert (scores == other).all()
    panels = scores[np.newaxis]
    combine(panels, 0, n, means, n, gradients, 0)
    for i in range(0, n, 7):
        combine(np.ascontiguousarray(panels[:, i : i + 7]), 0, min(7, n - i), means, n, again, i)
    assert (gradients == again).all()
