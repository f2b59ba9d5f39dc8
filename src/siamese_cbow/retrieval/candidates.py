"""Which rows of an index are looked at closely."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats, Vectors
from siamese_cbow.retrieval.ranking import Halves, Wanted

TOGETHER = 64  # rows whose highest score is looked at first


def pool_of(
    wanted: Wanted, halves: Halves, rows: NDArray[np.int64], exact: Floats, units: Vectors, lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Vectors]:
    """Of rows with exact vectors, the pool that `search` would take: feedback ranks the same rows again."""
    n = wanted.n_pool
    if n is None or len(rows) <= n:
        return rows, units
    scores = exact + halves.meaning(units, lengths)
    keep = np.sort(np.lexsort((rows, -scores))[:n])
    return rows[keep], units[keep]


def live_only(
    rows: NDArray[np.int64], counts: NDArray[np.int64], live: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of a word that a file still claims, and their counts."""
    if live.all():
        return rows, counts
    keep = live[rows]
    return rows[keep], counts[keep]


def highest(scores: Vectors, n: int) -> NDArray[np.int64]:
    """The rows of about the n highest scores, n at least, rising; -inf never. [.1, .9, .5], 2 -> [1, 2]

    The n-th highest of the maxima of TOGETHER rows each is reached by n rows and more, and hardly any row is sorted.
    """
    if len(scores) <= n:
        return np.flatnonzero(scores > -np.inf)
    n_groups = len(scores) // TOGETHER
    if n_groups > n:
        maxima = scores[: n_groups * TOGETHER].reshape(-1, TOGETHER).max(axis=1)
        bar = np.partition(maxima, n_groups - n)[n_groups - n]
        rows = np.flatnonzero(scores >= bar)
    else:
        rows = np.arange(len(scores))
    if len(rows) > n:
        rows = np.sort(rows[np.lexsort((rows, -scores[rows]))[:n]])  # of equal ones the first
    return rows[scores[rows] > -np.inf]
