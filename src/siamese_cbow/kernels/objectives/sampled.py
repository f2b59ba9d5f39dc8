"""Objectives with a few candidates for each anchor: its neighbours, and sampled negatives.

    softmax   cross-entropy of softmax(cos / temperature) against 1/|S+| on the positives (the paper's)
    sigmoid   -log sigmoid(dot) on positives, -log sigmoid(-dot) on negatives
    logistic  log(1 + exp(-gamma (cos with a positive - cos with a negative))), the mean over all such pairs (Yih)

`reference` defines them. The loss of a batch is the mean over its examples.

The rows lie in one or two strips of columns (see `training.layout`), and nearly all work is done strip by strip, so
that two threads touch different memory: each has half of every row to itself. All that they exchange are parts of dot
products. Five phases for each batch:

    sums       of the rows of each sentence                                   strip by strip
    dots       of each anchor with its candidates, of these sums              strip by strip
    slopes     dots -> scores -> loss, and dL/dscore
    gradients  each sentence gathers its gradient from every pair it is in    strip by strip
    rows       the rows move                                                  strip by strip
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.kernels.batch.phases import Matrices, Objective, Tally, rows_tile, tile_size, tiles
from siamese_cbow.kernels.batch.records import Keys, Picked, Shape, Text
from siamese_cbow.kernels.batch.tokens import Words, fill
from siamese_cbow.kernels.batch.updates import SGD, Rule
from siamese_cbow.kernels.objectives.sampled_gradients import gradients_tile
from siamese_cbow.kernels.objectives.sampled_scores import LOGISTIC, SIGMOID, SOFTMAX, dots_tile, slopes_tile, sums_tile
from siamese_cbow.kernels.objectives.sampled_work import SampledWork, other_side, strip_of
from siamese_cbow.machine.compiling import LEAN
from siamese_cbow.machine.gathering import gather_move
from siamese_cbow.machine.prefetch import prefetch_to_move
from siamese_cbow.machine.threads import claim, finish, next_part, part_of

__all__ = ["LOGISTIC", "SIGMOID", "SOFTMAX", "train_sampled"]

_SUMS, _DOTS, _SLOPES, _GRADIENTS, _ROWS = range(5)


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
    work: SampledWork,
    tally: Tally,
) -> None:
    """Train on a chunk of batches, one after the other; the threads share out each phase of a batch."""
    part = thread
    while True:
        phase, place = claim(memory, part)
        b, what = (phase - 1) // 5, (phase - 1) % 5  # phase 0 is for all batches, then there are five for each
        if b >= len(rates):
            return
        n, n_strips, size = picked.n_sentences[max(0, b)], len(work.sums), 1
        if phase == 0:
            n, n_strips = len(rates), 1
        else:
            if what == _SLOPES:
                n, n_strips = picked.n_candidates[b], 1
            elif what == _ROWS:
                n = words.n_unique[b]
            size = max(1, min(n, tile_size(n * n_strips, n_threads)))
        tiles_of_strip = tiles(n, size)
        n_tiles = n_strips * tiles_of_strip
        first_tile, end_tile = part_of(n_tiles, part, n_threads)
        tile = first_tile + place
        if tile >= end_tile:
            part = next_part(memory, phase, n_threads, thread, part)
            continue
        strip, begin = tile // tiles_of_strip, tile % tiles_of_strip * size
        end = min(begin + size, n)
        if phase == 0:
            fill(text, shape, keys, picked, words, first_tokens[tile], thread, tile)
        elif what == _SUMS:
            sums_tile(text, words, objective, left, right, work, strip, b, begin, end)
        elif what == _DOTS:
            dots_tile(shape, picked, words, objective, work, strip, b, begin, end)
        elif what == _SLOPES:
            slopes_tile(shape, picked, objective, work, thread, b, begin, end)
        elif what == _GRADIENTS:
            gradients_tile(shape, picked, objective, work, tally, thread, strip, b, begin, end)
        else:
            step, gradients = first_step + b, work.gradients[strip]
            rows, other_rows = strip_of(text, left, strip), strip_of(text, right, strip)
            other_gradients = gradients[other_side(objective, work) :]
            if rule.kind == SGD and rule.clip == 0 and rule.l2 == 0:
                _plain_rows_tile(words, first_tokens[b], rates[b], rows, gradients, begin, end)
                if not objective.shared:
                    _plain_rows_tile(words, first_tokens[b], rates[b], other_rows, other_gradients, begin, end)
            else:
                rows_tile(
                    words, first_tokens[b], objective, rule, rates[b], step, rows, other_rows, gradients,
                    other_gradients, work.totals, thread, begin, end,
                )  # fmt: skip
        part = finish(memory, phase, n_tiles, n_threads, thread, part)


@njit(**LEAN)
def _plain_rows_tile(
    words: Words, first_token: int, rate: np.float32, rows: Matrices, gradients: Vectors, first: int, last: int
) -> None:
    """As `rows_tile`, for plain SGD: the sum of a row's gradients goes from registers to the row."""
    for u in range(first_token + first, first_token + last):
        if u + 2 < first_token + last:
            prefetch_to_move(rows.vectors, words.unique[u + 2])
        begin, end = words.unique_starts[u], words.unique_starts[u + 1]
        gather_move(gradients, words.places, begin, end, rate, rows.vectors, words.unique[u])
