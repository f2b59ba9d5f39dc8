"""Which rows hold a word: what BM25 needs of an index, for every word but the common ones (`terms.COMMON`).

keys     (n_words,) uint64, rising: the id of a word of the vocabulary, or OUTSIDE | key of any other word
starts   (n_words + 1,) int64: word i stands in rows[starts[i] : starts[i + 1]]
rows     (n_postings,) int32, rising for each word
counts   (n_postings,) uint8: how often it stands there, MOST at most
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Offsets
from siamese_cbow.retrieval.row_words import RowWords
from siamese_cbow.retrieval.terms import MOST, Matches, Term

OUTSIDE = np.uint64(1 << 63)


class Postings(NamedTuple):
    """The postings of some rows."""

    keys: NDArray[np.uint64]
    starts: Offsets
    rows: NDArray[np.int32]
    counts: NDArray[np.uint8]

    def matches(self, terms: Sequence[Term]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each term the rows that hold it, rising, and how often."""
        return [self._of(term) for term in terms]

    def _of(self, term: Term) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        wanted = np.array([*term.ids, *(key | int(OUTSIDE) for key in term.keys)], np.uint64)
        slots = np.searchsorted(self.keys, wanted)
        places = [int(slot) for slot, key in zip(slots, wanted, strict=True)
                  if slot < len(self.keys) and self.keys[slot] == key]  # fmt: skip
        parts = [slice(int(self.starts[place]), int(self.starts[place + 1])) for place in places]
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        rows = np.concatenate([self.rows[part] for part in parts]).astype(np.int64)
        counts = np.concatenate([self.counts[part] for part in parts]).astype(np.int64)
        if len(parts) == 1:
            return rows, counts
        if rows.min() < 0:
            return rows, counts  # damaged, as the caller will see
        together = np.bincount(rows, counts)  # forms of one word may stand in the same row
        found = np.flatnonzero(together)
        return found, np.minimum(together[found], MOST).astype(np.int64)


def as_matches(found: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> Matches:
    """The rows of each term as one list."""
    return Matches(
        np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in found)]),
        np.repeat(np.arange(len(found)), [len(rows) for rows, _ in found]),
        np.concatenate([np.empty(0, np.int64), *(counts for _, counts in found)]),
    )


class PostingsWriter:
    """Gathers postings of rows that come in order."""

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
        """All of them, by word."""
        keys = np.concatenate([np.empty(0, np.uint64), *self._keys])
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        firsts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
        rows = np.concatenate([np.empty(0, np.int32), *self._rows])[order]
        counts = np.concatenate([np.empty(0, np.uint8), *self._counts])[order]
        return Postings(keys[firsts], np.append(firsts, len(keys)).astype(np.int64), rows, counts)
