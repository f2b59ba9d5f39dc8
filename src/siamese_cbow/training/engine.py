"""The engine: owns the memory that kernels work in, and runs chunks of batches through them.

Knows no epochs, schedules or recipes: the caller says which batches to run, at which learning rates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes
from siamese_cbow.kernels.batch.batch_records import (
    Batches,
    Grouping,
    Keys,
    Matrices,
    Objective,
    Picked,
    Rule,
    Shape,
    Steps,
    Text,
    Tokens,
    n_slots_of_positives,
)
from siamese_cbow.kernels.batch.picking import pick
from siamese_cbow.kernels.objectives.in_batch import IN_BATCH_PHASES, TILE, InBatchWork, train_in_batch
from siamese_cbow.kernels.objectives.sampled import SAMPLED_PHASES, SampledWork, train_sampled
from siamese_cbow.machine.intrinsics import Scratch, aligned
from siamese_cbow.machine.threads import Phases, ThreadTeam
from siamese_cbow.training.strips import StripLayout

# About 60 ms of work: waking the threads costs nothing in comparison, and an interrupt is still handled at once. With
# an eighth of that, two threads lost a fifth of their speed.
_CHUNK_TOKENS = 1 << 20

# Whether the objective samples its negatives -> the kernel, and its number of phases per batch
KERNELS: Mapping[bool, tuple[Callable[..., None], int]] = {
    True: (train_sampled, SAMPLED_PHASES),
    False: (train_in_batch, IN_BATCH_PHASES),
}


@dataclass(frozen=True)
class ChunkReport:
    """What happened in a chunk: one number per batch."""

    loss: NDArray[np.float64]  # sums over examples
    examples: NDArray[np.int64]
    words: NDArray[np.int64]  # of the anchors, before subsampling
    cut: NDArray[np.int64]  # words beyond max_tokens

    @classmethod
    def of(cls, chunk: Batches) -> ChunkReport:
        """The report of a chunk that the kernels have trained on."""
        return cls(chunk.loss, chunk.examples, chunk.tokens.raw, chunk.tokens.cut)


class BatchPicker:
    """Picks the batches of one stream, in memory that is reused for each chunk."""

    def __init__(self, text: Text, shape: Shape, team: ThreadTeam) -> None:
        self.text, self.shape, self.team, self.scratch = text, shape, team, Scratch()
        anchors = shape.units_per_batch * shape.run_length
        halos = 2 * shape.units_per_batch if shape.halo else 0
        # The maximum number of sentences in a batch: its units, their halos and the negatives from elsewhere.
        self.capacity = anchors + halos + (0 if shape.negatives_from_batch else shape.negatives * anchors)
        self._numbers = np.full((team.n_threads, text.n_rows), -1, np.int32)

    def n_batches(self, n_tokens: int) -> int:
        """How many batches have about this many tokens; at least 1."""
        mean_tokens = max(1, len(self.text.ids) // max(1, len(self.text.sentences) - 1))
        return max(1, n_tokens // (mean_tokens * self.capacity))

    def chunk(self, keys: Keys, first_batch: int, n: int, n_phases: int) -> Batches:
        """The n batches `first_batch, first_batch + 1, ...` of an epoch, for a kernel of `n_phases` phases."""
        picked = self.pick(keys, first_batch, n)
        phases, loss, examples = Phases.of(n, n_phases), np.zeros(n, np.float64), np.zeros(n, np.int64)
        return Batches(self.text, self.shape, keys, picked, self._tokens(picked), phases, loss, examples)

    def pick(self, keys: Keys, first_batch: int, n: int) -> Picked:
        """The sentences of these batches."""
        size, negatives, array = self.capacity, self.shape.negatives, self.scratch.array
        picked = Picked(
            sentences=array("sentences", (n, size), np.int64),
            runs=array("runs", (n, size), np.int32),
            anchors=array("anchors", (n, size), np.int32),
            n_sentences=np.zeros(n, np.int64),
            n_candidates=np.zeros(n, np.int64),
            n_tokens=np.zeros(n, np.int64),
            negatives=array("negatives", (n, size, negatives), np.int32),
            users=array("users", (n, size * negatives, 2), np.int32),
            user_starts=array("user_starts", (n, size + 2), np.int64),
        )
        self.team.run(pick, self.text, self.shape, keys, first_batch, picked)
        return picked

    def _tokens(self, picked: Picked) -> Tokens:
        """Memory for the words of these sentences."""
        bounds = np.concatenate([[0], np.cumsum(picked.n_tokens + 1)])
        n, size, array = len(picked.n_tokens), int(bounds[-1]), self.scratch.array
        return Tokens(
            first=bounds[:-1],
            rows=array("rows", (size,), np.int32),
            starts=array("starts", (n, self.capacity + 1), np.int64),
            places=array("places", (size,), np.int32),
            unique=array("unique", (size,), np.int32),
            unique_starts=array("unique_starts", (size,), np.int64),
            n_unique=np.zeros(n, np.int64),
            raw=np.zeros(n, np.int64),
            cut=np.zeros(n, np.int64),
            weights=self.text.weights,
            grouping=self.grouping("token", int(picked.n_tokens.max(initial=1))),
        )

    def grouping(self, name: str, most: int) -> Grouping:
        """Uninitialised memory to group up to this many tokens of a batch by word; valid as long as `Scratch.array`."""
        shape = self.team.n_threads, most
        order = self.scratch.array(f"grouping_{name}_order", shape, np.int32)
        filled = self.scratch.array(f"grouping_{name}_filled", shape, np.int64)
        return Grouping(self._numbers, order, filled)


class Engine:
    """Runs batches of one stream through the kernel of an objective."""

    def __init__(
        self, text: Text, shape: Shape, objective: Objective, rule: Rule, layout: StripLayout, team: ThreadTeam
    ) -> None:
        self._objective, self._rule, self._team = objective, rule, team
        self.picker = BatchPicker(text, shape, team)
        self.batches_per_chunk = self.picker.n_batches(_CHUNK_TOKENS)
        self.touched: Bytes | None = None  # (n_rows,) if requested: set to 1 where a batch moves a row
        self._kernel, self._n_phases = KERNELS[objective.sampled]
        self._work: InBatchWork | SampledWork
        if objective.sampled:
            self._work = _sampled_work(shape, objective, self.picker.capacity, layout, team.n_threads)
        else:
            self._work = _in_batch_work(objective, self.picker.capacity, layout.width, team.n_threads)

    def run(
        self, keys: Keys, first_batch: int, rates: NDArray[np.float32], first_step: int, left: Matrices, right: Matrices
    ) -> ChunkReport:
        """Trains on the batches `first_batch, first_batch + 1, ...` of an epoch, one per learning rate."""
        chunk = self.picker.chunk(keys, first_batch, len(rates), self._n_phases)
        steps = Steps(self._rule, rates, first_step)
        self._team.run(self._kernel, chunk, self._objective, steps, left, right, self._work)
        if self.touched is not None:
            tokens = chunk.tokens
            for first, n in zip(tokens.first.tolist(), tokens.n_unique.tolist(), strict=True):
                self.touched[tokens.unique[first : first + n]] = 1
        return ChunkReport.of(chunk)


def _in_batch_work(objective: Objective, capacity: int, width: int, n_threads: int) -> InBatchWork:
    left, left_gradients = aligned((capacity, width)), aligned((capacity, width))
    left_norms = np.zeros(capacity, np.float32)
    return InBatchWork(
        left=left,
        right=left if objective.shared else aligned((capacity, width)),
        left_norms=left_norms,
        right_norms=left_norms if objective.shared else np.zeros(capacity, np.float32),
        left_gradients=left_gradients,
        right_gradients=left_gradients if objective.shared else aligned((capacity, width)),
        scores=aligned((capacity, capacity)),
        panels=aligned((n_threads, TILE, capacity)),
        totals=aligned((n_threads, width)),
        losses=np.zeros(capacity, np.float64),
        is_example=np.zeros(capacity, np.int64),
    )


def _sampled_work(
    shape: Shape, objective: Objective, capacity: int, layout: StripLayout, n_threads: int
) -> SampledWork:
    candidates = n_slots_of_positives.py_func(shape) + shape.negatives  # plain Python: not worth compiling
    most_pairs = 2 * candidates + capacity * shape.negatives + 1
    sentences = capacity if objective.shared else 2 * capacity
    return SampledWork(
        score=objective.score,
        right=0 if objective.shared else capacity,
        sums=aligned((layout.n_strips, sentences, layout.width)),
        squares=np.zeros((layout.n_strips, sentences), np.float32),
        scales=np.zeros(sentences, np.float32),
        gradients=aligned((layout.n_strips, sentences, layout.width)),
        dots=np.zeros((layout.n_strips, capacity, candidates), np.float32),
        places=np.full((capacity, candidates), -1, np.int32),
        scores=np.zeros((capacity, candidates), np.float32),
        slopes=np.zeros((capacity, candidates), np.float32),
        partners=np.zeros((n_threads, most_pairs), np.int32),
        weights=np.zeros((n_threads, most_pairs), np.float32),
        totals=aligned((n_threads, layout.width)),
        losses=np.zeros(capacity, np.float64),
        is_example=np.zeros(capacity, np.int64),
    )
