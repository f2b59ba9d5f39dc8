"""The memory FastSent's kernels work in. Imported only for training, because it needs Numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.kernels.batch.batch_records import Keys, Matrices, Picked, Rule, Shape, Steps, Text
from siamese_cbow.kernels.batch.random import alias_table
from siamese_cbow.kernels.objectives.fastsent_kernel import FASTSENT_PHASES, FastSentWork, Pairs, train_fastsent
from siamese_cbow.machine.intrinsics import aligned
from siamese_cbow.machine.threads import ThreadTeam
from siamese_cbow.training.engine import BatchPicker, ChunkReport
from siamese_cbow.training.strips import StripLayout

CHUNK_TOKENS = 32_768  # tokens of the batches whose pairs are drawn at a time; a token is in a dozen pairs or more


class Guesses(NamedTuple):
    """What a sentence predicts."""

    negatives: int  # negatives per predicted word
    autoencode: bool  # whether it also predicts its own words
    counts: NDArray[np.int64]  # (n_words,) word counts, by which negatives are drawn


class FastSentEngine:
    """Runs batches of one stream through FastSent's kernels."""

    def __init__(
        self, text: Text, shape: Shape, guesses: Guesses, rule: Rule, layout: StripLayout, team: ThreadTeam
    ) -> None:
        self.picker = BatchPicker(text, shape, team)
        self.batches_per_chunk = self.picker.n_batches(CHUNK_TOKENS)
        self._guesses, self._rule, self._width, self._team = guesses, rule, layout.width, team
        self._table = alias_table(guesses.counts)

    def run(
        self, keys: Keys, first_batch: int, rates: NDArray[np.float32], first_step: int, left: Matrices, right: Matrices
    ) -> ChunkReport:
        """Train on the batches `first_batch, first_batch + 1, ...` of an epoch, one for each learning rate.

        left   input vectors, which become the model
        right  output vectors of predicted words
        """
        chunk = self.picker.chunk(keys, first_batch, len(rates), FASTSENT_PHASES)
        pairs, steps = self._pairs(chunk.picked), Steps(self._rule, rates, first_step)
        self._team.run(train_fastsent, chunk, pairs, steps, left, right, self._work(pairs))
        return ChunkReport.of(chunk)

    def _pairs(self, picked: Picked) -> Pairs:
        shape, array = self.picker.shape, self.picker.scratch.array
        guessers = (shape.run_length - 1 if shape.groups else 2) + int(self._guesses.autoencode)
        most = picked.n_tokens * guessers * (1 + self._guesses.negatives)  # how many sentences predict a word
        n, bounds = len(most), np.concatenate([np.zeros(1, np.int64), np.cumsum(most + 1)])
        size = int(bounds[-1])
        return Pairs(
            negatives=self._guesses.negatives,
            autoencode=self._guesses.autoencode,
            table=self._table,
            first=bounds[:-1],
            words=array("pair_words", (size,), np.int32),
            wanted=array("pair_wanted", (size,), np.uint8),
            anchors=array("pair_anchors", (size,), np.int32),
            slopes=array("pair_slopes", (size,), np.float32),
            starts=array("pair_starts", (n, self.picker.capacity + 1), np.int64),
            order=array("pair_order", (size,), np.int64),
            unique=array("pair_unique", (size,), np.int32),
            unique_starts=array("pair_unique_starts", (size,), np.int64),
            n_unique=np.zeros(n, np.int64),
            grouping=self.picker.grouping("pair", max(1, int(most.max()))),
        )

    def _work(self, pairs: Pairs) -> FastSentWork:
        capacity, n_threads, array = self.picker.capacity, self._team.n_threads, self.picker.scratch.array
        most = pairs.grouping.order.shape[1]
        return FastSentWork(
            sums=aligned((capacity, self._width)),
            gradients=aligned((capacity, self._width)),
            numbers=array("pair_numbers", (n_threads, most), np.int32),
            weights=array("pair_weights", (n_threads, most), np.float32),
            totals=aligned((n_threads, self._width)),
            losses=np.zeros(capacity, np.float64),
            is_example=np.zeros(capacity, np.int64),
        )
