"""The training log: JSON lines, about a thousand for a run, at fixed batches.

    {"step": 420, "epoch": 0, "examples": 107520, "words": 2413011, "learning_rate": 0.048, "loss": 3.1416}

`loss` is the mean over the examples since the line before. Sums are float64 and nothing depends on threads or clocks:
two runs of one recipe write the same bytes, and so does a run that was interrupted and resumed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siamese_cbow.base.files import atomic_file
from siamese_cbow.training.callbacks import Callback
from siamese_cbow.training.optimizers import learning_rates

if TYPE_CHECKING:
    from siamese_cbow.training.loop import Run

LINES_PER_RUN = 1000


@dataclass
class _Tally:
    """Sums of an epoch up to the last line."""

    epoch: int = 0
    loss: float = 0.0
    examples: int = 0


class TrainingLog(Callback):
    """Writes the log while a training runs."""

    def __init__(self, path: Path, *, n_steps: int) -> None:
        self.path = path
        self.every = max(1, n_steps // LINES_PER_RUN)
        self._last = _Tally()

    def cut_after(self, step: int) -> None:
        """Forgets the lines of batches after `step`, which a resumed run will do again, and a line cut short."""
        kept = [line for line in read_log(self.path) if line["step"] <= step] if self.path.exists() else []
        with atomic_file(self.path) as file:
            file.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
        if kept:
            self._last = _Tally(kept[-1]["epoch"], kept[-1]["epoch_loss"], kept[-1]["epoch_examples"])

    def on_batch(self, run: Run) -> None:
        """Adds a line."""
        counters, last = run.state.counters, self._last
        if counters.epoch != last.epoch:
            last = _Tally(counters.epoch)
        loss = (counters.loss - last.loss) / max(1, counters.loss_examples - last.examples)
        line = {
            "step": counters.step,
            "epoch": counters.epoch,
            "examples": counters.examples,
            "words": counters.words,
            "learning_rate": float(learning_rates(run.recipe, counters.step - 1, 1, run.n_steps)[0]),
            "loss": loss,
            "epoch_loss": counters.loss,
            "epoch_examples": counters.loss_examples,
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self._last = _Tally(counters.epoch, counters.loss, counters.loss_examples)


def read_log(path: Path | str) -> list[dict[str, Any]]:
    """The lines of a log; a last line that was cut short by a crash is left out."""
    lines = []
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            break
    return lines
