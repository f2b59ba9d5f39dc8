"""Rows of an index compared with a query: the kernels match their references."""

from __future__ import annotations

import numpy as np
import pytest

from siamese_cbow.kernels.bm25 import MOST, idf, norms, saturated
from siamese_cbow.kernels.row_scores import GROUP, add_scores, code_scores, code_scores_reference, count_rows


@pytest.mark.parametrize("n_rows", [1, 3, GROUP, 5 * GROUP + 7])
@pytest.mark.parametrize("first", [0, 10])
def test_codes(n_rows: int, first: int) -> None:
    rng = np.random.default_rng(n_rows)
    codes = rng.integers(-127, 128, (n_rows, 24)).astype(np.int8)
    query, factors = rng.standard_normal(24).astype(np.float32), rng.random(n_rows).astype(np.float32)
    scores, live = rng.random(n_rows), rng.random(n_rows) < 0.8
    out, maxima = np.empty(n_rows, np.float32), np.full((first + n_rows) // GROUP + 1, -np.inf, np.float32)
    code_scores(codes, query, factors, scores, 2.5, live, first, out, maxima)
    np.testing.assert_allclose(out, code_scores_reference(codes, query, factors, scores, 2.5, live), rtol=1e-4)
    padded = np.full(len(maxima) * GROUP, -np.inf, np.float32)
    padded[first : first + n_rows] = out
    np.testing.assert_array_equal(maxima, padded.reshape(-1, GROUP).max(axis=1))


def test_postings_of_several_forms_make_one_score() -> None:
    rows, counts = np.array([1, 4, 4, 2], np.int32), np.array([1, 200, 200, 1], np.uint8)
    live, tally = np.array([1, 1, 0, 1, 1], bool), np.zeros(5, np.uint8)
    touched, scores, scored = np.empty(5, np.int32), np.zeros(5), np.empty(5, np.int64)
    n = count_rows(rows[:2], counts[:2], live, tally, touched, 0)
    n = count_rows(rows[2:], counts[2:], live, tally, touched, n)
    assert touched[:n].tolist() == [1, 4]  # each once, and no dead row
    assert tally.tolist() == [0, 1, 0, 0, MOST]
    length_norms = norms(np.array([0.5, 1.0, 1.0, 1.0, 3.0]))
    n_scored = add_scores(touched[:n], 2.0, tally, length_norms, scores, scored, 100, 0)
    assert scored[:n_scored].tolist() == [101, 104]
    assert not tally.any()
    np.testing.assert_allclose(
        scores, 2 * np.where([0, 1, 0, 0, 1], saturated(np.array([0, 1, 0, 0, MOST]), length_norms), 0)
    )
    assert add_scores(touched[:n], 1.0, tally, length_norms, scores, scored, 100, n_scored) == n_scored


@pytest.mark.parametrize("row", [-1, 5])
def test_a_row_that_is_not_there(row: int) -> None:
    arrays = np.ones(5, bool), np.zeros(5, np.uint8), np.empty(5, np.int32)
    assert count_rows(np.array([1, row], np.int32), np.ones(2, np.uint8), *arrays, 0) == -1


def test_a_word_in_every_row_still_counts() -> None:
    weights = idf(np.array([1, 50, 100]), 100)
    assert (np.diff(weights) < 0).all()
    assert weights[-1] > 0
