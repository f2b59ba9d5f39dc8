"""The loss of one anchor with a few candidates, and its slopes: scores go in, dL/dscore comes out in their place.

Defined in `reference`. places[k] and scores[k] belong to anchor k; the first `n_positives` candidates are positives; a
place of -1 means that there is none.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.machine.compiling import INLINE, LEAN


@njit(**INLINE)
def softmax(sharpness: float, n_positives: int, places: NDArray[np.int32], scores: Vectors, k: int) -> float:
    """Cross-entropy of softmax(sharpness * score) against an equal share on each positive."""
    highest, wanted, n = -np.inf, 0.0, 0
    for i in range(places.shape[1]):
        if places[k, i] >= 0:
            logit = sharpness * scores[k, i]
            highest = max(highest, logit)
            if i < n_positives:
                wanted += logit
                n += 1
    total = 0.0
    for i in range(places.shape[1]):
        if places[k, i] >= 0:
            weight = np.exp(sharpness * scores[k, i] - highest)
            scores[k, i] = weight
            total += weight
    for i in range(places.shape[1]):
        if places[k, i] >= 0:
            target = 1.0 / n if i < n_positives else 0.0
            scores[k, i] = sharpness * (scores[k, i] / total - target)
    return np.log(total) + highest - wanted / n


@njit(**INLINE)
def sigmoid(n_positives: int, places: NDArray[np.int32], scores: Vectors, k: int) -> float:
    """-log sigmoid(score) of positives, -log sigmoid(-score) of negatives."""
    loss = 0.0
    for i in range(places.shape[1]):
        if places[k, i] >= 0:
            sign = 1.0 if i < n_positives else -1.0
            loss += _softplus(-sign * scores[k, i])
            scores[k, i] = -sign / (1.0 + np.exp(sign * scores[k, i]))
    return loss


@njit(**LEAN)
def logistic(
    gamma: float, n_positives: int, places: NDArray[np.int32], scores: Vectors, k: int, slopes: Vectors, thread: int
) -> float:
    """log(1 + exp(-gamma (positive - negative))), the mean over all such pairs. slopes[thread] is memory to work in."""
    n, m = 0, 0
    for i in range(places.shape[1]):
        slopes[thread, i] = 0
        if places[k, i] >= 0:
            n, m = n + (i < n_positives), m + (i >= n_positives)
    loss = 0.0
    for i in range(n_positives):
        for j in range(n_positives, places.shape[1]):
            if places[k, i] >= 0 and places[k, j] >= 0:
                difference = gamma * (scores[k, i] - scores[k, j])
                loss += _softplus(-difference) / (n * m)
                slope = gamma / (1.0 + np.exp(difference)) / (n * m)
                slopes[thread, i] -= slope
                slopes[thread, j] += slope
    for i in range(places.shape[1]):
        scores[k, i] = slopes[thread, i]
    return loss


@njit(**INLINE)
def _softplus(x: float) -> float:
    """log(1 + exp(x)) without overflow."""
    return max(x, 0.0) + np.log1p(np.exp(-abs(x)))
