"""Which rows contain a word: what BM25 needs from an index, for all but the common words (`terms.COMMON`).

keys     (n_words,) uint64, sorted: the id of a word of the vocabulary, or OUTSIDE | key of any other word
starts   (n_words + 1,) int64: word i occurs in rows[starts[i] : starts[i + 1]]
rows     (n_postings,) int32, sorted for each word
counts   (n_postings,) uint8: how often it occurs there, at most MOST
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Offsets
from siamese_cbow.kernels.bm25 import MOST
from siamese_cbow.retrieval.row_words import RowWords
from siamese_cbow.retrieval.terms import Term

OUTSIDE = np.uint64(1 << 63)


class Postings(NamedTuple):
    """The postings of some rows."""

    keys: NDArray[np.uint64]
    starts: Offsets
    rows: NDArray[np.int32]
    counts: NDArray[np.uint8]

    def parts(self, term: Term) -> list[slice]:
        """Positions of the forms of a term in `rows` and `counts`; several may have the same row."""
        wanted = np.array([*term.ids, *(key | int(OUTSIDE) for key in term.keys)], np.uint64)
        slots = np.searchsorted(self.keys, wanted)
        places = [int(slot) for slot, key in zip(slots, wanted, strict=True)
                  if slot < len(self.keys) and self.keys[slot] == key]  # fmt: skip
        return [slice(int(self.starts[place]), int(self.starts[place + 1])) for place in places]


class QueryMemory:
    """Reusable buffers for one query over all rows of an index: zeroing a million rows takes longer than most queries.

    tally    (n_rows,) uint8: how often a term occurs in a row; zeros between terms
    touched  (n_rows,) int32: the rows that have it
    scores   (n_rows,) float64: BM25; zeros between queries
    scored   (n_rows,) int64: the rows that have a score
    about    (n_rows,) float32: approximate scores by codes
    maxima   (n_groups,) float32: their maximum in each group
    """

    def __init__(self, n_rows: int, group: int) -> None:
        self.tally, self.touched = np.zeros(n_rows, np.uint8), np.empty(n_rows, np.int32)
        self.scores, self.scored = np.zeros(n_rows, np.float64), np.empty(n_rows, np.int64)
        self.about = np.empty(n_rows, np.float32)
        self.maxima = np.empty(-(-n_rows // group), np.float32)


class PostingsWriter:
    """Collects postings of rows in order."""

    def __init__(self, common: frozenset[int]) -> None:
        self._common = np.array(sorted(common), np.int64)
        self._keys: list[NDArray[np.uint64]] = []
        self._rows: list[NDArray[np.int32]] = []
        self._counts: list[NDArray[np.uint8]] = []

    def add(self, first: int, words: RowWords) -> None:
        """The words of rows first, first + 1, ..."""
        rows = np.repeat(np.arange(len(words.ends)), np.diff(words.ends, prepend=0))
        other = np.repeat(np.arange(len(words.ends)), np.diff(words.key_offsets))
        counted = ~np.isin(words.ids, self._common)
        keys = np.concatenate([words.ids[counted].astype(np.uint64), words.keys | OUTSIDE])
        rows = np.concatenate([rows[counted], other])
        order = np.lexsort((keys, rows))
        keys, rows = keys[order], rows[order]
        is_first = np.append(True, (keys[1:] != keys[:-1]) | (rows[1:] != rows[:-1]))[: len(keys)]
        firsts = np.flatnonzero(is_first)
        counts = np.diff(np.append(firsts, len(keys)))
        self._keys.append(keys[firsts])
        self._rows.append((first + rows[firsts]).astype(np.int32))
        self._counts.append(np.minimum(counts, MOST).astype(np.uint8))

    def finished(self) -> Postings:
        """All postings, by word."""
        keys = np.concatenate([np.empty(0, np.uint64), *self._keys])
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        firsts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        rows = np.concatenate([np.empty(0, np.int32), *self._rows])[order]
        counts = np.concatenate([np.empty(0, np.uint8), *self._counts])[order]
        return Postings(keys[firsts], np.append(firsts, len(keys)).astype(np.int64), rows, counts)
