"""Where commands write to: pipes, devices, closed and full outputs, other encodings."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

COMMAND = [sys.executable, "-m", "siamese_cbow"]
TEXT = "a cat é → sat\nzzqx blorp\n"


def run(
    *arguments: str | Path, folder: Path, largest: int | None = None, **options: object
) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own; `largest` is the size that its files may have."""

    def limit() -> None:
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [*COMMAND, *arguments], cwd=folder, stderr=subprocess.PIPE, encoding="utf-8", preexec_fn=limit, **options
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path


def test_a_pipe_and_a_device_stay_what_they_are(folder: Path) -> None:
    os.mkfifo(folder / "out.npy")
    (folder / "null").symlink_to(os.devnull)
    reader = subprocess.Popen(["dd", f"if={folder / 'out.npy'}", f"of={folder / 'copy.npy'}", "status=none"])
    done = run("encode", "in.txt", "-o", "out.npy", "--unknown", "null", folder=folder)
    assert done.returncode == 0, done.stderr
    assert reader.wait() == 0
    assert np.load(folder / "copy.npy").shape[0] == 2
    assert (folder / "out.npy").is_fifo()
    assert (folder / "null").is_char_device()


@pytest.mark.parametrize("largest", [1000, 100_000])
def test_files_that_may_not_grow(folder: Path, largest: int) -> None:
    (folder / "in.txt").write_text("the cat sat\n" * 30_000)
    (folder / "out.npy").write_text("old")
    for command in (["encode", "in.txt", "-o", "out.npy"], ["prepare", "in.txt", "-o", "stream"]):
        done = run(*command, folder=folder, largest=largest)
        assert done.returncode == 2
        assert "can't write" in done.stderr
        assert "Traceback" not in done.stderr
    assert (folder / "out.npy").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["in.txt", "out.npy"]


def test_standard_output_that_takes_nothing(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = run("similarity", "a cat", "a dog", folder=folder, stdout=full)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "No space left on device" in done.stderr
    command = " ".join([*COMMAND, "similarity", "cat", "dog", ">&-"])
    closed = subprocess.run(command, shell=True, cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
    assert (closed.returncode, closed.stderr.count("\n")) == (2, 1), closed.stderr


def test_other_encodings_get_utf8(folder: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = run("encode", "in.txt", folder=folder, stdout=subprocess.PIPE, env=environment)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["text"] for line in done.stdout.splitlines()] == TEXT.splitlines()
