"""The records that picking fills and training reads: the corpus, how it is cut, and what was picked for a chunk."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Ids, Offsets
from siamese_cbow.machine.compiling import INLINE


class Text(NamedTuple):
    """The stream as arrays."""

    ids: Ids  # (n_tokens,)
    sentences: Offsets  # (n_sentences + 1,) into ids
    documents: Offsets  # (n_documents + 1,) into sentences
    starts: Bytes  # one bit a sentence: does a document start here? Cheaper than a search in documents
    keep: NDArray[np.float32]  # (n_words,) the chance that subsampling keeps a word. Empty where all are kept
    kin: Ids  # (n_words,) the second row of a word, shared with its kin; -1: none. Empty where nothing is shared
    n_rows: int  # words and shared rows


class Shape(NamedTuple):
    """How batches are cut: the same for the whole training."""

    run_length: int
    units_per_batch: int
    n_units: int
    groups: bool  # units are documents whose members are all adjacent to one another
    halo: bool  # take in the neighbours of a run's first and last sentence, as candidates but not as anchors
    negatives: int  # sampled for each anchor; 0 where the objective looks at the whole batch
    negatives_from_batch: bool
    max_tokens: int  # of a sentence; the rest is left out


class Keys(NamedTuple):
    """An epoch's keys of randomness."""

    order: np.uint64
    shift: int  # where the first unit begins before the first sentence, so that epochs cut elsewhere
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
    n_candidates: NDArray[np.int64]  # (n_batches,) without the negatives from elsewhere, which come last
    n_tokens: NDArray[np.int64]  # (n_batches,) rows to add up, at most: before subsampling
    negatives: NDArray[np.int32]  # (n_batches, capacity, negatives) places in the batch; -1: none found
    users: NDArray[
        np.int32
    ]  # (n_batches, capacity * negatives, 2) the other way round: anchor, and which of its negatives
    user_starts: NDArray[np.int64]  # (n_batches, capacity + 2) into users, for each sentence of the batch


@njit(**INLINE)
def starts_document(starts: Bytes, s: int) -> bool:
    """Whether sentence s is the first of its document."""
    return (starts[s >> 3] >> (s & 7)) & 1 == 1
