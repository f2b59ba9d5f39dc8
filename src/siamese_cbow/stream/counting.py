"""Counts words at scan speed and gives each a provisional id, so that the text is read only once.

    text -> WordCounter.scan -> ids in order of appearance       (now, while reading)
         -> merge            -> vocabulary in order of count     (when everything is read)
         -> provisional id   -> id of the vocabulary, or -1      (`Merged.remaps`)

Several counters work in parallel on the blocks of one corpus. Which block goes to which counter depends on the
block's position alone, so the result is the same for any number of threads.

In groups of translations, each column has its own language and its words are counted separately. Finally the
vocabularies are concatenated, each word with its language: en:the en:house de:das de:haus.

Memory is bounded: a counter that holds more than `max_distinct` distinct words of a language drops the rarest of
them, as word2vec does, and records on disk how that changed the provisional ids. Tokens of dropped words count as
unknown, and counts become lower bounds; `n_forgotten` is the number of such words.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts, Ids, Offsets, as_mapped
from siamese_cbow.errors import InputError
from siamese_cbow.words.hash_table import empty_slots, fill_slots, seeds
from siamese_cbow.words.scanner import Cursor, WordTable, count, normal_lines, scratch, tables, word_table
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

# How many counters share the blocks, and so how many threads can count at once: a constant, because a block's
# counter must not depend on the number of threads. Four tables fit the cache better than eight.
COUNTERS = 4
NEWLINE = ord("\n")


def word_counters(tokenizer: Tokenizer, *, n_languages: int, max_distinct: int, folder: Path) -> list[WordCounter]:
    """The counters of a corpus, which take turns at its blocks; together they hold `max_distinct` words."""
    share = max(1, max_distinct // (COUNTERS * max(1, n_languages)))
    return [WordCounter(tokenizer, n_languages=n_languages, max_distinct=share, folder=folder) for _ in range(COUNTERS)]


class WordCounter:
    """The words of some blocks of text: how often each was seen, and a provisional id for each.

    n_languages   columns of each group; 0 for text of one language
    max_distinct  words of each language
    folder        for the records of dropped words
    """

    def __init__(self, tokenizer: Tokenizer, *, max_distinct: int, folder: Path, n_languages: int = 0) -> None:
        self._tokenizer, self._tables = tokenizer, tables(tokenizer)
        self._max_distinct, self._folder = max_distinct, folder
        self._seeds = seeds(n_languages + 1)  # a group ends with an empty line
        self._table = word_table(1 << 15)
        self._scratch = scratch()
        self._ids: Ids = np.empty(0, np.int32)  # room for the ids of a block
        self.n_words = 0
        self.n_forgotten = 0
        self.forgets: list[Ids] = []  # on disk, one for each drop: old provisional id -> new one, or -1

    @property
    def generation(self) -> int:
        """How many times words were dropped: the ids of a scan belong to the generation it ended in."""
        return len(self.forgets)

    @property
    def counts(self) -> Counts:
        """How often the word with provisional id i was seen, (n_words,)."""
        return self._table.counts[: self.n_words]

    @property
    def columns(self) -> NDArray[np.int16]:
        """The number of its language, (n_words,)."""
        return self._table.columns[: self.n_words]

    def scan(self, lines: bytes) -> tuple[Ids, Offsets]:
        """Provisional ids of all words, and for each line the number n of ids up to its end; -1 - n if it is empty.

        b"the cat\\n\\nthe dog\\n" -> [0, 1, 0, 2], [2, -3, 4]

        With languages, all groups have a line for each, and an empty line after them.
        """
        if self.n_words > self._max_distinct:
            self._forget()
        text = normal_lines(np.frombuffer(lines, np.uint8), self._tokenizer)
        if len(self._ids) < len(text):
            self._ids = np.empty(len(text) + len(text) // 8, np.int32)
        ids = self._ids  # reused: fresh memory comes page by page from the system
        ends = np.empty(np.count_nonzero(text == NEWLINE), np.int64)  # bytes.count takes five times as long
        cursor = Cursor(0, 0, 0, self.n_words, int(self._table.starts[self.n_words]))
        while True:
            cursor = count(text, self._tables, self._table, self._seeds, self._scratch, ids, ends, cursor)
            self.n_words = int(cursor.n_words)
            if cursor.position == len(text):
                return ids[: cursor.n_ids].copy(), ends
            self._grow()

    def hashes(self) -> NDArray[np.uint64]:
        """The hash of each word, (n_words,), by provisional id."""
        slots = self._table.slots
        used = slots[slots[:, 1] != 0]
        hashes = np.empty(self.n_words, np.uint64)
        hashes[used[:, 1].astype(np.int64) - 1] = used[:, 0]
        return hashes

    def words(self, ids: NDArray[np.integer[Any]]) -> list[bytes]:
        """The UTF-8 bytes of the words with these provisional ids."""
        letters = self._table.letters.tobytes()
        starts, ends = self._table.starts[ids].tolist(), self._table.starts[ids + 1].tolist()
        return [letters[start:end] for start, end in zip(starts, ends, strict=True)]

    def remaps(self, last: Ids) -> list[Ids]:
        """From the final ids of current provisional ids to those of every generation, (generation + 1) arrays.

        An id of an early generation passes through all later drops.
        """
        remaps = [last]
        for forget in reversed(self.forgets):
            later = np.append(remaps[-1], np.int32(-1))  # [-1] is -1: dropped words stay unknown
            remaps.append(_on_disk(self._folder, later[forget]))
        return remaps[::-1]

    def _grow(self) -> None:
        """Doubles the capacity; the hash table is refilled, because a word's slot depends on its size."""
        slots = empty_slots(len(self._table.slots))
        fill_slots(slots, self.hashes())
        twice = (np.concatenate([array, np.zeros_like(array)]) for array in self._table[1:])
        self._table = WordTable(slots, *twice)

    def _forget(self) -> None:
        """Drops the rarest words of a language that has too many, until at most half of the allowed number is left."""
        stays = np.ones(self.n_words, bool)
        for column in range(len(self._seeds)):
            counts = self.counts[own := self.columns == column]
            if len(counts) > self._max_distinct:
                stays[own] = counts > np.sort(counts)[-max(1, self._max_distinct // 2)]
        if stays.all():  # only all languages together exceed the limit
            return
        n, table = int(stays.sum()), self._table
        lengths = np.diff(table.starts[: self.n_words + 1])
        letters = table.letters[: table.starts[self.n_words]][np.repeat(stays, lengths)]
        slots = empty_slots(len(table.slots) // 2)
        fill_slots(slots, self.hashes()[stays])
        table.counts[:n], table.counts[n:] = self.counts[stays], 0
        table.columns[:n] = self.columns[stays]
        table.starts[1 : n + 1] = np.cumsum(lengths[stays])
        table.letters[: len(letters)] = letters
        renumbered = np.where(stays, np.cumsum(stays) - 1, -1).astype(np.int32)
        self.forgets.append(_on_disk(self._folder, renumbered))
        self.n_forgotten += self.n_words - n
        self._table, self.n_words = table._replace(slots=slots), n


@dataclass(frozen=True)
class Merged:
    """The vocabulary of several counters."""

    vocabulary: Vocabulary
    remaps: list[list[Ids]]  # [counter][generation]: provisional id -> id of the vocabulary, -1 for none
    n_distinct: int  # distinct words seen, rare ones included
    min_count: int  # as given, or by the size of the text


class Counted(Protocol):
    """Counted words: a `WordCounter`, or the sum of several."""

    n_words: int

    @property
    def counts(self) -> Counts:
        """How often each was seen, (n_words,)."""

    @property
    def columns(self) -> NDArray[np.int16]:
        """The number of its language, (n_words,)."""

    def hashes(self) -> NDArray[np.uint64]:
        """The hash of each, (n_words,)."""

    def words(self, ids: NDArray[np.integer[Any]]) -> list[bytes]:
        """The spelling of some."""

    def remaps(self, last: Ids) -> list[Ids]:
        """From the final ids of current provisional ids to those of every generation."""


def merge(
    counters: Sequence[Counted],
    *,
    min_count: int | None,
    max_words: int | None,
    vocabulary: Vocabulary | None,
    languages: Sequence[str] = (),
) -> Merged:
    """One vocabulary from all counters; the limits apply to each language. A given vocabulary is not changed.

    min_count  None: by the size of the text, see `min_count_of`
    """
    _, first, inverse = np.unique(
        np.concatenate([counter.hashes() for counter in counters]), return_index=True, return_inverse=True
    )
    totals = np.zeros(len(first), np.int64)
    np.add.at(totals, inverse, np.concatenate([counter.counts for counter in counters]))
    columns = np.concatenate([counter.columns for counter in counters])[first]
    bounds = np.cumsum([0] + [counter.n_words for counter in counters])

    def words(distinct: NDArray[np.int64]) -> list[str]:
        """Some of the distinct words, each spelled as the first counter that saw it has it."""
        owners = np.searchsorted(bounds, first[distinct], side="right") - 1
        ids = first[distinct] - bounds[owners]
        spelled = [""] * len(distinct)
        for owner, counter in enumerate(counters):
            places = np.flatnonzero(owners == owner)
            for place, word in zip(places.tolist(), counter.words(ids[places]), strict=True):
                spelled[place] = word.decode("utf-8")
        return spelled

    min_count = min_count_of(int(totals.sum())) if min_count is None else min_count
    final = np.full(len(first), -1, np.int32)
    parts: dict[str, Vocabulary] = {}
    for column, language in enumerate(languages or ("",)):
        own = np.flatnonzero(columns == column)
        if vocabulary is None:
            chosen, part = _most_frequent(own, totals[own], words, min_count, max_words, language)
            final[chosen] = np.arange(len(chosen)) + sum(map(len, parts.values()))
            parts[language] = part
        else:
            final[own] = _ids_in(vocabulary, words(own), language)
    if vocabulary is None:
        vocabulary = Vocabulary.joint(parts) if languages else parts[""]
    elif languages:
        vocabulary = Vocabulary(vocabulary.words, vocabulary.counts, tuple(languages))
    last = [final[inverse[start:end]] for start, end in pairwise(bounds)]
    remaps = [counter.remaps(ids) for counter, ids in zip(counters, last, strict=True)]
    return Merged(vocabulary, remaps, len(first), min_count)


def min_count_of(n_tokens: int) -> int:
    """How often a word must occur in a text of this many words to enter the vocabulary: `min_count_of(3_000_000)` -> 2.

    A word outside the vocabulary still gets a vector from its letters; for a word seen a few times in a small text, a
    learnt vector is better.
    """
    return next((count for limit, count in ((2_000_000, 1), (20_000_000, 2)) if n_tokens < limit), 5)


def _most_frequent(
    distinct: NDArray[np.int64],
    totals: Counts,
    words: Callable[[NDArray[np.int64]], list[str]],
    min_count: int,
    max_words: int | None,
    language: str,
) -> tuple[NDArray[np.int64], Vocabulary]:
    """The words of a language that occur often enough, in vocabulary order."""
    where = f"language {language}: " if language else ""
    if not len(totals):
        raise InputError(
            f"{where}the text contains no words; expected at least one: check the file and, for a table, --text-column"
        )
    if totals.max() < min_count:
        most = words(distinct[totals.argmax().reshape(1)])[0]
        raise InputError(
            f"{where}no word occurs {min_count} times (most frequent: {most!r}, {int(totals.max())}); "
            "try a smaller --min-count or more text"
        )
    frequent = np.flatnonzero(totals >= min_count)
    spelled = words(distinct[frequent])
    # Strings are in the order of their UTF-8 bytes; sorting by count leaves that order among equals.
    by_word = np.array(sorted(range(len(spelled)), key=spelled.__getitem__), np.int64)
    order = by_word[np.argsort(-totals[frequent[by_word]], kind="stable")][:max_words]
    chosen = frequent[order]
    return distinct[chosen], Vocabulary([spelled[i] for i in order.tolist()], totals[chosen])


def _ids_in(vocabulary: Vocabulary, words: Sequence[str], language: str) -> list[int]:
    """The ids of a language's words in a given vocabulary; -1 for words it lacks."""
    prefix = f"{language}:" if language else ""
    ids = [vocabulary.index.get(prefix + word, -1) for word in words]
    if max(ids, default=-1) < 0:
        where = f"language {language}: " if language else ""
        n = sum(word.startswith(prefix) for word in vocabulary.words)
        advice = "check that their language and case match, or leave out --vocabulary"
        raise InputError(f"{where}no word of the text is among the {n:,} words of the given vocabulary; {advice}")
    return ids


def _on_disk(folder: Path, values: Ids) -> Ids:
    """The array, mapped from a file of its own, so that the system can reclaim its memory."""
    handle, name = tempfile.mkstemp(suffix=".npy", dir=folder)
    os.close(handle)
    return as_mapped(Path(name), values)
