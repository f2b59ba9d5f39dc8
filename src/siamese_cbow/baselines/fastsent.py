"""FastSent and FastSent+AE (Hill, Cho and Korhonen 2016), trained by our own kernels.

The sum of a sentence's word vectors guesses the words of the sentences before and after it; with `autoencode` (the
authors' FastSent+AE) its own words too. Guessed words have vectors of their own, which are thrown away at the end. The
model averages where FastSent adds: the direction, and so every cosine, is the same.

The authors' program is plain SGD, one sentence after the other. Here batches move every row once, by Adagrad, which
makes it parallel and gives the same bytes on any number of threads.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from siamese_cbow.base.arrays import thread_count
from siamese_cbow.errors import SettingsError
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.stream import Stream


@dataclass(frozen=True)
class FastSent:
    """`FastSent(dim=300).train(stream)` -> Model; `FastSent(autoencode=True)` is FastSent+AE."""

    autoencode: bool = False
    dim: int = 300
    negatives: int = 5  # words drawn for each word to guess
    epochs: int = 1
    batch_size: int = 64  # sentences
    run_length: int = 4  # of these follow one another
    subsample: float = 1e-4
    learning_rate: float = 0.2  # see docs/baselines.md for others
    max_tokens: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        self._plan()  # checks the settings
        if isinstance(self.negatives, bool) or not isinstance(self.negatives, int) or self.negatives < 1:
            raise SettingsError(f"negatives is {self.negatives!r}; expected a whole number, 1 or more")

    @property
    def name(self) -> str:
        """`fastsent` or `fastsent+ae`."""
        return "fastsent+ae" if self.autoencode else "fastsent"

    def train(self, stream: Stream, *, threads: int | None = None, progress: Progress = SILENT) -> Model:
        """Learn from a stream: the same bytes each time, on any number of threads. `progress` advances by words."""
        from siamese_cbow.baselines.fastsent_engine import Engine
        from siamese_cbow.machine.threads import ThreadTeam
        from siamese_cbow.training.batches import batch_shape, batches_per_epoch, epoch_keys, text_arrays
        from siamese_cbow.training.optimizers import learning_rates, rule_of
        from siamese_cbow.training.state import first_state

        plan = self._plan()
        shape = batch_shape(plan, stream)._replace(negatives=0)  # of sentences; those of words are drawn elsewhere
        state = first_state(plan, stream.vocabulary)
        n_batches = batches_per_epoch(shape)
        counts = np.asarray(stream.vocabulary.counts)
        with ThreadTeam(thread_count(threads)) as team:
            text = text_arrays(plan, stream)
            engine = Engine(self, text, shape, rule_of(plan), counts, team)
            for epoch in range(self.epochs):
                keys, loss, examples = epoch_keys(plan, shape, epoch), 0.0, 0
                for first in range(0, n_batches, engine.batches_per_chunk):
                    n, step = min(engine.batches_per_chunk, n_batches - first), epoch * n_batches + first
                    rates = learning_rates(plan, step, n, self.epochs * n_batches)
                    report = engine.run(keys, first, rates, step + 1, state.left, state.right)
                    self._check_finite(float(report.loss.sum()))
                    loss, examples = loss + float(report.loss.sum()), examples + int(report.examples.sum())
                    progress.advance(int(report.words.sum()), f"loss {loss / max(1, examples):.3f}")
                progress.say(f"epoch {epoch}: loss {loss / max(1, examples):.3f} over {examples:,} sentences")
        info = {"recipe": {"name": self.name, **self._settings()}, "corpus": stream.fingerprint}
        return Model(stream.vocabulary, state.vectors.copy(), stream.tokenizer, info)

    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    def _plan(self) -> Any:
        """What it has in common with our own objectives of sampled negatives: batches, schedule, optimiser, start."""
        from siamese_cbow.training.recipe import SiameseCBOW

        shared = ("dim", "epochs", "batch_size", "run_length", "subsample", "learning_rate", "max_tokens", "seed")
        options = {name: getattr(self, name) for name in shared}
        return SiameseCBOW(objective="softmax", negatives=1, separate_matrices=True, optimizer="adagrad",
                           share_stems=False, **options)  # fmt: skip

    def _check_finite(self, loss: float) -> None:
        if not np.isfinite(loss):
            raise SettingsError(
                f"the loss is no longer a number: the vectors have grown beyond all bounds at learning rate "
                f"{self.learning_rate}; try a smaller one"
            )
