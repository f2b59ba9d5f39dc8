"""The training loop: batches, softmax, Adam, checkpoints. Settings come from `recipe`, the network from `network`."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts
from siamese_cbow.baselines.skip_thought.encoder import Direction, Part
from siamese_cbow.baselines.skip_thought.examples import Batch, Examples
from siamese_cbow.baselines.skip_thought.network import Network
from siamese_cbow.baselines.skip_thought.optimiser import Matrix, Table, clip, look_up
from siamese_cbow.baselines.skip_thought.packing import Rows
from siamese_cbow.baselines.skip_thought.running import exact
from siamese_cbow.baselines.skip_thought.softmax import Sampler, full_loss, sampled_loss
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.progress import Progress
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.checkpoint import Checkpoint, Checkpoints

if TYPE_CHECKING:
    from siamese_cbow.baselines.skip_thought.run import SkipThought

LOGGED = 50  # batches that a loss is the mean of
ENDINGS = ("epochs", "max_tokens", "minutes", "kind")  # may differ when a run goes on; a part has its own name


@dataclass
class Tally:
    """How far a run is."""

    epoch: int = 0
    batch: int = 0  # in this epoch
    step: int = 0  # in all epochs
    n_words: int = 0
    n_sentences: int = 0
    n_cut: int = 0
    seconds: float = 0.0
    loss: float = 0.0  # sums since the last entry of `losses`, in double precision
    n_targets: int = 0
    losses: list[list[float]] = field(default_factory=list)  # words read so far, mean loss of a word

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
        """Puts the mean loss since the last time behind the others."""
        if self.n_targets:
            self.losses.append([self.n_words, self.loss / self.n_targets])
            self.loss, self.n_targets = 0.0, 0

    def report(self) -> dict[str, Any]:
        """What an encoder's `info` keeps; no times, so that the same seed gives the same bytes."""
        return {name: getattr(self, name) for name in ("n_words", "n_sentences", "n_cut", "losses")} | {
            "n_batches": self.step
        }


def train_part(
    recipe: SkipThought, part: str, stream: Stream, folder: Path | None, *, every: int, threads: int, progress: Progress
) -> tuple[Part, dict[str, Any]]:
    """Trains uni-skip or bi-skip; the part and a report on its training."""
    n_words = min(recipe.n_words, len(stream.vocabulary))
    examples = Examples(
        stream, n_words=n_words, max_length=recipe.max_length, batch_size=recipe.batch_size, seed=recipe.seed
    )
    with exact(threads):
        trainer = _Trainer(recipe, part, row_counts(stream, n_words))
        run = _Run(recipe, part, stream, folder)
        tally = run.resume(trainer, progress)
        while not _is_done(recipe, tally):
            for batch in examples.epoch(tally.epoch, first=tally.batch):
                began = time.perf_counter()
                loss = trainer.step(batch, tally.step)
                tally.add(batch, loss, time.perf_counter() - began)
                progress.advance(batch.n_words, f"{part}-skip: loss {loss / len(batch.targets):.3f} a word")
                if tally.step % every == 0:
                    run.save(trainer, tally)
                if _is_done(recipe, tally):
                    break
            else:
                tally.epoch, tally.batch = tally.epoch + 1, 0
        run.save(trainer, tally)
    tally.log()
    _say(recipe, part, stream, tally, progress)
    return trainer.part(n_words, has_unknown=n_words < len(stream.vocabulary)), tally.report()


def row_counts(stream: Stream, n_words: int) -> Counts:
    """How often each row of the network occurs: the words, the end, and all other words as one."""
    counts = stream.vocabulary.counts
    return np.array([*counts[:n_words], stream.n_sentences, counts[n_words:].sum()], np.int64)


def _is_done(recipe: SkipThought, tally: Tally) -> bool:
    return (
        tally.epoch >= recipe.epochs
        or (recipe.max_tokens is not None and tally.n_words >= recipe.max_tokens)
        or (recipe.minutes is not None and tally.seconds >= 60 * recipe.minutes)
    )


def _say(recipe: SkipThought, part: str, stream: Stream, tally: Tally, progress: Progress) -> None:
    speed = f", {tally.n_words / tally.seconds:,.0f} words/s" if tally.seconds else ""
    progress.say(
        f"{part}-skip: read {tally.n_words:,} words ({tally.n_words / stream.n_tokens:.1%} of the stream){speed}; "
        f"{tally.n_cut:,} of {tally.n_sentences:,} sentences were longer than {recipe.max_length} words and cut there"
    )


