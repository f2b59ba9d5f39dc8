"""Objectives that compare every sentence of a batch with every other.

    contrastive  cross-entropy of softmax(cos / temperature) against 1/|S+| on the adjacent sentences; the denominator
                 has all sentences of the batch but the anchor and the members of its run that aren't adjacent
    margin       max(0, margin - cos with a positive + cos with the hardest negative), the mean over positives (Wieting)

`reference` defines them. With one matrix the scores are symmetric, and only half of them are computed. The matrix of
scores becomes the matrix of coefficients dL/dscore in place, and two more products with it are the gradients.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.kernels.batch.phases import (
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
from siamese_cbow.kernels.batch.records import Keys, Picked, Shape, Text
from siamese_cbow.kernels.batch.rows import FASTMATH
from siamese_cbow.kernels.batch.tokens import Words, fill
from siamese_cbow.kernels.batch.updates import Rule
from siamese_cbow.machine.compiling import INLINE, LEAN
from siamese_cbow.machine.exponential import exp_all, highest
from siamese_cbow.machine.memory import LINE
from siamese_cbow.machine.products import combine, dots
from siamese_cbow.machine.threads import claim, finish, next_part, part_of

CONTRASTIVE, MARGIN = range(3, 5)
TILE = 64  # sentences of a tile of scores, and the most of a tile of gradients


@njit(**LEAN)
def train_in_batch(
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
        b, what = (phase - 1) // 5, (phase - 1) % 5  # phase 0 is for all batches, then there are five for each
        if b >= len(rates):
            return
        n, things, size = picked.n_sentences[max(0, b)], 0, 1
        if phase == 0:
            things = len(rates)
        elif what == 1:
            things = tiles(n, TILE) ** 2
        else:
            things = words.n_unique[b] if what == 4 else n
            size = gradients_tile_size(n, n_threads) if what == 3 else tile_size(things, n_threads)
        n_tiles = tiles(things, size)
        first_tile, end_tile = part_of(n_tiles, part, n_threads)
        tile = first_tile + place
        if tile >= end_tile:
            part = next_part(memory, phase, n_threads, thread, part)
            continue
        begin, end = tile * size, min((tile + 1) * size, things)
        if phase == 0:
            fill(text, shape, keys, picked, words, first_tokens[tile], thread, tile)
        elif what == 0:
            means_tile(picked, words, objective, left, right, work, b, begin, end)
        elif what == 1:
            _scores_tile(objective, work, n, tile)
        elif what == 2:
            _coefficients_tile(shape, picked, objective, work, b, begin, end)
        elif what == 3:
            _gradients_tile(words, objective, work, tally, thread, b, n, begin, end)
        else:
            step = first_step + b
            rows_tile(
                words, first_tokens[b], objective, rule, rates[b], step, left, right, work.left_gradients,
                work.right_gradients, work.totals, thread, begin, end,
            )  # fmt: skip
        part = finish(memory, phase, n_tiles, n_threads, thread, part)


@njit(**LEAN)
def _scores_tile(objective: Objective, work: Work, n: int, tile: int) -> None:
    """Cosines of all pairs, by tiles; with one matrix the lower half is the mirror of the upper one."""
    n_tiles = tiles(n, TILE)
    i, j = (tile // n_tiles) * TILE, (tile % n_tiles) * TILE
    if i <= j or not objective.shared:
        i_end, j_end = min(i + TILE, n), min(j + TILE, n)
        dots(work.left, i, i_end, work.right, j, j_end, work.scores, objective.shared)


@njit(**LEAN)
def _coefficients_tile(
    shape: Shape, picked: Picked, objective: Objective, work: Work, b: int, begin: int, end: int
) -> None:
    n = picked.n_sentences[b]
    for k in range(begin, end):
        scores = work.scores[k, :n]
        work.losses[k] = 0
        work.is_example[k] = _count_positives(shape, picked, work, b, k) > 0
        if work.is_example[k] == 0:
            for j in range(n):
                scores[j] = 0
        elif objective.kind == CONTRASTIVE:
            work.losses[k] = _contrastive(shape, picked, objective, work, b, k, scores)
        else:
            work.losses[k] = _margin(shape, picked, objective, work, b, k, scores)


@njit(**INLINE)
def _count_positives(shape: Shape, picked: Picked, work: Work, b: int, k: int) -> int:
    """How many neighbours of k have words; 0 too when k itself has none."""
    if work.left_norms[k] == 0:
        return 0
    first, end = neighbours(shape, picked, b, k)
    n = 0
    for j in range(first, end):
        n += j != k and work.right_norms[j] != 0
    return n


@njit(**INLINE, fastmath=FASTMATH)
def _contrastive(
    shape: Shape, picked: Picked, objective: Objective, work: Work, b: int, k: int, scores: NDArray[np.float32]
) -> float:
    n = len(scores)
    first, end = neighbours(shape, picked, b, k)
    target = np.float32(1.0 / _count_positives(shape, picked, work, b, k))
    wanted = np.float32(0)  # the mean logit of the positives
    for j in range(first, end):
        if j != k and work.right_norms[j] != 0:
            wanted += target * objective.sharpness * scores[j]
    _leave_out(picked, work, b, k, first, end, scores)
    top = highest(scores)
    total = exp_all(scores, objective.sharpness, top)
    scale = objective.sharpness / total
    for j in range(n):
        scores[j] *= scale
    for j in range(first, end):
        if j != k and work.right_norms[j] != 0:
            scores[j] -= objective.sharpness * target
    return np.log(np.float64(total)) + objective.sharpness * top - wanted


@njit(**INLINE)
def _leave_out(picked: Picked, work: Work, b: int, k: int, first: int, end: int, scores: NDArray[np.float32]) -> None:
    """Put the scores of those who are no candidates so low that their exponential is 0."""
    out = np.float32(-1e30)
    for j in range(len(scores)):
        if work.right_norms[j] == 0:
            scores[j] = out
    scores[k] = out
    run = picked.runs[b, k]
    for j in range(first - 1, -1, -1):
        if picked.runs[b, j] != run:
            break
        scores[j] = out
    for j in range(end, len(scores)):
        if picked.runs[b, j] != run:
            break
        scores[j] = out


@njit(**LEAN)
def _margin(
    shape: Shape, picked: Picked, objective: Objective, work: Work, b: int, k: int, scores: NDArray[np.float32]
) -> float:
    first, end = neighbours(shape, picked, b, k)
    n_positives = _count_positives(shape, picked, work, b, k)
    hardest = _hardest(picked, work, b, k, scores)
    loss, slope, pushed = 0.0, np.float32(1.0 / n_positives), 0
    limit = objective.margin + scores[hardest] if hardest >= 0 else np.float32(-np.inf)
    for j in range(first, end):
        if j != k and work.right_norms[j] != 0 and not limit <= scores[j]:
            loss += (limit - scores[j]) / n_positives
            pushed += 1
            scores[j] = np.nan  # marked, until the others are set to 0
    for j in range(len(scores)):
        scores[j] = -slope if np.isnan(scores[j]) and first <= j < end else np.float32(0)
    if hardest >= 0:
        scores[hardest] = slope * pushed
    return loss


@njit(**LEAN)
def _hardest(picked: Picked, work: Work, b: int, k: int, scores: NDArray[np.float32]) -> int:
    """The sentence of another run with the highest score (the first of equals); -1 when there is none."""
    best = -1
    for j in range(len(scores)):
        if (
            picked.runs[b, j] != picked.runs[b, k]
            and work.right_norms[j] != 0
            and (best < 0 or scores[j] > scores[best])
        ):
            best = j
    return best


@njit(**INLINE)
def gradients_tile_size(n: int, n_threads: int) -> int:
    """Two tiles for a thread, as far as `TILE` allows: the more rows a tile has, the less often the means are read."""
    return max(1, min(TILE, (n + 2 * n_threads - 1) // (2 * n_threads)))


@njit(**LEAN)
def _gradients_tile(
    words: Words, objective: Objective, work: Work, tally: Tally, thread: int, b: int, n: int, begin: int, end: int
) -> None:
    """The gradient of every mean: coefficients x means, for the sentences of a tile."""
    n_examples = count_examples(work, n, tally, b, begin)
    height = end - begin
    _copy_rows(work.scores, begin, height, n, work.panels, thread)
    if not objective.shared:
        combine(work.panels, thread, height, work.right, n, work.left_gradients, begin)
        _clear(work.panels, thread, height, n)
    _add_columns(work.scores, begin, height, n, work.panels, thread)
    combine(work.panels, thread, height, work.left, n, work.right_gradients, begin)
    for k in range(begin, end):
        finish_gradient(words, objective, work, b, k, n_examples)


@njit(**LEAN)
def _copy_rows(scores: Vectors, first: int, height: int, n: int, panels: Vectors, thread: int) -> None:
    """panels[thread, k, j] = scores[first + k, j] for j < n"""
    for k in range(height):
        for j in range(n):
            panels[thread, k, j] = scores[first + k, j]


@njit(**LEAN)
def _clear(panels: Vectors, thread: int, height: int, n: int) -> None:
    for k in range(height):
        for j in range(n):
            panels[thread, k, j] = 0


@njit(**LEAN)
def _add_columns(scores: Vectors, first: int, height: int, n: int, panels: Vectors, thread: int) -> None:
    """panels[thread, k, j] += scores[j, first + k] for j < n

    By squares of a cache line's length: going down a column, each number would come from a line of its own.
    """
    for k0 in range(0, height, LINE):
        for j0 in range(0, n, LINE):
            for k in range(k0, min(k0 + LINE, height)):
                for j in range(j0, min(j0 + LINE, n)):
                    panels[thread, k, j] += scores[j, first + k]
