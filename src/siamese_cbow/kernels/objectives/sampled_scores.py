"""From rows to the losses of a batch of the sampled objectives: sums, dots, slopes (see `sampled`)."""

from __future__ import annotations

import numpy as np
from numba import njit

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.kernels.batch.candidates import candidate, n_slots_of_positives
from siamese_cbow.kernels.batch.phases import Matrices, Objective
from siamese_cbow.kernels.batch.records import Picked, Shape, Text
from siamese_cbow.kernels.batch.rows import FASTMATH
from siamese_cbow.kernels.batch.tokens import Words
from siamese_cbow.kernels.objectives.losses import logistic, sigmoid, softmax
from siamese_cbow.kernels.objectives.sampled_work import SampledWork, other_side, strip_of
from siamese_cbow.machine.compiling import INLINE
from siamese_cbow.machine.gathering import gather
from siamese_cbow.machine.prefetch import prefetch

SOFTMAX, SIGMOID, LOGISTIC = range(3)


@njit(**INLINE)
def sums_tile(
    text: Text,
    words: Words,
    objective: Objective,
    left: Matrices,
    right: Matrices,
    work: SampledWork,
    strip: int,
    b: int,
    begin: int,
    end: int,
) -> None:
    """The sums of some sentences, and the squares of their lengths; a strip of them."""
    rows, other_rows, other = strip_of(text, left, strip), strip_of(text, right, strip), other_side(objective, work)
    for k in range(begin, end):
        first, last = words.starts[b, k], words.starts[b, k + 1]
        if k + 1 < end:
            for t in range(last, words.starts[b, k + 2]):
                prefetch(rows.vectors, words.words[t])  # the next sentence's
        gather(rows.vectors, words.words, first, last, work.sums[strip], k)
        work.squares[strip, k] = _dot(work.sums[strip], k, k)
        if other > 0:
            gather(other_rows.vectors, words.words, first, last, work.sums[strip], other + k)
            work.squares[strip, other + k] = _dot(work.sums[strip], other + k, other + k)


@njit(**INLINE)
def dots_tile(
    shape: Shape,
    picked: Picked,
    words: Words,
    objective: Objective,
    work: SampledWork,
    strip: int,
    b: int,
    begin: int,
    end: int,
) -> None:
    """Dots of some anchors with their candidates, a strip of them; with the first strip also the scales of the sums."""
    other = other_side(objective, work)
    for k in range(begin, end):
        if strip == 0:
            n_words = words.starts[b, k + 1] - words.starts[b, k]
            _set_scale(objective, work, k, n_words)
            _set_scale(objective, work, other + k, n_words)
        if k < picked.n_candidates[b] and picked.anchors[b, k] == 1:
            for i in range(work.dots.shape[2]):
                j = candidate(shape, picked, b, k, i)
                if j >= 0:
                    work.dots[strip, k, i] = _dot(work.sums[strip], k, other + j)


@njit(**INLINE)
def _set_scale(objective: Objective, work: SampledWork, k: int, n_words: int) -> None:
    """Absent is a sentence without words, or with a sum of zeros: it takes no part in its batch.

    NaN and infinity go through on purpose.
    """
    square = np.float32(0)
    for strip in range(len(work.squares)):
        square += work.squares[strip, k]
    if square == 0:
        work.scales[k] = 0
    else:
        work.scales[k] = np.float32(1) / np.sqrt(square) if objective.unit else np.float32(1) / np.float32(n_words)


@njit(**INLINE)
def slopes_tile(
    shape: Shape,
    picked: Picked,
    objective: Objective,
    work: SampledWork,
    thread: int,
    b: int,
    begin: int,
    end: int,
) -> None:
    """The losses of some anchors, and dL/dscore of their candidates."""
    n_positives, places, slopes = n_slots_of_positives(shape), work.places, work.slopes
    for k in range(begin, end):
        work.losses[k] = 0
        work.is_example[k] = _score_candidates(shape, picked, objective, work, b, k)
        if work.is_example[k] == 1:
            if objective.kind == SOFTMAX:
                work.losses[k] = softmax(objective.sharpness, n_positives, places, slopes, k)
            elif objective.kind == SIGMOID:
                work.losses[k] = sigmoid(n_positives, places, slopes, k)
            else:
                work.losses[k] = logistic(objective.sharpness, n_positives, places, slopes, k, work.weights, thread)


@njit(**INLINE)
def _score_candidates(shape: Shape, picked: Picked, objective: Objective, work: SampledWork, b: int, k: int) -> int:
    """Write the anchor's candidates that have words, and their scores (where slopes will be, too).

    1 if k is an anchor with a positive and a negative among them.
    """
    if picked.anchors[b, k] == 0 or work.scales[k] == 0:
        return 0
    other, positive, negative = other_side(objective, work), 0, 0
    for i in range(work.places.shape[1]):
        j = candidate(shape, picked, b, k, i)
        work.places[k, i], work.scores[k, i], work.slopes[k, i] = -1, 0, 0
        if j >= 0 and work.scales[other + j] != 0:
            dot = np.float32(0)
            for strip in range(len(work.dots)):
                dot += work.dots[strip, k, i]
            score = dot * work.scales[k] * work.scales[other + j]
            work.places[k, i], work.scores[k, i], work.slopes[k, i] = j, score, score
            if i < n_slots_of_positives(shape):
                positive = 1
            else:
                negative = 1
    return positive * negative


@njit(**INLINE, fastmath=FASTMATH)
def _dot(rows: Vectors, a: int, b: int) -> np.float32:
    total = np.float32(0)
    for j in range(rows.shape[1]):
        total += rows[a, j] * rows[b, j]
    return total
