"""Cosines, and the words whose vectors point the same way. Arrays in, arrays out; zero vectors have cosine 0.

Does not build an index: a model of 300,000 words is searched whole in some 50 ms.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids, Vectors

ROWS_AT_A_TIME = 4_096


def lengths(vectors: Vectors) -> NDArray[np.float64]:
    """The length of each row, (n,): [[3, 4], [0, 0]] -> [5, 0]."""
    squares = np.empty(len(vectors), np.float64)
    for start in range(0, len(vectors), ROWS_AT_A_TIME):
        rows = vectors[start : start + ROWS_AT_A_TIME].astype(np.float64)
        np.einsum("ij,ij->i", rows, rows, out=squares[start : start + ROWS_AT_A_TIME])
    return np.sqrt(squares, out=squares)


def units(vectors: Vectors) -> Vectors:
    """Rows at length 1, (n, dim): [[3, 4], [0, 0]] -> [[0.6, 0.8], [0, 0]]."""
    scale = lengths(vectors)
    np.divide(1.0, scale, out=scale, where=scale > 0)
    out = np.empty(vectors.shape, np.float32)
    return np.multiply(vectors, scale[:, np.newaxis], out=out, casting="same_kind")


def cosines(a: Vectors, b: Vectors) -> Vectors:
    """The cosine of each row of a (n, dim) with each row of b (m, dim): (n, m) float32."""
    found: Vectors = units(a) @ units(b).T
    return np.clip(found, -1.0, 1.0, out=found)


def paired_cosines(a: Vectors, b: Vectors) -> Vectors:
    """The cosine of row i of a with row i of b, both (n, dim): (n,) float32."""
    found: Vectors = np.einsum("ij,ij->i", units(a), units(b), dtype=np.float64).astype(np.float32)
    return np.clip(found, -1.0, 1.0, out=found)


def nearest(
    vectors: Vectors, row_lengths: NDArray[np.float64], target: Vectors, k: int, *, without: Collection[int] = ()
) -> tuple[Ids, Vectors]:
    """Rows with the highest cosine to `target` (dim,), best first, and these cosines; rows `without` are left out.

    row_lengths  (n,) what `lengths(vectors)` gives
    vectors [[1, 0], [0, 1], [1, 1]], target [2, 0], k 2 -> [0, 2], [1.0, 0.71]; ties stand in the order of the rows
    """
    scores = vectors @ units(target[np.newaxis])[0]
    np.divide(scores, row_lengths, out=scores, where=row_lengths > 0, casting="same_kind")
    np.clip(scores, -1.0, 1.0, out=scores)
    scores[list(without)] = -np.inf
    k = min(k, len(vectors) - len(set(without)))
    if k <= 0:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    bar = np.partition(scores, len(scores) - k)[len(scores) - k]
    candidates = np.flatnonzero(scores >= bar)
    best = candidates[np.argsort(-scores[candidates], kind="stable")][:k].astype(np.int32)
    return best, scores[best]
