"""The exact half of a search: the words of a query, how well rows match them by BM25, and postings for an index.

    QueryWords(model).terms("loud guitars")   ->   loud; guitars, with all its forms (guitar, guitars)

Words with the same stem are one term, if the language has a stemmer. A term has the ids of its forms in the vocabulary,
and the keys (`words.unknown_words.key_of`) of forms outside it: codes, numbers, names, and forms with common endings.
If the model has counts, words that make up more than 1 in 2,000 words of all text (the, of, and) are not terms: nearly
every row contains them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats, Ids, Offsets
from siamese_cbow.kernels.bm25 import MOST, idf, norms, saturated
from siamese_cbow.model.model import Model
from siamese_cbow.retrieval.row_words import RowWords
from siamese_cbow.text.languages import ASSUMED
from siamese_cbow.transform.adaptation import shares_of
from siamese_cbow.words.stemmers import stemmer_of
from siamese_cbow.words.unknown_words import key_of

# Rows shorter than half the mean length count as half of it: a heading of one query word should not beat a sentence
# with two.
SHORTEST = 0.5
COMMON = 5e-4  # share of all text; twice or half as much costs up to .01 of nDCG@10 on Cranfield
ENDINGS = ("", "s", "es", "ed", "ing", "'s", "n", "en", "e", "er")
LONGEST = 65_535  # words: the longest row that an index records


@dataclass(frozen=True)
class Term:
    """A word of a query in all its forms: `Term("guitars", (812, 2307), (9167442,), 1)`."""

    word: str  # as in the query
    ids: tuple[int, ...]
    keys: tuple[int, ...]
    count: int  # occurrences in the query


class Matches(NamedTuple):
    """Where terms occur: term terms[i] occurs counts[i] times in row rows[i]."""

    rows: NDArray[np.int64]
    terms: NDArray[np.int64]
    counts: NDArray[np.int64]


class QueryWords:
    """Turns queries into terms for one model; caches the stems of its words by first letter."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._stemmer = stemmer_of(model.info.language or ASSUMED)
        self._stems: dict[str, dict[str, list[int]]] = {}  # first letter -> stem -> ids

    def terms(self, query: str) -> list[Term]:
        """The terms of a query, in order; empty if all its words are common."""
        words = [word for word in self._model.tokenizer.words(query) if any(map(str.isalnum, word))]
        words = [word for word in words if self._model.vocabulary.id_of(word) not in self.common]
        counts: dict[str, int] = {}
        first: dict[str, str] = {}
        for word, stem in zip(words, self._stemmed(words), strict=True):
            counts[stem] = counts.get(stem, 0) + 1
            first.setdefault(stem, word)
        return [Term(first[stem], *self._forms(first[stem], stem), count) for stem, count in counts.items()]

    @cached_property
    def common(self) -> frozenset[int]:
        """The ids of words such as `the`; at most 1% of the words, so that a small vocabulary keeps some as terms."""
        shares = shares_of(self._model.vocabulary.counts)
        if shares is None:
            return frozenset()
        most = np.argsort(-shares, kind="stable")[: len(shares) // 100]
        return frozenset(most[shares[most] > COMMON].tolist())

    def _stemmed(self, words: Sequence[str]) -> list[str]:
        return list(words) if self._stemmer is None else self._stemmer.stemWords(list(words))

    def _forms(self, word: str, stem: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids of a word's forms in the vocabulary, and keys of some forms outside it."""
        own = self._model.vocabulary.id_of(word)
        if not word.isalpha():  # a number or a code has no other forms
            return ((own,), ()) if own is not None else ((), (key_of(word),))
        made = list(dict.fromkeys(base + ending for base in (word, stem) for ending in ENDINGS))
        forms = [form for form, other in zip(made, self._stemmed(made), strict=True) if other == stem]
        unknown = [form for form in forms if self._model.vocabulary.id_of(form) is None]
        # "severe" has the stem of "several", a common word, and an index has no postings of common words.
        known = (i for i in self._alike(word[0]).get(stem, []) if i not in self.common)
        return tuple(known), tuple(map(key_of, unknown))

    def _alike(self, letter: str) -> dict[str, list[int]]:
        """The words with this first letter, by stem. (Stemming changes the end of a word, never its beginning.)"""
        if letter not in self._stems:
            ids, words = self._by_letter.get(letter, []), self._model.vocabulary.words
            stems = self._stems[letter] = {}
            for i, stem in zip(ids, self._stemmed([words[i] for i in ids]), strict=True):
                stems.setdefault(stem, []).append(i)
        return self._stems[letter]

    @cached_property
    def _by_letter(self) -> dict[str, list[int]]:
        """The ids of words with each first letter."""
        by_letter: dict[str, list[int]] = {}
        for i, word in enumerate(self._model.vocabulary.words):
            by_letter.setdefault(word[:1], []).append(i)
        return by_letter


class TermFinder:
    """Finds terms in rows of `row_words.RowWords`."""

    def __init__(self, terms: Sequence[Term], n_words: int) -> None:
        self._term_of = np.full(n_words, -1, np.int16)  # the term of each word of the vocabulary
        for number, term in enumerate(terms):
            self._term_of[list(term.ids)] = number
        pairs = sorted((key, number) for number, term in enumerate(terms) for key in term.keys)
        self._keys = np.array([key for key, _ in pairs], np.uint64)
        self._key_terms = np.array([number for _, number in pairs], np.int64)
        self._n_terms = max(1, len(terms))

    def matches(
        self, ids: Ids, ends: NDArray[np.int64], keys: NDArray[np.uint64], key_ends: NDArray[np.int64]
    ) -> Matches:
        """Where terms occur in rows; row i has ids[ends[i - 1] : ends[i]], and unknown words likewise."""
        terms = self._term_of[ids]
        places = np.flatnonzero(terms >= 0)
        rows, found = np.searchsorted(ends, places, "right"), terms[places].astype(np.int64)
        if len(self._keys) and len(keys):
            slots = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            places = np.flatnonzero(self._keys[slots] == keys)
            rows = np.concatenate([rows, np.searchsorted(key_ends, places, "right")])
            found = np.concatenate([found, self._key_terms[slots[places]]])
        pairs, counts = np.unique(rows * self._n_terms + found, return_counts=True)
        return Matches(pairs // self._n_terms, pairs % self._n_terms, np.minimum(counts, MOST))

    def bulk_matches(
        self, ids: Ids, ends: NDArray[np.int64], keys: NDArray[np.uint64], key_ends: NDArray[np.int64]
    ) -> Matches:
        """The same in a kernel: a fifth of the time, because hardly any word is a term."""
        from siamese_cbow.kernels.row_scores import count_terms

        if len(self._keys) and np.isin(keys, self._keys).any():
            return self.matches(ids, ends, keys, key_ends)
        room = np.empty((3, len(ids)), np.int64)
        n = count_terms(self._term_of, ids, ends, np.zeros(self._n_terms, np.int64), room)
        return Matches(*room[:, :n])


def joined(parts: Iterable[tuple[int, Matches]]) -> Matches:
    """The matches of several blocks, each with the number of its first row."""
    listed = list(parts)
    return Matches(
        np.concatenate([np.empty(0, np.int64), *(first + found.rows for first, found in listed)]),
        np.concatenate([np.empty(0, np.int64), *(found.terms for _, found in listed)]),
        np.concatenate([np.empty(0, np.int64), *(found.counts for _, found in listed)]),
    )


def bm25(matches: Matches, terms: Sequence[Term], lengths: Floats, mean_length: float, n_rows: int) -> Floats:
    """The score of each match, (n_matches,); the score of a row is the sum over its matches.

    lengths  (n_matches,) the number of words in the row of each match
    n_rows   rows in the collection; they have `mean_length` words on average
    """
    weights = idf(np.bincount(matches.terms, minlength=len(terms)), n_rows) * [term.count for term in terms]
    return weights[matches.terms] * saturated(matches.counts, length_norms(lengths, mean_length))


def length_norms(lengths: Floats, mean_length: float) -> Floats:
    """The length normalisation of rows (`kernels.bm25`)."""
    return norms(np.maximum(lengths / max(mean_length, 1e-9), SHORTEST))


# In an index

OUTSIDE = np.uint64(1 << 63)


class Postings(NamedTuple):
    """The rows that contain each word, for all but the common words: the input of BM25 from an index.

    keys     (n_words,) sorted: the id of a word of the vocabulary, or OUTSIDE | key of any other word
    starts   (n_words + 1,) word i occurs in rows[starts[i] : starts[i + 1]]
    rows     (n_postings,) sorted for each word
    counts   (n_postings,) how often it occurs there, at most MOST
    """

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
    touched  (n_rows,) int32: the rows that contain it
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
