"""FastSent and FastSent+AE (Hill, Cho and Korhonen 2016), trained by our own kernels.

The sum of a sentence's word vectors predicts the words of the sentences before and after it; with `autoencode` (the
authors' FastSent+AE) its own words too. Predicted words have separate output vectors, which are discarded at the end.
The model averages where FastSent adds: the direction, and so every cosine, is the same.

The authors' program uses plain SGD, one sentence after the other. Here each batch moves every row once, with Adagrad,
which makes training parallel and byte-identical on any number of threads.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from siamese_cbow.base.arrays import thread_count
from siamese_cbow.base.option_fields import check_options, option
from siamese_cbow.errors import SettingsError
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.recipe import check_batch

INIT_STD = 0.01  # standard deviation of the initial vectors


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
        from siamese_cbow.baselines.fastsent_engine import FastSentEngine, Guesses
        from siamese_cbow.machine.intrinsics import padded_width
        from siamese_cbow.machine.threads import ThreadTeam
        from siamese_cbow.training.batches import batch_shape, batches_per_epoch, epoch_keys, text_arrays
        from siamese_cbow.training.optimizers import rule_of
        from siamese_cbow.training.state import random_matrices
        from siamese_cbow.training.strips import StripLayout

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
