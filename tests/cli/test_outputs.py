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


def test_an_index_that_may_not_grow(folder: Path) -> None:
    (folder / "in.txt").write_text("".join(f"the cat sat on {i} mats and {i * i} dogs\n" for i in range(600)))
    done = run("index", "in.txt", "-o", "notes", folder=folder, largest=20_000)  # rows.txt is larger
    assert done.returncode == 2
    assert "can't write notes/segment-" in done.stderr
    assert "File too large; it exceeds the limit of this disk or of `ulimit -f`" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (folder / "notes").exists()


CLOSED = (
    "import os, sys; [os.close(int(n)) for n in sys.argv[1]]; os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
)


@pytest.mark.parametrize("closed", ["0", "2", "02", "012"])
def test_closed_streams(folder: Path, closed: str) -> None:
    """A shell's `<&-` and `2>&-`: one line where there is somewhere to say it, no traceback, no wrong file."""
    command = [sys.executable, "-c", CLOSED, closed, "-m", "siamese_cbow", "similarity", "--file"]
    given = "in.txt" if closed == "2" else "-"
    (folder / "in.txt").write_text("a cat\ta dog\n")
    done = subprocess.run([*command, given], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == (0 if closed == "2" else 2), done.stderr
    assert len(done.stdout.splitlines()) == (1 if closed == "2" else 0)
    if closed == "0":
        assert done.stderr == (
            "siamese-cbow: standard input is closed; expected text: name files, or pipe text into the command\n"
        )


def test_names_that_are_not_utf8(folder: Path) -> None:
    """Such names come from old disks and archives; they are kept in our files, and lead back to theirs."""
    name = os.fsdecode(b"caf\xe9")
    (folder / f"{name}.txt").write_text("a cat sat\na dog ran\nthe cat ran\n" * 9)
    for command in (
        ("prepare", f"{name}.txt", "-o", f"{name}-stream", "--min-count", "1"),
        ("train", f"{name}-stream", "-o", f"{name}-model", "--dim", "4", "--subsample", "0"),
        ("index", f"{name}.txt", "-o", "index", "--model", f"{name}-model"),
    ):
        done = run(*command, folder=folder)
        assert done.returncode == 0, done.stderr
    kept = json.loads((folder / f"{name}-stream" / "stream.json").read_text("utf-8"))
    assert os.fsencode(kept["sources"][0]["path"]).endswith(b"caf\xe9.txt")
    done = run("search", "cat", "--index", "index", "-k", "1", "--json", folder=folder, stdout=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    assert os.fsencode(json.loads(done.stdout)["source"]).endswith(b"caf\xe9.txt")
    done = run("index", f"{name}.txt", "-o", f"{name}-index", folder=folder)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is not UTF-8; choose another" in done.stderr
