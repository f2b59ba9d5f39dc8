"""Skip-thought as a recipe: its settings, and training from a stream to an encoder.

Trains batch after batch, with checkpoints from which an interrupted run resumes; `learning` does one step.
"""

# ruff: noqa: RUF009 (`option` makes fields of dataclasses)

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from siamese_cbow.base.arrays import Vectors, thread_count
from siamese_cbow.base.option_fields import at_least_1, check_options, option
from siamese_cbow.baselines.skip_thought.encoder import SkipThoughtEncoder
from siamese_cbow.baselines.skip_thought.examples import Batch, Examples
from siamese_cbow.baselines.skip_thought.parts import Part
from siamese_cbow.baselines.skip_thought.published import PARTS, expand
from siamese_cbow.errors import InputError, SettingsError, needs
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.checkpoint import Checkpoint, Checkpoints
from siamese_cbow.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from siamese_cbow.baselines.skip_thought.learning import Trainer

Kind: TypeAlias = Literal["uni", "bi", "combine"]

LOGGED = 50  # batches averaged for one logged loss
ENDINGS = ("epochs", "max_tokens", "minutes", "kind")  # may differ when a run resumes; its part must match


@dataclass(frozen=True)
class SkipThought:
    """`SkipThought(dim=600).train(stream)` -> SkipThoughtEncoder.

    The defaults take minutes on two cores, not the original's two weeks on a GPU, and see a small part of a large
    corpus; the original size is `SkipThought("combine", dim=2400, dim_word=620, samples=None, max_tokens=None)`.
    """

    kind: Kind = option(
        "uni", "uni: one encoder; bi: forward and backward, half the size each; combine: uni and bi concatenated."
    )
    dim: int = option(600, "Dimensions of uni and of bi; combine has twice as many.", at_least=1)
    dim_word: int = option(300, "Dimensions of the word vectors.", at_least=1)
    n_words: int = option(20_000, "Vocabulary size; all other words share one unknown token.", at_least=1)
    samples: int | None = option(1000, "Words in the sampled softmax; None: all, 5 times slower.", at_least=1)
    epochs: int = option(
        1, "Passes over the corpus, unless one of the next two limits ends training first.", at_least=1
    )
    max_tokens: int | None = option(1_000_000, "Total words each encoder reads; None: no limit.", at_least=1)
    minutes: float | None = option(
        None, "Time limit per encoder; with it, the same seed no longer gives the same bytes.", above=0
    )
    batch_size: int = option(128, "Sentences per batch.", at_least=1)
    max_length: int = option(30, "Truncate sentences to this many words; the log counts them.", at_least=1)
    learning_rate: float = option(0.001, "Learning rate of Adam.", above=0)
    clip: float = option(10.0, "Maximum gradient norm.", above=0)
    seed: int = option(1, "Random seed.", at_least=0)

    def __post_init__(self) -> None:
        check_options(self)
        if self.dim % 2 and self.kind != "uni":
            raise SettingsError(f"dim is {self.dim}; expected an even number for {self.kind}: half for each direction")

    @property
    def parts(self) -> tuple[str, ...]:
        """The encoders to train, one after the other: `SkipThought("combine").parts` -> ("uni", "bi")."""
        return PARTS[self.kind]

    def work(self, stream: Stream) -> int:
        """Words `train` will read in total, which its progress counts (except with `minutes`)."""
        words = self.epochs * stream.n_tokens
        return len(self.parts) * (words if self.max_tokens is None else min(words, self.max_tokens))

    def train(
        self,
        stream: Stream,
        *,
        checkpoints: Path | str | None = None,
        checkpoint_every: int = 200,
        word_vectors: tuple[Sequence[str], Vectors] | None = None,
        threads: int = 2,
        progress: Progress = SILENT,
    ) -> SkipThoughtEncoder:
        """An encoder, trained on sentences and their neighbours.

        checkpoints       a folder; if it holds a run of the same recipe on the same stream, that run resumes. Its
                          limits may differ: more epochs, tokens or minutes extend a run
        checkpoint_every  batches between two checkpoints
        word_vectors      words and vectors, such as word2vec's, for words beyond `n_words`; see `expand`
        threads           of PyTorch; not taken from the machine, because the last bits of the result may depend on it
        """
        thread_count(threads)
        at_least_1("checkpoint_every", checkpoint_every)
        with needs("torch", "skipthought"):
            import torch  # noqa: F401
        if not (stream.documents[1:] - stream.documents[:-1] > 1).any():
            raise InputError(
                "no document of the stream has two sentences, but skip-thought needs neighbouring sentences; "
                "prepare the text with another --layout or --boundary"
            )
        folder = None if checkpoints is None else Path(checkpoints)
        trained = [
            self._train_part(
                part, stream, folder and folder / part, every=checkpoint_every, threads=threads, progress=progress
            )
            for part in self.parts
        ]
        info = {
            "recipe": {"name": "skip-thought", **asdict(self)},
            "corpus": stream.fingerprint,
            "training": {name: report for name, (_, report) in zip(self.parts, trained, strict=True)},
        }
        words = Vocabulary(stream.vocabulary.words[: self.n_words], stream.vocabulary.counts[: self.n_words])
        parts = tuple(part for part, _ in trained)
        encoder = SkipThoughtEncoder(words, parts, stream.tokenizer, len(words), info)
        return encoder if word_vectors is None else expand(encoder, *word_vectors, progress=progress)

    def _train_part(
        self, part: str, stream: Stream, folder: Path | None, *, every: int, threads: int, progress: Progress
    ) -> tuple[Part, dict[str, Any]]:
        """Train uni-skip or bi-skip; return the part and a report on its training."""
        from siamese_cbow.baselines.skip_thought.learning import Trainer
        from siamese_cbow.baselines.skip_thought.network import exact

        n_words, counts = min(self.n_words, len(stream.vocabulary)), stream.vocabulary.counts
        examples = Examples(
            stream, n_words=n_words, max_length=self.max_length, batch_size=self.batch_size, seed=self.seed
        )
        with exact(threads):
            trainer = Trainer(
                1 if part == "uni" else 2,
                np.array([*counts[:n_words], stream.n_sentences, counts[n_words:].sum()], np.int64),  # by row
                dim=self.dim,
                dim_word=self.dim_word,
                samples=self.samples,
                learning_rate=self.learning_rate,
                longest=self.clip,
                seed=self.seed,
            )
            run = _Run(self, part, stream, folder)
            totals = run.resume(trainer, progress)
            while not self._is_done(totals):
                for batch in examples.epoch(totals.epoch, first=totals.batch):
                    began = time.perf_counter()
                    loss = trainer.step(batch, totals.step)
                    totals.add(batch, loss, time.perf_counter() - began)
                    progress.advance(batch.n_words, f"{part}-skip: loss {loss / len(batch.targets):.3f} per word")
                    if totals.step % every == 0:
                        run.save(trainer, totals)
                    if self._is_done(totals):
                        break
                else:
                    totals.epoch, totals.batch = totals.epoch + 1, 0
            run.save(trainer, totals)
        totals.log()
        speed = f", {totals.n_words / totals.seconds:,.0f} words/s" if totals.seconds else ""
        share = f"{totals.n_words / stream.n_tokens:.1%} of the stream"
        progress.say(
            f"{part}-skip: read {totals.n_words:,} words ({share}){speed}; {totals.n_cut:,} of "
            f"{totals.n_sentences:,} sentences were truncated to {self.max_length} words"
        )
        return trainer.part(n_words, has_unknown=n_words < len(stream.vocabulary)), totals.report()

    def _is_done(self, totals: Totals) -> bool:
        return (
            totals.epoch >= self.epochs
            or (self.max_tokens is not None and totals.n_words >= self.max_tokens)
            or (self.minutes is not None and totals.seconds >= 60 * self.minutes)
        )


