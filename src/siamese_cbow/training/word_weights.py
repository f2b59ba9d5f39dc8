"""How much each word counts in a mean, set once the directions are learnt.

Training finds good directions. But a row's length, which is its weight in a mean, also tells how often it has moved:
rare words stay short. So lengths are drawn towards one another (their square root is taken) and multiplied by the
information of the word, log(1 + 1 / its share of the text). Rows are only scaled: a plain mean of them, in any library,
has the weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.arrays import Counts, Vectors
from siamese_cbow.training.recipe import SiameseCBOW


def weighted(recipe: SiameseCBOW, vectors: Vectors, counts: Counts) -> Vectors:
    """The rows with the lengths that the recipe wants, in place: length^length_power x information^idf_power."""
    if recipe.idf_power == 0 and recipe.length_power == 1:
        return vectors
    lengths = np.linalg.norm(vectors, axis=1)
    lengths[lengths == 0] = 1
    factors = information(counts) ** recipe.idf_power * lengths ** (recipe.length_power - 1)
    vectors *= factors.astype(np.float32)[:, None]
    return vectors


def information(counts: Counts) -> NDArray[np.float64]:
    """log(1 + all / count): counts [3, 1] -> [0.85, 1.61]. Never 0, so that no word is lost."""
    return np.log1p(max(1, int(counts.sum())) / np.maximum(1, counts))
