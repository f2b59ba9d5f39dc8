"""FastSent (Hill, Cho and Korhonen 2016): the sum of a sentence's word vectors guesses the words of its neighbours.

`reference` defines it. A *pair* is a sentence and a word that it should guess, or should not: each word of a
neighbouring sentence makes one pair, followed by `negatives` pairs with words drawn at random. Which pairs a batch has
does not depend on the vectors, so they are drawn and grouped by word beforehand, for several batches at once. Then:

    sums     of every sentence
    slopes   dL/dscore of every pair, and from them the gradient of each sum
    rows     every row of either matrix moves once, its pairs always added in the same order

So any number of threads gives the same bytes.

Legend: b batch of the chunk, k place in the batch, j place of a sentence to be guessed, p pair, u distinct word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids, Vectors
from siamese_cbow.kernels.batch.batch_records import (
    Batches,
    Grouping,
    Matrices,
    Steps,
    Tokens,
    count_examples,
    neighbours,
)
from siamese_cbow.kernels.batch.random import AliasTable, draw
from siamese_cbow.kernels.batch.tokens import fill, group, sum_words
from siamese_cbow.kernels.batch.updates import update
from siamese_cbow.kernels.objectives.losses import softplus
from siamese_cbow.machine.compiling import INLINE, LEAN, inner
from siamese_cbow.machine.products import dot
from siamese_cbow.machine.simd import gather, gather_scaled
from siamese_cbow.machine.threads import OVER, Team, Tile, cut_evenly, finish, next_tile

FILL, SUMS, SLOPES, ROWS = range(4)  # the phases: the first for all batches
FASTSENT_PHASES = 4

_BEFORE, _AFTER, _OWN = 0, 1, 2  # position of the guessing sentence relative to the guessed one; group members: from 3


class Pairs(NamedTuple):
    """The pairs of a chunk of batches, by sentence and by word."""

    negatives: int  # for each word to guess
    autoencode: bool  # sentences guess their own words too
    table: AliasTable  # from which negatives are drawn
    first: NDArray[np.int64]  # (n_batches,) where the batch's part of the arrays by sentence or by word begins
    words: Ids  # by sentence
    wanted: NDArray[np.uint8]  # by sentence: 1 to be guessed, 0 drawn at random
    anchors: NDArray[np.int32]  # by sentence: its place in the batch
    slopes: NDArray[np.float32]  # by sentence: dL/dscore
    starts: NDArray[np.int64]  # (n_batches, capacity + 1) into words
    order: NDArray[np.int64]  # by word: the place of each pair in words
    unique: Ids  # by word: the distinct words
    unique_starts: NDArray[np.int64]  # by word: where the pairs of each begin in order, with one more at the end
    n_unique: NDArray[np.int64]  # (n_batches,)
    grouping: Grouping


class FastSentWork(NamedTuple):
    """Memory for one batch."""

    sums: Vectors  # (capacity, width)
    gradients: Vectors  # (capacity, width)
    numbers: NDArray[np.int32]  # (n_threads, most pairs of a batch)
    weights: NDArray[np.float32]  # (n_threads, most pairs of a batch)
    totals: Vectors  # (n_threads, width)
    losses: NDArray[np.float64]  # (capacity,)
    is_example: NDArray[np.int64]  # (capacity,)


@njit(**LEAN)
def train_fastsent(
    team: Team, chunk: Batches, pairs: Pairs, steps: Steps, source: Matrices, target: Matrices, work: FastSentWork
) -> None:
    """Train on a chunk of batches, in order; the threads share each phase of a batch."""
    part, tokens = team.thread, chunk.tokens
    while True:
        tile = next_tile(team, chunk.phases, part)
        if tile.phase == OVER:
            return
        b = tile.batch
        if tile.phase == FILL:
            fill(chunk, tile)
            _fill_pairs(chunk, pairs, tile)
            _cut_phases(chunk, pairs, tile.begin, team.n_threads)
        elif tile.phase == SUMS:
            for k in range(tile.begin, tile.end):
                sum_words(tokens, source.vectors, tile, k, work.sums, k)
        elif tile.phase == SLOPES:
            _slopes_tile(pairs, target, work, tile)
        else:
            n_examples = count_examples(chunk, work.losses, work.is_example, chunk.picked.n_sentences, tile)
            share = np.float32(1.0 / max(1, n_examples))
            _source_rows(tokens, steps, share, source, work, tile)
            _target_rows(tokens.n_unique[b], pairs, steps, share, target, work, tile)
        part = finish(team, tile)


@inner(**INLINE)
def _cut_phases(chunk: Batches, pairs: Pairs, b: int, n_threads: int) -> None:
    n, phases = chunk.picked.n_sentences[b], chunk.phases
    cut_evenly(phases, b, SUMS, n, 1, n_threads)
    cut_evenly(phases, b, SLOPES, n, 1, n_threads)
    n_rows = chunk.tokens.n_unique[b] + pairs.n_unique[b]  # of one matrix, then of the other
    cut_evenly(phases, b, ROWS, n_rows, 1, n_threads)


@inner(**LEAN)
def _slopes_tile(pairs: Pairs, target: Matrices, work: FastSentWork, tile: Tile) -> None:
    """Scores of the pairs of some sentences, their slopes, and the gradients of the sums."""
    thread = tile.thread
    for k in range(tile.begin, tile.end):
        n, loss = 0, 0.0
        for p in range(pairs.starts[tile.batch, k], pairs.starts[tile.batch, k + 1]):
            score = np.float64(dot(work.sums, k, target.vectors, pairs.words[p]))
            sign = 1.0 if pairs.wanted[p] == 1 else -1.0
            loss += softplus(-sign * score)
            slope = np.float32(-sign / (1.0 + np.exp(sign * score)))
            pairs.slopes[p] = slope
            work.numbers[thread, n] = pairs.words[p]
            work.weights[thread, n] = slope
            n += 1
        gather_scaled(target.vectors, work.numbers[thread], work.weights[thread], n, work.gradients, k)
        work.losses[k] = loss
        work.is_example[k] = 1 if n > 0 else 0


@inner(**LEAN)
def _source_rows(
    tokens: Tokens, steps: Steps, share: np.float32, source: Matrices, work: FastSentWork, tile: Tile
) -> None:
    """Each word of a sentence gets the gradient of the sentence's sum."""
    b, thread = tile.batch, tile.thread
    for u in range(tokens.first[b] + tile.begin, tokens.first[b] + min(tile.end, tokens.n_unique[b])):
        gather(work.gradients, tokens.places, tokens.unique_starts[u], tokens.unique_starts[u + 1], work.totals, thread)
        for j in range(work.totals.shape[1]):
            work.totals[thread, j] *= share
        update(steps.rule, steps.rates[b], steps.first + b, source, tokens.unique[u], work.totals, thread)


