"""The loss of one anchor with a few candidates, and its slopes: scores go in, dL/dscore comes out in their place.

Defined in `reference`. The first `n_positives` candidates are positives; a place of -1 means that there is none.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True, forceinline=True)
def softmax(sharpness: float, n_positives: int, places: NDArray[np.int32], scores: NDArray[np.float32]) -> float:
    """Cross-entropy of softmax(sharpness * score) against an equal share on each positive."""
    highest, n = -np.inf, 0
    for i in range(len(places)):
        if places[i] >= 0:
            highest = max(highest, sharpness * scores[i])
            n += i < n_positives
    total, loss = 0.0, 0.0
    for i in range(len(places)):
        if places[i] >= 0:
            total += np.exp(sharpness * scores[i] - highest)
    for i in range(len(places)):
        if places[i] >= 0:
            logit = sharpness * scores[i] - highest
            target = 1.0 / n if i < n_positives else 0.0
            loss += target * (np.log(total) - logit)
            scores[i] = sharpness * (np.exp(logit) / total - target)
    return loss


@njit(nogil=True, cache=True, forceinline=True)
def sigmoid(n_positives: int, places: NDArray[np.int32], scores: NDArray[np.float32]) -> float:
    """-log sigmoid(score) of positives, -log sigmoid(-score) of negatives."""
    loss = 0.0
    for i in range(len(places)):
        if places[i] >= 0:
            sign = 1.0 if i < n_positives else -1.0
            loss += softplus(-sign * scores[i])
            scores[i] = -sign / (1.0 + np.exp(sign * scores[i]))
    return loss


@njit(nogil=True, cache=True)
def logistic(gamma: float, n_positives: int, places: NDArray[np.int32], scores: NDArray[np.float32]) -> float:
    """log(1 + exp(-gamma (positive - negative))), the mean over all such pairs."""
    n, m = 0, 0
    for i in range(len(places)):
        if places[i] >= 0:
            n, m = n + (i < n_positives), m + (i >= n_positives)
    loss = 0.0
    slopes = np.zeros(len(places))
    for i in range(n_positives):
        for j in range(n_positives, len(places)):
            if places[i] >= 0 and places[j] >= 0:
                difference = gamma * (scores[i] - scores[j])
                loss += softplus(-difference) / (n * m)
                slope = gamma / (1.0 + np.exp(difference)) / (n * m)
                slopes[i] -= slope
                slopes[j] += slope
    scores[:] = slopes
    return loss


@njit(nogil=True, cache=True, forceinline=True)
def softplus(x: float) -> float:
    """log(1 + exp(x)) without overflow."""
    return max(x, 0.0) + np.log1p(np.exp(-abs(x)))
