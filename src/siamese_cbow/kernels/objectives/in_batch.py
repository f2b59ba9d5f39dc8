"""Objectives that compare every sentence of a batch with every other (see `losses`). Phases of a batch:

    means      of the rows of each sentence, at length 1; each is computed once and serves in all its roles
    scores     cosines of all pairs; with one matrix they are symmetric, and only half of them are computed
    slopes     scores -> losses, and dL/dscore, which replaces the scores
    gradients  of each mean: two more products of matrices, slopes x means
    rows       the rows move

Legend: left is the anchors' side, right the candidates'; with one matrix both are the same arrays. b batch of the
chunk, k and j places in the batch.
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
    count_examples,
    neighbours,
)
from siamese_cbow.kernels.batch.tokens import fill, sum_words
from siamese_cbow.kernels.batch.updates import move_rows
from siamese_cbow.kernels.objectives.losses import Anchor, in_batch_loss
from siamese_cbow.machine.compiling import FASTMATH, INLINE, LEAN, inner
from siamese_cbow.machine.intrinsics import LINE
from siamese_cbow.machine.products import combine, dot, dots
from siamese_cbow.machine.threads import OVER, Team, Tile, cut, cut_evenly, finish, next_tile, tiles

FILL, MEANS, SCORES, SLOPES, GRADIENTS, ROWS = range(6)  # the phases: the first for all batches
IN_BATCH_PHASES = 6
TILE = 64  # sentences of a tile of scores, and the most of a tile of gradients


class InBatchWork(NamedTuple):
    """Memory for one batch."""

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


@njit(**LEAN)
def train_in_batch(
    team: Team, chunk: Batches, objective: Objective, steps: Steps, left: Matrices, right: Matrices, work: InBatchWork
) -> None:
    """Train on a chunk of batches, in order; the threads share each phase of a batch."""
    part = team.thread
    while True:
        tile = next_tile(team, chunk.phases, part)
        if tile.phase == OVER:
            return
        if tile.phase == FILL:
            fill(chunk, tile)
            _cut_phases(chunk, tile.begin, team.n_threads)
        elif tile.phase == MEANS:
            _means_tile(chunk.tokens, left, work.left, work.left_norms, tile)
            if not objective.shared:
                _means_tile(chunk.tokens, right, work.right, work.right_norms, tile)
        elif tile.phase == SCORES:
            _scores_tile(objective, work, chunk.picked.n_sentences[tile.batch], tile.begin)
        elif tile.phase == SLOPES:
            _slopes_tile(chunk.shape, chunk.picked, objective, work, tile)
        elif tile.phase == GRADIENTS:
            n = chunk.picked.n_sentences
            n_examples = count_examples(chunk, work.losses, work.is_example, n, tile)
            _gradients_tile(chunk.tokens.starts, objective, work, tile, n[tile.batch], n_examples)
        else:
            move_rows(chunk.tokens, tile, work.left_gradients, steps, left, objective.shared, work.totals)
            if not objective.shared:
                move_rows(chunk.tokens, tile, work.right_gradients, steps, right, objective.shared, work.totals)
        part = finish(team, tile)


@inner(**INLINE)
def _cut_phases(chunk: Batches, b: int, n_threads: int) -> None:
    n, phases = chunk.picked.n_sentences[b], chunk.phases
    cut_evenly(phases, b, MEANS, n, 1, n_threads)
    cut(phases, b, SCORES, tiles(n, TILE) ** 2, 1, 1)
    cut_evenly(phases, b, SLOPES, n, 1, n_threads)
    # Two tiles per thread, as far as TILE allows: the more rows a tile has, the less often the means are read.
    cut(phases, b, GRADIENTS, n, max(1, min(TILE, (n + 2 * n_threads - 1) // (2 * n_threads))), 1)
    cut_evenly(phases, b, ROWS, chunk.tokens.n_unique[b], 1, n_threads)


@inner(**LEAN)
def _means_tile(tokens: Tokens, side: Matrices, means: Vectors, inverse_norms: NDArray[np.float32], tile: Tile) -> None:
    starts, b = tokens.starts, tile.batch
    for k in range(tile.begin, tile.end):
        sum_words(tokens, side.vectors, tile, k, means, k)
        _to_unit(means, k, starts[b, k + 1] - starts[b, k], inverse_norms)


@inner(**INLINE, fastmath=FASTMATH)
def _to_unit(means: Vectors, k: int, n_words: int, inverse_norms: NDArray[np.float32]) -> None:
    """Scale the sum in means[k] to length 1. Absent: inverse norm 0.

    A sentence without words, or with a mean of zeros, is absent: it takes no part in its batch.
    """
    square = dot(means, k, means, k)
    if square == 0:
        inverse_norms[k] = 0
        return
    # The norm of the mean is the norm of the sum / n; NaN and infinity pass through on purpose.
    norm = np.sqrt(square)
    inverse_norms[k] = np.float32(n_words) / norm
    scale = np.float32(1) / norm
    for j in range(means.shape[1]):
        means[k, j] *= scale


@inner(**LEAN)
def _scores_tile(objective: Objective, work: InBatchWork, n: int, tile: int) -> None:
    """Cosines of all pairs, by tiles; with one matrix the lower half is the mirror of the upper one."""
    n_tiles = tiles(n, TILE)
    i, j = (tile // n_tiles) * TILE, (tile % n_tiles) * TILE
    if i <= j or not objective.shared:
        i_end, j_end = min(i + TILE, n), min(j + TILE, n)
        dots(work.left, i, i_end, work.right, j, j_end, work.scores, objective.shared)


@inner(**LEAN)
def _slopes_tile(shape: Shape, picked: Picked, objective: Objective, work: InBatchWork, tile: Tile) -> None:
    """The losses of some anchors, and dL/dscore of all others; zeros if no sentence is adjacent to the anchor."""
    b = tile.batch
    n, runs, norms = picked.n_sentences[b], picked.runs[b], work.right_norms
    for k in range(tile.begin, tile.end):
        first, end = neighbours(shape, picked, b, k)
        n_positives = 0
        if work.left_norms[k] != 0:
            for j in range(first, end):
                n_positives += j != k and norms[j] != 0
        scores = work.scores[k, :n]
        work.losses[k] = 0
        work.is_example[k] = n_positives > 0
        if n_positives > 0:
            work.losses[k] = in_batch_loss(objective, Anchor(k, first, end, n_positives), runs, norms, scores)
        else:
            scores[:] = 0


@inner(**LEAN)
def _gradients_tile(
    starts: NDArray[np.int64], objective: Objective, work: InBatchWork, tile: Tile, n: int, n_examples: int
) -> None:
    """The gradient of every mean: slopes x means, for the sentences of a tile; then that of each of its words."""
    b, begin, height, shared = tile.batch, tile.begin, tile.end - tile.begin, objective.shared
    if not shared:
        _fill_panel(work, tile, n, True, False)
        combine(work.panels, tile.thread, height, work.right, n, work.left_gradients, begin)
    _fill_panel(work, tile, n, shared, True)
    combine(work.panels, tile.thread, height, work.left, n, work.right_gradients, begin)
    for k in range(begin, tile.end):
        share = np.float32(1.0 / (max(1, n_examples) * max(1, starts[b, k + 1] - starts[b, k])))
        _to_words(work.left, k, share * work.left_norms[k], work.left_gradients)
        if not shared:
            _to_words(work.right, k, share * work.right_norms[k], work.right_gradients)


@inner(**LEAN)
def _fill_panel(work: InBatchWork, tile: Tile, n: int, rows: bool, columns: bool) -> None:
    """Row k becomes the slopes of the tile's k-th sentence: its row of scores, its column, or the sum of both.

    In squares of a cache line's length: going down a column, each number would come from a separate line.
    """
    scores, panels, first, height = work.scores, work.panels, tile.begin, tile.end - tile.begin
    for k0 in range(0, height, LINE):
        for j0 in range(0, n, LINE):
            for k in range(k0, min(k0 + LINE, height)):
                for j in range(j0, min(j0 + LINE, n)):
                    slope = scores[first + k, j] if rows else np.float32(0)
                    panels[tile.thread, k, j] = slope + scores[j, first + k] if columns else slope


@inner(**INLINE, fastmath=FASTMATH)
def _to_words(means: Vectors, k: int, scale: np.float32, gradients: Vectors) -> None:
    """Turn the gradient of a unit mean into the gradient of each of its words.

    For u = m / |m|: dL/dm = (g - (g.u) u) / |m|. `scale` is 1 / |m| / number of words / number of examples.
    """
    along = dot(gradients, k, means, k)
    for j in range(means.shape[1]):
        gradients[k, j] = (gradients[k, j] - along * means[k, j]) * scale
