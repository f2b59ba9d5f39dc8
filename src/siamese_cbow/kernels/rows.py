"""From word rows to sentence means, and from the means' gradients back to the rows.

Every sentence mean of a batch is computed once and serves in all its roles. On the way back the occurrences of a batch
are sorted by word, so each row is read, updated once and written, its additions always in the same order: that
is what gives Adagrad and its like their exact gradient and the same bytes on any number of threads.

No row is ever taken as a view (`vectors[w]`): each view would cost two atomic updates of a reference count that all
threads share, as much as the arithmetic. Rows are `width` numbers long: the dim rounded up to whole cache lines, the
rest zero. It makes both loops a fifth faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.arrays import Vectors
from siamese_cbow.numba_options import INLINE

# Sums may be regrouped (vector registers need it), but NaN and infinity stay what they are: they must show in the loss.
FASTMATH: Any = {"reassoc", "contract", "arcp", "nsz"}

LINE = 16  # float32 numbers in a cache line


def padded_width(dim: int) -> int:
    """The row length for a dim: `padded_width(300)` -> 304."""
    return -(-dim // LINE) * LINE


@njit(**INLINE, fastmath=FASTMATH)
def add_rows(rows: Vectors, numbers: NDArray[np.int32], begin: int, end: int, totals: Vectors, k: int) -> None:
    """totals[k] = the sum of rows[numbers[begin:end]], four at a time: a quarter of the stores."""
    width = totals.shape[1]
    i = begin + (end - begin) % 4
    if i == begin:
        for j in range(width):
            totals[k, j] = 0
    elif i == begin + 1:
        a = numbers[begin]
        for j in range(width):
            totals[k, j] = rows[a, j]
    elif i == begin + 2:
        a, b = numbers[begin], numbers[begin + 1]
        for j in range(width):
            totals[k, j] = rows[a, j] + rows[b, j]
    else:
        a, b, c = numbers[begin], numbers[begin + 1], numbers[begin + 2]
        for j in range(width):
            totals[k, j] = rows[a, j] + rows[b, j] + rows[c, j]
    while i < end:
        a, b, c, d = numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]
        for j in range(width):
            totals[k, j] += (rows[a, j] + rows[b, j]) + (rows[c, j] + rows[d, j])
        i += 4


@njit(**INLINE, fastmath=FASTMATH)
def add_scaled(
    rows: Vectors,
    numbers: NDArray[np.int32],
    weights: NDArray[np.float32],
    thread: int,
    n: int,
    totals: Vectors,
    k: int,
) -> None:
    """totals[k] = the sum of weights[thread, i] * rows[numbers[thread, i]] for i < n, four at a time."""
    width = totals.shape[1]
    for j in range(width):
        totals[k, j] = 0
    i = 0
    while i < n % 4:
        a, x = numbers[thread, i], weights[thread, i]
        for j in range(width):
            totals[k, j] += x * rows[a, j]
        i += 1
    while i < n:
        a, b, c, d = numbers[thread, i], numbers[thread, i + 1], numbers[thread, i + 2], numbers[thread, i + 3]
        x, y, z, t = weights[thread, i], weights[thread, i + 1], weights[thread, i + 2], weights[thread, i + 3]
        for j in range(width):
            totals[k, j] += (x * rows[a, j] + y * rows[b, j]) + (z * rows[c, j] + t * rows[d, j])
        i += 4


@njit(**INLINE, fastmath=FASTMATH)
def mean(
    vectors: Vectors,
    words: NDArray[np.int32],
    begin: int,
    end: int,
    unit: bool,
    means: Vectors,
    inverse_norms: NDArray[np.float32],
    k: int,
) -> None:
    """means[k] = the mean of vectors[words[begin:end]]; with `unit`, scaled to length 1. Absent: inverse norm 0.

    Absent is a sentence without words, or with a mean of zeros: it takes no part in its batch.
    """
    add_rows(vectors, words, begin, end, means, k)
    square = np.float32(0)
    for j in range(means.shape[1]):
        square += means[k, j] * means[k, j]
    if square == 0:
        inverse_norms[k] = 0
        return
    # The norm of the mean is the norm of the sum / n; NaN and infinity go through on purpose.
    n = np.float32(end - begin)
    norm = np.sqrt(square)
    inverse_norms[k] = n / norm if unit else np.float32(1)
    scale = np.float32(1) / norm if unit else np.float32(1) / n
    for j in range(means.shape[1]):
        means[k, j] *= scale


@njit(**INLINE, fastmath=FASTMATH)
def to_rows(means: Vectors, k: int, unit: bool, scale: np.float32, gradients: Vectors) -> None:
    """Turn the gradient of a (unit) mean into what each of its words gets.

    For u = m / |m|: dL/dm = (g - (g.u) u) / |m|. `scale` is 1 / |m| / number of words / number of examples.
    """
    width = means.shape[1]
    along = np.float32(0)
    if unit:
        for j in range(width):
            along += gradients[k, j] * means[k, j]
    for j in range(width):
        gradients[k, j] = (gradients[k, j] - along * means[k, j]) * scale