@inner(**LEAN)
def _target_rows(
    n_sources: int, pairs: Pairs, steps: Steps, share: np.float32, target: Matrices, work: FastSentWork, tile: Tile
) -> None:
    """Each word of a pair gets the sum of the sentence it was paired with, times the slope."""
    b, thread = tile.batch, tile.thread
    before = pairs.first[b] - n_sources  # the rows of the other matrix come first
    for u in range(max(before + tile.begin, pairs.first[b]), before + tile.end):
        n = 0
        for i in range(pairs.unique_starts[u], pairs.unique_starts[u + 1]):
            p = pairs.order[i]
            work.numbers[thread, n] = pairs.anchors[p]
            work.weights[thread, n] = pairs.slopes[p] * share
            n += 1
        gather_scaled(work.sums, work.numbers[thread], work.weights[thread], n, work.totals, thread)
        update(steps.rule, steps.rates[b], steps.first + b, target, pairs.unique[u], work.totals, thread)


@inner(**LEAN)
def _fill_pairs(chunk: Batches, pairs: Pairs, tile: Tile) -> None:
    """Draw the pairs of a batch and group them by word."""
    picked, starts, b, thread = chunk.picked, chunk.tokens.starts, tile.begin, tile.thread
    first = end = pairs.first[b]
    for k in range(picked.n_sentences[b]):
        pairs.starts[b, k] = end
        if picked.anchors[b, k] == 0 or starts[b, k] == starts[b, k + 1]:
            continue
        near, stop = neighbours(chunk.shape, picked, b, k)
        for j in range(near, stop):
            if j != k or pairs.autoencode:
                end = _guess(chunk, pairs, end, b, k, j)
    pairs.starts[b, picked.n_sentences[b]] = end
    memory, filled = pairs.grouping, pairs.grouping.filled[thread]
    pairs.n_unique[b] = group(memory, thread, pairs.words, first, end, pairs.unique, pairs.unique_starts)
    for p in range(first, end):
        u = memory.order[thread, p - first]
        pairs.order[filled[u]] = p
        filled[u] += 1


@inner(**LEAN)
def _guess(chunk: Batches, pairs: Pairs, end: int, b: int, k: int, j: int) -> int:
    """Sentence k has to guess the words of sentence j; returns the new end of the pairs."""
    role = 3 + k if chunk.shape.groups else (_BEFORE if k < j else _AFTER)
    if j == k:
        role = _OWN
    # A draw is a function of the guessed sentence, the role of the guessing one, and the place of the word. Only in
    # sentences of hundreds of thousands of words could two of these coincide, and two guesses with the same negatives
    # do no harm.
    position = np.uint64(chunk.picked.sentences[b, j]) << np.uint64(34)
    position += np.uint64(role) << np.uint64(20)
    starts = chunk.tokens.starts
    for t in range(starts[b, j], starts[b, j + 1]):
        word = chunk.tokens.rows[t]
        place = np.uint64((t - starts[b, j]) * pairs.negatives)
        for i in range(1 + pairs.negatives):
            drawn = draw(pairs.table, chunk.keys.negatives, position + place + np.uint64(i - 1)) if i > 0 else word
            if i == 0 or drawn != word:  # a negative equal to the word to guess is skipped, as in word2vec
                pairs.words[end] = drawn
                pairs.wanted[end] = 1 if i == 0 else 0
                pairs.anchors[end] = k
                end += 1
    return end
