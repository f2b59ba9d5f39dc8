"""FastSent (Hill, Cho and Korhonen 2016): a sentence's sum of word vectors guesses the words beside it.

`fastsent_reference` defines it. A *pair* is a sentence and a word that it should guess, or should not: each word of a
neighbouring sentence makes one pair, followed by `negatives` pairs with words drawn at random. Which pairs a batch has
does not depend on the vectors, so they are drawn and sorted by word beforehand, for several batches at once. Then:

    sums     of every sentence
    slopes   dL/dscore of every pair, and from them the gradient of each sum
    rows     every row of either matrix moves once, its pairs always added in the same order

which is what gives the same bytes on any number of threads. Legend: b batch of the chunk, k place in the batch,
p pair, u different word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.kernels.batch.phases import ROWS, SENTENCES, Matrices, Tally, count_examples, tiles
from siamese_cbow.kernels.batch.records import Keys, Picked, Shape, Text
from siamese_cbow.kernels.batch.rows import FASTMATH
from siamese_cbow.kernels.batch.tokens import Words, fill
from siamese_cbow.kernels.batch.updates import Rule, update
from siamese_cbow.kernels.objectives.fastsent_negatives import Table
from siamese_cbow.kernels.objectives.fastsent_pairs import Pairs, fill_pairs
from siamese_cbow.machine.gathering import gather, gather_scaled
from siamese_cbow.machine.threads import claim, finish, next_part, part_of

_PHASES = 3  # of a batch


class Work(NamedTuple):
    """Memory for one batch; `losses` and `is_example` have the names that `count_examples` knows."""

    sums: Vectors  # (capacity, width)
    gradients: Vectors  # (capacity, width)
    numbers: NDArray[np.int32]  # (n_threads, most pairs of a batch)
    weights: NDArray[np.float32]  # (n_threads, most pairs of a batch)
    totals: Vectors  # (n_threads, width)
    losses: NDArray[np.float64]  # (capacity,)
    is_example: NDArray[np.int64]  # (capacity,)


@njit(nogil=True, cache=True)
def train_fastsent(
    memory: NDArray[np.int64],
    n_threads: int,
    thread: int,
    text: Text,
    shape: Shape,
    keys: Keys,
    picked: Picked,
    words: Words,
    first_tokens: NDArray[np.int64],
    pairs: Pairs,
    first_pairs: NDArray[np.int64],
    table: Table,
    rule: Rule,
    rates: NDArray[np.float32],  # (n_batches,)
    first_step: int,
    source: Matrices,
    target: Matrices,
    work: Work,
    tally: Tally,
) -> None:
    """Train on a chunk of batches, one after the other; the threads share out each phase of a batch."""
    part = thread
    while True:
        phase, place = claim(memory, part)
        b, what = (phase - 1) // _PHASES, (phase - 1) % _PHASES  # phase 0 is for all batches
        if b >= len(rates):
            return
        n_sources, n_targets = tiles(words.n_unique[b], ROWS), tiles(pairs.n_unique[b], ROWS)
        if phase == 0:
            n_tiles = len(rates)
        elif what == 2:
            n_tiles = n_sources + n_targets
        else:
            n_tiles = tiles(picked.n_sentences[b], SENTENCES)
        first_tile, end_tile = part_of(n_tiles, part, n_threads)
        tile = first_tile + place
        if tile >= end_tile:
            part = next_part(memory, phase, n_threads, thread, part)
            continue
        if phase == 0:
            fill(text, shape, keys, picked, words, first_tokens[tile], thread, tile)
            fill_pairs(text, shape, keys, picked, words, table, pairs, first_pairs[tile], thread, tile)
        elif what == 0:
            for k in range(tile * SENTENCES, min((tile + 1) * SENTENCES, picked.n_sentences[b])):
                gather(source.vectors, words.words, words.starts[b, k], words.starts[b, k + 1], work.sums, k)
        elif what == 1:
            _slopes_tile(picked, pairs, target, work, thread, b, tile)
        else:
            n_examples = count_examples(work, picked.n_sentences[b], tally, b, tile)
            share, step = np.float32(1.0 / max(1, n_examples)), first_step + b
            if tile < n_sources:
                _sources_tile(words, first_tokens[b], rule, rates[b], step, share, source, work, thread, b, tile)
            else:
                first = first_pairs[b] + (tile - n_sources) * ROWS
                end = min(first + ROWS, first_pairs[b] + pairs.n_unique[b])
                _targets_tile(pairs, first, end, rule, rates[b], step, share, target, work, thread)
        part = finish(memory, phase, n_tiles, n_threads, thread, part)


@njit(nogil=True, cache=True)
def _slopes_tile(picked: Picked, pairs: Pairs, target: Matrices, work: Work, thread: int, b: int, tile: int) -> None:
    """Scores of the pairs of some sentences, their slopes, and the gradients of the sums."""
    for k in range(tile * SENTENCES, min((tile + 1) * SENTENCES, picked.n_sentences[b])):
        first, end = pairs.starts[b, k], pairs.starts[b, k + 1]
        n, loss = 0, 0.0
        for p in range(first, end):
            w = pairs.words[p]
            if w < 0:
                continue
            score = np.float64(_dot(work.sums, k, target.vectors, w))
            sign = 1.0 if pairs.wanted[p] == 1 else -1.0
            loss += max(-sign * score, 0.0) + np.log1p(np.exp(-abs(score)))
            slope = np.float32(-sign / (1.0 + np.exp(sign * score)))
            pairs.slopes[p] = slope
            work.numbers[thread, n] = w
            work.weights[thread, n] = slope
            n += 1
        gather_scaled(target.vectors, work.numbers[thread], work.weights[thread], n, work.gradients, k)
        work.losses[k] = loss
        work.is_example[k] = 1 if n > 0 else 0


@njit(nogil=True, cache=True)
def _sources_tile(
    words: Words,
    first_token: int,
    rule: Rule,
    rate: np.float32,
    step: int,
    share: np.float32,
    source: Matrices,
    work: Work,
    thread: int,
    b: int,
    tile: int,
) -> None:
    """Each word of a sentence gets the gradient of the sentence's sum."""
    end = first_token + min((tile + 1) * ROWS, words.n_unique[b])
    for u in range(first_token + tile * ROWS, end):
        begin, stop = words.unique_starts[u], words.unique_starts[u + 1]
        gather(work.gradients, words.places, begin, stop, work.totals, thread)
        _scale(work.totals, thread, share)
        update(rule, rate, step, source.vectors, source.first, source.second, words.unique[u], work.totals, thread)