@dataclass
class Totals:
    """Progress of a run, counted from its start."""

    epoch: int = 0
    batch: int = 0  # in this epoch
    step: int = 0  # in all epochs
    n_words: int = 0
    n_sentences: int = 0
    n_cut: int = 0
    seconds: float = 0.0
    loss: float = 0.0  # sums since the last entry of `losses`, in double precision
    n_targets: int = 0
    losses: list[list[float]] = field(default_factory=list)  # words read so far, mean loss per word

    def add(self, batch: Batch, loss: float, seconds: float) -> None:
        """Counts a batch."""
        self.batch, self.step = self.batch + 1, self.step + 1
        self.n_words += batch.n_words
        self.n_sentences += len(batch.sentences.order)
        self.n_cut += batch.n_cut
        self.seconds += seconds
        self.loss += loss
        self.n_targets += len(batch.targets)
        if self.step % LOGGED == 0:
            self.log()

    def log(self) -> None:
        """Append the mean loss since the last entry."""
        if self.n_targets:
            self.losses.append([self.n_words, self.loss / self.n_targets])
            self.loss, self.n_targets = 0.0, 0

    def report(self) -> dict[str, Any]:
        """The record kept in an encoder's `info`; no times, so that the same seed gives the same bytes."""
        counts = {name: getattr(self, name) for name in ("n_words", "n_sentences", "n_cut", "losses")}
        return {**counts, "n_batches": self.step}


class _Run:
    """The checkpoints of a part, if it has a folder, and what must match to resume from one."""

    def __init__(self, recipe: SkipThought, part: str, stream: Stream, folder: Path | None) -> None:
        settings = {name: value for name, value in asdict(recipe).items() if name not in ENDINGS}
        self._about = {"part": part, "corpus": stream.fingerprint, **settings}
        self._folder = folder
        self._checkpoints = None if folder is None else Checkpoints(folder)

    def save(self, trainer: Trainer, totals: Totals) -> None:
        if self._checkpoints:
            self._checkpoints.save(
                Checkpoint(totals.step, trainer.arrays(), {"run": self._about, "tally": asdict(totals)})
            )

    def resume(self, trainer: Trainer, progress: Progress) -> Totals:
        checkpoint = self._checkpoints.newest() if self._checkpoints else None
        if checkpoint is None:
            return Totals()
        theirs = checkpoint.state["run"]
        changed = [name for name in self._about if theirs.get(name) != self._about[name]]
        if changed:
            differences = ", ".join(f"{name} {theirs.get(name)!r}, now {self._about[name]!r}" for name in changed)
            raise InputError(
                f"{self._folder} has checkpoints of a different run ({differences}); choose another folder or delete it"
            )
        trainer.restore(checkpoint.arrays)
        totals = Totals(**checkpoint.state["tally"])
        progress.advance(totals.n_words)
        progress.say(f"{self._about['part']}-skip: resuming after batch {totals.step:,}, {totals.n_words:,} words")
        return totals
