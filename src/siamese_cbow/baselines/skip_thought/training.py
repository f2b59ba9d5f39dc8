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

from siamese_cbow.arrays import Counts
from siamese_cbow.baselines.skip_thought.encoder import Direction, Part
from siamese_cbow.baselines.skip_thought.examples import Batch, Examples
from siamese_cbow.baselines.skip_thought.network import Network
from siamese_cbow.baselines.skip_thought.running import exact
from siamese_cbow.baselines.skip_thought.softmax import Sampler, full_loss, sampled_loss
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.progress import Progress
from siamese_cbow.stream import Stream
from siamese_cbow.training.checkpoint import Checkpoint, Checkpoints

if TYPE_CHECKING:
    from siamese_cbow.baselines.skip_thought.recipe import SkipThought

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
        self.n_targets += batch.n_targets
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
    recipe: SkipThought, part: str, stream: Stream, folder: Path | None, every: int, progress: Progress
) -> tuple[Part, dict[str, Any]]:
    """Trains uni-skip or bi-skip; the part and a report on its training."""
    n_words = min(recipe.n_words, len(stream.vocabulary))
    examples = Examples(
        stream, n_words=n_words, max_length=recipe.max_length, batch_size=recipe.batch_size, seed=recipe.seed
    )
    with exact(recipe.threads):
        trainer = _Trainer(recipe, part, row_counts(stream, n_words))
        run = _Run(recipe, part, stream, folder)
        tally = run.resume(trainer, progress)
        while not _is_done(recipe, tally):
            for batch in examples.epoch(tally.epoch, first=tally.batch):
                began = time.perf_counter()
                loss = trainer.step(batch, tally.step)
                tally.add(batch, loss, time.perf_counter() - began)
                progress.advance(batch.n_words, f"{part}-skip: loss {loss / batch.n_targets:.3f} a word")
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
    """The network and its optimiser."""

    def __init__(self, recipe: SkipThought, part: str, counts: Counts) -> None:
        self._recipe = recipe
        self._network = Network(len(counts), recipe.dim_word, recipe.dim, 1 if part == "uni" else 2)
        self._network.initialise(torch.Generator().manual_seed(recipe.seed))
        self._parameters = dict(self._network.named_parameters())
        self._adam = torch.optim.Adam(self._network.parameters(), lr=recipe.learning_rate, fused=True)
        self._sampler = None if recipe.samples is None else Sampler(counts, recipe.samples)

    def step(self, batch: Batch, number: int) -> float:
        """Learns from a batch; the sum of its losses."""
        states, targets = self._network(batch)
        loss = self._loss(states, targets, number)
        self._adam.zero_grad(set_to_none=True)
        (loss / len(batch.sentences.order)).backward()
        length = torch.nn.utils.clip_grad_norm_(self._network.parameters(), self._recipe.clip)
        total = float(loss.item())
        if not (math.isfinite(total) and math.isfinite(length.item())):
            raise SettingsError(
                f"training left the numbers at batch {number + 1:,} (loss {total}, gradient {length.item()}); "
                f"try a smaller learning_rate than {self._recipe.learning_rate}"
            )
        self._adam.step()
        return total

    def _loss(self, states: torch.Tensor, targets: torch.Tensor, number: int) -> torch.Tensor:
        output, bias = self._network.output, self._network.output_bias
        if self._sampler is None:
            return full_loss(states, targets, output, bias)
        drawn = torch.from_numpy(self._sampler.draw(self._recipe.seed, number))
        return sampled_loss(states, targets, output, bias, drawn, torch.from_numpy(self._sampler.log_expected))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that changes from step to step: the network, and Adam's two means for each number."""
        found = {}
        for name, parameter in self._parameters.items():
            found[name] = parameter.detach().numpy()
            for mean in ("exp_avg", "exp_avg_sq") if self._adam.state else ():
                found[f"{name}.{mean}"] = self._adam.state[parameter][mean].numpy()
        return found

    def restore(self, arrays: Mapping[str, NDArray[Any]], step: int) -> None:
        """Goes back to where `arrays` were taken, after `step` steps."""
        for name, parameter in self._parameters.items():
            parameter.data.copy_(torch.from_numpy(arrays[name]))
            if step:
                means = {mean: torch.from_numpy(arrays[f"{name}.{mean}"]) for mean in ("exp_avg", "exp_avg_sq")}
                self._adam.state[parameter] = {"step": torch.tensor(float(step)), **means}

    def part(self, n_words: int, *, has_unknown: bool) -> Part:
        """The encoder's arrays, without decoders and softmax."""
        arrays = {
            name: parameter.detach().numpy().copy() for name, parameter in self._parameters.items() if "coder" in name
        }
        words = self._parameters["words"].detach().numpy()
        directions = tuple(
            Direction(*(arrays[f"encoders.{i}.{name}"] for name in ("inputs", "gates", "candidate")))
            for i in range(len(self._network.encoders))
        )
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
        trainer.restore(found.arrays, found.step)
        tally = Tally(**found.state["tally"])
        progress.advance(tally.n_words)
        progress.say(f"{self._about['part']}-skip: going on behind batch {tally.step:,}, {tally.n_words:,} words")
        return tally
