"""Correlations against SciPy, and the bootstrap against direct resampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from siamese_cbow.evaluation.correlation import (
    Interval,
    bootstrap,
    interval,
    is_constant,
    pearson,
    ranks,
    resamples,
    spearman,
)

VALUES = st.lists(st.floats(-5, 5, allow_subnormal=False).map(lambda x: round(x, 2)), min_size=3, max_size=40)


@given(x=VALUES, data=st.data())
def test_equal_to_scipy(x: list[float], data: st.DataObject) -> None:
    y = data.draw(st.lists(st.floats(0, 5).map(lambda v: round(v, 1)), min_size=len(x), max_size=len(x)))
    a, b = np.array(x), np.array(y)
    np.testing.assert_array_equal(ranks(a), stats.rankdata(a))
    if is_constant(a) or is_constant(b):
        assert pearson(a, b) is None
        assert spearman(a, b) is None
    else:
        assert pearson(a, b) == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-9)
        assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-9)


def test_constant_but_for_rounding_is_constant() -> None:
    nearly = np.full(10, 0.7) + np.arange(10) * 1e-17
    assert pearson(nearly, np.arange(10.0)) is None
    assert spearman(nearly, np.arange(10.0)) is None


def test_a_resample_draws_as_many_pairs_as_there_are() -> None:
    (drawn,) = resamples(7, 5, np.random.default_rng(1))
    assert drawn.shape == (5, 7)
    assert (drawn.sum(axis=1) == 7).all()


def test_bootstrap_equals_resampling_pair_by_pair() -> None:
    source = np.random.default_rng(1)
    x = source.normal(size=30)
    y = np.round(x + source.normal(size=30), 0)  # ties
    pearsons, spearmans = bootstrap(x, y, n=20, rng=np.random.default_rng(5))
    for weights, r, rho in zip(next(resamples(30, 20, np.random.default_rng(5))), pearsons, spearmans, strict=True):
        chosen = np.repeat(np.arange(30), weights.astype(int))
        assert r == pytest.approx(stats.pearsonr(x[chosen], y[chosen]).statistic)
        assert rho == pytest.approx(stats.spearmanr(x[chosen], y[chosen]).statistic)


def test_the_block_size_changes_nothing_but_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 50))
    whole = bootstrap(x, y, n=30, rng=np.random.default_rng(1))
    monkeypatch.setattr("siamese_cbow.evaluation.correlation.BLOCK", 200)
    parts = bootstrap(x, y, n=30, rng=np.random.default_rng(1))
    np.testing.assert_allclose(whole, parts, rtol=1e-12)


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(200):
        x = rng.normal(size=100)
        y = 0.6 * x + 0.8 * rng.normal(size=100)  # true correlation .6
        found = interval(bootstrap(x, y, n=200, rng=rng)[0])
        assert found is not None
        hits += found.low < 0.6 < found.high
    assert 175 <= hits <= 199


def test_replicates_that_are_undefined_are_left_out() -> None:
    x = np.array([0.0, 0.0, 0.0, 1.0])  # many resamples never draw the 1
    pearsons, _ = bootstrap(x, np.array([0.0, 1.0, 2.0, 3.0]), n=200, rng=np.random.default_rng(1))
    assert np.isnan(pearsons).any()
    found = interval(pearsons)
    assert isinstance(found, Interval)
    assert -1 <= found.low <= found.high <= 1 + 1e-9
    assert interval(np.full(3, np.nan)) is None
