"""How rows lie in memory while they are trained: whole, or cut into two strips of columns, first strips first.

    rows 1 2 3 4, 5 6 7 8  ->  1 2, 5 6, then 3 4, 7 8

Threads that share rows fetch them from each other's cache, batch after batch. With strips each of two threads has half
of every row, and of every sentence, to itself. That works where the numbers of a row move one by one. Adagrad (and any
optimiser that `kernels.tables` does not call elementwise) and clipping look at a row as a whole, and so do the
products of the in-batch objectives: their rows stay whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.kernels.tables import OBJECTIVES, OPTIMIZERS
from siamese_cbow.machine.intrinsics import padded_width
from siamese_cbow.training.recipe import Recipe

_WIDE = 192  # dimensions from which on a strip has enough cache lines to be worth fetching on its own


class StripLayout(NamedTuple):
    """The number of strips, and the numbers in each (whole cache lines)."""

    n_strips: int
    width: int


def layout_of(recipe: Recipe) -> StripLayout:
    """What suits the recipe: the paper's, 300 dimensions -> two strips of 160, the last 20 numbers unused."""
    elementwise = OPTIMIZERS[recipe.optimizer].elementwise and recipe.clip_gradient is None
    n_strips = 2 if OBJECTIVES[recipe.objective].sampled and elementwise and recipe.dim >= _WIDE else 1
    return StripLayout(n_strips, padded_width(-(-recipe.dim // n_strips)))


def joined(vectors: Vectors, layout: StripLayout, dim: int) -> Vectors:
    """The rows as a whole, (n_rows, dim): a view where they lie so, otherwise a copy."""
    if layout.n_strips == 1:
        return vectors[:, :dim]
    strips = vectors.reshape(layout.n_strips, -1, layout.width)
    rows: Vectors = np.empty((strips.shape[1], dim), np.float32)
    for strip, columns in enumerate(strips):
        part = rows[:, strip * layout.width : (strip + 1) * layout.width]
        part[...] = columns[:, : part.shape[1]]
    return rows


def spread(rows: Vectors, first: int, vectors: Vectors, layout: StripLayout) -> None:
    """Writes whole rows (n, dim), from the first-th on, into where they lie."""
    for strip, columns in enumerate(vectors.reshape(layout.n_strips, -1, layout.width)):
        part = rows[:, strip * layout.width : (strip + 1) * layout.width]
        columns[first : first + len(rows), : part.shape[1]] = part
