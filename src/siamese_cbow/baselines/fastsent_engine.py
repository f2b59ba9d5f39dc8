"""The memory that FastSent's kernels work in. Imported only when something is trained: it needs Numba."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.kernels.batch.phases import Matrices, Objective, Tally
from siamese_cbow.kernels.batch.picking import pick
from siamese_cbow.kernels.batch.records import Keys, Picked, Shape, Text
from siamese_cbow.kernels.batch.updates import Rule
from siamese_cbow.kernels.objectives import sampled
from siamese_cbow.kernels.objectives.fastsent import Work, train_fastsent
from siamese_cbow.kernels.objectives.fastsent_negatives import alias_table
from siamese_cbow.kernels.objectives.fastsent_pairs import Pairs
from siamese_cbow.machine.memory import padded_width
from siamese_cbow.machine.threads import Crew
from siamese_cbow.training.engine import ChunkReport, aligned
from siamese_cbow.training.engine import Engine as SiameseEngine
from siamese_cbow.training.strips import Layout

if TYPE_CHECKING:
    from siamese_cbow.baselines.fastsent import FastSent

CHUNK_TOKENS = 32_768  # of the batches that are drawn and sorted at a time; a token takes part in a dozen pairs or more


class Engine(SiameseEngine):
    """Runs batches of one stream through FastSent's kernels; sentences and words are picked as for our own recipes."""

    def __init__(
        self, recipe: FastSent, text: Text, shape: Shape, rule: Rule, counts: NDArray[np.int64], crew: Crew
    ) -> None:
        self._width = padded_width(recipe.dim)
        unused = Objective(sampled.SIGMOID, np.float32(1), np.float32(0), False, False)
        super().__init__(text, shape, unused, rule, Layout(1, self._width), crew)
        self._recipe, self._table = recipe, alias_table(counts)
        mean_tokens = max(1, len(text.ids) // max(1, len(text.sentences) - 1))
        self.batches_per_chunk = max(1, CHUNK_TOKENS // (mean_tokens * self._capacity))

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
            self._table, self._rule, rates, first_step, left, right, self._fastsent_work(pairs), tally,
        )  # fmt: skip
        return ChunkReport(tally.loss, tally.examples, words.raw, words.cut)

    def _pairs(self, picked: Picked) -> tuple[Pairs, NDArray[np.int64]]:
        guessers = (self._shape.run_length - 1 if self._shape.groups else 2) + int(self._recipe.autoencode)
        most = picked.n_tokens * guessers * (1 + self._recipe.negatives)  # a word is guessed by so many sentences
        n, bounds = len(most), np.concatenate([np.zeros(1, np.int64), np.cumsum(most + 1)])
        size, array = int(bounds[-1]), self._memory.array
        pairs = Pairs(
            negatives=self._recipe.negatives,
            autoencode=self._recipe.autoencode,
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

    def _fastsent_work(self, pairs: Pairs) -> Work:
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
