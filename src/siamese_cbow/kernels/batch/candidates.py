"""Who an anchor is compared with where a few candidates are sampled for it: its neighbours, then its negatives.

Candidates have fixed slots: in a text the sentence before (0) and after (1), in a group its members in order; then the
negatives.
"""

from __future__ import annotations

from numba import njit

from siamese_cbow.kernels.batch.phases import neighbours
from siamese_cbow.kernels.batch.records import Picked, Shape
from siamese_cbow.machine.compiling import INLINE


@njit(**INLINE)
def n_slots_of_positives(shape: Shape) -> int:
    """How many slots there are for neighbours."""
    return shape.run_length if shape.groups else 2


@njit(**INLINE)
def slot(shape: Shape, first: int, anchor: int, j: int) -> int:
    """Where the anchor keeps its neighbour j, in a group that begins at `first`."""
    return j - first if shape.groups else (0 if j < anchor else 1)


@njit(**INLINE)
def candidate(shape: Shape, picked: Picked, b: int, anchor: int, i: int) -> int:
    """The place in the batch of the candidate in slot i; -1 where there is none."""
    n_positives = n_slots_of_positives(shape)
    if i >= n_positives:
        return picked.negatives[b, anchor, i - n_positives]
    first, end = neighbours(shape, picked, b, anchor)
    j = first + i if shape.groups else anchor - 1 + 2 * i
    return j if first <= j < end and j != anchor else -1