@njit(nogil=True, cache=True)
def _targets_tile(
    pairs: Pairs,
    first: int,
    end: int,
    rule: Rule,
    rate: np.float32,
    step: int,
    share: np.float32,
    target: Matrices,
    work: Work,
    thread: int,
) -> None:
    """Each word of a pair gets the sum of the sentence it was paired with, times the slope."""
    for u in range(first, end):
        n = 0
        for i in range(pairs.unique_starts[u], pairs.unique_starts[u + 1]):
            p = pairs.order[i]
            work.numbers[thread, n] = pairs.anchors[p]
            work.weights[thread, n] = pairs.slopes[p] * share
            n += 1
        gather_scaled(work.sums, work.numbers[thread], work.weights[thread], n, work.totals, thread)
        update(rule, rate, step, target.vectors, target.first, target.second, pairs.unique[u], work.totals, thread)


@njit(nogil=True, cache=True, forceinline=True, fastmath=FASTMATH)
def _scale(totals: Vectors, t: int, scale: np.float32) -> None:
    for j in range(totals.shape[1]):
        totals[t, j] *= scale


@njit(nogil=True, cache=True, forceinline=True, fastmath=FASTMATH)
def _dot(left: Vectors, a: int, right: Vectors, b: int) -> np.float32:
    total = np.float32(0)
    for j in range(left.shape[1]):
        total += left[a, j] * right[b, j]
    return total
