"""Means of rows at the speed of the memory; equal to `means_reference` in every bit.

Each row is added in the order of its text, in float32: vectorised along the row, so the order stays. Does not start
threads: it holds no lock while it runs, and callers give each thread its own texts.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from siamese_cbow.base.arrays import Ids, Offsets, Vectors
from siamese_cbow.kernels.means_reference import GROUP
from siamese_cbow.machine.compiling import INLINE, LEAN


def means(vectors: Vectors, ids: Ids, offsets: Offsets, normalize: bool, out: Vectors) -> None:
    """out[i] becomes the mean of the rows of text i, and of length 1 if `normalize`; zeros where it has no ids.

    vectors  (n_words, at least dim) float32
    offsets  (n_texts + 1,) int64; text i is ids[offsets[i]:offsets[i + 1]]
    out      (n_texts, dim) float32; with fewer columns than `vectors`, the first ones are taken
    """
    _means(vectors, ids, offsets, normalize, np.empty(out.shape[1], np.float64), out)


@njit(**LEAN)
def _means(vectors: Vectors, ids: Ids, offsets: Offsets, normalize: bool, total: np.ndarray, out: Vectors) -> None:
    for i in range(len(out)):
        start, end = offsets[i], offsets[i + 1]
        if end - start > GROUP:
            _long_mean(vectors, ids, start, end, total, out, i)
        else:
            _sum(vectors, ids, start, end, out, i)
            if not normalize and end > start:
                n = np.float32(end - start)
                for d in range(out.shape[1]):
                    out[i, d] /= n
        if normalize:
            _to_unit(out, i)


@njit(**INLINE)
def _sum(vectors: Vectors, ids: Ids, i: int, end: int, out: Vectors, row: int) -> None:
    """out[row] becomes the sum of the rows ids[i:end].

    Some rows at a time: fewer reads and writes of the sum, and several reads of memory under way at once. Asking for
    the rows beforehand (llvm.prefetch) gains nothing more.
    """
    dim = out.shape[1]
    if end - i >= 8:
        a, b, c, e = ids[i], ids[i + 1], ids[i + 2], ids[i + 3]
        f, g, h, j = ids[i + 4], ids[i + 5], ids[i + 6], ids[i + 7]
        for d in range(dim):
            half = ((vectors[a, d] + vectors[b, d]) + vectors[c, d]) + vectors[e, d]
            out[row, d] = (((half + vectors[f, d]) + vectors[g, d]) + vectors[h, d]) + vectors[j, d]
        i += 8
    elif end - i >= 4:
        a, b, c, e = ids[i], ids[i + 1], ids[i + 2], ids[i + 3]
        for d in range(dim):
            out[row, d] = ((vectors[a, d] + vectors[b, d]) + vectors[c, d]) + vectors[e, d]
        i += 4
    else:
        for d in range(dim):
            out[row, d] = 0
    while i + 4 <= end:
        a, b, c, e = ids[i], ids[i + 1], ids[i + 2], ids[i + 3]
        for d in range(dim):
            out[row, d] = (((out[row, d] + vectors[a, d]) + vectors[b, d]) + vectors[c, d]) + vectors[e, d]
        i += 4
    while i < end:
        a = ids[i]
        for d in range(dim):
            out[row, d] += vectors[a, d]
        i += 1


@njit(**LEAN)
def _long_mean(vectors: Vectors, ids: Ids, start: int, end: int, total: np.ndarray, out: Vectors, row: int) -> None:
    total[:] = 0
    for group in range(start, end, GROUP):
        _sum(vectors, ids, group, min(group + GROUP, end), out, row)
        for d in range(len(total)):
            total[d] += out[row, d]
    for d in range(len(total)):
        out[row, d] = np.float32(total[d] / (end - start))


@njit(**LEAN)
def _to_unit(out: Vectors, row: int) -> None:
    squares = _squares(out, row)
    if squares > 0:
        scale = 1.0 / squares**0.5
        for d in range(out.shape[1]):
            out[row, d] = np.float32(out[row, d] * scale)


@njit(**LEAN, fastmath={"reassoc"})
def _squares(out: Vectors, row: int) -> float:
    # In any order, four or eight at once: float64 has digits to spare, and hardly ever does the order show in float32.
    squares = 0.0
    for d in range(out.shape[1]):
        squares += np.float64(out[row, d]) * np.float64(out[row, d])
    return squares
