"""Objectives with a few candidates for each anchor: its neighbours, and sampled negatives (see `losses`).

The rows lie in one or two strips of columns (see `training.strips`), and nearly all work is done strip by strip, so
that two threads touch different memory: each owns half of every row. They exchange only partial dot products. Phases of
a batch:

    sums       of the rows of each sentence                                   strip by strip
    dots       of each anchor with its candidates, of these sums              strip by strip
    slopes     dots -> scores -> loss, and dL/dscore
    gradients  each sentence gathers its gradient from every pair it is in    strip by strip
    rows       the rows move                                                  strip by strip

Legend: left is the anchors' side, right the candidates'; with one matrix both are the same arrays. b batch of the
chunk, k and j places in the batch, i slot of a candidate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.kernels.batch.batch_records import (
    Batches,
    Matrices,
    Objective,
    Picked,
    Shape,
    Steps,
    Tokens,
    candidate,
    count_examples,
    n_slots_of_positives,
    neighbours,
    slot,
)
from siamese_cbow.kernels.batch.tokens import fill, sum_words
from siamese_cbow.kernels.batch.updates import move_rows
from siamese_cbow.kernels.objectives.losses import sampled_loss
from siamese_cbow.kernels.tables import SCORES
from siamese_cbow.machine.compiling import INLINE, LEAN, inner
from siamese_cbow.machine.products import dot
from siamese_cbow.machine.simd import gather_scaled
from siamese_cbow.machine.threads import OVER, Team, Tile, cut_evenly, finish, next_tile

FILL, SUMS, DOTS, SLOPES, GRADIENTS, ROWS = range(6)  # the phases: the first for all batches
SAMPLED_PHASES = 6
COSINE, DOT, DISTANCE = (SCORES[name] for name in ("cosine", "dot", "distance"))


class SampledWork(NamedTuple):
    """Memory for one batch. With two matrices, sentences of the candidates' side come after those of the anchors'."""

    score: int  # how two sentences are compared: its number in `tables.SCORES`
    right: int  # where the candidates' side begins
    sums: Vectors  # (n_strips, sides * capacity, width)
    squares: NDArray[np.float32]  # (n_strips, sides * capacity) of the sums' lengths
    scales: NDArray[np.float32]  # (sides * capacity,) factor from a sum to the vector that is compared; 0: absent
    gradients: Vectors  # (n_strips, sides * capacity, width)
    dots: NDArray[np.float32]  # (n_strips, capacity, candidates)
    places: NDArray[np.int32]  # (capacity, candidates) candidates of each anchor; -1: none
    scores: NDArray[np.float32]  # (capacity, candidates)
    slopes: NDArray[np.float32]  # (capacity, candidates) dL/dscore
    partners: NDArray[np.int32]  # (n_threads, most pairs of a sentence) the partners of a sentence, in any role
    weights: NDArray[np.float32]  # (n_threads, most pairs of a sentence)
    totals: Vectors  # (n_threads, width)
    losses: NDArray[np.float64]  # (capacity,)
    is_example: NDArray[np.int64]  # (capacity,)


@njit(**LEAN)
def train_sampled(
    team: Team, chunk: Batches, objective: Objective, steps: Steps, left: Matrices, right: Matrices, work: SampledWork
) -> None:
    """Train on a chunk of batches, in order; the threads share each phase of a batch."""
    part, n_rows, shape, picked = team.thread, chunk.text.n_rows, chunk.shape, chunk.picked
    while True:
        tile = next_tile(team, chunk.phases, part)
        if tile.phase == OVER:
            return
        if tile.phase == FILL:
            fill(chunk, tile)
            _cut_phases(chunk, tile.begin, len(work.sums), team.n_threads)
        elif tile.phase == SUMS:
            _sums_tile(chunk.tokens, _strip_of(left, n_rows, tile.strip).vectors, work, tile, 0)
            if not objective.shared:
                _sums_tile(chunk.tokens, _strip_of(right, n_rows, tile.strip).vectors, work, tile, work.right)
        elif tile.phase == DOTS:
            _dots_tile(shape, picked, chunk.tokens.starts, work, tile)
        elif tile.phase == SLOPES:
            _slopes_tile(shape, picked, objective, work, tile)
        elif tile.phase == GRADIENTS:
            n_examples = count_examples(chunk, work.losses, work.is_example, picked.n_candidates, tile)
            _gradients_tile(shape, picked, objective, work, tile, n_examples)
        else:
            shared, gradients = objective.shared, work.gradients[tile.strip]
            rows = _strip_of(left, n_rows, tile.strip)
            move_rows(chunk.tokens, tile, gradients, steps, rows, shared, work.totals)
            if not shared:
                rows = _strip_of(right, n_rows, tile.strip)
                move_rows(chunk.tokens, tile, gradients[work.right :], steps, rows, shared, work.totals)
        part = finish(team, tile)


@inner(**INLINE)
def _cut_phases(chunk: Batches, b: int, n_strips: int, n_threads: int) -> None:
    n, phases = chunk.picked.n_sentences[b], chunk.phases
    cut_evenly(phases, b, SUMS, n, n_strips, n_threads)
    cut_evenly(phases, b, DOTS, n, n_strips, n_threads)
    cut_evenly(phases, b, SLOPES, chunk.picked.n_candidates[b], 1, n_threads)
    cut_evenly(phases, b, GRADIENTS, n, n_strips, n_threads)
    cut_evenly(phases, b, ROWS, chunk.tokens.n_unique[b], n_strips, n_threads)


@inner(**INLINE)
def _strip_of(side: Matrices, n_rows: int, strip: int) -> Matrices:
    """A strip of all rows; the optimiser's state for a whole row is out of reach, see `training.strips`."""
    first, end = strip * n_rows, (strip + 1) * n_rows
    return Matrices(side.vectors[first:end], side.first[first:end], side.second[first:end], side.start[first:end])


