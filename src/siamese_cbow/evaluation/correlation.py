"""Pearson's and Spearman's correlation, and their bootstrap intervals.

Plain NumPy: SciPy's are the reference in the tests, but importing `scipy.stats` takes longer than scoring all 19 sets.
A correlation with a constant is undefined; here that is `None`, never NaN. Sets of pairs are scored in `scores`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from siamese_cbow.base.arrays import Floats

CONSTANT = 1e-9  # a smaller range is rounding: cosines come from float32 vectors
BLOCK = 1 << 21  # numbers per block of resamples; bounds the memory of the bootstrap


class Interval(NamedTuple):
    """A 95% confidence interval: `Interval(0.61, 0.68)`, in JSON [0.61, 0.68]."""

    low: float
    high: float


def is_constant(values: Floats) -> bool:
    """Whether all values are equal up to rounding, so that no correlation is defined."""
    return float(np.ptp(values)) <= CONSTANT


def pearson(x: Floats, y: Floats) -> float | None:
    """Pearson's r of two arrays (n,): [1, 2, 3], [2, 4, 6] -> 1.0; None when one of them is constant."""
    if is_constant(x) or is_constant(y):
        return None
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def spearman(x: Floats, y: Floats) -> float | None:
    """Spearman's rho, Pearson's r of the ranks: [1, 2, 3], [1, 10, 100] -> 1.0; None when one of them is constant."""
    if is_constant(x) or is_constant(y):
        return None
    return pearson(ranks(x), ranks(y))


def ranks(values: Floats) -> Floats:
    """The rank of each value, from 1; equal values share the mean of their ranks: [5, 1, 5] -> [2.5, 1, 2.5]."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    shared: Floats = (last - (sizes - 1) / 2)[group]
    return shared


def set_rng(name: str, seed: int) -> np.random.Generator:
    """A random generator for one set, independent of the other sets evaluated with it."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def bootstrap(x: Floats, y: Floats, *, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """`n` resamples of the pairs: the Pearson (n,) and the Spearman (n,) of each; NaN where one is undefined.

    A resample is stored as how often each pair was drawn, so that ranks need one sort for all resamples, not one each.
    """
    x, y = x - x.mean(), y - y.mean()  # keeps the precision of the sums of squares
    rankers = [_Ranker(x), _Ranker(y)]
    pearsons, spearmans = [], []
    for drawn in resamples(len(x), n, rng):
        pearsons.append(weighted_pearson(drawn, x, y))
        spearmans.append(weighted_pearson(drawn, *(ranker.ranks(drawn) for ranker in rankers)))
    return np.concatenate(pearsons), np.concatenate(spearmans)


def resamples(n_pairs: int, n: int, rng: np.random.Generator) -> Iterator[Floats]:
    """How often each pair is drawn in each of `n` resamples with replacement, (n, n_pairs), block by block of rows.

    Each row sums to n_pairs.
    """
    step = max(1, BLOCK // n_pairs)
    for start in range(0, n, step):
        rows = min(step, n - start)
        drawn = rng.integers(n_pairs, size=(rows, n_pairs)) + n_pairs * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n_pairs).reshape(rows, n_pairs).astype(np.float64)


def weighted_pearson(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Pearson's r under each row of `weights` (n, n_pairs); x and y are (n_pairs,) or (n, n_pairs). NaN: undefined."""
    x_mean, y_mean = _mean(weights, x), _mean(weights, y)
    x_square, y_square = _mean(weights, x * x), _mean(weights, y * y)
    x_variance, y_variance = x_square - x_mean**2, y_square - y_mean**2
    defined = (x_variance > CONSTANT * x_square) & (y_variance > CONSTANT * y_square)
    covariance = (_mean(weights, x * y) - x_mean * y_mean)[defined]
    result = np.full(len(weights), np.nan)
    result[defined] = covariance / np.sqrt(x_variance[defined] * y_variance[defined])
    return result


def _mean(weights: Floats, values: Floats) -> Floats:
    """The mean of `values` under each row of weights, which sum to the number of pairs."""
    total = weights @ values if values.ndim == 1 else np.einsum("ij,ij->i", weights, values)
    mean: Floats = total / weights.shape[1]
    return mean


class _Ranker:
    """The ranks of one array's values in any resample of it."""

    def __init__(self, values: Floats) -> None:
        _, self._group = np.unique(values, return_inverse=True)
        self._order = np.argsort(self._group, kind="stable")
        ordered = self._group[self._order]
        self._starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])

    def ranks(self, weights: Floats) -> Floats:
        """The rank of each pair's value, (n, n_pairs), centred so that sums of squares keep their precision."""
        sizes = np.add.reduceat(weights[:, self._order], self._starts, axis=1)
        shared = np.cumsum(sizes, axis=1) - (sizes - 1) / 2
        centred: Floats = shared[:, self._group] / weights.shape[1] - 0.5
        return centred


def interval(replicates: Floats) -> Interval | None:
    """The middle 95% of bootstrap replicates; None if none of them is defined."""
    if np.isnan(replicates).all():
        return None
    low, high = np.nanpercentile(replicates, [2.5, 97.5])
    return Interval(float(low), float(high))
