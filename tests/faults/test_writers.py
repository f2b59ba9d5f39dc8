"""Failing disks and killed processes, at each operation of a writer: nothing is lost, nothing is left over."""

from __future__ import annotations

import errno
import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from siamese_cbow.base import files
from siamese_cbow.base.arrays import GrowingArray, save_array
from siamese_cbow.errors import InputError

pytest.importorskip("fcntl", reason="folders are locked with fcntl, which this system lacks")
import resource

sys.path.insert(0, str(Path(__file__).parent))
from injection import failing
from kill_writers import content_of, write_file, write_folder

FAULTS = [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT, errno.EFBIG, errno.EACCES]


@pytest.mark.parametrize("can_swap", [True, False])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda number: errno.errorcode[number])
@pytest.mark.parametrize("write", [write_file, write_folder])
def test_a_failing_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, str], None], fault: int, can_swap: bool
) -> None:
    monkeypatch.setattr(files, "LOCK_SECONDS", -math.inf)
    if not can_swap:
        monkeypatch.setattr(files, "swap", lambda *_: False)
    target = tmp_path / "target"
    (tmp_path / "foreign.txt").write_text("not ours")
    write(target, "old")
    names = content_of(target).keys()
    with failing(0) as operations:
        write(target, "old")
    assert {"write", "fsync"} <= set(operations)
    refused = 0
    for at in range(1, len(operations) + 1):
        with suppress(InputError), failing(at, fault):  # not OSError: the message must be in plain words
            write(target, "new")
            refused -= 1
        refused += 1
        left = content_of(target)
        assert left.keys() == names, f"{operations[at - 1]} {at}"
        assert set(left.values()) in ({"old"}, {"new"}), f"{operations[at - 1]} {at}"
        write(target, "old")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["foreign.txt", "target"]
    assert refused > 3
    assert (tmp_path / "foreign.txt").read_text() == "not ours"


def test_kills(tmp_path: Path) -> None:
    script = Path(__file__).with_name("kill_writers.py")
    run = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stdout) > 50


@contextmanager
def largest_file(n_bytes: int) -> Iterator[None]:
    """Limits the size of files; the bytes before the limit are written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("n_bytes", [50, 2005, 4100, 39_000])
def test_arrays_that_do_not_fit(tmp_path: Path, n_bytes: int) -> None:
    array = np.arange(10_000, dtype=np.int32)
    with pytest.raises(OSError, match="File too large"), largest_file(n_bytes):
        save_array(tmp_path / "a.npy", array)
    growing = GrowingArray(tmp_path / "b.npy", np.int32)
    with pytest.raises(OSError, match="File too large"), largest_file(n_bytes), closing(growing):
        growing.append(array)


@pytest.mark.parametrize("shape", [(), (0,), (7,), (60, 16)])
def test_arrays_have_the_bytes_that_numpy_writes(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array = np.asfortranarray(np.ones(shape, np.float32).cumsum().reshape(shape))
    save_array(tmp_path / "ours.npy", array)
    np.save(tmp_path / "numpy.npy", array)
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()


ON_A_FULL_DISK = """
import sys, tempfile
from pathlib import Path
import numpy as np
import siamese_cbow as sc
from siamese_cbow.errors import InputError
from siamese_cbow.stream.counting import _on_disk
from siamese_cbow.training.batches import text_arrays

disk = Path(sys.argv[1])
try:
    _on_disk(disk, np.ones(500_000, np.int32))
except OSError as error:
    print(error.strerror)
for path in disk.iterdir():
    path.unlink()
tempfile.tempdir = str(disk)
stream = sc.Stream.of_words([[["a", "b"] * 200_000, ["b"]]])
try:
    text_arrays(stream, subsample=0, vocabulary=sc.Vocabulary.of_words(["c", "b", "a"]))
except InputError as error:
    print(error)
"""


def test_a_full_disk_is_an_error_not_the_end_of_the_process(tmp_path: Path) -> None:
    """Writing through the map of a file without space on the disk would end in SIGBUS."""
    mount = f'mount -t tmpfs -o size=256k none {tmp_path} && exec "$@"'
    command = ["unshare", "-rm", "sh", "-c", mount, "sh"]
    can = subprocess.run([*command, "true"], capture_output=True, check=False) if shutil.which("unshare") else None
    if can is None or can.returncode:
        pytest.skip("a small disk can't be mounted here")
    run = subprocess.run([*command, sys.executable, "-c", ON_A_FULL_DISK, tmp_path], capture_output=True, text=True,
                         check=False)  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    written, trained = run.stdout.splitlines()
    assert written == "No space left on device"
    assert "No space left on device; free some space" in trained
