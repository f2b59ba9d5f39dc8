"""All counters of a corpus: a handful for its blocks, and as many again for each language beyond the first.

In groups of translations each column is of another language, and its words are counted apart:

    the house · das haus        en: the 0, house 1        de: das 0, haus 1
    provisional ids             0 2 · 1 3                 (id in its language) x (number of languages) + (language)

An id tells its language, so neither the spool nor the writer of streams has to know of languages. In the end the
vocabularies stand one after the other, each word with its language: en:the en:house de:das de:haus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids, Offsets
from siamese_cbow.errors import InputError
from siamese_cbow.stream.counting import Counter, Merged, merge, on_disk
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

# How many counters share the blocks, and so how many threads can count at once: a constant, because a block's
# counter must not depend on the number of threads. Four tables fit the cache better than eight.
COUNTERS = 4


class Counters:
    """The counters of a corpus: `of_blocks` take turns at its blocks, `merge` makes one vocabulary of them."""

    def __init__(self, tokenizer: Tokenizer, languages: Sequence[str], *, max_distinct: int, folder: Path) -> None:
        self._languages, self._folder = languages, folder
        n_columns = max(1, len(languages))
        share = max(1, max_distinct // (COUNTERS * n_columns))
        self._columns = [
            [Counter(tokenizer, max_distinct=share, folder=folder) for _ in range(COUNTERS)] for _ in range(n_columns)
        ]  # [language][which of the blocks]
        self._groups = [GroupCounter(columns) for columns in zip(*self._columns, strict=True)]

    @property
    def of_blocks(self) -> Sequence[Counter] | Sequence[GroupCounter]:
        """Block i is for counter i % COUNTERS."""
        return self._groups if self._languages else self._columns[0]

    @property
    def n_forgotten(self) -> int:
        """Words that were forgotten while counting."""
        return sum(counter.n_forgotten for column in self._columns for counter in column)

    def merge(self, *, min_count: int, max_words: int | None, vocabulary: Vocabulary | None) -> Merged:
        """One vocabulary of all; the limits apply to each language. A vocabulary that is given is used as it is."""
        if not self._languages:
            return merge(self._columns[0], min_count=min_count, max_words=max_words, vocabulary=vocabulary)
        merged = []
        for language, column in zip(self._languages, self._columns, strict=True):
            part = vocabulary.of_language(language)[0] if vocabulary is not None else None
            try:
                merged.append(merge(column, min_count=min_count, max_words=max_words, vocabulary=part))
            except InputError as error:
                raise InputError(f"language {language}: {error}") from error
        if vocabulary is None:
            parts = [one.vocabulary for one in merged]
            vocabulary = Vocabulary.joint(dict(zip(self._languages, parts, strict=True)))
        vocabulary = replace(vocabulary, languages=tuple(self._languages))
        final = [vocabulary.of_language(language)[1] for language in self._languages]
        remaps = [
            [self._remap(which, generations, merged, final) for generations in group.generations]
            for which, group in enumerate(self._groups)
        ]
        return Merged(vocabulary, remaps, sum(one.n_distinct for one in merged))

    def _remap(
        self, which: int, generations: Sequence[int], merged: Sequence[Merged], final: Sequence[NDArray[np.int64]]
    ) -> Ids:
        """Provisional id -> id of the joint vocabulary, for the blocks of a counter while these generations lasted."""
        found = [one.remaps[which][generation] for one, generation in zip(merged, generations, strict=True)]
        remap = np.full((max(map(len, found)), len(found)), -1, np.int32)
        for column, (part, ids) in enumerate(zip(found, final, strict=True)):
            remap[: len(part), column] = np.append(ids, -1)[part]  # [-1] is -1: unknown stays unknown
        return on_disk(self._folder, remap.ravel())


class GroupCounter:
    """A counter for each column of groups, with the face of one."""

    def __init__(self, columns: Sequence[Counter]) -> None:
        self._columns = columns
        self.generations: list[tuple[int, ...]] = []  # of the columns; a new entry when one of them has forgotten words

    @property
    def generation(self) -> int:
        """Which of `generations` the ids of the last scan belong to."""
        return len(self.generations) - 1

    def scan(self, lines: bytes) -> tuple[Ids, Offsets]:
        """As `Counter.scan`, for groups that all have a line for each column, and an empty line after each group.

        b"the cat\\ndie katze\\n\\n" -> [0, 2, 1, 3], [2, 4, -5]
        """
        n = len(self._columns)
        members = lines.split(b"\n")[:-1]
        found = [
            counter.scan(b"\n".join([*members[column :: n + 1], b""])) for column, counter in enumerate(self._columns)
        ]
        now = tuple(counter.generation for counter in self._columns)
        if now not in self.generations[-1:]:
            self.generations.append(now)
        return _interleaved(found)


def _interleaved(found: Sequence[tuple[Ids, Offsets]]) -> tuple[Ids, Offsets]:
    """Ids and line ends of each column, as those of groups.

    columns ([0, 1], [2]) and ([0], [1]) -> [0, 2, 1], [2, 3, -4]
    """
    n = len(found)
    lengths = np.zeros((len(found[0][1]), n + 1), np.int64)  # the last column is the empty line after each group
    for column, (_, ends) in enumerate(found):
        lengths[:, column] = np.diff(ends, prepend=0)
    columns = np.repeat(np.tile(np.arange(n + 1, dtype=np.int16), len(lengths)), lengths.ravel())
    joint = np.empty(len(columns), np.int32)
    for column, (ids, _) in enumerate(found):
        joint[columns == column] = ids * n + column
    ends = np.cumsum(lengths)
    ends[n :: n + 1] = -1 - ends[n :: n + 1]
    return joint, ends
