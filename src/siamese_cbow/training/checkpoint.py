"""Checkpoints: all that a run needs to go on as if nothing had happened.

    training/                     beside the model that is to come
        run.json                  the recipe and the fingerprint of the corpus: what may be resumed
        log.jsonl                 see `training.log`
        checkpoint-000000420/     the last two, each whole or not there at all
            vectors.npy ...       arrays
            state.json            counters and tallies, and a hash of each array

A checkpoint is written to a temporary folder, synced and renamed, so that neither kill -9 nor a full disk leaves half
of one. An old one is deleted only when two newer ones are safe. Hashes are checked before a checkpoint is trusted.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.files import atomic_folder, file_hash
from siamese_cbow.errors import FormatError

KEPT = 2
STATE = "state.json"


@dataclass(frozen=True)
class Checkpoint:
    """A point in a run: arrays that are loaded, and counters that JSON holds."""

    step: int  # batches done
    arrays: Mapping[str, NDArray[Any]]
    state: Mapping[str, Any]


class Checkpoints:
    """The checkpoints of one run, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, checkpoint: Checkpoint) -> None:
        """Writes a checkpoint, then deletes those that are no longer needed."""
        with atomic_folder(self._path(checkpoint.step)) as folder:
            for name, array in checkpoint.arrays.items():
                np.save(folder / f"{name}.npy", array, allow_pickle=False)
            hashes = {name: file_hash(folder / f"{name}.npy") for name in checkpoint.arrays}
            content = {"step": checkpoint.step, "state": dict(checkpoint.state), "arrays": hashes}
            (folder / STATE).write_text(json.dumps(content, indent=1), encoding="utf-8")
        for old in self._paths()[:-KEPT]:
            shutil.rmtree(old)

    def newest(self) -> Checkpoint | None:
        """The newest checkpoint that is undamaged; None where there is none yet."""
        damaged = []
        for path in reversed(self._paths()):
            try:
                return _read(path)
            except (OSError, ValueError, KeyError, TypeError) as error:
                damaged.append(f"{path.name}: {error}")
        if damaged:
            raise FormatError(
                f"no checkpoint in {self._folder} is undamaged ({'; '.join(damaged)}); "
                "delete the folder to start this run anew"
            )
        return None

    def _paths(self) -> list[Path]:
        """Oldest first."""
        return sorted(self._folder.glob("checkpoint-*"))

    def _path(self, step: int) -> Path:
        return self._folder / f"checkpoint-{step:012d}"


def _read(path: Path) -> Checkpoint:
    content = json.loads((path / STATE).read_text(encoding="utf-8"))
    for name, expected in content["arrays"].items():
        if file_hash(path / f"{name}.npy") != expected:
            raise ValueError(f"{name}.npy is not what was written")
    arrays = {name: np.load(path / f"{name}.npy", allow_pickle=False) for name in content["arrays"]}
    return Checkpoint(int(content["step"]), arrays, content["state"])
