"""Words of one stem learn together: each has, beside its own row, a row that it shares with its kin.

    play, plays, playing  ->  play      own row + row of "play"
    guitar                ->  guitar    nothing else has this stem: own row only

While training, a word stands for the sum of its two rows; in the model there is one row again, the sum. What a frequent
form has learnt so helps the rare ones, and forms of one word start out near each other. (Hashed pieces of words, as in
fastText, gave less than stems and cost much more: results/quality_search.md.)

Stems are those of the Snowball algorithms, for the languages that these know; of others nothing is shared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from siamese_cbow.base.arrays import Ids, Vectors
from siamese_cbow.kernels.registry import OBJECTIVES
from siamese_cbow.training.recipe import SiameseCBOW
from siamese_cbow.words.vocabulary import Vocabulary


class Kin(NamedTuple):
    """The second row of every word."""

    rows: Ids  # (n_words,) its number, counted from the last word's on; -1: none. Empty where nothing is shared
    n_shared: int  # how many such rows there are

    def fold(self, vectors: Vectors) -> Vectors:
        """One row a word: rows [[1], [2], [5]], both words share the third -> [[6], [7]]. Always a copy."""
        n_words = len(vectors) - self.n_shared
        folded = vectors[:n_words].copy()
        if self.n_shared:
            related = self.rows >= 0
            folded[related] += vectors[self.rows[related]]
        return folded


ALONE = Kin(np.empty(0, np.int32), 0)


def kin_of(recipe: SiameseCBOW, vocabulary: Vocabulary, language: str = "en") -> Kin:
    """Which words share a row in this recipe.

    Not where scores are dot products: a mean of rows is not the mean of words, as some have two, and only cosines don't
    mind.
    """
    if not recipe.share_stems or not OBJECTIVES[recipe.objective].unit:
        return ALONE
    return group(list(stems(vocabulary, language)))


def group(stems: Sequence[str | None]) -> Kin:
    """A row for each stem of two words or more: stems a b a of three words -> rows 3 -1 3, 1 shared.

    Rows are numbered in order of their first word, so that the same vocabulary gives the same rows.
    """
    counts = Counter(stem for stem in stems if stem is not None)
    numbers: dict[str, int] = {}
    rows = np.full(len(stems), -1, np.int32)
    for i, stem in enumerate(stems):
        if stem is not None and counts[stem] > 1:
            rows[i] = len(stems) + numbers.setdefault(stem, len(numbers))
    return Kin(rows, len(numbers)) if numbers else ALONE


def stems(vocabulary: Vocabulary, language: str) -> Iterator[str | None]:
    """The stem of each word, None where its language has no stemmer: plays -> play; de:spielt -> de:spielt."""
    from Stemmer import Stemmer

    known = {}
    for code in vocabulary.languages or (language,):
        with suppress(KeyError):
            known[code] = Stemmer(code, 0)
    for word in vocabulary.words:
        code, _, bare = word.partition(":") if vocabulary.languages else (language, "", word)
        stemmer = known.get(code)
        stem = None if stemmer is None else stemmer.stemWord(bare.lower())
        yield stem if stem is None or not vocabulary.languages else f"{code}:{stem}"
