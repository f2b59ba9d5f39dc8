"""Objectives with a few candidates for each anchor: its neighbours, and sampled negatives.

    softmax   cross-entropy of softmax(cos / temperature) against 1/|S+| on the positives (the paper's)
    sigmoid   -log sigmoid(dot) on positives, -log sigmoid(-dot) on negatives
    logistic  log(1 + exp(-gamma (cos with a positive - cos with a negative))), the mean over all such pairs (Yih)

`reference` defines them. The loss of a batch is the mean over its examples. First each anchor turns the scores of its
candidates into coefficients dL/dscore; then each sentence gathers its gradient from every pair it is in, in any role.
Candidates of an anchor have fixed slots: its neighbours in order of place, then its negatives.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.arrays import Vectors
from siamese_cbow.kernels.crew import claim, finish, next_part, part_of
from siamese_cbow.kernels.losses import logistic, sigmoid, softmax
from siamese_cbow.kernels.phases import (
    Matrices,
    Objective,
    Tally,
    Work,
    count_examples,
    finish_gradient,
    means_tile,
    neighbours,
    rows_tile,
    tile_size,
    tiles,
)
from siamese_cbow.kernels.plans import Keys, Picked, Shape, Text
from siamese_cbow.kernels.rows import FASTMATH, add_scaled
from siamese_cbow.kernels.rules import Rule
from siamese_cbow.kernels.words import Words, fill
from siamese_cbow.numba_options import INLINE, LEAN

SOFTMAX, SIGMOID, LOGISTIC = range(3)


@njit(**LEAN)
def train_sampled(
    memory: NDArray[np.int64],
    n_threads: int,
    thread: int,
    text: Text,
    shape: Shape,
    keys: Keys,
    picked: Picked,
    words: Words,
    first_tokens: NDArray[np.int64],
    objective: Objective,
    rule: Rule,
    rates: NDArray[np.float32],  # (n_batches,)
    first_step: int,
    left: Matrices,
    right: Matrices,
    work: Work,
    tally: Tally,
) -> None:
    """Train on a chunk of batches, one after the other; the threads share out each phase of a batch."""
    part = thread
    while True:
        phase, place = claim(memory, part)
        b, what = (phase - 1) // 4, (phase - 1) % 4  # phase 0 is for all batches, then there are four for each
        if b >= len(rates):
            return
        if phase == 0:
            n = len(rates)
        elif what == 1:
            n = picked.n_candidates[b]
        elif what == 3:
            n = words.n_unique[b]
        else:
            n = picked.n_sentences[b]
        size = 1 if phase == 0 else tile_size(n, n_threads)
        n_tiles = tiles(n, size)
        first_tile, end_tile = part_of(n_tiles, part, n_threads)
        tile = first_tile + place
        if tile >= end_tile:
            part = next_part(memory, phase, n_threads, thread, part)
            continue
        begin, end = tile * size, min((tile + 1) * size, n)
        if phase == 0:
            fill(text, shape, keys, picked, words, first_tokens[tile], thread, tile)
        elif what == 0:
            means_tile(picked, words, objective, left, right, work, b, begin, end)
        elif what == 1:
            _coefficients_tile(shape, picked, objective, work, thread, b, begin, end)
        elif what == 2:
            _gradients_tile(shape, picked, words, objective, work, tally, thread, b, begin, end)
        else:
            step = first_step + b
            rows_tile(words, first_tokens[b], objective, rule, rates[b], step, left, right, work, thread, begin, end)
        part = finish(memory, phase, n_tiles, n_threads, thread, part)


@njit(**INLINE)
def _coefficients_tile(
    shape: Shape, picked: Picked, objective: Objective, work: Work, thread: int, b: int, begin: int, end: int
) -> None:
    n_positives = work.places.shape[1] - shape.negatives
    places, scores = work.places, work.coefficients
    for k in range(begin, end):
        work.losses[k] = 0
        work.is_example[k] = _find_candidates(shape, picked, work, b, k)
        if work.is_example[k] == 1:
            for i in range(places.shape[1]):
                scores[k, i] = _dot(work.left, k, work.right, places[k, i]) if places[k, i] >= 0 else np.float32(0)
            if objective.kind == SOFTMAX:
                work.losses[k] = softmax(objective.sharpness, n_positives, places, scores, k)
            elif objective.kind == SIGMOID:
                work.losses[k] = sigmoid(n_positives, places, scores, k)
            else:
                work.losses[k] = logistic(objective.sharpness, n_positives, places, scores, k, work.weights, thread)


@njit(**INLINE)
def _find_candidates(shape: Shape, picked: Picked, work: Work, b: int, k: int) -> int:
    """Write the anchor's candidates that have words; 1 if k is an anchor with a positive and a negative among them."""
    places, n_places = work.places, work.places.shape[1]
    for i in range(n_places):
        places[k, i] = -1
    if picked.anchors[b, k] == 0 or work.left_norms[k] == 0:
        return 0
    n_positives, positive, negative = n_places - shape.negatives, 0, 0
    first, end = neighbours(shape, picked, b, k)
    for j in range(first, end):
        if j != k and work.right_norms[j] != 0:
            places[k, _slot(shape, first, k, j)] = j
            positive = 1
    for i in range(shape.negatives):
        j = picked.negatives[b, k, i]
        if j >= 0 and work.right_norms[j] != 0:
            places[k, n_positives + i] = j
            negative = 1
    return positive * negative


