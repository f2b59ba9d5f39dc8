"""Files and folders that are the old one or the new one, and what killed writers leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from siamese_cbow.base import files
from siamese_cbow.base.files import atomic_file, atomic_folder

pytest.importorskip("fcntl", reason="folders are locked with fcntl, which this system lacks")

WRITER = """
import sys, time
from pathlib import Path
from siamese_cbow.base.files import atomic_folder
with atomic_folder(Path(sys.argv[1])) as new:
    (new / "large.npy").write_text("half")
    print("writing", flush=True)
    time.sleep(600)
"""


def written(path: Path, text: str = "whole") -> None:
    with atomic_folder(path, ours=["file"]) as new:
        (new / "file").write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOCK_SECONDS", -1)


def test_what_a_killed_writer_leaves_is_deleted_by_the_next(tmp_path: Path, no_waiting: None) -> None:
    target, other = tmp_path / "stream", tmp_path / "stream.2"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) for path in (target, other)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
    written(target)
    assert len(names(tmp_path)) == 3, "both are at work: nothing of theirs may go"
    for writer in writers:
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
    assert len(names(tmp_path)) == 3
    written(target, "again")
    left = names(tmp_path)
    assert left[1] == "stream"
    assert len(left) == 2, "what was left of the other is not ours"
    assert left[0].startswith(".stream.2.")
    assert (target / "file").read_text() == "again"


def test_a_young_folder_may_not_be_locked_yet(tmp_path: Path) -> None:
    (tmp_path / ".stream.abcdefgh.tmp").mkdir()
    written(tmp_path / "stream")
    assert names(tmp_path) == [".stream.abcdefgh.tmp", "stream"]


def test_the_only_copy_stays(tmp_path: Path, no_waiting: None) -> None:
    """A writer that was killed between its two renames."""
    left = tmp_path / ".stream.abcdefgh.tmp"
    (left / "old").mkdir(parents=True)
    written(tmp_path / "stream")
    assert left.exists()
    written(tmp_path / "stream")  # now there is a whole one again
    assert names(tmp_path) == ["stream"]


def test_only_names_that_we_give(tmp_path: Path, no_waiting: None) -> None:
    strange = [".stream.tmp", ".stream.ABCDEFGH.tmp", ".stream.abcdefgh", "stream.abcdefgh.tmp", ".streamxabcdefgh.tmp"]
    for name in strange:
        (tmp_path / name).mkdir()
    written(tmp_path / "stream")
    assert names(tmp_path) == sorted([*strange, "stream"])


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    def fail() -> None:
        with atomic_file(tmp_path / "file") as new:
            new.write_text("half")
            raise ZeroDivisionError

    (tmp_path / "file").write_text("old")
    with pytest.raises(ZeroDivisionError):
        fail()
    assert (tmp_path / "file").read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_an_error_leaves_the_old_folder(tmp_path: Path) -> None:
    def fail() -> None:
        with atomic_folder(tmp_path / "stream", ours=["file"]) as new:
            (new / "file").write_text("half")
            raise ZeroDivisionError

    written(tmp_path / "stream", "old")
    with pytest.raises(ZeroDivisionError):
        fail()
    assert (tmp_path / "stream" / "file").read_text() == "old"
    assert names(tmp_path) == ["stream"]


def test_disks_without_locks_are_written_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int, how: int) -> None:
        raise OSError(os.strerror(95))

    monkeypatch.setattr("fcntl.flock", refuse)
    monkeypatch.setattr(files, "LOCK_SECONDS", -1)
    (tmp_path / ".stream.abcdefgh.tmp").mkdir()
    written(tmp_path / "stream")
    assert names(tmp_path) == [".stream.abcdefgh.tmp", "stream"]
