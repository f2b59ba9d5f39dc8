"""Rows -> cosines with a query, on one of two paths; both leave out rows without a known word.

Little text is encoded as `model.encode` does it, without waiting for numba. Much text (`encoding.is_much`) goes through
the scanner as it was read, without making strings, and only rows whose cosine may reach the cutoff
(`kernels.means.promising`) are averaged: with the same kernel and so with the same result. The cutoff rises as good
rows are found.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Ids, Offsets, Vectors
from siamese_cbow.kernels.means_reference import COLUMNS
from siamese_cbow.model.model import Model
from siamese_cbow.text.row_reader import Rows

PIECE_BYTES = 1 << 18  # a piece's text and ids stay in the second-level cache
SAMPLE_ROWS = 500  # rows that tell the main directions
MARGIN = 1e-4  # far more than sums in float32 are off

Scored = tuple[NDArray[np.int64], Vectors]  # rows that reach the cutoff, rising, and their scores


class Cutoff:
    """The score that a row has to reach to be among the k best, as far as known; threads share it.

    Only ever rises, so whoever reads an old one does too much work, never too little.
    """

    def __init__(self, k: int | None, threshold: float | None) -> None:
        self._k, self.value = k, -np.inf if threshold is None else threshold
        self._best: Vectors = np.empty(0, np.float32)
        self._lock = threading.Lock()

    def offer(self, scores: Vectors) -> None:
        """Scores of rows nobody has offered before."""
        if self._k is None:
            return
        with self._lock:
            together = np.concatenate([self._best, scores])
            if len(together) > self._k:
                together = np.partition(together, len(together) - self._k)[-self._k :]
            self._best = together
            if len(together) == self._k:
                self.value = max(self.value, float(together.min()))


class Scorer(Protocol):
    """Rows in, those that reach the cutoff and their scores out; safe in any thread."""

    def __call__(self, rows: Rows, cutoff: Cutoff) -> Scored:
        """The rows of a block that may be among the best."""


class PlainScorer:
    """The path for little text."""

    def __init__(self, model: Model, query: Vectors) -> None:
        self._model, self._query = model, query

    def __call__(self, rows: Rows, cutoff: Cutoff) -> Scored:
        """The rows of a block that may be among the best."""
        vectors = self._model.encode(rows.texts(), normalize_embeddings=True)
        return _reaching(np.arange(len(rows)), vectors, self._query, cutoff)


class BulkScorer:
    """The path for much text: scanner, bound, mean.

    sample  some rows of the text, to find the main directions of their vectors
    """

    def __init__(self, model: Model, query: Vectors, sample: list[str]) -> None:
        with ThreadPoolExecutor(1) as pool:  # multiplies while numba is being loaded
            low = pool.submit(projected, model, query, sample)
            from siamese_cbow.kernels.means import means, promising
            from siamese_cbow.words.lookup import Lookup

            n_buckets = model.ngrams.n_buckets if model.fallback == "ngrams" else 0
            self._look_up = Lookup(model.vocabulary, model.tokenizer, model.fallback, n_buckets).look_up
            self._low, self._basis = low.result()
        self._promising, self._means = promising, means
        self._model, self._vectors, self._query = model, model.vectors, query

    def __call__(self, rows: Rows, cutoff: Cutoff) -> Scored:
        """The rows of a block that may be among the best."""
        found = [
            (first + scored[0], scored[1])
            for first, piece in _pieces(rows.text)
            if len((scored := self._scores(piece, cutoff))[0])
        ]
        if not found:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        return np.concatenate([rows for rows, _ in found]), np.concatenate([scores for _, scores in found])

    def _scores(self, piece: Bytes, cutoff: Cutoff) -> Scored:
        ends = np.empty(np.count_nonzero(piece == ord("\n")), np.int64)
        ids, unknown = self._look_up(piece, ends)
        rows = self._model.ngrams.rows(unknown) if len(unknown.keys) else self._vectors[:0]
        kept = np.empty(len(ends), np.int32)
        bound = cutoff.value - MARGIN, np.empty(COLUMNS, np.float32)
        n = self._promising(self._low, ids, ends, _low(rows, self._basis), unknown.offsets, *bound, kept)
        chosen, offsets = _chosen(ids, ends, kept[:n])
        unknown_of_chosen = _chosen(np.arange(len(rows)), unknown.offsets[1:], kept[:n])
        vectors = np.empty((n, self._vectors.shape[1]), np.float32)
        extra = rows[unknown_of_chosen[0]], unknown_of_chosen[1]
        self._means(self._vectors, chosen, offsets, True, vectors, extra)
        return _reaching(kept[:n].astype(np.int64), vectors, self._query, cutoff)


def projected(model: Model, query: Vectors, sample: list[str]) -> tuple[Vectors, Vectors]:
    """The rows of `model.vectors` on the query and on the main directions of the sample: (n_words, COLUMNS).

    And these directions, (dim, at most COLUMNS).
    """
    basis = _basis(query, model.encode(sample, normalize_embeddings=True))
    return _low(model.vectors, basis), basis


def _low(rows: Vectors, basis: Vectors) -> Vectors:
    """Rows on a basis, (n, COLUMNS). Where there are fewer dimensions than columns, the last columns are zeros."""
    low = np.zeros((len(rows), COLUMNS), np.float32)
    np.matmul(rows, basis, out=low[:, : basis.shape[1]])
    return low


def _basis(query: Vectors, vectors: Vectors) -> Vectors:
    """Orthonormal, (dim, at most COLUMNS): the query, then about the main directions of `vectors` (n, dim).

    By a few rounds of the power method: any orthonormal basis gives a right bound, a good one a close bound, and
    `eigh` takes ten times as long (a hundred times where other programs keep the cores busy).
    """
    n = min(COLUMNS, len(query))
    basis: Vectors = np.random.default_rng(1).standard_normal((len(query), n), dtype=np.float32)
    for _ in range(4):
        basis, _ = np.linalg.qr(vectors.T @ (vectors @ basis))
    basis, triangle = np.linalg.qr(np.column_stack([query, basis])[:, :n])
    basis[:, 0] *= np.sign(triangle[0, 0])  # the factor may point the other way
    return np.ascontiguousarray(basis)


def cosines(vectors: Vectors, query: Vectors) -> Vectors:
    """The cosine of each row of `vectors`, (n, dim) of length 1, with `query`; the same row gives the same bits.

    A matrix product would not: its last bits depend on the rows around.
    """
    found: Vectors = np.einsum("ij,j->i", vectors, query)
    return found


def _reaching(rows: NDArray[np.int64], vectors: Vectors, query: Vectors, cutoff: Cutoff) -> Scored:
    scores = cosines(vectors, query)
    good = scores >= cutoff.value
    if not scores.all():
        good &= vectors.any(axis=1)  # no known word, so no direction
    rows, scores = rows[good], scores[good]
    cutoff.offer(scores)
    return rows, scores


def _chosen(ids: NDArray[Any], ends: Offsets, kept: Ids) -> tuple[NDArray[Any], Offsets]:
    """The ids of some texts only, and their offsets."""
    starts = np.where(kept > 0, ends[kept - 1], 0)
    offsets = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(ends[kept] - starts, out=offsets[1:])
    places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], np.diff(offsets))
    return ids[places], offsets


def _pieces(text: bytes) -> Iterator[tuple[int, Bytes]]:
    """Whole lines of about PIECE_BYTES, each piece with the number of its first line."""
    data, start, line = np.frombuffer(text, np.uint8), 0, 0
    while start < len(text):
        end = text.rfind(b"\n", start, start + PIECE_BYTES) + 1 or text.find(b"\n", start + PIECE_BYTES) + 1
        yield line, data[start:end]
        line += int(np.count_nonzero(data[start:end] == ord("\n")))
        start = end
