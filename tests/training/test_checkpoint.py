from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest

from siamese_cbow.base import files
from siamese_cbow.errors import FormatError, InputError
from siamese_cbow.training.checkpoint import Checkpoint, Checkpoints


def checkpoint(step: int) -> Checkpoint:
    arrays = {"vectors": np.full((3, 2), step, np.float32), "sums": np.arange(3, dtype=np.float64)}
    return Checkpoint(step, arrays, {"epoch": 0, "loss": 0.1 * step})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_round_trip_and_two_are_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.newest() is None
    for step in (5, 10, 100):
        checkpoints.save(checkpoint(step))
    assert names(tmp_path) == ["checkpoint-000000000010", "checkpoint-000000000100"]
    newest = checkpoints.newest()
    assert newest is not None
    assert newest.step == 100
    assert newest.state == {"epoch": 0, "loss": 0.1 * 100}, "floats come back to the last bit"
    assert newest.arrays["vectors"].dtype == np.float32
    assert np.array_equal(newest.arrays["vectors"], checkpoint(100).arrays["vectors"])


@pytest.mark.parametrize("damage", ["flip", "truncate", "delete", "state"])
def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path, damage: str) -> None:
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(checkpoint(1))
    checkpoints.save(checkpoint(2))
    array = tmp_path / "checkpoint-000000000002" / "vectors.npy"
    content = bytearray(array.read_bytes())
    if damage == "flip":
        content[-1] ^= 1
        array.write_bytes(content)
    elif damage == "truncate":
        array.write_bytes(content[:-3])
    elif damage == "delete":
        array.unlink()
    else:
        (array.parent / "state.json").write_text("{")
    newest = checkpoints.newest()
    assert newest is not None
    assert newest.step == 1
    (tmp_path / "checkpoint-000000000001" / "state.json").unlink()
    with pytest.raises(FormatError, match="delete the folder to start over"):
        checkpoints.newest()


def test_a_full_disk_leaves_the_previous_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(checkpoint(1))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(InputError, match="No space left on device; free some space"):
        checkpoints.save(checkpoint(2))
    monkeypatch.undo()
    monkeypatch.setattr(files, "sync", full)
    with pytest.raises(InputError, match="No space left"):
        checkpoints.save(checkpoint(2))
    monkeypatch.undo()
    assert names(tmp_path) == ["checkpoint-000000000001"]
    newest = checkpoints.newest()
    assert newest is not None
    assert newest.step == 1
