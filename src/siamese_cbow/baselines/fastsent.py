"""FastSent and FastSent+AE (Hill, Cho and Korhonen 2016), trained by our own kernels.

The sum of a sentence's word vectors predicts the words of the sentences before and after it; with `autoencode` (the
authors' FastSent+AE) its own words too. Predicted words have separate output vectors, which are discarded at the end.
The model averages where FastSent adds: the direction, and so every cosine, is the same.

The authors' program uses plain SGD, one sentence after the other. Here each batch moves every row once, with Adagrad,
which makes training parallel and byte-identical on any number of threads.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import thread_count
from siamese_cbow.base.option_fields import check_options, option
from siamese_cbow.errors import SettingsError
from siamese_cbow.kernels.batch.batch_records import Keys, Matrices, Picked, Rule, Shape, Steps, Text
from siamese_cbow.kernels.batch.random import alias_table
from siamese_cbow.kernels.objectives.fastsent_kernel import FASTSENT_PHASES, FastSentWork, Pairs, train_fastsent
from siamese_cbow.machine.intrinsics import aligned, padded_width
from siamese_cbow.machine.threads import ThreadTeam
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.batches import batch_shape, batches_per_epoch, epoch_keys, text_arrays
from siamese_cbow.training.engine import BatchPicker, ChunkReport
from siamese_cbow.training.optimizers import rule_of
from siamese_cbow.training.recipe import check_batch
from siamese_cbow.training.state import random_matrices
from siamese_cbow.training.strips import StripLayout

INIT_STD = 0.01  # standard deviation of the initial vectors
CHUNK_TOKENS = 32_768  # tokens in a chunk of batches, whose pairs are drawn together; a token is in a dozen or more


@dataclass(frozen=True)
class FastSent:
    """`FastSent(dim=300).train(stream)` -> Model; `FastSent(autoencode=True)` is FastSent+AE."""

    autoencode: bool = option(False, "Also predict the words of the sentence itself.")
    dim: int = option(300, "Vector size.", at_least=1)
    negatives: int = option(5, "Negative samples per predicted word.", at_least=1)
    epochs: int = option(1, "Passes over the text.", at_least=1)
    batch_size: int = option(64, "Sentences per batch.", at_least=1)
    run_length: int = option(4, "Consecutive sentences that stay together in a batch.", at_least=1)
    subsample: float = option(1e-4, "Randomly drop words more frequent than this share of the text.", at_least=0)
    learning_rate: float = option(0.2, "Learning rate of Adagrad; docs/baselines.md compares others.", above=0)
    max_tokens: int | None = option(None, "Truncate sentences to this many words.", at_least=1)
    seed: int = option(1, "Random seed.", at_least=0)

    def __post_init__(self) -> None:
        check_options(self)
        check_batch(self.batch_size, self.run_length)

    @property
    def name(self) -> str:
        """`fastsent` or `fastsent+ae`."""
        return "fastsent+ae" if self.autoencode else "fastsent"

    def train(self, stream: Stream, *, threads: int | None = None, progress: Progress = SILENT) -> Model:
        """Train on a stream: byte-identical on any number of threads. `progress` advances by words."""
        n_threads, vocabulary = thread_count(threads), stream.vocabulary
        shape = batch_shape(stream, batch_size=self.batch_size, run_length=self.run_length, max_tokens=self.max_tokens)
        text, n_batches = text_arrays(stream, subsample=self.subsample), batches_per_epoch(shape)
        rule, layout = rule_of("adagrad", self.dim), StripLayout(1, padded_width(self.dim))
        left, right = (
            random_matrices(len(vocabulary), self.dim, layout, "adagrad", INIT_STD, self.seed, side)
            for side in range(2)
        )
        guesses = Guesses(self.negatives, self.autoencode, np.asarray(vocabulary.counts))
        with ThreadTeam(n_threads) as team:
            engine = FastSentEngine(text, shape, guesses, rule, layout, team)
            for epoch in range(self.epochs):
                keys, loss, examples = epoch_keys(self.seed, shape, epoch), 0.0, 0
                for first in range(0, n_batches, engine.batches_per_chunk):
                    n, step = min(engine.batches_per_chunk, n_batches - first), epoch * n_batches + first
                    rates = np.full(n, self.learning_rate, np.float32)
                    report = engine.run(keys, first, rates, step + 1, left, right)
                    self._check_finite(float(report.loss.sum()))
                    loss, examples = loss + float(report.loss.sum()), examples + int(report.examples.sum())
                    progress.advance(int(report.words.sum()), f"loss {loss / max(1, examples):.3f}")
                progress.say(f"epoch {epoch}: loss {loss / max(1, examples):.3f} over {examples:,} sentences")
        settings = {name: value for name, value in asdict(self).items() if value is not None}
        info = {"recipe": {"name": self.name, **settings}, "corpus": stream.fingerprint}
        return Model(vocabulary, left.vectors[:, : self.dim].copy(), stream.tokenizer, info)

    def _check_finite(self, loss: float) -> None:
        if not np.isfinite(loss):
            raise SettingsError(
                f"the loss is not a number: the vectors overflowed at learning rate {self.learning_rate}; try "
                "a smaller one"
            )


class Guesses(NamedTuple):
    """What a sentence predicts."""

    negatives: int  # negatives per predicted word
    autoencode: bool  # whether it also predicts its own words
    counts: NDArray[np.int64]  # (n_words,) word counts, by which negatives are drawn


class FastSentEngine:
    """Owns the memory that FastSent's kernels work in, and runs batches of one stream through them."""

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
        # How many sentences predict a word, at most: the others of its group, or those before and after; with
        # autoencode also its own.
        guessers = (shape.run_length - 1 if shape.groups else 2) + int(self._guesses.autoencode)
        most = picked.n_tokens * guessers * (1 + self._guesses.negatives)
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
