"""Counts words at scan speed, and gives each a provisional id so that the text is read only once.

    text -> Counter.scan -> ids in order of first sight      (now, while reading)
         -> merge        -> vocabulary in order of count     (when everything is read)
         -> provisional id -> id of the vocabulary, or -1    (`Merged.remaps`)

Several counters work side by side on the blocks of one corpus. Which block goes to which counter depends on the
block's position alone, so the result is the same for any number of threads.

Memory is bounded: a counter that holds more than `max_distinct` different words forgets the rarest of them, as
word2vec does, and notes on disk how that changed the provisional ids. Tokens of forgotten words count as unknown and
counts become lower bounds; `n_forgotten` says how many words it hit.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Counts, Ids, Offsets
from siamese_cbow.errors import InputError
from siamese_cbow.words import scanner
from siamese_cbow.words.slots import empty_slots, fill_slots
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary


class Counter:
    """The words of some blocks of text: how often each was seen, and a provisional id for each."""

    def __init__(self, tokenizer: Tokenizer, *, max_distinct: int, folder: Path) -> None:
        self._folder = folder  # for the notes of what was forgotten
        self._tables = scanner.tables(tokenizer)
        self._max_distinct = max_distinct
        self._slots = empty_slots(1 << 15)
        self._counts: Counts = np.zeros(1 << 15, np.int64)
        self._starts: Offsets = np.zeros((1 << 15) + 1, np.int64)
        self._letters: Bytes = np.empty(1 << 18, np.uint8)
        self.n_words = 0
        self.n_forgotten = 0
        self.forgets: list[Ids] = []  # on disk, one per time of forgetting: old provisional id -> new one, or -1

    @property
    def generation(self) -> int:
        """How many times words were forgotten: ids of one scan belong to the generation it ended in."""
        return len(self.forgets)

    @property
    def counts(self) -> Counts:
        """How often the word with provisional id i was seen, (n_words,)."""
        return self._counts[: self.n_words]

    def scan(self, lines: bytes) -> tuple[Ids, Offsets]:
        """Provisional ids of every word, and for each line the number of ids up to its end; -1 - that if it is empty.

        b"the cat\\n\\nthe dog\\n" -> [0, 1, 0, 2], [2, -3, 4]
        """
        if self.n_words > self._max_distinct:
            self._forget()
        text = np.frombuffer(lines, np.uint8)
        ids = np.empty(len(text), np.int32)
        ends = np.empty(lines.count(b"\n"), np.int64)
        done = scanner.Progress(0, 0, 0, self.n_words, int(self._starts[self.n_words]))
        while True:
            done = scanner.count(
                text, self._tables, self._slots, self._counts, self._letters, self._starts, ids, ends, done
            )
            self.n_words = int(done.n_words)
            if done.position == len(text):
                return ids[: done.n_ids].copy(), ends
            self._grow()

    def hashes(self) -> NDArray[np.uint64]:
        """The hash of each word, (n_words,), by provisional id."""
        used = self._slots[self._slots[:, 1] != 0]
        hashes = np.empty(self.n_words, np.uint64)
        hashes[used[:, 1].astype(np.int64) - 1] = used[:, 0]
        return hashes

    def words(self, ids: NDArray[np.integer[Any]]) -> list[bytes]:
        """The UTF-8 bytes of the words with these provisional ids."""
        letters = self._letters.tobytes()
        starts, ends = self._starts[ids].tolist(), self._starts[ids + 1].tolist()
        return [letters[start:end] for start, end in zip(starts, ends, strict=True)]

    def remaps(self, last: Ids) -> list[Ids]:
        """From the final ids of today's provisional ids to those of every generation, (generation + 1) arrays.

        An id of an early generation goes through all later times of forgetting.
        """
        remaps = [last]
        for forget in reversed(self.forgets):
            later = np.append(remaps[-1], np.int32(-1))  # [-1] is -1: what was forgotten stays unknown
            remaps.append(on_disk(self._folder, later[forget]))
        return remaps[::-1]

    def _grow(self) -> None:
        """Twice the room; the hash table is filled anew, since a word's place depends on its size."""
        hashes = self.hashes()
        self._slots = empty_slots(len(self._slots))
        fill_slots(self._slots, hashes)
        self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        self._starts = np.concatenate([self._starts, np.zeros_like(self._starts)])
        self._letters = np.concatenate([self._letters, np.empty_like(self._letters)])

    def _forget(self) -> None:
        """Drops the rarest words until at most half of the allowed number is left."""
        counts = self.counts
        threshold = np.sort(counts)[-max(1, self._max_distinct // 2)]
        kept = counts > threshold
        renumbered = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        hashes = self.hashes()[kept]
        lengths = np.diff(self._starts[: self.n_words + 1])
        letters = self._letters[: self._starts[self.n_words]][np.repeat(kept, lengths)]
        n_kept = int(kept.sum())
        self.n_forgotten += self.n_words - n_kept
        self._counts[:n_kept], self._counts[n_kept:] = counts[kept], 0
        self._starts[1 : n_kept + 1] = np.cumsum(lengths[kept])
        self._letters[: len(letters)] = letters
        self._slots = empty_slots(len(self._slots) // 2)
        fill_slots(self._slots, hashes)
        self.n_words = n_kept
        self.forgets.append(on_disk(self._folder, renumbered))


@dataclass(frozen=True)
class Merged:
    """The vocabulary of several counters."""

    vocabulary: Vocabulary
    remaps: list[list[Ids]]  # [counter][generation]: provisional id -> id of the vocabulary, -1 for none
    n_distinct: int  # different words seen, rare ones included


def merge(counters: list[Counter], *, min_count: int, max_words: int | None, vocabulary: Vocabulary | None) -> Merged:
    """One vocabulary of what all counters saw; with a vocabulary given, that one, with this corpus's ids for it."""
    hashes, first, inverse = np.unique(
        np.concatenate([counter.hashes() for counter in counters]), return_index=True, return_inverse=True
    )
    totals = np.zeros(len(hashes), np.int64)
    np.add.at(totals, inverse, np.concatenate([counter.counts for counter in counters]))
    bounds = np.cumsum([0] + [counter.n_words for counter in counters])

    def words(distinct: NDArray[np.int64]) -> list[bytes]:
        """The UTF-8 bytes of some of the different words, taken from the first counter that saw each."""
        owners = np.searchsorted(bounds, first[distinct], side="right") - 1
        ids = first[distinct] - bounds[owners]
        found: list[bytes] = [b""] * len(distinct)
        for owner, counter in enumerate(counters):
            places = np.flatnonzero(owners == owner)
            for place, word in zip(places.tolist(), counter.words(ids[places]), strict=True):
                found[place] = word
        return found

    final = np.full(len(hashes), -1, np.int32)
    if vocabulary is None:
        _check_some_word(totals, words, min_count)
        frequent = np.flatnonzero(totals >= min_count)
        spelled = [letters.decode("utf-8") for letters in words(frequent)]
        # Strings stand in the order of their UTF-8 bytes; sorting by count leaves that order among equals.
        by_word = np.array(sorted(range(len(spelled)), key=spelled.__getitem__), np.int64)
        order = by_word[np.argsort(-totals[frequent[by_word]], kind="stable")][:max_words]
        kept = frequent[order]
        vocabulary = Vocabulary([spelled[i] for i in order.tolist()], totals[kept])
        final[kept] = np.arange(len(kept), dtype=np.int32)
    else:
        index = vocabulary.index
        seen = words(np.arange(len(hashes)))
        final[:] = [index.get(letters.decode("utf-8"), -1) for letters in seen]
        if not (final >= 0).any():
            raise InputError(f"no word of the text is among the {len(vocabulary):,} of the vocabulary given")
    last = [final[inverse[start:end]] for start, end in pairwise(bounds)]
    remaps = [counter.remaps(ids) for counter, ids in zip(counters, last, strict=True)]
    return Merged(vocabulary, remaps, len(hashes))


def _check_some_word(totals: Counts, words: Callable[[NDArray[np.int64]], list[bytes]], min_count: int) -> None:
    if not len(totals):
        raise InputError("no word in the text; expected at least one sentence with one word")
    if totals.max() < min_count:
        most = totals.argmax().reshape(1)
        frequent = words(most)[0].decode("utf-8")
        raise InputError(
            f"no word occurs {min_count} times (most frequent: {frequent!r}, {int(totals.max())}); "
            "try a smaller --min-count or more text"
        )


def on_disk(folder: Path, values: Ids) -> Ids:
    """The same array in a file of its own, so that the system can take its memory back."""
    handle, name = tempfile.mkstemp(suffix=".npy", dir=folder)
    os.close(handle)
    array = np.lib.format.open_memmap(name, mode="w+", dtype=values.dtype, shape=values.shape)
    array[:] = values
    return array
