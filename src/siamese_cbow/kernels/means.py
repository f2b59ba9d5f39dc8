"""Means of rows at the speed of the memory; equal to `means_reference` in every bit.

Each row is added in the order of its text, in float32: vectorised along the row, so the order stays. Does not start
threads: it holds no lock while it runs, and callers give each thread its own texts.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from siamese_cbow.arrays import Ids, Offsets, Vectors
from siamese_cbow.kernels.means_reference import GROUP


@njit(nogil=True, cache=True)
def means(vectors: Vectors, ids: Ids, offsets: Offsets, normalize: bool, out: Vectors) -> None:
    """out[i] becomes the mean of the rows of text i, and of length 1 if `normalize`; zeros where it has no ids.

    vectors  (n_words, at least dim) float32
    offsets  (n_texts + 1,) int64; text i is ids[offsets[i]:offsets[i + 1]]
    out      (n_texts, dim) float32; with fewer columns than `vectors`, the first ones are taken
    """
    total = np.empty(out.shape[1], np.float64)
    for i in range(len(out)):
        start, end, row = offsets[i], offsets[i + 1], out[i]
        if end - start > GROUP:
            _long_mean(vectors, ids[start:end], total, row)
        else:
            _sum(vectors, ids[start:end], row)
            if not normalize and end > start:
                n = np.float32(end - start)
                for d in range(len(row)):
                    row[d] /= n
        if normalize:
            _to_unit(row)


@njit(nogil=True, cache=True)
def _sum(vectors: Vectors, ids: Ids, row: Vectors) -> None:
    # Some rows at a time: fewer reads and writes of `row`, and several reads of memory under way at once. Asking for
    # the rows beforehand (llvm.prefetch) gains nothing more.
    n, i = len(ids), 0
    if n >= 8:
        a, b, c, e = vectors[ids[0]], vectors[ids[1]], vectors[ids[2]], vectors[ids[3]]
        f, g, h, j = vectors[ids[4]], vectors[ids[5]], vectors[ids[6]], vectors[ids[7]]
        for d in range(len(row)):
            row[d] = ((((((a[d] + b[d]) + c[d]) + e[d]) + f[d]) + g[d]) + h[d]) + j[d]
        i = 8
    elif n >= 4:
        a, b, c, e = vectors[ids[0]], vectors[ids[1]], vectors[ids[2]], vectors[ids[3]]
        for d in range(len(row)):
            row[d] = ((a[d] + b[d]) + c[d]) + e[d]
        i = 4
    else:
        row[:] = 0
    while i + 4 <= n:
        a, b, c, e = vectors[ids[i]], vectors[ids[i + 1]], vectors[ids[i + 2]], vectors[ids[i + 3]]
        for d in range(len(row)):
            row[d] = (((row[d] + a[d]) + b[d]) + c[d]) + e[d]
        i += 4
    while i < n:
        a = vectors[ids[i]]
        for d in range(len(row)):
            row[d] += a[d]
        i += 1


@njit(nogil=True, cache=True)
def _long_mean(vectors: Vectors, ids: Ids, total: np.ndarray, row: Vectors) -> None:
    total[:] = 0
    for start in range(0, len(ids), GROUP):
        _sum(vectors, ids[start : start + GROUP], row)
        for d in range(len(row)):
            total[d] += row[d]
    for d in range(len(row)):
        row[d] = np.float32(total[d] / len(ids))


@njit(nogil=True, cache=True)
def _to_unit(row: Vectors) -> None:
    squares = _squares(row)
    if squares > 0:
        scale = 1.0 / squares**0.5
        for d in range(len(row)):
            row[d] = np.float32(row[d] * scale)


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def _squares(row: Vectors) -> float:
    # In any order, four or eight at once: float64 has digits to spare, and hardly ever does the order show in float32.
    squares = 0.0
    for d in range(len(row)):
        squares += np.float64(row[d]) * np.float64(row[d])
    return squares
