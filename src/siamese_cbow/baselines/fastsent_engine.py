"""The memory that FastSent's kernels work in. Imported only when something is trained: it needs Numba."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.kernels.crew import Crew
from siamese_cbow.kernels.fastsent import Work, train_fastsent
from siamese_cbow.kernels.fastsent_negatives import alias_table
from siamese_cbow.kernels.fastsent_pairs import Pairs
from siamese_cbow.kernels.phases import Matrices, Tally
from siamese_cbow.kernels.picking import Keys, Picked, Shape, Text, pick
from siamese_cbow.kernels.rows import padded_width
from siamese_cbow.kernels.rules import Rule
from siamese_cbow.kernels.words import Words
from siamese_cbow.training.engine import ChunkReport, aligned, batch_capacity

if TYPE_CHECKING:
    from siamese_cbow.baselines.fastsent import FastSent


class Engine:
    """Runs batches of one stream through FastSent's kernels."""

    def __init__(
        self, recipe: FastSent, text: Text, shape: Shape, rule: Rule, counts: NDArray[np.int64], crew: Crew
    ) -> None:
        from siamese_cbow.baselines.fastsent import CHUNK_TOKENS

        self._recipe, self._text, self._shape, self._rule, self._crew = recipe, text, shape, rule, crew
        self._table = alias_table(counts)
        self._capacity = batch_capacity(shape)
        self._width = padded_width(recipe.dim)
        mean_tokens = max(1, len(text.ids) // max(1, len(text.sentences) - 1))
        self.batches_per_chunk = max(1, CHUNK_TOKENS // (mean_tokens * self._capacity))

    def run(
        self,
        keys: Keys,
        first_batch: int,
        rates: NDArray[np.float32],
        first_step: int,
        source: Matrices,
        target: Matrices,
    ) -> ChunkReport:
        """Train on the batches `first_batch, first_batch + 1, ...` of an epoch, one for each learning rate."""
        picked = self._picked(len(rates))
        self._crew.run(pick, self._text, self._shape, keys, first_batch, picked)
        words, first_tokens = self._words(picked)
        pairs, first_pairs = self._pairs(picked)
        tally = Tally(np.zeros(len(rates), np.float64), np.zeros(len(rates), np.int64))
        self._crew.run(
            train_fastsent, self._text, self._shape, keys, picked, words, first_tokens, pairs, first_pairs,
            self._table, self._rule, rates, first_step, source, target, self._work(pairs), tally,
        )  # fmt: skip
        return ChunkReport(tally.loss, tally.examples, words.raw, words.cut)

    def _picked(self, n: int) -> Picked:
        size = self._capacity
        return Picked(
            sentences=np.empty((n, size), np.int64),
            runs=np.empty((n, size), np.int32),
            anchors=np.empty((n, size), np.int32),
            n_sentences=np.zeros(n, np.int64),
            n_candidates=np.zeros(n, np.int64),
            n_tokens=np.zeros(n, np.int64),
            negatives=np.empty((n, size, 0), np.int32),
            users=np.empty((n, 0), np.int32),
            user_starts=np.empty((n, 0), np.int64),
        )

    def _words(self, picked: Picked) -> tuple[Words, NDArray[np.int64]]:
        n, bounds = len(picked.n_tokens), _bounds(picked.n_tokens)
        words = Words(
            words=np.empty(bounds[-1], np.int32),
            starts=np.empty((n, self._capacity + 1), np.int64),
            places=np.empty(bounds[-1], np.int32),
            unique=np.empty(bounds[-1], np.int32),
            unique_starts=np.empty(bounds[-1], np.int64),
            n_unique=np.zeros(n, np.int64),
            raw=np.zeros(n, np.int64),
            cut=np.zeros(n, np.int64),
            sorting=np.empty((self._crew.n_threads, 2, max(1, int(picked.n_tokens.max()))), np.uint64),
        )
        return words, bounds[:-1]

    def _pairs(self, picked: Picked) -> tuple[Pairs, NDArray[np.int64]]:
        guessers = (self._shape.run_length - 1 if self._shape.groups else 2) + int(self._recipe.autoencode)
        most = picked.n_tokens * guessers * (1 + self._recipe.negatives)  # a word is guessed by so many sentences
        n, bounds = len(picked.n_tokens), _bounds(most)
        pairs = Pairs(
            negatives=self._recipe.negatives,
            autoencode=self._recipe.autoencode,
            words=np.empty(bounds[-1], np.int32),
            wanted=np.empty(bounds[-1], np.uint8),
            anchors=np.empty(bounds[-1], np.int32),
            slopes=np.empty(bounds[-1], np.float32),
            starts=np.empty((n, self._capacity + 1), np.int64),
            order=np.empty(bounds[-1], np.int64),
            unique=np.empty(bounds[-1], np.int32),
            unique_starts=np.empty(bounds[-1], np.int64),
            n_unique=np.zeros(n, np.int64),
            sorting=np.empty((self._crew.n_threads, 2, max(1, int(most.max()))), np.uint64),
        )
        return pairs, bounds[:-1]

    def _work(self, pairs: Pairs) -> Work:
        most = pairs.sorting.shape[2]
        return Work(
            sums=aligned((self._capacity, self._width)),
            gradients=aligned((self._capacity, self._width)),
            numbers=np.empty((self._crew.n_threads, most), np.int32),
            weights=np.empty((self._crew.n_threads, most), np.float32),
            totals=aligned((self._crew.n_threads, self._width)),
            losses=np.zeros(self._capacity, np.float64),
            is_example=np.zeros(self._capacity, np.int64),
        )


def _bounds(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each batch's part of an array begins, with a place to spare: sizes [3, 5] -> [0, 4, 10]."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes + 1)])
