"""The engine: owns the memory that kernels work in, and runs chunks of batches through them.

Does not know epochs, schedules or recipes: it is told which batches, at which learning rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Offsets
from siamese_cbow.kernels.batch.candidates import n_slots_of_positives
from siamese_cbow.kernels.batch.phases import Matrices, Objective, Tally, Work
from siamese_cbow.kernels.batch.picking import pick
from siamese_cbow.kernels.batch.records import Keys, Picked, Shape, Text
from siamese_cbow.kernels.batch.tokens import Words
from siamese_cbow.kernels.batch.updates import Rule
from siamese_cbow.kernels.objectives.in_batch import CONTRASTIVE, TILE, train_in_batch
from siamese_cbow.kernels.objectives.sampled import train_sampled
from siamese_cbow.kernels.objectives.sampled_work import SampledWork
from siamese_cbow.machine.threads import Crew
from siamese_cbow.training.strips import Layout

# Some 60 ms of work: waking the threads costs nothing beside it, and an interrupt is still answered at once. With an
# eighth of it, two threads lost a fifth of their speed.
_CHUNK_TOKENS = 1 << 20


@dataclass(frozen=True)
class ChunkReport:
    """What happened in a chunk: one number for each batch."""

    loss: NDArray[np.float64]  # sums over examples
    examples: NDArray[np.int64]
    words: NDArray[np.int64]  # of the anchors, before subsampling
    cut: NDArray[np.int64]  # words beyond max_tokens


class Engine:
    """Runs batches of one stream through the kernels."""

    def __init__(self, text: Text, shape: Shape, objective: Objective, rule: Rule, layout: Layout, crew: Crew) -> None:
        self._text, self._shape, self._objective, self._rule, self._crew = text, shape, objective, rule, crew
        self._capacity = batch_capacity(shape)
        self._kernel: Callable[..., None]
        self._work: Work | SampledWork
        if objective.kind >= CONTRASTIVE:
            self._kernel = train_in_batch
            self._work = _work(objective, self._capacity, layout.width, crew.n_threads)
        else:
            self._kernel = train_sampled
            self._work = _sampled_work(shape, objective, self._capacity, layout, crew.n_threads)
        self._memory = _Memory()
        self._numbers = np.full((crew.n_threads, text.n_rows), -1, np.int32)
        mean_tokens = max(1, len(text.ids) // max(1, len(text.sentences) - 1))
        self.batches_per_chunk = max(1, _CHUNK_TOKENS // (mean_tokens * self._capacity))

    def run(
        self, keys: Keys, first_batch: int, rates: NDArray[np.float32], first_step: int, left: Matrices, right: Matrices
    ) -> ChunkReport:
        """Train on the batches `first_batch, first_batch + 1, ...` of an epoch, one for each learning rate."""
        n = len(rates)
        picked = self._picked(n)
        self._crew.run(pick, self._text, self._shape, keys, first_batch, picked)
        words, first_tokens = self._words(picked)
        tally = Tally(np.zeros(n, np.float64), np.zeros(n, np.int64))
        self._crew.run(
            self._kernel, self._text, self._shape, keys, picked, words, first_tokens, self._objective, self._rule,
            rates, first_step, left, right, self._work, tally,
        )  # fmt: skip
        return ChunkReport(tally.loss, tally.examples, words.raw, words.cut)

    def _picked(self, n: int) -> Picked:
        size, negatives = self._capacity, self._shape.negatives
        array = self._memory.array
        return Picked(
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

    def _words(self, picked: Picked) -> tuple[Words, NDArray[np.int64]]:
        n = len(picked.n_tokens)
        bounds = np.concatenate([[0], np.cumsum(picked.n_tokens + 1)])
        size, most = int(bounds[-1]), int(picked.n_tokens.max(initial=1))
        array = self._memory.array
        words = Words(
            words=array("words", (size,), np.int32),
            starts=array("starts", (n, self._capacity + 1), np.int64),
            places=array("places", (size,), np.int32),
            unique=array("unique", (size,), np.int32),
            unique_starts=array("unique_starts", (size,), np.int64),
            n_unique=np.zeros(n, np.int64),
            raw=np.zeros(n, np.int64),
            cut=np.zeros(n, np.int64),
            numbers=self._numbers,
            order=array("order", (self._crew.n_threads, most), np.int32),
            filled=array("filled", (self._crew.n_threads, most), np.int64),
        )
        return words, bounds[:-1]


class _Memory:
    """Arrays that are used again for every chunk: fresh ones would come page by page from the system each time."""

    def __init__(self) -> None:
        self._bytes: dict[str, NDArray[np.uint8]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An array of this shape with any content, valid until the name is asked for again."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if name not in self._bytes or len(self._bytes[name]) < size:
            self._bytes[name] = np.empty(size + size // 4, np.uint8)
        array: NDArray[Any] = self._bytes[name][:size].view(dtype).reshape(shape)
        return array


def batch_capacity(shape: Shape) -> int:
    """The most sentences that a batch can hold: its units, their halos and the negatives from elsewhere."""
    anchors = shape.units_per_batch * shape.run_length
    halos = 2 * shape.units_per_batch if shape.halo else 0
    return anchors + halos + (0 if shape.negatives_from_batch else shape.negatives * anchors)


def document_starts(documents: Offsets, n_sentences: int) -> Bytes:
    """One bit a sentence, set where a document starts: documents [0, 2, 3] -> bits 1, 0, 1."""
    bits: Bytes = np.zeros(n_sentences // 8 + 1, np.uint8)
    first = np.asarray(documents[:-1])
    np.bitwise_or.at(bits, first >> 3, (1 << (first & 7)).astype(np.uint8))
    return bits


def aligned(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Zeros that begin at a cache line; rows that straddle lines cost a tenth of the speed."""
    size = math.prod(shape)
    memory = np.zeros(size + 16, np.float32)
    skip = (-memory.ctypes.data // 4) % 16
    return memory[skip : skip + size].reshape(shape)


def _work(objective: Objective, capacity: int, width: int, n_threads: int) -> Work:
    left, left_gradients = aligned((capacity, width)), aligned((capacity, width))
    left_norms = np.zeros(capacity, np.float32)
    return Work(
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


def _sampled_work(shape: Shape, objective: Objective, capacity: int, layout: Layout, n_threads: int) -> SampledWork:
    candidates = n_slots_of_positives.py_func(shape) + shape.negatives  # plain Python: there is nothing to compile for
    most_pairs = 2 * candidates + capacity * shape.negatives + 1
    sentences = capacity if objective.shared else 2 * capacity
    return SampledWork(
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
