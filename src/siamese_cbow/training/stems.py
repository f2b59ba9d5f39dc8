"""Words of one stem learn together: each has, beside its own row, a row that it shares with the others.

    play, plays, playing  ->  play      own row + row of "play"
    guitar                ->  guitar    nothing else has this stem: own row only

While training, a word stands for the sum of its two rows; in the model there is one row again, the sum. What a frequent
form has learnt so helps the rare ones, and forms of one word start out near each other. (Hashed pieces of words, as in
fastText, gave less than stems and cost much more: results/quality_search.md.)

Stems are those of the Snowball algorithms, for the languages that these know; words of other languages share nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from siamese_cbow.base.arrays import Ids, Vectors
from siamese_cbow.kernels.tables import OBJECTIVES
from siamese_cbow.training.recipe import Recipe
from siamese_cbow.words.vocabulary import Vocabulary


class Stems(NamedTuple):
    """The second row of every word."""

    rows: Ids  # (n_words,) its number, counted from the last word's on; -1: none. Empty where nothing is shared
    n_shared: int  # how many such rows there are

    def fold(self, vectors: Vectors) -> Vectors:
        """One row per word: rows [[1], [2], [5]], both words share the third -> [[6], [7]]. Always a copy."""
        n_words = len(vectors) - self.n_shared
        folded = vectors[:n_words].copy()
        if self.n_shared:
            shares = self.rows >= 0
            folded[shares] += vectors[self.rows[shares]]
        return folded

    def unfold(self, words: Sequence[int], rows: Vectors, vectors: Vectors) -> None:
        """The other way round: writes rows of these words into `vectors`, which has all rows.

        What words of one stem have in common (their mean) goes into the shared row, the rest into their own:
        words 0 and 1 share row 2, rows [[4], [6]] -> [[-1], [1], [5]]
        """
        vectors[words] = rows
        if not self.n_shared:
            return
        shares = self.rows[words] >= 0
        first_shared = len(vectors) - self.n_shared
        stems = self.rows[words][shares] - first_shared  # of the words that share one, counted from 0
        sums = np.zeros((self.n_shared, rows.shape[1]), np.float32)
        np.add.at(sums, stems, rows[shares])
        n_words = np.maximum(1, np.bincount(stems, minlength=self.n_shared)).astype(np.float32)
        means: Vectors = sums / n_words[:, None]
        vectors[first_shared:] = means
        vectors[np.asarray(words)[shares]] -= means[stems]


NO_STEMS = Stems(np.empty(0, np.int32), 0)


def stems_of(recipe: Recipe, vocabulary: Vocabulary, language: str = "en") -> Stems:
    """Which words share a row in this recipe.

    Not where scores are dot products: a mean of rows is not the mean of words, as some have two, and only cosines don't
    mind.
    """
    if not recipe.share_stems or not OBJECTIVES[recipe.objective].unit:
        return NO_STEMS
    return group(list(word_stems(vocabulary, language)))


def group(stems: Sequence[str | None]) -> Stems:
    """A row for each stem of two words or more: stems a b a of three words -> rows 3 -1 3, 1 shared.

    Rows are numbered in order of their first word, so that the same vocabulary gives the same rows.
    """
    counts = Counter(stem for stem in stems if stem is not None)
    numbers: dict[str, int] = {}
    rows = np.full(len(stems), -1, np.int32)
    for i, stem in enumerate(stems):
        if stem is not None and counts[stem] > 1:
            rows[i] = len(stems) + numbers.setdefault(stem, len(numbers))
    return Stems(rows, len(numbers)) if numbers else NO_STEMS


def word_stems(vocabulary: Vocabulary, language: str) -> Iterator[str | None]:
    """The stem of each word, None where its language has no stemmer: plays -> play; de:spielt -> de:spielt."""
    from Stemmer import Stemmer

    stemmers = {}
    for code in vocabulary.languages or (language,):
        with suppress(KeyError):
            stemmers[code] = Stemmer(code, 0)
    for word in vocabulary.words:
        code, _, bare = word.partition(":") if vocabulary.languages else (language, "", word)
        stemmer = stemmers.get(code)
        stem = None if stemmer is None else stemmer.stemWord(bare.lower())
        yield stem if stem is None or not vocabulary.languages else f"{code}:{stem}"
