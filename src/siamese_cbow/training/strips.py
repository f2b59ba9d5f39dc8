"""Memory layout of rows during training: whole, or divided into two strips of columns, with all first strips first.

    rows 1 2 3 4, 5 6 7 8  ->  1 2, 5 6, then 3 4, 7 8

Threads that share rows fetch them from each other's cache, batch after batch. With strips, each of two threads owns
half of every row and of every sentence. That works if the numbers of a row are updated independently. Adagrad (and any
optimiser that `kernels.tables` does not call elementwise), clipping and the products of the in-batch objectives need
the whole row: those rows stay whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.kernels.tables import OBJECTIVES, OPTIMIZERS
from siamese_cbow.machine.intrinsics import padded_width
from siamese_cbow.training.recipe import Recipe

_WIDE = 192  # dimensions from which a strip has enough cache lines to be worth fetching on its own


class StripLayout(NamedTuple):
    """The number of strips, and the width of each (whole cache lines)."""

    n_strips: int
    width: int


def layout_of(recipe: Recipe) -> StripLayout:
    """The layout for a recipe: the paper's, 300 dimensions -> two strips of 160, the last 20 numbers unused."""
    elementwise = OPTIMIZERS[recipe.optimizer].elementwise and recipe.clip_gradient is None
    n_strips = 2 if OBJECTIVES[recipe.objective].sampled and elementwise and recipe.dim >= _WIDE else 1
    return StripLayout(n_strips, padded_width(-(-recipe.dim // n_strips)))


def joined(vectors: Vectors, layout: StripLayout, dim: int) -> Vectors:
    """Whole rows, (n_rows, dim): a view if they are stored whole, otherwise a copy."""
    if layout.n_strips == 1:
        return vectors[:, :dim]
    strips = vectors.reshape(layout.n_strips, -1, layout.width)
    rows: Vectors = np.empty((strips.shape[1], dim), np.float32)
    for strip, columns in enumerate(strips):
        part = rows[:, strip * layout.width : (strip + 1) * layout.width]
        part[...] = columns[:, : part.shape[1]]
    return rows


def spread(rows: Vectors, first: int, vectors: Vectors, layout: StripLayout) -> None:
    """Writes whole rows (n, dim) into the layout, starting at row `first`."""
    for strip, columns in enumerate(vectors.reshape(layout.n_strips, -1, layout.width)):
        part = rows[:, strip * layout.width : (strip + 1) * layout.width]
        columns[first : first + len(rows), : part.shape[1]] = part
