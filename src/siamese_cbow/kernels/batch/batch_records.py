"""The records that kernels take, and which sentences are neighbours in them.

    Text, Shape, Keys   the stream, how it is divided into batches, an epoch's randomness
    Picked, Tokens      the sentences of some batches, and their words
    Batches             all of that for a chunk of batches, how its work is divided, and what is reported
    Objective, Steps    what is minimised, and how rows move
    Matrices            the rows

Legend: b batch of the chunk, k and j places in the batch, s sentence of the corpus.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Ids, Offsets, Vectors
from siamese_cbow.machine.compiling import INLINE, inner
from siamese_cbow.machine.threads import Phases, Tile


class Text(NamedTuple):
    """The stream as arrays."""

    ids: Ids  # (n_tokens,)
    sentences: Offsets  # (n_sentences + 1,) into ids
    documents: Offsets  # (n_documents + 1,) into sentences
    starts: Bytes  # one bit per sentence: does a document start here? Cheaper than searching documents
    keep: NDArray[np.float32]  # (n_words,) probability that subsampling keeps a word. Empty if all are kept
    stems: Ids  # (n_words,) the row that a word shares with others of its stem; -1: none. Empty if nothing is shared
    weights: NDArray[np.float32]  # (n_words,) weight of a word in the mean of a sentence. Empty if all are 1
    n_rows: int  # words and shared rows


class Shape(NamedTuple):
    """How batches are formed: the same for the whole run."""

    run_length: int
    units_per_batch: int
    n_units: int
    groups: bool  # units are documents whose members are all adjacent to one another
    halo: bool  # include the neighbours of a run's first and last sentence, as candidates but not as anchors
    negatives: int  # sampled for each anchor; 0 if the objective uses the whole batch
    negatives_from_batch: bool
    max_tokens: int  # of a sentence; the rest is dropped
    triples: bool  # an anchor has a sentence before it and one after it; others are candidates only
    any_negative: bool  # a negative may be the anchor itself, or adjacent to it


class Keys(NamedTuple):
    """An epoch's keys of randomness."""

    order: np.uint64
    shift: int  # how far before the first sentence the first unit begins, so that units differ between epochs
    half_bits: int
    subsample: np.uint64
    negatives: np.uint64
    positives: np.uint64


class Picked(NamedTuple):
    """The sentences of a chunk of batches."""

    sentences: NDArray[np.int64]  # (n_batches, capacity) numbers of sentences in the corpus
    runs: NDArray[np.int32]  # (n_batches, capacity)
    anchors: NDArray[np.int32]  # (n_batches, capacity) 1 where the sentence is an anchor
    n_sentences: NDArray[np.int64]  # (n_batches,)
    n_candidates: NDArray[np.int64]  # (n_batches,) excluding negatives from elsewhere, which come last
    n_tokens: NDArray[np.int64]  # (n_batches,) rows to add up, at most: before subsampling
    negatives: NDArray[np.int32]  # (n_batches, capacity, negatives) places in the batch; -1: none found
    # The inverse: which anchors use a sentence as a negative.
    users: NDArray[np.int32]  # (n_batches, capacity * negatives, 2) an anchor, and which of its negatives
    user_starts: NDArray[np.int64]  # (n_batches, capacity + 2) into users, for each sentence of the batch


class Grouping(NamedTuple):
    """Memory of each thread for `tokens.group`."""

    numbers: NDArray[np.int32]  # (n_threads, n_rows) the number of each word among the distinct ones; -1: not seen yet
    order: NDArray[np.int32]  # (n_threads, most tokens of a batch) these numbers by sentence
    filled: NDArray[np.int64]  # (n_threads, most tokens) how often each occurs, then where its next occurrence goes


class Tokens(NamedTuple):
    """The words of a chunk of batches, by sentence and by word."""

    first: NDArray[np.int64]  # (n_batches,) where the batch's part of the arrays by sentence or by word begins
    rows: Ids  # by sentence
    starts: NDArray[np.int64]  # (n_batches, capacity + 1) into rows
    places: NDArray[np.int32]  # by word: the sentence (place in its batch) of each occurrence
    unique: Ids  # by word: the distinct words
    unique_starts: NDArray[np.int64]  # by word: where the occurrences of each begin, with one more at the end
    n_unique: NDArray[np.int64]  # (n_batches,)
    raw: NDArray[np.int64]  # (n_batches,) tokens of the anchors before anything is dropped
    cut: NDArray[np.int64]  # (n_batches,) tokens dropped by max_tokens
    weights: NDArray[np.float32]  # of `Text`
    grouping: Grouping


