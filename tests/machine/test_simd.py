"""Sums of rows in registers, against NumPy: any width, any number of rows, nothing else touched."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from siamese_cbow.machine.intrinsics import aligned
from siamese_cbow.machine.simd import gather, gather_move, gather_scaled

N_ROWS, UNTOUCHED = 12, np.float32(7)


@njit
def _gather(rows, numbers, begin, end, out, k):
    gather(rows, numbers, begin, end, out, k)


@njit
def _gather_scaled(rows, numbers, weights, n, out, k):
    gather_scaled(rows, numbers, weights, n, out, k)


@njit
def _gather_move(rows, numbers, begin, end, rate, out, k):
    gather_move(rows, numbers, begin, end, rate, out, k)


@given(st.integers(1, 25), st.lists(st.integers(0, N_ROWS - 1), max_size=30), st.data())
def test_sums_are_those_of_numpy(lines, chosen, data):
    rng = np.random.default_rng(lines)
    rows, numbers, weights = aligned((N_ROWS, 16 * lines)), np.array(chosen, np.int32), rng.random(30, np.float32)
    rows[:] = rng.standard_normal(rows.shape, np.float32)
    begin = data.draw(st.integers(0, len(chosen)))
    some, end = rows[numbers[begin:]].astype(np.float64), len(chosen)

    def result(function, *arguments):
        """The middle one of three rows after the call."""
        out = np.full((3, 16 * lines), UNTOUCHED)
        function(rows, numbers, *arguments, out, 1)
        assert (out[::2] == UNTOUCHED).all()
        return out[1]

    np.testing.assert_allclose(result(_gather, begin, end), some.sum(axis=0), atol=1e-5)
    weighed = weights[:end].astype(np.float64) @ rows[numbers]
    np.testing.assert_allclose(result(_gather_scaled, weights, end), weighed, atol=1e-5)
    np.testing.assert_allclose(
        result(_gather_move, begin, end, np.float32(0.5)), UNTOUCHED - 0.5 * some.sum(axis=0), atol=1e-5
    )
