"""The memory that FastSent's kernels work in. Imported only when something is trained: it needs Numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.kernels.batch.phases import Matrices, Tally
from siamese_cbow.kernels.batch.picking import pick
from siamese_cbow.kernels.batch.plans import Keys, Picked, Shape, Text
from siamese_cbow.kernels.batch.rules import Rule
from siamese_cbow.kernels.objectives.fastsent import Work, train_fastsent
from siamese_cbow.kernels.objectives.fastsent_negatives import alias_table
from siamese_cbow.kernels.objectives.fastsent_pairs import Pairs
from siamese_cbow.machine.crew import Crew
from siamese_cbow.training.engine import BatchPicker, ChunkReport, aligned
from siamese_cbow.training.layout import Layout

CHUNK_TOKENS = 32_768  # of the batches that are drawn and sorted at a time; a token takes part in a dozen pairs or more


class Guesses(NamedTuple):
    """What a sentence guesses."""

    negatives: int  # words drawn against each word
    autoencode: bool  # its own words, too
    counts: NDArray[np.int64]  # (n_words,) in the text: words are drawn by them


class FastSentEngine(BatchPicker):
    """Runs batches of one stream through FastSent's kernels."""

    def __init__(self, text: Text, shape: Shape, guesses: Guesses, rule: Rule, layout: Layout, crew: Crew) -> None:
        super().__init__(text, shape, crew, CHUNK_TOKENS)
        self._guesses, self._rule, self._width = guesses, rule, layout.width
        self._table = alias_table(guesses.counts)

    def run(
        self, keys: Keys, first_batch: int, rates: NDArray[np.float32], first_step: int, left: Matrices, right: Matrices
    ) -> ChunkReport:
        """Train on the batches `first_batch, first_batch + 1, ...` of an epoch, one for each learning rate.

        left   the vectors of words that guess, which become the model
        right  the vectors of words that are guessed
        """
        picked = self._picked(len(rates))
        self._crew.run(pick, self._text, self._shape, keys, first_batch, picked)
        words, first_tokens = self._words(picked)
        pairs, first_pairs = self._pairs(picked)
        tally = Tally(np.zeros(len(rates), np.float64), np.zeros(len(rates), np.int64))
        self._crew.run(
            train_fastsent, self._text, self._shape, keys, picked, words, first_tokens, pairs, first_pairs,
            self._table, self._rule, rates, first_step, left, right, self._work(pairs), tally,
        )  # fmt: skip
        return ChunkReport(tally.loss, tally.examples, words.raw, words.cut)

    def _pairs(self, picked: Picked) -> tuple[Pairs, NDArray[np.int64]]:
        guessers = (self._shape.run_length - 1 if self._shape.groups else 2) + int(self._guesses.autoencode)
        most = picked.n_tokens * guessers * (1 + self._guesses.negatives)  # a word is guessed by so many sentences
        n, bounds = len(most), np.concatenate([np.zeros(1, np.int64), np.cumsum(most + 1)])
        size, array = int(bounds[-1]), self._memory.array
        pairs = Pairs(
            negatives=self._guesses.negatives,
            autoencode=self._guesses.autoencode,
            words=array("pair_words", (size,), np.int32),
            wanted=array("pair_wanted", (size,), np.uint8),
            anchors=array("pair_anchors", (size,), np.int32),
            slopes=array("pair_slopes", (size,), np.float32),
            starts=array("pair_starts", (n, self._capacity + 1), np.int64),
            order=array("pair_order", (size,), np.int64),
            unique=array("pair_unique", (size,), np.int32),
            unique_starts=array("pair_unique_starts", (size,), np.int64),
            n_unique=np.zeros(n, np.int64),
            sorting=array("pair_sorting", (self._crew.n_threads, 2, max(1, int(most.max()))), np.uint64),
        )
        return pairs, bounds[:-1]

    def _work(self, pairs: Pairs) -> Work:
        most, n_threads, array = pairs.sorting.shape[2], self._crew.n_threads, self._memory.array
        return Work(
            sums=aligned((self._capacity, self._width)),
            gradients=aligned((self._capacity, self._width)),
            numbers=array("pair_numbers", (n_threads, most), np.int32),
            weights=array("pair_weights", (n_threads, most), np.float32),
            totals=aligned((n_threads, self._width)),
            losses=np.zeros(self._capacity, np.float64),
            is_example=np.zeros(self._capacity, np.int64),
        )
