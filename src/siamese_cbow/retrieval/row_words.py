"""Rows -> their words as arrays, on one of two paths that give the same numbers.

Little text is tokenised in plain Python, without waiting for Numba. Much text (`encoding.is_much`) goes through the
scanner as raw bytes, without creating strings.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Ids, Offsets, Vectors
from siamese_cbow.kernels.means_reference import mean_of_rows
from siamese_cbow.model.encoding import is_much
from siamese_cbow.model.model import Model
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.unknown_words import KEYS_ONLY, UnknownWords, finder, key_of

if TYPE_CHECKING:
    from siamese_cbow.kernels.ngram_rows import UnknownRows

WORTH_A_TABLE = 300_000  # bytes above which the scanner, if already loaded, repays building its table
AT_A_TIME = 1_024  # unknown words whose rows are in memory at a time


class RowWords(NamedTuple):
    """The words of some rows: known ones, unknown ones, and those that make up the vectors."""

    ids: Ids  # row i has ids[ends[i - 1] : ends[i]]
    ends: Offsets  # (n_rows,)
    keys: NDArray[np.uint64]  # unknown words: row i has keys[key_offsets[i] : key_offsets[i + 1]]
    key_offsets: Offsets  # (n_rows + 1,)
    vector_ids: Ids  # the words whose rows make up the vector: `ids`, or more with the fallback "prefix"
    vector_ends: Offsets  # (n_rows,)
    unknown: list[str] | UnknownWords  # words whose rows are composed, as `PlainWords` or `BulkWords` expect them

    @classmethod
    def joined(cls, parts: Sequence[RowWords]) -> RowWords:
        """The rows of several blocks of little text, concatenated."""
        if len(parts) == 1:
            return parts[0]
        ids, keys, vector_ids = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("ids", "keys", "vector_ids")
        )
        unknown = [word for part in parts if isinstance(part.unknown, list) for word in part.unknown]
        ends, vector_ends, key_ends = (
            np.cumsum(np.concatenate([np.diff(part_ends, prepend=0) for part_ends in of_parts]))
            for of_parts in zip(*((part.ends, part.vector_ends, part.key_offsets[1:]) for part in parts), strict=True)
        )
        return cls(ids, ends, keys, np.append(0, key_ends), vector_ids, vector_ends, unknown)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many words each row has, known or not."""
        return np.diff(self.ends, prepend=0) + np.diff(self.key_offsets)


class Words(Protocol):
    """Texts -> words -> means of rows."""

    def of(self, texts: Sequence[str]) -> RowWords:
        """The words of some texts."""

    def means(self, words: RowWords, weights: Vectors) -> Vectors:
        """The mean of the rows of each text, each word's row times its weight; (n_texts, dim)."""


def words_of(model: Model, n_bytes: int) -> PlainWords | FewWords:
    """The path for a text of this size, few rows of which are encoded."""
    is_loaded = "siamese_cbow.words.lookup" in sys.modules and n_bytes > WORTH_A_TABLE
    return few_words_of(model) if is_loaded or is_much(n_bytes, raw=True) else PlainWords(model)


def few_words_of(model: Model) -> PlainWords | FewWords:
    """The path for repeated calls with a few hundred rows: plain Python if the tokenizer has no scanner."""
    return FewWords(model) if type(model.tokenizer) is Tokenizer else PlainWords(model)


