"""What every objective shares: the memory of a batch, its first phase (means) and its last (updates).

Legend: left is the anchors' side, right the candidates'; with one matrix both are the same arrays. b batch of a chunk,
k place in the batch, u different word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.kernels.batch.records import Picked, Shape
from siamese_cbow.kernels.batch.rows import mean, to_rows
from siamese_cbow.kernels.batch.tokens import Words
from siamese_cbow.kernels.batch.updates import Rule, is_light, move_light, update
from siamese_cbow.machine.compiling import INLINE, LEAN
from siamese_cbow.machine.gathering import gather
from siamese_cbow.machine.prefetch import prefetch, prefetch_to_move

SENTENCES, ROWS = 4, 16  # sizes of tiles: small enough to share out evenly, large enough that claiming costs nothing


class Objective(NamedTuple):
    """What is minimised, as numbers."""

    kind: int
    sharpness: np.float32  # 1 / temperature, or gamma
    margin: np.float32
    unit: bool  # cosines rather than dot products
    shared: bool  # one matrix for both sides


class Matrices(NamedTuple):
    """What is learnt, for one side: rows, and the optimiser's memory of them. Strips come one after the other."""

    vectors: Vectors  # (n_strips * n_rows, width)
    first: Vectors
    second: Vectors


class Work(NamedTuple):
    """Memory for one batch of an in-batch objective."""

    left: Vectors  # (capacity, width) unit means
    right: Vectors
    left_norms: NDArray[np.float32]  # (capacity,) inverse norms; 0: absent
    right_norms: NDArray[np.float32]
    left_gradients: Vectors  # (capacity, width)
    right_gradients: Vectors
    scores: Vectors  # (capacity, capacity) scores of all pairs, then dL/dscore
    panels: Vectors  # (n_threads, tile, capacity)
    totals: Vectors  # (n_threads, width)
    losses: NDArray[np.float64]  # (capacity,)
    is_example: NDArray[np.int64]  # (capacity,)


class Tally(NamedTuple):
    """What is reported of each batch of the chunk."""

    loss: NDArray[np.float64]  # sum over examples
    examples: NDArray[np.int64]


@njit(**INLINE)
def tiles(n: int, size: int) -> int:
    """How many tiles n things make; at least one, as a phase ends with its last tile: tiles(9, 4) -> 3."""
    return max(1, (n + size - 1) // size)


@njit(**INLINE)
def tile_size(n: int, n_threads: int) -> int:
    """How many of n things to give to a thread at a time, where each is computed for itself: 100, 2 threads -> 9.

    A few tiles for each thread even out what they take; more would only cost claims. It may depend on the threads: no
    result depends on it; tiles of matrix products may not.
    """
    return max(1, n if n_threads == 1 else (n + 6 * n_threads - 1) // (6 * n_threads))


@njit(**LEAN)
def means_tile(
    picked: Picked,
    words: Words,
    objective: Objective,
    left: Matrices,
    right: Matrices,
    work: Work,
    b: int,
    first: int,
    last: int,
) -> None:
    """The first phase of a batch: the mean of every sentence."""
    for k in range(first, last):
        begin, end = words.starts[b, k], words.starts[b, k + 1]
        if k + 1 < last:
            for t in range(end, words.starts[b, k + 2]):
                prefetch(left.vectors, words.words[t])  # the next sentence's
        mean(left.vectors, words.words, begin, end, work.left, work.left_norms, k)
        if not objective.shared:
            mean(right.vectors, words.words, begin, end, work.right, work.right_norms, k)


@njit(**LEAN)
def rows_tile(
    words: Words,
    first_token: int,
    objective: Objective,
    rule: Rule,
    rate: np.float32,
    step: int,
    left: Matrices,
    right: Matrices,
    left_gradients: Vectors,
    right_gradients: Vectors,
    totals: Vectors,
    thread: int,
    first: int,
    last: int,
) -> None:
    """The last phase: every row of the batch moves once; those of the first-th to the last-th different word now."""
    unique, starts, places = words.unique, words.unique_starts, words.places
    light = is_light(rule) and objective.shared
    for u in range(first_token + first, first_token + last):
        if u + 2 < first_token + last:
            prefetch_to_move(left.vectors, unique[u + 2])
        if light:
            move_light(
                rule, rate, left_gradients, places, starts[u], starts[u + 1], left.vectors, left.first, unique[u],
                totals, thread,
            )  # fmt: skip
            continue
        gather(left_gradients, places, starts[u], starts[u + 1], totals, thread)
        update(rule, rate, step, left.vectors, left.first, left.second, unique[u], totals, thread)
        if not objective.shared:
            gather(right_gradients, places, starts[u], starts[u + 1], totals, thread)
            update(rule, rate, step, right.vectors, right.first, right.second, unique[u], totals, thread)


@njit(**INLINE)
def finish_gradient(words: Words, objective: Objective, work: Work, b: int, k: int, n_examples: int) -> None:
    """Turn the gradient of sentence k's mean into that of each of its words, for the mean loss over the examples."""
    share = np.float32(1.0 / (max(1, n_examples) * max(1, words.starts[b, k + 1] - words.starts[b, k])))
    to_rows(work.left, k, share * work.left_norms[k], work.left_gradients)
    if not objective.shared:
        to_rows(work.right, k, share * work.right_norms[k], work.right_gradients)


@njit(**LEAN)
def count_examples(work: Work, n: int, tally: Tally, b: int, first: int) -> int:
    """The number of examples among the first n sentences; who has the first writes the tally too, in fixed order."""
    n_examples = 0
    for k in range(n):
        n_examples += work.is_example[k]
    if first == 0:
        loss = 0.0
        for k in range(n):
            loss += work.losses[k]
        tally.loss[b] = loss
        tally.examples[b] = n_examples
    return n_examples


@njit(**INLINE)
def neighbours(shape: Shape, picked: Picked, b: int, k: int) -> tuple[int, int]:
    """The places first <= j < end, j != k, that are adjacent to k.

    In a text the one before and the one after, as far as they belong to the run; in a group all members.
    """
    n, run = picked.n_candidates[b], picked.runs[b, k]
    first, end = k, k + 1
    if k >= n:
        return first, end  # a negative from elsewhere
    reach = n if shape.groups else 1
    while first > 0 and k - first < reach and picked.runs[b, first - 1] == run:
        first -= 1
    while end < n and end - k <= reach and picked.runs[b, end] == run:
        end += 1
    return first, end
