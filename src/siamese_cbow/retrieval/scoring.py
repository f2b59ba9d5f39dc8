"""Score a collection in memory for one query: every row first gets an upper bound, and few rows an exact score.

In much text, the scanner reads each row once. A sum of its words' vectors, reduced to one cache line each, bounds its
cosine (`kernels.means`), and its words are compared with those of the query. After this pass, BM25 is exact for every
row; then rows are fully encoded from the highest bound down, until no bound reaches the worst requested hit. Little
text is encoded as a whole. The result depends neither on the number of threads nor on block boundaries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Floats, Vectors
from siamese_cbow.kernels.means_reference import COLUMNS, NO_WORDS
from siamese_cbow.model.model import Model
from siamese_cbow.retrieval.fitting import (
    SAMPLE,
    SAMPLE_CHARACTERS,
    TINY,
    Fit,
    QueryDirection,
    row_hashes,
    sample_rows,
    shortened,
)
from siamese_cbow.retrieval.fusion import TIE, Halves, Wanted, nth_highest, ranked, spread_of
from siamese_cbow.retrieval.kept_text import KeptText
from siamese_cbow.retrieval.row_words import FewWords, PlainWords, RowWords, Words, words_of
from siamese_cbow.retrieval.terms import LONGEST, Matches, Term, TermFinder, bm25, joined
from siamese_cbow.text.row_reader import Rows

PIECE_BYTES = 1 << 18  # a piece's text and ids fit the second-level cache
MARGIN = 1e-4  # far more than the error of float32 sums
AT_A_TIME = 1_024  # rows encoded before the next bound is checked

In = TypeVar("In")
Out = TypeVar("Out")


class Seen(NamedTuple):
    """The result of the first pass over a block, one number per row."""

    bounds: Vectors  # upper bound of its cosine; NO_WORDS if it has no vector
    lengths: NDArray[np.int64]  # its words
    matches: Matches


class SearchedText:
    """A text being searched, with its fit."""

    def __init__(self, model: Model, text: KeptText, threads: int) -> None:
        self.model, self.text, self._threads = model, text, threads
        self._words = words_of(model, text.n_bytes)
        self._plain: list[tuple[RowWords, Vectors | None]] = []

    def best(self, query: str, terms: list[Term], wanted: Wanted) -> list[tuple[int, float, float]]:
        """The requested rows, best first, each with the two halves of its score."""
        if not self.text.n_rows:
            return []
        fit = self._fit if wanted.mode != "exact" else None
        direction = None if fit is None else query_direction(self._words, fit, query)
        seen = list(self._seen(terms, fit, direction))
        lengths = np.concatenate([np.empty(0, np.int64), *(each.lengths for each in seen)])
        matches = joined(zip(self.text.firsts, (each.matches for each in seen), strict=True))
        n_rows, mean = self.text.n_rows, float(lengths.mean()) if len(lengths) else 0.0
        worth = bm25(matches, terms, lengths[matches.rows].astype(np.float64), mean, n_rows)
        scores: Floats = np.bincount(matches.rows, worth, minlength=n_rows).astype(np.float64)
        halves = Halves(wanted.mode, direction, spread_of(scores, n_rows))
        exact = halves.exact(scores)
        bounds = np.concatenate([np.empty(0, np.float32), *(each.bounds for each in seen)])
        rows, units = self._pool(wanted, halves, fit, exact, bounds, lengths)
        return ranked(halves, fit, wanted, rows, exact[rows], units, lengths[rows])

    @cached_property
    def _fit(self) -> Fit:
        if self.text.n_rows <= SAMPLE and isinstance(self._words, PlainWords):  # which tokenises all of it anyway
            sample = RowWords.joined([words for words, _ in self._plain_blocks(None)])
            return Fit.of(self.model, self._words, sample, self.text.n_rows)
        rows = np.arange(self.text.n_rows)
        if len(rows) > SAMPLE:
            hashes = in_threads(self._hashes, range(len(self.text)), self._threads)
            rows = sample_rows(np.concatenate(list(hashes)))
        sample = self._words.of([self.text.text(row)[:SAMPLE_CHARACTERS] for row in rows.tolist()])
        return Fit.of(self.model, self._words, sample, self.text.n_rows)

    def _hashes(self, block: int) -> NDArray[np.uint64]:
        rows = self.text.block(block)
        return row_hashes(rows.text, rows.starts)

    def _seen(self, terms: list[Term], fit: Fit | None, direction: QueryDirection | None) -> Iterator[Seen]:
        """The first pass over each block, in order."""
        finder = TermFinder(terms, len(self.model.vocabulary))
        if isinstance(self._words, PlainWords):
            yield from (_plain_look(*each, finder, direction) for each in self._plain_blocks(fit))
            return
        look = BulkLook(self._words, finder, fit, direction)
        yield from in_threads(lambda i: look(self.text.block(i)), range(len(self.text)), self._threads)

    def _plain_blocks(self, fit: Fit | None) -> list[tuple[RowWords, Vectors | None]]:
        """The words of each block of little text, and its vectors if needed; cached for the next query."""
        if not self._plain:
            texts = (self.text.block(i).texts() for i in range(len(self.text)))
            self._plain = [(self._words.of(each), None) for each in texts]
        if fit is not None and self._plain[-1][1] is None:
            self._plain = [
                (words, fit.units_one_by_one(self._words.means(words, fit.weights))) for words, _ in self._plain
            ]
        return self._plain

    def _pool(
        self,
        wanted: Wanted,
        halves: Halves,
        fit: Fit | None,
        exact: Floats,
        bounds: Vectors,
        lengths: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], Vectors]:
        """The candidate rows, in ascending order, and their vectors."""
        highest = exact + highest_meaning(halves, bounds, lengths)
        highest[(bounds == NO_WORDS) & (exact == 0)] = -np.inf
        n, lowest = wanted.n_pool, -np.inf if wanted.threshold is None else wanted.threshold
        pool, scores = np.empty(0, np.int64), np.empty(0)
        for rows in from_the_highest(highest):
            rows = rows[highest[rows] >= lowest - MARGIN]
            if not len(rows):
                break
            pool = np.concatenate([pool, rows])
            scores = np.concatenate([scores, exact[rows] + halves.meaning(self._units(fit, rows), lengths[rows])])
            if n is not None and len(scores) >= n:
                lowest = max(lowest, nth_highest(scores, n))
        pool = np.sort(pool[scores >= lowest - TIE])
        return pool, self._units(fit, pool, one_by_one=True)

    def _units(self, fit: Fit | None, rows: NDArray[np.int64], *, one_by_one: bool = False) -> Vectors:
        if fit is None:
            return np.zeros((len(rows), 1), np.float32)
        if self._plain:
            return np.concatenate([units for _, units in self._plain if units is not None])[rows]
        means = means_of(self._words, (self.text.text(row) for row in rows.tolist()), fit)
        return fit.units_one_by_one(means) if one_by_one else fit.units(means)


def in_parts(texts: Iterable[str], most: int = 1 << 26) -> Iterator[list[str]]:
    """Texts in lists of about 64 million characters at most, since a row may have 64 MB; always at least one list.

    `in_parts(["abc", "d", "e"], 3)` -> ["abc"], ["d", "e"]
    """
    part: list[str] = []
    n_characters = 0
    for text in texts:
        if part and n_characters + len(text) > most:
            yield part
            part, n_characters = [], 0
        part.append(text)
        n_characters += len(text)
    yield part


def means_of(words: Words, texts: Iterable[str], fit: Fit) -> Vectors:
    """The means of the rows of texts, (n_texts, dim), with the word weights of a fit."""
    return np.concatenate([words.means(words.of(part), fit.weights) for part in in_parts(texts)])


def query_direction(words: PlainWords | FewWords, fit: Fit, query: str) -> QueryDirection:
    """The direction of a query in a collection."""
    return QueryDirection.of(fit, fit.units(words.means(words.of([query]), fit.weights))[0])


def highest_meaning(halves: Halves, bounds: Vectors, lengths: NDArray[np.int64]) -> Floats:
    """The meaning half of the scores of rows, if their cosines were as high as these bounds."""
    cosines = np.maximum(bounds, 0).astype(np.float64)
    if halves.direction is None:
        return np.zeros_like(cosines)
    if halves.mode == "meaning":
        return cosines
    spread = halves.direction.spread
    return cosines * shortened(lengths) / spread if spread > TINY else np.zeros_like(cosines)


def from_the_highest(highest: Floats) -> Iterator[NDArray[np.int64]]:
    """Rows by decreasing bound, AT_A_TIME at a time, without -inf; sorted in growing parts, since few are used."""
    left, n = np.flatnonzero(highest > -np.inf), 8 * AT_A_TIME
    while len(left):
        if len(left) > n:
            order = np.argpartition(-highest[left], n)
            part, left = left[order[:n]], np.sort(left[order[n:]])
        else:
            part, left = left, left[:0]
        part = part[np.lexsort((part, -highest[part]))]
        for start in range(0, len(part), AT_A_TIME):
            yield part[start : start + AT_A_TIME]
        n *= 8


def _plain_look(words: RowWords, units: Vectors | None, finder: TermFinder, direction: QueryDirection | None) -> Seen:
    bounds = np.full(len(words.ends), NO_WORDS, np.float32)
    if units is not None and direction is not None:
        bounds = np.where(units.any(axis=1), units @ direction.vector, NO_WORDS).astype(np.float32)
    matches = finder.matches(words.ids, words.ends, words.keys, words.key_offsets[1:])
    return Seen(bounds, np.minimum(words.lengths, LONGEST), matches)


class BulkLook:
    """The first pass over much text: scanner, bound, query words."""

    def __init__(self, words: FewWords, finder: TermFinder, fit: Fit | None, direction: QueryDirection | None) -> None:
        from siamese_cbow.kernels.means import bounds

        self._words, self._finder, self._bounds = words, finder, bounds
        self._low: Vectors | None = None
        if fit is not None and direction is not None:
            self._basis = fit.matrix @ main_directions(direction.vector, fit.sample[:512])
            self._low = of_all_columns(words.all_on(self._basis, fit.weights))

    def __call__(self, rows: Rows) -> Seen:
        """The result for a block."""
        seen = [(first, self._piece(piece)) for first, piece in _pieces(rows.text)]
        return Seen(
            np.concatenate([np.empty(0, np.float32), *(each.bounds for _, each in seen)]),
            np.concatenate([np.empty(0, np.int64), *(each.lengths for _, each in seen)]),
            joined((first, each.matches) for first, each in seen),
        )

    def _piece(self, piece: Bytes) -> Seen:
        words = self._words.of_lines(piece)
        bounds = np.full(len(words.ends), NO_WORDS, np.float32)
        if self._low is not None:
            extra, extra_offsets = self._words.unknown_on(words, self._basis)
            scratch = np.empty(COLUMNS, np.float32)
            ids = words.vector_ids, words.vector_ends
            self._bounds(self._low, *ids, of_all_columns(extra), extra_offsets, scratch, bounds)
        own = words.ids, words.ends, words.keys, words.key_offsets[1:]
        return Seen(bounds, np.minimum(words.lengths, LONGEST), self._finder.bulk_matches(*own))


def of_all_columns(rows: Vectors) -> Vectors:
    """Rows (n, COLUMNS or fewer) as (n, COLUMNS): if a model has fewer dimensions, the last columns are zeros."""
    if rows.shape[1] == COLUMNS:
        return rows
    low = np.zeros((len(rows), COLUMNS), np.float32)
    low[:, : rows.shape[1]] = rows
    return low


def main_directions(query: Vectors, vectors: Vectors) -> Vectors:
    """An orthonormal basis, (dim, at most COLUMNS): the query, then roughly the main directions of `vectors` (n, dim).

    Computed by a few rounds of the power method: any orthonormal basis gives a valid bound, a good one a tight bound.
    Rejected: `eigh`, which takes ten times as long (a hundred times if other programs keep the cores busy).
    """
    n = min(COLUMNS, len(query))
    basis: Vectors = np.random.default_rng(1).standard_normal((len(query), n), dtype=np.float32)
    for _ in range(4):
        basis, _ = np.linalg.qr(vectors.T @ (vectors @ basis))
    basis, triangle = np.linalg.qr(np.column_stack([query, basis])[:, :n])
    basis[:, 0] *= np.sign(triangle[0, 0])  # QR may flip the sign of the query
    return np.ascontiguousarray(basis)


def _pieces(text: bytes) -> Iterator[tuple[int, Bytes]]:
    """Whole lines of about PIECE_BYTES, each piece with the number of its first line."""
    data, start, line = np.frombuffer(text, np.uint8), 0, 0
    while start < len(text):
        end = text.rfind(b"\n", start, start + PIECE_BYTES) + 1 or text.find(b"\n", start + PIECE_BYTES) + 1
        yield line, data[start:end]
        line += int(np.count_nonzero(data[start:end] == ord("\n")))
        start = end


def in_threads(work: Callable[[In], Out], items: Iterable[In], threads: int) -> Iterator[Out]:
    """The results in order; a few items are in progress at a time."""
    if threads == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        running = []
        try:
            for item in items:
                running.append(pool.submit(work, item))
                if len(running) > threads:
                    yield running.pop(0).result()
            while running:
                yield running.pop(0).result()
        finally:
            for future in running:  # after an error: cancel the rest
                future.cancel()
