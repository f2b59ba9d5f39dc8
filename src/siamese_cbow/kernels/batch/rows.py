"""From word rows to sentence means, and from the means' gradients back to the rows.

Every sentence mean of a batch is computed once and serves in all its roles. On the way back the occurrences of a batch
are grouped by word, so each row is read, updated once and written, its additions always in the same order: that
is what gives Adagrad and its like their exact gradient and the same bytes on any number of threads.

No row is ever taken as a view (`vectors[w]`): each view would cost two atomic updates of a reference count that all
threads share, as much as the arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.machine.compiling import INLINE
from siamese_cbow.machine.gathering import gather

# Sums may be regrouped (vector registers need it), but NaN and infinity stay what they are: they must show in the loss.
FASTMATH: Any = {"reassoc", "contract", "arcp", "nsz"}


@njit(**INLINE, fastmath=FASTMATH)
def mean(
    vectors: Vectors,
    words: NDArray[np.int32],
    begin: int,
    end: int,
    means: Vectors,
    inverse_norms: NDArray[np.float32],
    k: int,
) -> None:
    """means[k] = the mean of vectors[words[begin:end]], scaled to length 1. Absent: inverse norm 0.

    Absent is a sentence without words, or with a mean of zeros: it takes no part in its batch.
    """
    gather(vectors, words, begin, end, means, k)
    square = np.float32(0)
    for j in range(means.shape[1]):
        square += means[k, j] * means[k, j]
    if square == 0:
        inverse_norms[k] = 0
        return
    # The norm of the mean is the norm of the sum / n; NaN and infinity go through on purpose.
    n = np.float32(end - begin)
    norm = np.sqrt(square)
    inverse_norms[k] = n / norm
    scale = np.float32(1) / norm
    for j in range(means.shape[1]):
        means[k, j] *= scale


@njit(**INLINE, fastmath=FASTMATH)
def to_rows(means: Vectors, k: int, scale: np.float32, gradients: Vectors) -> None:
    """Turn the gradient of a unit mean into what each of its words gets.

    For u = m / |m|: dL/dm = (g - (g.u) u) / |m|. `scale` is 1 / |m| / number of words / number of examples.
    """
    width = means.shape[1]
    along = np.float32(0)
    for j in range(width):
        along += gradients[k, j] * means[k, j]
    for j in range(width):
        gradients[k, j] = (gradients[k, j] - along * means[k, j]) * scale
