"""The memory of a batch of the sampled objectives, and who lies where in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.kernels.batch.phases import Matrices, Objective
from siamese_cbow.kernels.batch.records import Text
from siamese_cbow.machine.compiling import INLINE


class SampledWork(NamedTuple):
    """Memory for one batch. With two matrices, sentences of the candidates' side come after those of the anchors'."""

    sums: Vectors  # (n_strips, sides * capacity, width)
    squares: NDArray[np.float32]  # (n_strips, sides * capacity) of the sums' lengths
    scales: NDArray[np.float32]  # (sides * capacity,) what makes a sum a (unit) mean; 0: absent
    gradients: Vectors  # (n_strips, sides * capacity, width)
    dots: NDArray[np.float32]  # (n_strips, capacity, candidates)
    places: NDArray[np.int32]  # (capacity, candidates) candidates of each anchor; -1: none
    scores: NDArray[np.float32]  # (capacity, candidates)
    slopes: NDArray[np.float32]  # (capacity, candidates) dL/dscore
    partners: NDArray[np.int32]  # (n_threads, most pairs of a sentence) whom a sentence is paired with, in any role
    weights: NDArray[np.float32]  # (n_threads, most pairs of a sentence)
    totals: Vectors  # (n_threads, width)
    losses: NDArray[np.float64]  # (capacity,)
    is_example: NDArray[np.int64]  # (capacity,)


@njit(**INLINE)
def strip_of(text: Text, matrices: Matrices, strip: int) -> Matrices:
    """A strip of all rows; what the optimiser keeps of a row as a whole is out of reach, see `training.layout`."""
    first, end = strip * text.n_rows, (strip + 1) * text.n_rows
    return Matrices(matrices.vectors[first:end], matrices.first[first:end], matrices.second[first:end])


@njit(**INLINE)
def other_side(objective: Objective, work: SampledWork) -> int:
    """Where the sentences of the candidates' side begin."""
    return 0 if objective.shared else len(work.scales) // 2