class PlainWords:
    """The path for little text."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._id_of = finder(model.vocabulary, "none", few=True)
        self._counts_as = finder(model.vocabulary, model.fallback, few=True)

    def of(self, texts: Sequence[str]) -> RowWords:
        """The words of some texts."""
        model, has_rows = self._model, self._model.fallback == "ngrams"
        ids, counted, keys, composed = list[int](), list[int](), list[int](), list[str]()
        ends, counted_ends, key_ends = list[int](), list[int](), [0]
        for text in texts:
            words = model.tokenizer.words(text)
            known = [(word, self._id_of(word)) for word in words]
            unknown = [word for word, i in known if i is None]
            ids += [i for _, i in known if i is not None]
            keys += map(key_of, unknown)
            if has_rows:
                composed += unknown
            if model.fallback == "prefix":
                counted += [i for word in words if (i := self._counts_as(word)) is not None]
            ends.append(len(ids))
            counted_ends.append(len(counted))
            key_ends.append(len(keys))
        own = np.array(ids, np.int32), np.array(ends, np.int64)
        made_of = (np.array(counted, np.int32), np.array(counted_ends, np.int64)) if model.fallback == "prefix" else own
        return RowWords(*own, np.array(keys, np.uint64), np.array(key_ends, np.int64), *made_of, composed)

    def means(self, words: RowWords, weights: Vectors) -> Vectors:
        """The mean of the rows of each text."""
        table, unknown = _Weighted(self._model, weights), words.unknown
        assert isinstance(unknown, list)
        starts, offsets = np.append(0, words.vector_ends), words.key_offsets
        rows = [
            mean_of_rows(
                table,
                words.vector_ids[starts[i] : starts[i + 1]],
                self._model.dim,
                unknown=self._model.ngrams.rows_of(unknown[offsets[i] : offsets[i + 1]]) if unknown else None,
            )
            for i in range(len(words.ends))
        ]
        return np.array(rows, np.float32).reshape(-1, self._model.dim)


class _Weighted:
    """Rows times the weights of their words, computed on demand."""

    def __init__(self, model: Model, weights: Vectors) -> None:
        self._rows, self._weights = model.rows, weights

    def take(self, ids: Ids, axis: int = 0, /) -> Vectors:
        rows: Vectors = self._rows.take(ids, axis) * self._weights[ids, np.newaxis]
        return rows


class BulkWords:
    """The path for much text; thread-safe once `means` has been called with the final weights."""

    def __init__(self, model: Model) -> None:
        from siamese_cbow.words.lookup import Lookup

        self._model, self._has_rows = model, model.fallback == "ngrams"
        n_buckets = model.ngrams.n_buckets if self._has_rows else KEYS_ONLY
        self._own = Lookup(model.vocabulary, model.tokenizer, "ngrams", n_buckets)
        self._weighted: tuple[Vectors, Vectors] | None = None

    @cached_property
    def _prefix(self) -> object:
        from siamese_cbow.words.lookup import Lookup

        return Lookup(self._model.vocabulary, self._model.tokenizer, "prefix")

    def of(self, texts: Sequence[str]) -> RowWords:
        """The words of some texts."""
        from siamese_cbow.words.lookup import as_lines

        return self.of_lines(as_lines(texts) if len(texts) else np.empty(0, np.uint8))

    def of_lines(self, lines: Bytes) -> RowWords:
        """The words of lines of valid UTF-8, including a final newline."""
        ends = np.empty(np.count_nonzero(lines == ord("\n")), np.int64)
        ids, unknown = self._own.look_up(lines, ends)
        own = ids, ends
        if self._model.fallback == "prefix":
            counted_ends = np.empty_like(ends)
            counted = self._prefix.look_up(lines, counted_ends)[0]  # type: ignore[attr-defined]
            own = counted, counted_ends
        return RowWords(ids, ends, unknown.keys, unknown.offsets, *own, unknown)

    def unknown_on(self, words: RowWords, basis: Vectors) -> tuple[Vectors, Offsets]:
        """The vectors of unknown words projected onto a basis (dim, n): (n_unknown, n), and where each row's begin."""
        unknown, parts = words.unknown, [np.empty((0, basis.shape[1]), np.float32)]
        if not self._has_rows:
            return parts[0], np.zeros_like(words.key_offsets)
        assert isinstance(unknown, UnknownWords)
        for first in range(0, len(unknown.keys), AT_A_TIME):
            last = min(first + AT_A_TIME, len(unknown.keys))
            some = unknown._replace(starts=unknown.starts[first : last + 1], keys=unknown.keys[first:last])
            parts.append(self._model.ngrams.rows(some) @ basis)
        return np.concatenate(parts), words.key_offsets

    def _composed(self, words: RowWords) -> UnknownRows | None:
        """The unknown words, whose rows `kernels.means` composes on demand: all those of a long row take gigabytes."""
        if not self._has_rows:
            return None
        assert isinstance(words.unknown, UnknownWords)
        return self._model.ngrams.as_asked_for(words.unknown)

    def means(self, words: RowWords, weights: Vectors) -> Vectors:
        """The mean of the rows of each text."""
        from siamese_cbow.kernels.means import means

        table, ids = self._table(words.vector_ids, weights)
        out = np.empty((len(words.ends), self._model.dim), np.float32)
        means(table, ids, np.append(0, words.vector_ends), False, out, self._composed(words))
        return out

    def _table(self, ids: Ids, weights: Vectors) -> tuple[Vectors, Ids]:
        """All rows times the weights of their words, cached for the same weights; and the ids in this table."""
        if self._weighted is None or self._weighted[0] is not weights:
            same = bool((weights == 1).all())
            table = self._model.vectors if same else self._model.vectors * weights[:, np.newaxis]
            self._weighted = weights, table
        return self._weighted[1], ids


class FewWords(BulkWords):
    """The same with weighted copies of only the rows in use."""

    def all_on(self, basis: Vectors, weights: Vectors) -> Vectors:
        """All rows, weighted and projected onto a basis (dim, n): (n_words, n)."""
        return (self._model.vectors @ basis) * weights[:, np.newaxis]

    def _table(self, ids: Ids, weights: Vectors) -> tuple[Vectors, Ids]:
        own, places = np.unique(ids, return_inverse=True)
        return self._model.rows.take(own, 0) * weights[own, np.newaxis], places.astype(np.int32)
