"""The loss of one anchor, and its slopes: scores go in, dL/dscore comes out in their place. `reference` defines them.

Over a few sampled candidates; places[k] and scores[k] belong to anchor k, and a place of -1 means that there is none:

    softmax      cross-entropy of softmax(cos / temperature) against 1/|S+| on the positives (the paper's)
    sigmoid      -log sigmoid(dot) on positives, -log sigmoid(-dot) on negatives
    logistic     log(1 + exp(-gamma (cos with a positive - cos with a negative))), the mean over all such pairs (Yih)
    hinge        max(0, margin + squared distance to a positive - to a negative), all such pairs (Hermann & Blunsom)

Over all sentences of a batch, with one score for each:

    contrastive  cross-entropy of softmax(cos / temperature) against 1/|S+| on the adjacent sentences; the denominator
                 has all sentences of the batch but the anchor and the members of its run that aren't adjacent
    margin       max(0, margin - cos with a positive + cos with the hardest negative), the mean over positives (Wieting)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids, Vectors
from siamese_cbow.kernels.batch.batch_records import Objective
from siamese_cbow.kernels.tables import OBJECTIVES
from siamese_cbow.machine.compiling import FASTMATH, INLINE, LEAN, inner
from siamese_cbow.machine.products import exp_all, highest

SOFTMAX, SIGMOID, LOGISTIC, HINGE = (OBJECTIVES[name].number for name in ("softmax", "sigmoid", "logistic", "hinge"))
CONTRASTIVE, MARGIN = (OBJECTIVES[name].number for name in ("contrastive", "margin"))


@inner(**INLINE)
def sampled_loss(
    objective: Objective, n_positives: int, places: Ids, scores: Vectors, k: int, memory: Vectors, thread: int
) -> float:
    """The loss of anchor k; the first `n_positives` of its candidates are positives. `memory[thread]` is scratch."""
    if objective.kind == SOFTMAX:
        return _softmax(objective.sharpness, n_positives, places, scores, k)
    if objective.kind == SIGMOID:
        return _sigmoid(n_positives, places, scores, k)
    if objective.kind == LOGISTIC:
        return _logistic(objective.sharpness, n_positives, places, scores, k, memory, thread)
    if objective.kind == HINGE:
        return _hinge(objective.margin, n_positives, places, scores, k, memory, thread)
    raise ValueError("this objective has no loss among the sampled ones of kernels.objectives.losses")


@inner(**INLINE)
def _softmax(sharpness: float, n_positives: int, places: Ids, scores: Vectors, k: int) -> float:
    top, wanted, n = -np.inf, 0.0, 0
    for i in range(places.shape[1]):
        if places[k, i] >= 0:
            logit = sharpness * scores[k, i]
            top = max(top, logit)
            if i < n_positives:
                wanted += logit
                n += 1
    total = 0.0
    for i in range(places.shape[1]):
        if places[k, i] >= 0:
            weight = np.exp(sharpness * scores[k, i] - top)
            scores[k, i] = weight
            total += weight
    for i in range(places.shape[1]):
        if places[k, i] >= 0:
            target = 1.0 / n if i < n_positives else 0.0
            scores[k, i] = sharpness * (scores[k, i] / total - target)
    return np.log(total) + top - wanted / n


@inner(**INLINE)
def _sigmoid(n_positives: int, places: Ids, scores: Vectors, k: int) -> float:
    loss = 0.0
    for i in range(places.shape[1]):
        if places[k, i] >= 0:
            sign = 1.0 if i < n_positives else -1.0
            loss += softplus(-sign * scores[k, i])
            scores[k, i] = -sign / (1.0 + np.exp(sign * scores[k, i]))
    return loss


@inner(**LEAN)
def _logistic(
    gamma: float, n_positives: int, places: Ids, scores: Vectors, k: int, slopes: Vectors, thread: int
) -> float:
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
                loss += softplus(-difference) / (n * m)
                slope = gamma / (1.0 + np.exp(difference)) / (n * m)
                slopes[thread, i] -= slope
                slopes[thread, j] += slope
    for i in range(places.shape[1]):
        scores[k, i] = slopes[thread, i]
    return loss


@inner(**LEAN)
def _hinge(
    margin: np.float32, n_positives: int, places: Ids, scores: Vectors, k: int, slopes: Vectors, thread: int
) -> float:
    loss = 0.0
    for i in range(places.shape[1]):
        slopes[thread, i] = 0
    for i in range(n_positives):
        for j in range(n_positives, places.shape[1]):
            if places[k, i] >= 0 and places[k, j] >= 0:
                lacking = margin - scores[k, i] + scores[k, j]
                if not lacking <= 0:  # NaN passes through
                    loss += lacking
                    slopes[thread, i] -= 1
                    slopes[thread, j] += 1
    for i in range(places.shape[1]):
        scores[k, i] = slopes[thread, i]
    return loss


@inner(**INLINE)
def softplus(x: float) -> float:
    """log(1 + exp(x)) without overflow."""
    return max(x, 0.0) + np.log1p(np.exp(-abs(x)))


class Anchor(NamedTuple):
    """A sentence of a batch that looks for its neighbours among all others."""

    place: int
    first: int  # its neighbours are first <= j < end, j != place
    end: int
    n_positives: int  # how many of them have words


@inner(**INLINE)
def in_batch_loss(
    objective: Objective, anchor: Anchor, runs: Ids, norms: NDArray[np.float32], scores: Vectors
) -> float:
    """The loss of an anchor.

    runs   (n,) the run that each sentence of the batch belongs to
    norms  (n,) inverse norms of the candidates; 0: without words
    """
    if objective.kind == CONTRASTIVE:
        return _contrastive(objective, anchor, runs, norms, scores)
    if objective.kind == MARGIN:
        return _margin(objective, anchor, runs, norms, scores)
    raise ValueError("this objective has no loss among the in-batch ones of kernels.objectives.losses")


@inner(**INLINE, fastmath=FASTMATH)
def _contrastive(objective: Objective, anchor: Anchor, runs: Ids, norms: NDArray[np.float32], scores: Vectors) -> float:
    k, first, end, n_positives = anchor
    target = np.float32(1.0 / n_positives)
    wanted = np.float32(0)  # the mean logit of the positives
    for j in range(first, end):
        if j != k and norms[j] != 0:
            wanted += target * objective.sharpness * scores[j]
    _leave_out(anchor, runs, norms, scores)
    top = highest(scores)
    total = exp_all(scores, objective.sharpness, top)
    scale = objective.sharpness / total
    for j in range(len(scores)):
        scores[j] *= scale
    for j in range(first, end):
        if j != k and norms[j] != 0:
            scores[j] -= objective.sharpness * target
    return np.log(np.float64(total)) + objective.sharpness * top - wanted


@inner(**INLINE)
def _leave_out(anchor: Anchor, runs: Ids, norms: NDArray[np.float32], scores: Vectors) -> None:
    """Set the scores of sentences that are not candidates so low that their exponential is 0."""
    out = np.float32(-1e30)
    for j in range(len(scores)):
        if norms[j] == 0:
            scores[j] = out
    scores[anchor.place] = out
    run = runs[anchor.place]
    for j in range(anchor.first - 1, -1, -1):
        if runs[j] != run:
            break
        scores[j] = out
    for j in range(anchor.end, len(scores)):
        if runs[j] != run:
            break
        scores[j] = out


@inner(**LEAN)
def _margin(objective: Objective, anchor: Anchor, runs: Ids, norms: NDArray[np.float32], scores: Vectors) -> float:
    k, first, end, n_positives = anchor
    hardest = -1  # the sentence of another run with the highest score, the first of equals
    for j in range(len(scores)):
        if runs[j] != runs[k] and norms[j] != 0 and (hardest < 0 or scores[j] > scores[hardest]):
            hardest = j
    loss, slope, pushed = 0.0, np.float32(1.0 / n_positives), 0
    limit = objective.margin + scores[hardest] if hardest >= 0 else np.float32(-np.inf)
    for j in range(first, end):
        if j != k and norms[j] != 0 and not limit <= scores[j]:
            loss += (limit - scores[j]) / n_positives
            pushed += 1
            scores[j] = np.nan  # marked, until the others are set to 0
    for j in range(len(scores)):
        scores[j] = -slope if np.isnan(scores[j]) and first <= j < end else np.float32(0)
    if hardest >= 0:
        scores[hardest] = slope * pushed
    return loss
