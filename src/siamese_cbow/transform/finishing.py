"""From what was learnt to the model: how much each word counts in a mean, and what all words have in common.

Training finds good directions. But a row's length, which is its weight in a mean, also tells how often it has moved:
rare words stay short. So lengths are drawn towards one another (their square root is taken) and multiplied by the
information of the word, log(1 + 1 / its share of the text). Then the strongest directions of the running words are
taken out of all rows: they tell a frequent word from a rare one rather than what a word means.

All of it is done to the rows, once: a plain mean of them, in any library, has it. Only counts are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts, Vectors
from siamese_cbow.training.recipe import Recipe

BLOCK = 8192  # rows that are worked on at a time


def finished(recipe: Recipe, vectors: Vectors, counts: Counts, *, taken_out: int = 0) -> Vectors:
    """The rows as the recipe wants them in the model; changes `vectors`.

    taken_out  how many common directions the rows lacked from the start: those of a model that training went on with
    """
    _weigh(recipe, vectors, counts)
    n = min(recipe.common_directions - taken_out, vectors.shape[1] - 1)
    if n > 0:
        _remove(vectors, common_directions(vectors, counts, n))
    return vectors


def _weigh(recipe: Recipe, vectors: Vectors, counts: Counts) -> None:
    """length -> length^length_power x information^idf_power."""
    if recipe.idf_power == 0 and recipe.length_power == 1:
        return
    lengths = np.linalg.norm(vectors, axis=1)
    lengths[lengths == 0] = 1
    factors = information(counts) ** recipe.idf_power * lengths ** (recipe.length_power - 1)
    vectors *= factors.astype(np.float32)[:, None]


def unweighed(settings: Mapping[str, Any], vectors: Vectors, counts: Counts) -> Vectors:
    """Rows of a finished model with the lengths that they were learnt with, given the settings of its recipe.

    Directions that were taken out stay out: all rows lack them, and no cosine notices.
    """
    idf_power, length_power = settings.get("idf_power", 0.0), settings.get("length_power", 1.0)
    if idf_power == 0 and length_power in (0, 1):
        return vectors.copy()
    plain = vectors / (information(counts) ** idf_power).astype(np.float32)[:, None]
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return np.asarray(plain * lengths ** (1 / (length_power or 1) - 1), np.float32)


def information(counts: Counts) -> NDArray[np.float64]:
    """log(1 + all / count): counts [3, 1] -> [0.85, 1.61]. Never 0, so that no word is lost."""
    return np.asarray(np.log1p(max(1, int(counts.sum())) / np.maximum(1, counts)))


def common_directions(vectors: Vectors, counts: Counts, n: int) -> NDArray[np.float64]:
    """The n strongest directions (n, dim) of the rows, each taken as often as its word stands in the text.

    rows [[2, 0], [0, 1]], counts [1, 1] -> [[1, 0]]; counts [1, 9] -> [[0, 1]]
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):  # sums in the same order, and so the same bytes, on any machine's threads
        gram = np.zeros((vectors.shape[1],) * 2)
        for first in range(0, len(vectors), BLOCK):
            rows = vectors[first : first + BLOCK].astype(np.float64)
            gram += (rows * counts[first : first + BLOCK, None]).T @ rows
        directions: NDArray[np.float64] = np.linalg.eigh(gram)[1][:, ::-1][:, :n].T
    return directions


def _remove(vectors: Vectors, directions: NDArray[np.float64]) -> None:
    for first in range(0, len(vectors), BLOCK):
        rows = vectors[first : first + BLOCK].astype(np.float64)
        for direction in directions:
            rows -= np.outer(rows @ direction, direction)
        vectors[first : first + BLOCK] = rows