@inner(**INLINE)
def _sums_tile(tokens: Tokens, rows: Vectors, work: SampledWork, tile: Tile, first: int) -> None:
    """The sums of some sentences of one side, and the squares of their lengths; a strip of them."""
    sums = work.sums[tile.strip]
    for k in range(tile.begin, tile.end):
        sum_words(tokens, rows, tile, k, sums, first + k)
        work.squares[tile.strip, first + k] = dot(sums, first + k, sums, first + k)


@inner(**INLINE)
def _dots_tile(shape: Shape, picked: Picked, starts: NDArray[np.int64], work: SampledWork, tile: Tile) -> None:
    """Dots of some anchors with their candidates, a strip of them; with the first strip also the scales of the sums."""
    b, strip, sums = tile.batch, tile.strip, work.sums[tile.strip]
    for k in range(tile.begin, tile.end):
        if strip == 0:
            n_words = starts[b, k + 1] - starts[b, k]
            _set_scale(work, k, n_words)
            _set_scale(work, work.right + k, n_words)
        if k < picked.n_candidates[b] and picked.anchors[b, k] == 1:
            for i in range(work.dots.shape[2]):
                j = candidate(shape, picked, b, k, i)
                if j >= 0:
                    work.dots[strip, k, i] = dot(sums, k, sums, work.right + j)


@inner(**INLINE)
def _set_scale(work: SampledWork, k: int, n_words: int) -> None:
    """Set the factor from a sum to the vector that is compared; 0 for an absent sentence.

    A sentence without words, or with a sum of zeros, is absent: it takes no part in its batch. NaN and infinity pass
    through on purpose.
    """
    square = _square(work, k)
    if square == 0:
        work.scales[k] = 0
    elif work.score == COSINE:
        work.scales[k] = np.float32(1) / np.sqrt(square)
    else:
        work.scales[k] = np.float32(1) / np.float32(n_words) if work.score == DOT else np.float32(1)


@inner(**INLINE)
def _square(work: SampledWork, k: int) -> np.float32:
    """The square of the length of a sum, of all strips."""
    square = np.float32(0)
    for strip in range(len(work.squares)):
        square += work.squares[strip, k]
    return square


@inner(**INLINE)
def _slopes_tile(shape: Shape, picked: Picked, objective: Objective, work: SampledWork, tile: Tile) -> None:
    """The losses of some anchors, and dL/dscore of their candidates."""
    n_positives, places, slopes = n_slots_of_positives(shape), work.places, work.slopes
    for k in range(tile.begin, tile.end):
        work.losses[k] = 0
        work.is_example[k] = _score_candidates(shape, picked, work, tile.batch, k)
        if work.is_example[k] == 1:
            work.losses[k] = sampled_loss(objective, n_positives, places, slopes, k, work.weights, tile.thread)


