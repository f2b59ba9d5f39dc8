"""exp and the maximum of a row of float32, against NumPy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from siamese_cbow.machine.products import exp_all, highest

ROWS = st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=70).map(lambda x: np.array(x, np.float32))
SCORES = st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=70).map(lambda x: np.array(x, np.float32))


@given(ROWS)
def test_the_highest_is_that_of_numpy(row):
    assert highest(row) == row.max()


@given(SCORES, st.sampled_from([1.0, 20.0, 100.0]))
def test_exponentials_are_those_of_numpy(scores, sharpness):
    top = highest(scores)
    exact = np.exp(sharpness * (scores.astype(np.float64) - top))
    total = exp_all(scores, np.float32(sharpness), top)
    np.testing.assert_allclose(scores, exact, rtol=3e-5, atol=1e-37)
    np.testing.assert_allclose(total, exact.sum(), rtol=3e-5)


def test_nan_stays_and_what_is_left_out_is_nothing():
    row = np.array([0, np.nan, -1e30], np.float32)
    assert np.isnan(exp_all(row, np.float32(20), np.float32(0)))
    np.testing.assert_array_equal(row, np.array([1, np.nan, 0], np.float32))
