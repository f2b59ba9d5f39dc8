"""Means of rows at memory speed, and a bound on their cosines with a query that avoids computing most of them.

The means are bit-identical to those of `means_reference`: each row is added in the order of its text, in float32,
vectorised along the row, so the order stays. Nothing here starts threads or holds a lock: callers give each thread its
own texts.

The bound shows which texts may be close to a query; the others need no mean at all:

    q       the query at length 1                    B   an orthonormal basis, (dim, COLUMNS), whose first vector is q
    v_w     the vector of word w                     s   the sum of v_w over the words of a text
    low     v_w B, a row of COLUMNS numbers per word

    cosine = q.s / |s|  <=  q.s / |s B|              as |s B| <= |s|; and q.s is the first number of s B

So a sum over rows of one cache line each bounds a sum over rows of twenty. If the basis has the main directions of such
sums, few texts are left for which the mean is computed. A cosine below 0 has the bound 0.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from siamese_cbow.base.arrays import Ids, Offsets, Vectors
from siamese_cbow.kernels.means_reference import COLUMNS, GROUP, NO_WORDS
from siamese_cbow.kernels.ngram_rows import UnknownRows, made_rows, row_of
from siamese_cbow.machine.compiling import INLINE, LEAN, inner
from siamese_cbow.machine.intrinsics import prefetch_item

AHEAD = 12  # words; rows are scattered over memory, and prefetching them makes the loop 1.7 times as fast


def means(
    vectors: Vectors,
    ids: Ids,
    offsets: Offsets,
    normalize: bool,
    out: Vectors,
    unknown: UnknownRows | None = None,
) -> None:
    """out[i] becomes the mean of the rows of text i, scaled to length 1 if `normalize`; zeros if it has no words.

    vectors [[1, 0], [3, 4]], ids [0, 1], offsets [0, 2] -> [[2, 2]]

    vectors  (n_words, at least dim) float32
    offsets  (n_texts + 1,) int64; text i is ids[offsets[i]:offsets[i + 1]]
    out      (n_texts, dim) float32; if it has fewer columns than `vectors`, the first ones are taken
    unknown  rows of out-of-vocabulary words
    """
    unknown = unknown or made_rows(np.empty((0, out.shape[1]), np.float32), np.zeros(len(out) + 1, np.int64))
    _means(vectors, ids, offsets, unknown, normalize, np.empty(out.shape[1], np.float64), out)


@njit(**LEAN)
def _means(
    vectors: Vectors,
    ids: Ids,
    offsets: Offsets,
    unknown: UnknownRows,
    normalize: bool,
    total: np.ndarray,
    out: Vectors,
) -> None:
    ends = unknown.words.offsets
    for i in range(len(out)):
        start, end, first, last = offsets[i], offsets[i + 1], ends[i], ends[i + 1]
        n = (end - start) + (last - first)
        if n > GROUP:
            _long_mean(vectors, ids, start, end, unknown, first, last, total, out, i)
        else:
            _sum(vectors, ids, start, end, out, i)
            _add(unknown, first, last, out, i)
            if not normalize and n > 0:
                divisor = np.float32(n)
                for d in range(out.shape[1]):
                    out[i, d] /= divisor
        if normalize:
            _to_unit(out, i)


@inner(**INLINE)
def _add(unknown: UnknownRows, first: int, last: int, out: Vectors, row: int) -> None:
    """Adds the rows of unknown words first to last - 1 to out[row]."""
    for k in range(first, last):
        place = row_of(unknown, k)
        for d in range(out.shape[1]):
            out[row, d] += unknown.rows[place, d]


@inner(**INLINE)
def _sum(vectors: Vectors, ids: Ids, i: int, end: int, out: Vectors, row: int) -> None:
    """out[row] becomes the sum of the rows ids[i:end].

    Several rows at a time: fewer reads and writes of the sum, and several memory reads in flight.
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


@inner(**LEAN)
def _long_mean(
    vectors: Vectors,
    ids: Ids,
    start: int,
    end: int,
    unknown: UnknownRows,
    first: int,
    last: int,
    total: np.ndarray,
    out: Vectors,
    row: int,
) -> None:
    total[:] = 0
    for group in range(start, end, GROUP):
        _sum(vectors, ids, group, min(group + GROUP, end), out, row)
        for d in range(len(total)):
            total[d] += out[row, d]
    for group in range(first, last, GROUP):
        out[row] = 0
        _add(unknown, group, min(group + GROUP, last), out, row)
        for d in range(len(total)):
            total[d] += out[row, d]
    for d in range(len(total)):
        out[row, d] = np.float32(total[d] / ((end - start) + (last - first)))


@inner(**LEAN)
def _to_unit(out: Vectors, row: int) -> None:
    squares = _squares(out, row)
    if squares > 0:
        scale = 1.0 / squares**0.5
        for d in range(out.shape[1]):
            out[row, d] = np.float32(out[row, d] * scale)


@inner(**LEAN, fastmath={"reassoc"})
def _squares(out: Vectors, row: int) -> float:
    # In any order, four or eight at a time: float64 has digits to spare, so the order hardly ever shows in float32.
    squares = 0.0
    for d in range(out.shape[1]):
        squares += np.float64(out[row, d]) * np.float64(out[row, d])
    return squares


@njit(**LEAN)
def bounds(
    low: Vectors, ids: Ids, ends: Offsets, extra: Vectors, extra_offsets: Offsets, total: Vectors, out: Vectors
) -> None:
    """out[i] becomes the highest cosine that text i may have with the query; NO_WORDS if it has no words.

    low    (n_words, COLUMNS) float32
    ends   (n_texts,) text i is ids[ends[i - 1] : ends[i]]
    extra  (n_unknown, COLUMNS) the same for out-of-vocabulary words; those of text i begin at extra_offsets[i]
    total  (COLUMNS,) float32, scratch memory
    out    (n_texts,) float32
    """
    if len(ends) == 0:
        return
    start, last = 0, ends[-1]
    for i in range(len(ends)):
        end = ends[i]
        out[i] = NO_WORDS
        if end > start or extra_offsets[i + 1] > extra_offsets[i]:
            total[:] = 0
            for j in range(start, end):
                if j + AHEAD < last:
                    prefetch_item(low, np.int64(ids[j + AHEAD]) * COLUMNS)
                row = low[ids[j]]
                for d in range(COLUMNS):
                    total[d] += row[d]
            for j in range(extra_offsets[i], extra_offsets[i + 1]):
                for d in range(COLUMNS):
                    total[d] += extra[j, d]
            squares = np.float32(0)
            for d in range(COLUMNS):
                squares += total[d] * total[d]
            # A text outside the span of the basis may point anywhere, but not along the query.
            out[i] = total[0] / np.sqrt(squares) if squares > 0 and total[0] > 0 else np.float32(0)
        start = end