class Batches(NamedTuple):
    """A chunk of batches, and what is reported for each."""

    text: Text
    shape: Shape
    keys: Keys
    picked: Picked
    tokens: Tokens
    phases: Phases  # how its work is divided
    loss: NDArray[np.float64]  # (n_batches,) sum over examples
    examples: NDArray[np.int64]  # (n_batches,)


class Objective(NamedTuple):
    """What is minimised, as numbers."""

    kind: int  # its number in `tables.OBJECTIVES`
    sampled: bool  # a few candidates for each anchor rather than the whole batch
    sharpness: np.float32  # 1 / temperature, or gamma
    margin: np.float32
    score: int  # how two sentences are compared: its number in `tables.SCORES`
    shared: bool  # one matrix for both sides


class Rule(NamedTuple):
    """An optimiser as numbers."""

    kind: int  # its number in `tables.OPTIMIZERS`
    dim: np.float32
    momentum: np.float32  # m, r or b1 of the formulas in `updates`
    decay: np.float32  # b2
    epsilon: np.float32
    clip: np.float32  # maximum gradient norm of a row; 0: no limit
    l2: np.float32  # weight of the squared norms of the rows touched
    to_start: bool  # penalise their squared distances from the start instead


class Steps(NamedTuple):
    """How rows move in a chunk of batches."""

    rule: Rule
    rates: NDArray[np.float32]  # (n_batches,) learning rates
    first: int  # the number of the first batch, counted from 1 through all epochs


class Matrices(NamedTuple):
    """What is trained, for one side: rows, and the optimiser's state for them. Strips come one after the other."""

    vectors: Vectors  # (n_strips * n_rows, width)
    first: Vectors
    second: Vectors
    start: Vectors  # the rows as they started, if the rule asks for them; else (1, 1)


@inner(**INLINE)
def starts_document(starts: Bytes, s: int) -> bool:
    """Whether sentence s is the first of its document."""
    return (starts[s >> 3] >> (s & 7)) & 1 == 1


@inner(**INLINE)
def neighbours(shape: Shape, picked: Picked, b: int, k: int) -> tuple[int, int]:
    """The places first <= j < end, j != k, that are adjacent to k: in a text with runs 0 0 0 1, place 1 -> 0, 3.

    In a text the one before and the one after, if they belong to the run; in a group all members.
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


# The few candidates of a sampled objective have fixed slots: in a text the sentence before (0) and the one after (1),
# in a group its members in order; then the negatives.


@njit(**INLINE)
def n_slots_of_positives(shape: Shape) -> int:
    """The number of slots for neighbours."""
    return shape.run_length if shape.groups else 2


@inner(**INLINE)
def slot(shape: Shape, first: int, anchor: int, j: int) -> int:
    """The slot of the anchor's neighbour j, in a group that begins at `first`."""
    return j - first if shape.groups else (0 if j < anchor else 1)


@inner(**INLINE)
def candidate(shape: Shape, picked: Picked, b: int, anchor: int, i: int) -> int:
    """The place in the batch of the candidate in slot i; -1 if there is none."""
    n_positives = n_slots_of_positives(shape)
    if i >= n_positives:
        return picked.negatives[b, anchor, i - n_positives]
    first, end = neighbours(shape, picked, b, anchor)
    j = first + i if shape.groups else anchor - 1 + 2 * i
    return j if first <= j < end and j != anchor else -1


@inner(**INLINE)
def count_examples(
    chunk: Batches, losses: NDArray[np.float64], is_example: NDArray[np.int64], n: NDArray[np.int64], tile: Tile
) -> int:
    """The number of examples among the n[b] sentences of a tile's batch b; the first tile also reports them.

    losses, is_example  (capacity,) of the batch, always summed in the same order
    """
    n_examples, b = 0, tile.batch
    for k in range(n[b]):
        n_examples += is_example[k]
    if tile.begin + tile.strip == 0:
        loss = 0.0
        for k in range(n[b]):
            loss += losses[k]
        chunk.loss[b], chunk.examples[b] = loss, n_examples
    return n_examples