class _Trainer:
    """Everything that is learnt: the network, and the tables around it."""

    def __init__(self, recipe: SkipThought, part: str, counts: Counts) -> None:
        self._recipe = recipe
        generator = torch.Generator().manual_seed(recipe.seed)
        self._network = Network(recipe.dim_word, recipe.dim, 1 if part == "uni" else 2)
        self._network.initialise(generator)
        self._sampler = None if recipe.samples is None else Sampler(counts, recipe.samples)
        kind = Matrix if self._sampler is None else Table
        self._words = Table(torch.empty(len(counts), recipe.dim_word).uniform_(-0.1, 0.1, generator=generator))
        self._output = kind(torch.empty(len(counts), recipe.dim).uniform_(-0.1, 0.1, generator=generator))
        # Words by their frequency are what hundreds of batches would learn first; here they are known from the start.
        self._bias = kind(torch.from_numpy(np.log(np.maximum(counts, 1) / counts.sum()).astype(np.float32)))
        matrices = {name: Matrix(parameter) for name, parameter in self._network.named_parameters()}
        self._learnt = {"words": self._words, "output": self._output, "bias": self._bias, **matrices}

    def step(self, batch: Batch, number: int) -> float:
        """Learns from a batch; the sum of its losses."""
        rows, places = np.unique(batch.read, return_inverse=True)
        states = self._network(batch, look_up(self._words.take(rows), places))
        loss = self._loss(states, batch.targets, number)
        (loss / len(batch.sentences.order)).backward()
        length = clip(self._learnt.values(), self._recipe.clip)
        total = float(loss.item())
        if not (math.isfinite(total) and math.isfinite(length)):
            raise SettingsError(
                f"training left the numbers at batch {number + 1:,} (loss {total}, gradient {length}); "
                f"try a smaller learning_rate than {self._recipe.learning_rate}"
            )
        for matrix in self._learnt.values():
            matrix.step(self._recipe.learning_rate)
        return total

    def _loss(self, states: torch.Tensor, targets: Rows, number: int) -> torch.Tensor:
        if self._sampler is None:
            return full_loss(states, torch.from_numpy(targets), self._output.leaf, self._bias.leaf)
        drawn = self._sampler.draw(self._recipe.seed, number)
        rows, places = np.unique(np.concatenate([targets, drawn]), return_inverse=True)
        told, drawn = places[: len(targets)], places[len(targets) :]
        log_expected = torch.from_numpy(self._sampler.log_expected[rows])
        assert isinstance(self._output, Table)
        assert isinstance(self._bias, Table)
        taken = self._output.take(rows), self._bias.take(rows)
        return sampled_loss(states, torch.from_numpy(told), *taken, torch.from_numpy(drawn), log_expected)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that changes from step to step."""
        return {
            f"{name}.{kind}": array for name, matrix in self._learnt.items() for kind, array in matrix.arrays().items()
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Goes back to where `arrays` were taken."""
        for name, matrix in self._learnt.items():
            matrix.restore({kind: arrays[f"{name}.{kind}"] for kind in matrix.arrays()})

    def part(self, n_words: int, *, has_unknown: bool) -> Part:
        """The encoder's arrays, without decoders and softmax."""
        arrays = {
            name: matrix.values.detach().numpy().copy() for name, matrix in self._learnt.items() if "coder" in name
        }
        directions = tuple(
            Direction(*(arrays[f"encoders.{i}.{name}"] for name in ("inputs", "gates", "candidate")))
            for i in range(len(self._network.encoders))
        )
        words = self._words.values.numpy()
        unknown = words[n_words + 1].copy() if has_unknown else None
        return Part(words[:n_words].copy(), words[n_words].copy(), unknown, directions)


class _Run:
    """The checkpoints of a part, if it has a folder, and what must be the same to go on from one."""

    def __init__(self, recipe: SkipThought, part: str, stream: Stream, folder: Path | None) -> None:
        settings = {name: value for name, value in asdict(recipe).items() if name not in ENDINGS}
        self._about = {"part": part, "corpus": stream.fingerprint, **settings}
        self._folder = folder
        self._checkpoints = None if folder is None else Checkpoints(folder)

    def save(self, trainer: _Trainer, tally: Tally) -> None:
        if self._checkpoints:
            self._checkpoints.save(
                Checkpoint(tally.step, trainer.arrays(), {"run": self._about, "tally": asdict(tally)})
            )

    def resume(self, trainer: _Trainer, progress: Progress) -> Tally:
        found = self._checkpoints.newest() if self._checkpoints else None
        if found is None:
            return Tally()
        theirs = found.state["run"]
        changed = [name for name in self._about if theirs.get(name) != self._about[name]]
        if changed:
            said = ", ".join(f"{name} {theirs.get(name)!r}, now {self._about[name]!r}" for name in changed)
            raise InputError(
                f"{self._folder} has checkpoints of another run ({said}); choose another folder or delete it"
            )
        trainer.restore(found.arrays)
        tally = Tally(**found.state["tally"])
        progress.advance(tally.n_words)
        progress.say(f"{self._about['part']}-skip: going on behind batch {tally.step:,}, {tally.n_words:,} words")
        return tally