@inner(**INLINE)
def _score_candidates(shape: Shape, picked: Picked, work: SampledWork, b: int, k: int) -> int:
    """Write the anchor's candidates that have words, and their scores (also where the slopes will be).

    Returns 1 if k is an anchor with both a positive and a negative among them, else 0.
    """
    if picked.anchors[b, k] == 0 or work.scales[k] == 0:
        return 0
    positive, negative = 0, 0
    for i in range(work.places.shape[1]):
        j = candidate(shape, picked, b, k, i)
        work.places[k, i], work.scores[k, i], work.slopes[k, i] = -1, 0, 0
        if j >= 0 and work.scales[work.right + j] != 0:
            dot = np.float32(0)
            for strip in range(len(work.dots)):
                dot += work.dots[strip, k, i]
            score = dot * work.scales[k] * work.scales[work.right + j]
            if work.score == DISTANCE:
                score = 2 * score - _square(work, k) - _square(work, work.right + j)
            work.places[k, i], work.scores[k, i], work.slopes[k, i] = j, score, score
            if i < n_slots_of_positives(shape):
                positive = 1
            else:
                negative = 1
    return positive * negative


@inner(**INLINE)
def _gradients_tile(
    shape: Shape, picked: Picked, objective: Objective, work: SampledWork, tile: Tile, n_examples: int
) -> None:
    """The gradients of some sentences: each lists the pairs it is in (partner, weight) and sums them in one go."""
    b, thread, share = tile.batch, tile.thread, np.float32(1.0 / max(1, n_examples))
    for k in range(tile.begin, tile.end):
        pairs, along = _as_anchor(picked, work, b, k, thread)
        if not objective.shared:
            _gather(work, tile, k, pairs, along, share)
            pairs, along = 0, np.float32(0)
        pairs, along = _as_candidate(shape, picked, work, b, k, thread, pairs, along)
        _gather(work, tile, work.right + k, pairs, along, share)


@inner(**INLINE)
def _as_anchor(picked: Picked, work: SampledWork, b: int, k: int, thread: int) -> tuple[int, np.float32]:
    """List the pairs in which k is the anchor: how many, and how far their gradients point along k itself."""
    pairs, along = 0, np.float32(0)
    if k < picked.n_candidates[b] and work.is_example[k] == 1:
        for i in range(work.places.shape[1]):
            if work.places[k, i] >= 0:
                partner = work.right + work.places[k, i]
                pairs, along = _list(work, thread, pairs, along, partner, k, i)
    return pairs, along


@inner(**INLINE)
def _as_candidate(
    shape: Shape, picked: Picked, work: SampledWork, b: int, k: int, thread: int, pairs: int, along: np.float32
) -> tuple[int, np.float32]:
    """List the pairs in which k is a candidate, after those already listed."""
    if work.scales[work.right + k] == 0:
        return pairs, along
    first, end = neighbours(shape, picked, b, k)
    for j in range(first, end):
        if j != k and work.is_example[j] == 1:
            pairs, along = _list(work, thread, pairs, along, j, j, slot(shape, first, j, k))
    for i in range(picked.user_starts[b, k], picked.user_starts[b, k + 1]):
        anchor = picked.users[b, i, 0]
        if work.is_example[anchor] == 1:
            i_slot = n_slots_of_positives(shape) + picked.users[b, i, 1]
            pairs, along = _list(work, thread, pairs, along, anchor, anchor, i_slot)
    return pairs, along


@inner(**INLINE)
def _list(
    work: SampledWork, thread: int, pairs: int, along: np.float32, partner: int, anchor: int, i: int
) -> tuple[int, np.float32]:
    """List one more pair, the anchor's i-th."""
    work.partners[thread, pairs] = partner
    work.weights[thread, pairs] = work.slopes[anchor, i] * work.scales[partner]
    share = np.float32(1) if work.score == DISTANCE else work.scores[anchor, i]
    return pairs + 1, along + work.slopes[anchor, i] * share


@inner(**INLINE)
def _gather(work: SampledWork, tile: Tile, k: int, pairs: int, along: np.float32, share: np.float32) -> None:
    """The gradient of sentence k's words, from the pairs on the list.

    For u = s / |s|: dL/ds = (g - (g.u) u) / |s|, and g.u is the sum of slope x score. For u = s / n it is g / n.
    For the distance it is twice the sum of slope x (partner - s).
    """
    partners, weights = work.partners[tile.thread], work.weights[tile.thread]
    if work.score != DOT:
        partners[pairs], weights[pairs] = k, -along * work.scales[k]
        pairs += 1
    factor = np.float32(2) if work.score == DISTANCE else np.float32(1)
    for i in range(pairs):
        weights[i] *= work.scales[k] * share * factor
    gather_scaled(work.sums[tile.strip], partners, weights, pairs, work.gradients[tile.strip], k)
