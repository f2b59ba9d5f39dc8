"""Files and folders: always the old one or the new one, and what killed writers leave behind."""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from siamese_cbow.base import files
from siamese_cbow.base.files import atomic_file, atomic_folder, one_writer
from siamese_cbow.errors import InputError

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
    """The writer was killed between its two renames."""
    left = tmp_path / ".stream.abcdefgh.tmp"
    (left / "old").mkdir(parents=True)
    written(tmp_path / "stream")
    assert left.exists()
    written(tmp_path / "stream")  # now there is a complete one again
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


def test_disks_without_locks_are_still_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int, how: int) -> None:
        raise OSError(os.strerror(95))

    monkeypatch.setattr("fcntl.flock", refuse)
    monkeypatch.setattr(files, "LOCK_SECONDS", -1)
    (tmp_path / ".stream.abcdefgh.tmp").mkdir()
    written(tmp_path / "stream")
    assert names(tmp_path) == [".stream.abcdefgh.tmp", "stream"]


# what must not be replaced


def test_what_is_not_ours_stops_the_writer_before_any_work(tmp_path: Path) -> None:
    written(tmp_path / "stream", "old")
    (tmp_path / "stream" / "thesis.txt").write_text("years of work")
    (tmp_path / "stream" / "empty").mkdir()
    with pytest.raises(InputError, match=r"not part of this \(empty, thesis.txt\)"):
        written(tmp_path / "stream", "new")
    assert (tmp_path / "stream" / "thesis.txt").read_text() == "years of work"
    assert (tmp_path / "stream" / "file").read_text() == "old"


def test_what_arrives_during_the_work_moves_to_the_new_folder(tmp_path: Path) -> None:
    written(tmp_path / "stream", "old")
    with atomic_folder(tmp_path / "stream", ours=["file"]) as new:
        (new / "file").write_text("new")
        (tmp_path / "stream" / "notes").mkdir()
        (tmp_path / "stream" / "notes" / "thesis.txt").write_text("years of work")
    assert (tmp_path / "stream" / "notes" / "thesis.txt").read_text() == "years of work"
    assert (tmp_path / "stream" / "file").read_text() == "new"
    assert names(tmp_path) == ["stream"]


def test_links_are_followed(tmp_path: Path) -> None:
    for name in ("file", "missing", "folder"):
        (tmp_path / f"link-{name}").symlink_to(f"real-{name}")
    (tmp_path / "real-file").write_text("old")
    written(tmp_path / "real-folder", "old")
    for name in ("file", "missing"):
        with atomic_file(tmp_path / f"link-{name}") as new:
            new.write_text("new")
        assert (tmp_path / f"real-{name}").read_text() == "new"
    written(tmp_path / "link-folder", "new")
    assert (tmp_path / "real-folder" / "file").read_text() == "new"
    assert all((tmp_path / f"link-{name}").is_symlink() for name in ("file", "missing", "folder"))


def test_pipes_and_devices_are_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to(os.devnull)
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    for name in ("pipe", "null"):
        with atomic_file(tmp_path / name) as new:
            new.write_text("through")
    assert reader.communicate()[0] == b"through"
    assert (tmp_path / "pipe").is_fifo()
    assert Path(os.devnull).is_char_device()
    assert names(tmp_path) == ["null", "pipe"]


def test_folders_and_sockets_are_not_files(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for name, what in (("", "folder"), ("socket", "socket")):
            with pytest.raises(InputError, match=what), atomic_file(tmp_path / name):
                pass


def test_a_single_file_leaves_nothing_either(tmp_path: Path, no_waiting: None) -> None:
    left = tmp_path / ".file.abcdefgh.tmp"
    left.mkdir()
    (left / "file").write_text("half")
    with atomic_file(tmp_path / "file") as new:
        new.write_text("whole")
    assert names(tmp_path) == ["file"]


def test_numpy_does_not_report_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the disk is full"), atomic_file(tmp_path / "file"):
        raise OSError("1000 requested and 24 written")


def test_errors_about_other_files_stay_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), atomic_file(tmp_path / "file"):
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "input.txt"))


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with one_writer(tmp_path / "model"):
        with one_writer(tmp_path / "other"):
            pass
        with pytest.raises(InputError, match="another process is writing"), one_writer(tmp_path / "model"):
            pass
    with one_writer(tmp_path / "model"):
        pass
    assert names(tmp_path) == []


def test_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="the current folder"):
        written(Path())