@njit(**INLINE)
def _slot(shape: Shape, first: int, anchor: int, j: int) -> int:
    """Where the anchor keeps its neighbour j: in a text before 0, after 1; in a group the number of the member."""
    return j - first if shape.groups else (0 if j < anchor else 1)


@njit(**INLINE)
def _gradients_tile(
    shape: Shape,
    picked: Picked,
    words: Words,
    objective: Objective,
    work: Work,
    tally: Tally,
    thread: int,
    b: int,
    begin: int,
    end: int,
) -> None:
    """Each sentence lists the pairs it is in (partner, coefficient) and sums them in one go."""
    n_examples = count_examples(work, picked.n_candidates[b], tally, b, begin)
    for k in range(begin, end):
        pairs = _as_anchor(picked, work, b, k, thread)
        if not objective.shared:
            add_scaled(work.right, work.partners, work.weights, thread, pairs, work.left_gradients, k)
            pairs = 0
        pairs = _as_candidate(shape, picked, work, b, k, thread, pairs)
        add_scaled(work.left, work.partners, work.weights, thread, pairs, work.right_gradients, k)
        finish_gradient(words, objective, work, b, k, n_examples)


@njit(**INLINE)
def _as_anchor(picked: Picked, work: Work, b: int, k: int, thread: int) -> int:
    pairs = 0
    if k < picked.n_candidates[b] and work.is_example[k] == 1:
        for i in range(work.places.shape[1]):
            if work.places[k, i] >= 0:
                work.partners[thread, pairs] = work.places[k, i]
                work.weights[thread, pairs] = work.coefficients[k, i]
                pairs += 1
    return pairs


@njit(**INLINE)
def _as_candidate(shape: Shape, picked: Picked, work: Work, b: int, k: int, thread: int, pairs: int) -> int:
    if work.right_norms[k] == 0:
        return pairs
    first, end = neighbours(shape, picked, b, k)
    for j in range(first, end):
        if j != k and work.is_example[j] == 1:
            work.partners[thread, pairs] = j
            work.weights[thread, pairs] = work.coefficients[j, _slot(shape, first, j, k)]
            pairs += 1
    n_positives = work.places.shape[1] - shape.negatives
    for i in range(picked.user_starts[b, k], picked.user_starts[b, k + 1]):
        anchor = picked.users[b, i, 0]
        if work.is_example[anchor] == 1:
            work.partners[thread, pairs] = anchor
            work.weights[thread, pairs] = work.coefficients[anchor, n_positives + picked.users[b, i, 1]]
            pairs += 1
    return pairs


@njit(**INLINE, fastmath=FASTMATH)
def _dot(left: Vectors, a: int, right: Vectors, b: int) -> np.float32:
    total = np.float32(0)
    for j in range(left.shape[1]):
        total += left[a, j] * right[b, j]
    return total
