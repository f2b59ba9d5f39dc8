"""Words with the same stem train together: besides its own row, each has a row that it shares with the others.

    play, plays, playing  ->  play      own row + row of "play"
    guitar                ->  guitar    nothing else has this stem: own row only

During training, a word's vector is the sum of its two rows; the model stores only the sum. So what a frequent form
learns helps the rare ones, and forms of one word start close together. (Hashed subwords, as in fastText, gained less
than stems and cost much more: results/quality_search.md.)

Stems come from the Snowball algorithms; words of languages that these don't support share nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from siamese_cbow.base.arrays import Ids, Vectors
from siamese_cbow.kernels.tables import OBJECTIVES
from siamese_cbow.model.geometry import FEW_ROWS, blocks, side_by_side
from siamese_cbow.training.recipe import Recipe
from siamese_cbow.words.stemmers import word_stems
from siamese_cbow.words.vocabulary import Vocabulary


class Stems(NamedTuple):
    """The second row of every word."""

    rows: Ids  # (n_words,) its number; shared rows follow those of the words. -1: none. Empty if nothing is shared
    n_shared: int  # how many such rows there are

    def fold(self, vectors: Vectors) -> Vectors:
        """One row per word: rows [[1], [2], [5]], both words share the third -> [[6], [7]]. Always a copy."""
        n_words = len(vectors) - self.n_shared
        folded = np.empty((n_words, vectors.shape[1]), vectors.dtype)

        def fold(part: slice) -> None:
            folded[part] = vectors[:n_words][part]
            if self.n_shared:
                shares = part.start + np.flatnonzero(self.rows[part] >= 0)
                folded[shares] += vectors[self.rows[shares]]

        for _ in side_by_side(fold, blocks(n_words, FEW_ROWS)):
            pass
        return folded

    def unfold(self, words: Sequence[int], rows: Vectors, vectors: Vectors) -> None:
        """The inverse: writes rows of these words into `vectors`, which has all rows.

        The mean of the words of one stem goes into the shared row, the rest into their own rows:
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

    None if scores are dot products: some words have two rows, so the mean of rows is not the mean of words, and only
    cosines are unaffected.
    """
    if not recipe.share_stems or OBJECTIVES[recipe.objective].score != "cosine":
        return NO_STEMS
    return group(list(word_stems(vocabulary.words, language, vocabulary.languages)))


def group(stems: Sequence[str | None]) -> Stems:
    """A row for each stem of two words or more: three words with stems a b a -> rows 3 -1 3, 1 shared.

    Rows are numbered in order of their first word, so that the same vocabulary gives the same rows.
    """
    first: dict[str | None, int] = {}
    # For each word, the first word with the same stem
    firsts = np.fromiter(map(first.setdefault, stems, range(len(stems))), np.int64, len(stems))
    is_shared = np.bincount(firsts, minlength=len(stems)) > 1
    if None in first:
        is_shared[first[None]] = False
    numbers = np.cumsum(is_shared) - 1
    rows = np.where(is_shared[firsts], len(stems) + numbers[firsts], -1).astype(np.int32)
    return Stems(rows, int(is_shared.sum())) if is_shared.any() else NO_STEMS
