"""Rows compared with a query: by the words they contain, and by int8 vectors.

    count_terms  words of rows            ->   how often each query word occurs in them
    count_rows   postings of one word     ->   how often it occurs in each row
    add_scores   counts of all its forms  ->   scores of the rows, by `bm25`
    code_scores  codes of all rows        ->   their dot products with the query, with these scores added

`count_rows` and `add_scores` skip rows without a query word, and callers reset what was touched: only `code_scores`
goes through all rows, once. Nothing here starts threads: callers give each thread its own rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats, Ids, Vectors
from siamese_cbow.kernels.bm25 import K1, MOST
from siamese_cbow.machine.compiling import LEAN, inner

GROUP = 64  # rows whose highest score is kept
_LOWEST = np.float32(-np.inf)


@njit(**LEAN)
def count_terms(
    term_of: NDArray[np.int16],
    ids: Ids,
    ends: NDArray[np.int64],
    tally: NDArray[np.int64],
    out: NDArray[np.int64],
) -> int:
    """out[:, i] becomes a row, a term in it, and how often the term occurs, MOST at most; returns the number of such i.

    term_of [0, -1], ids [0, 1, 0, 0], ends [2, 4] -> rows 0 1, terms 0 0, counts 1 2

    term_of  (n_words,) the term that each word is a form of, or -1
    ends     (n_rows,) row i is ids[ends[i - 1] : ends[i]]
    tally    (n_terms,) zeros
    out      (3, len(ids) or more)
    """
    n, start = 0, 0
    for row in range(len(ends)):
        has_terms = False
        for j in range(start, ends[row]):
            if term_of[ids[j]] >= 0:
                tally[term_of[ids[j]]] += 1
                has_terms = True
        for term in range(len(tally) if has_terms else 0):
            if tally[term] > 0:
                out[0, n], out[1, n], out[2, n] = row, term, min(tally[term], MOST)
                tally[term] = 0
                n += 1
        start = ends[row]
    return n


@njit(**LEAN)
def count_rows(
    rows: NDArray[np.int32],
    counts: NDArray[np.uint8],
    live: NDArray[np.bool_],
    tally: NDArray[np.uint8],
    touched: NDArray[np.int32],
    n: int,
) -> int:
    """Adds the counts of live rows to `tally`, MOST at most; rows that had none are appended to the first n touched.

    Returns the number of rows touched, or -1 if a row is not in `live`: the file is then damaged.
    """
    for i in range(len(rows)):
        row = rows[i]
        if row < 0 or row >= len(live):
            return -1
        if not live[row]:
            continue
        if tally[row] == 0:
            touched[n] = row
            n += 1
        tally[row] = min(int(tally[row]) + int(counts[i]), MOST)
    return n


@njit(**LEAN)
def add_scores(
    touched: NDArray[np.int32],
    weight: float,
    tally: NDArray[np.uint8],
    norms: Floats,
    scores: Floats,
    scored: NDArray[np.int64],
    first: int,
    n: int,
) -> int:
    """Adds weight * `bm25.saturated` to the scores of touched rows, and makes their tally 0 again.

    Rows that had no score are appended, with `first` added, to the first n scored; returns their number.
    """
    for i in range(len(touched)):
        row = touched[i]
        count = np.float64(tally[row])
        tally[row] = 0
        if scores[row] == 0:
            scored[n] = first + row
            n += 1
        scores[row] += weight * (count * (K1 + 1) / (count + norms[row]))
    return n


@njit(**LEAN)
def code_scores(
    codes: NDArray[np.int8],
    query: Vectors,
    factors: Vectors,
    scores: Floats,
    weight: float,
    live: NDArray[np.bool_],
    first: int,
    out: Vectors,
    maxima: Vectors,
) -> None:
    """out[i] = (codes[i] . query) * factors[i] + scores[i] * weight, and -inf for dead rows.

    codes   (n, dim) int8; query (dim,) float32; factors, out (n,) float32; scores (n,) float64
    first   the number of the first row among all rows
    maxima  (n_rows // GROUP + 1,) float32, one for GROUP rows numbered as among all; raised to their highest score
    """
    begin = 0
    while begin < len(codes):
        group = (first + begin) // GROUP
        end = min((group + 1) * GROUP - first, len(codes))
        _dots(codes, query, begin, end, out)
        top = maxima[group]
        for i in range(begin, end):
            value = out[i] * factors[i] + np.float32(scores[i] * weight)
            value = value if live[i] else _LOWEST
            out[i] = value
            top = value if value > top else top  # `max` is twice as slow
        maxima[group] = top
        begin = end


@inner(**LEAN, fastmath={"reassoc", "contract"})
def _dots(codes: NDArray[np.int8], query: Vectors, i: int, end: int, out: Vectors) -> None:
    """out[i:end] = codes[i:end] . query. Eight rows at a time read the query's numbers once: a quarter faster."""
    while i + 8 <= end:
        a = b = c = d = e = f = g = h = np.float32(0)
        for k in range(len(query)):
            q = query[k]
            a += np.float32(codes[i, k]) * q
            b += np.float32(codes[i + 1, k]) * q
            c += np.float32(codes[i + 2, k]) * q
            d += np.float32(codes[i + 3, k]) * q
            e += np.float32(codes[i + 4, k]) * q
            f += np.float32(codes[i + 5, k]) * q
            g += np.float32(codes[i + 6, k]) * q
            h += np.float32(codes[i + 7, k]) * q
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
        out[i + 4], out[i + 5], out[i + 6], out[i + 7] = e, f, g, h
        i += 8
    while i < end:
        a = np.float32(0)
        for k in range(len(query)):
            a += np.float32(codes[i, k]) * query[k]
        out[i] = a
        i += 1


def code_scores_reference(
    codes: NDArray[np.int8], query: Vectors, factors: Vectors, scores: Floats, weight: float, live: NDArray[np.bool_]
) -> Vectors:
    """`code_scores` in NumPy: codes [[1, 2]], query [3, 4], factor .5, score 2, weight 3 -> [11.5]."""
    values: Vectors = codes.astype(np.float32) @ query * factors + (scores * weight).astype(np.float32)
    return np.where(live, values, _LOWEST)
