"""Means of rows in plain NumPy: the definition, and what answers small calls without waiting for numba.

    ids 0, 2, 2  ->  (vectors[0] + vectors[2] + vectors[2]) / 3

Rows are added one after another in float32, GROUP at a time; the sums of the groups are added in float64, so that a
text of a million words loses no precision. `kernels/means.py` adds in the same order: the two agree in every bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from siamese_cbow.base.arrays import Ids, Vectors

GROUP = 256
COLUMNS = 16  # of the rows in `means.promising`: one cache line; here, as those who prepare them load no numba


class Takes(Protocol):
    """Rows of float32: an array, or something packed that unpacks what is taken."""

    def take(self, ids: Any, axis: Any = ..., /) -> Vectors:
        """`vectors[ids]`."""


def mean_of_rows(vectors: Takes, ids: Sequence[int] | Ids, dim: int, *, normalize: bool = False) -> Vectors:
    """The mean of the rows that `ids` names, their first `dim` numbers, float32; zeros where `ids` is empty.

    vectors [[1, 0], [3, 4]]: `mean_of_rows(vectors, [0, 1], 2)` -> [2, 2]; with `normalize` [0.71, 0.71]
    """
    n = len(ids)
    if n == 0:
        return np.zeros(dim, np.float32)
    if n > GROUP:
        total = np.zeros(dim, np.float64)
        for start in range(0, n, GROUP):
            total += _sum(vectors, ids[start : start + GROUP], dim)
        mean: Vectors = (total / n).astype(np.float32)
        return unit(mean) if normalize else mean
    mean = _sum(vectors, ids, dim)
    if normalize:
        return unit(mean)  # of a sum as good as of a mean
    mean /= n
    return mean


def _sum(vectors: Takes, ids: Sequence[int] | Ids, dim: int) -> Vectors:
    rows = vectors.take(ids, 0)  # before cutting them: `take` would copy a cut matrix as a whole
    if dim < rows.shape[1]:
        rows = rows[:, :dim]
    if dim == 1:  # NumPy adds row by row, except here: it would add in pairs
        rows = np.add.accumulate(rows, 0)[-1:]
    total: Vectors = np.add.reduce(rows, 0)
    return total


def unit(row: Vectors) -> Vectors:
    """`row` (dim,) at length 1; zeros stay zeros. `unit(np.array([3, 4]))` -> [0.6, 0.8].

    In float64, where the squares of float32 numbers neither vanish nor overflow.
    """
    wide = row.astype(np.float64)
    squares = float(wide.dot(wide))
    return (wide * (1.0 / squares**0.5)).astype(np.float32) if squares > 0 else row
