"""The files of an unfinished run: checkpoints, from which it resumes as if never interrupted, and its log.

    training/                     in the folder of the future model
        run.json                  the recipe and the fingerprint of the corpus: what may be resumed
        log.jsonl                 about a thousand lines, at fixed batches
        checkpoint-000000420/     the last two, each complete or absent
            vectors.npy ...       arrays
            state.json            counters and tallies, and a hash of each array

A checkpoint is written to a temporary folder, synced and renamed, so neither kill -9 nor a full disk leaves half
of one. An old one is deleted only when two newer ones are safe. Hashes are checked before a checkpoint is trusted. When
to save, and what may be resumed, is decided in `saved_run`.

A line of the log is JSON:

    {"step": 420, "epoch": 0, "examples": 107520, "words": 2413011, "learning_rate": 0.048, "loss": 3.1416}

`loss` is the mean over the examples since the previous line; `epoch_loss` and `epoch_examples`, not shown here, are the
sums of the epoch so far. Sums are float64 and nothing depends on threads or clocks: two runs of one recipe write the
same bytes, and so does a run that was interrupted and resumed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import BROKEN_NPY, save_array
from siamese_cbow.base.disk import file_hash, remove_ours, what_reads, written_by
from siamese_cbow.base.files import atomic_file, atomic_folder
from siamese_cbow.errors import FormatError

if TYPE_CHECKING:
    from siamese_cbow.training.state import Counters

KEPT = 2
FORMAT_VERSION = 1  # 0.1.0 wrote none
STATE = "state.json"
OURS = (STATE, "*.npy")  # everything in a checkpoint
# Everything that a folder of checkpoints may hold, even after the process was killed.
CHECKPOINT_FILES = tuple(
    f"{folder}/{name}" for folder in ("checkpoint-*", ".checkpoint-*.tmp/new", ".checkpoint-*.tmp/old") for name in OURS
)


@dataclass(frozen=True)
class Checkpoint:
    """A point in a run: loaded arrays, and counters that fit JSON."""

    step: int  # batches done
    arrays: Mapping[str, NDArray[Any]]
    state: Mapping[str, Any]


class Checkpoints:
    """The checkpoints of one run, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, checkpoint: Checkpoint) -> None:
        """Writes a checkpoint, then deletes those that are no longer needed."""
        with atomic_folder(self._path(checkpoint.step), ours=OURS, what="a checkpoint") as folder:
            for name, array in checkpoint.arrays.items():
                save_array(folder / f"{name}.npy", array)
            hashes = {name: file_hash(folder / f"{name}.npy") for name in checkpoint.arrays}
            content = {
                "format_version": FORMAT_VERSION,
                "written_by": written_by(),
                "step": checkpoint.step,
                "state": dict(checkpoint.state),
                "arrays": hashes,
            }
            (folder / STATE).write_text(json.dumps(content, indent=1), encoding="utf-8")
        for old in self.paths()[:-KEPT]:
            remove_ours(old, OURS)

    def newest(self) -> Checkpoint | None:
        """The newest undamaged checkpoint; None if there is none yet."""
        damaged = []
        for path in reversed(self.paths()):
            try:
                return _read(path)
            except (*BROKEN_NPY, KeyError, AttributeError, FormatError) as error:
                damaged.append(f"{path.name}: {error}")
        if damaged:
            raise FormatError(
                f"every checkpoint in {self._folder} is damaged ({'; '.join(damaged)}); delete the folder to start over"
            )
        return None

    def paths(self) -> list[Path]:
        """All checkpoints, damaged or not, the oldest first."""
        return sorted(self._folder.glob(f"checkpoint-{12 * '[0-9]'}"))

    def _path(self, step: int) -> Path:
        return self._folder / f"checkpoint-{step:012d}"


def _read(path: Path) -> Checkpoint:
    content = json.loads((path / STATE).read_text(encoding="utf-8"))
    version = content.get("format_version", FORMAT_VERSION)
    if version != FORMAT_VERSION:
        raise ValueError(
            f"format version {version!r}, but this siamese-cbow reads {FORMAT_VERSION}; {what_reads(content)}"
        )
    arrays = {}
    for name, expected in content["arrays"].items():
        if not re.fullmatch(r"\w[\w.]*", name) or file_hash(path / f"{name}.npy") != expected:
            raise ValueError(f"{name}.npy does not match its checksum")
        arrays[name] = np.load(path / f"{name}.npy", allow_pickle=False)
    return Checkpoint(int(content["step"]), arrays, dict(content["state"]))


class TrainingLog:
    """The log of a run, a file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last: Mapping[str, Any] = {}  # the last line

    def cut_after(self, step: int) -> None:
        """Drops the lines of batches after `step`, which a resumed run repeats, and a truncated line."""
        lines = [line for line in read_log(self.path) if line["step"] <= step] if self.path.exists() else []
        with atomic_file(self.path) as file:
            file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        self._last = lines[-1] if lines else {}

    def write(self, counters: Counters, learning_rate: float) -> None:
        """Adds a line; `loss` covers the examples since the last one."""
        last = self._last if self._last.get("epoch") == counters.epoch else {"epoch_loss": 0.0, "epoch_examples": 0}
        examples = counters.loss_examples - last["epoch_examples"]
        line = {
            "step": counters.step,
            "epoch": counters.epoch,
            "examples": counters.examples,
            "words": counters.words,
            "learning_rate": learning_rate,
            "loss": (counters.loss - last["epoch_loss"]) / max(1, examples),
            "epoch_loss": counters.loss,
            "epoch_examples": counters.loss_examples,
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self._last = line


def read_log(path: Path | str) -> list[dict[str, Any]]:
    """The lines of a log; skips a last line that a crash has truncated, and everything from a damaged line on."""
    lines = []
    for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
            _ = [entry[name] + 0 for name in ("step", "epoch", "epoch_loss", "epoch_examples")]
        except (ValueError, KeyError, TypeError, RecursionError):
            break
        lines.append(entry)
    return lines
