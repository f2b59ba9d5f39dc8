"""Ask the processor for memory before it is needed: rows lie all over it, and most of the work is waiting for them."""

from __future__ import annotations

from numba import njit

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.machine.compiling import INLINE
from siamese_cbow.machine.intrinsics import prefetch_for_writing, prefetch_item
from siamese_cbow.machine.memory import LINE


@njit(**INLINE)
def prefetch(rows: Vectors, w: int) -> None:
    """Have row w brought into the cache, for reading: other cores keep theirs."""
    for j in range(0, rows.shape[1], LINE):
        prefetch_item(rows, w * rows.shape[1] + j)


@njit(**INLINE)
def prefetch_to_move(rows: Vectors, w: int) -> None:
    """Have row w brought into the cache, for writing: other cores lose theirs, and have to fetch it again."""
    for j in range(0, rows.shape[1], LINE):
        prefetch_for_writing(rows, w * rows.shape[1] + j)
