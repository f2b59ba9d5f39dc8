"""Rows in memory: whole cache lines long and beginning at one, asked for before they are needed, used again.

Rows of whole lines (the dim rounded up, the rest zero) make loops over rows a fifth faster. They lie all over the
memory, and most of the work on them is waiting, unless the processor is told beforehand.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.machine.compiling import INLINE
from siamese_cbow.machine.intrinsics import prefetch_item, prefetch_to_write

LINE = 16  # float32 numbers in a cache line


def padded_width(dim: int) -> int:
    """The row length for a dim: `padded_width(300)` -> 304."""
    return -(-dim // LINE) * LINE


def aligned(shape: tuple[int, ...]) -> Vectors:
    """Zeros that begin at a cache line; rows that straddle lines cost a tenth of the speed."""
    size = math.prod(shape)
    memory = np.zeros(size + LINE, np.float32)
    skip = (-memory.ctypes.data // memory.itemsize) % LINE
    return memory[skip : skip + size].reshape(shape)


@njit(**INLINE)
def prefetch(rows: Vectors, w: int) -> None:
    """Have row w brought into the cache, for reading."""
    for j in range(0, rows.shape[1], LINE):
        prefetch_item(rows, w * rows.shape[1] + j)


@njit(**INLINE)
def prefetch_to_move(rows: Vectors, w: int) -> None:
    """Have row w brought into the cache, for writing."""
    for j in range(0, rows.shape[1], LINE):
        prefetch_to_write(rows, w * rows.shape[1] + j)


class Scratch:
    """Arrays that are used again and again: fresh ones would come page by page from the system each time."""

    def __init__(self) -> None:
        self._bytes: dict[str, NDArray[np.uint8]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array of this shape with any content, valid until the name is asked for again."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if name not in self._bytes or len(self._bytes[name]) < size:
            self._bytes[name] = np.empty(size + size // 4, np.uint8)
        array: NDArray[Any] = self._bytes[name][:size].view(dtype).reshape(shape)
        return array
