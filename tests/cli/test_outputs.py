"""Where commands write: pipes, devices, closed and full outputs, other encodings."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import siamese_cbow as sc
from siamese_cbow.cli import main
from siamese_cbow.model.model import Model
from siamese_cbow.words.vocabulary import Vocabulary

COMMAND = [sys.executable, "-m", "siamese_cbow"]
TEXT = "a cat é → sat\nzzqx blorp\n"


def run(
    *arguments: str | Path, folder: Path, largest: int | None = None, **options: object
) -> subprocess.CompletedProcess[str]:
    """Runs a command in a separate process; `largest` limits the size of its files."""

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
    np.save(folder / "out.npy", np.ones((1, 2), np.float32))
    old = (folder / "out.npy").read_bytes()
    for command in (["encode", "in.txt", "-o", "out.npy"], ["prepare", "in.txt", "-o", "stream"]):
        done = run(*command, folder=folder, largest=largest)
        assert done.returncode == 2
        assert "can't write" in done.stderr
        assert "Traceback" not in done.stderr
    assert (folder / "out.npy").read_bytes() == old
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
    """A shell's `<&-` and `2>&-`: one line if there is a stream for it, no traceback, no wrong file."""
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
    """Such names come from old disks and archives; our files keep them and still refer to the right files."""
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


# Existing files. These run in this process, because a refusal comes before any work.


def code_of(*arguments: str | Path) -> int:
    """The exit code of a command."""
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture
def small(folder: Path) -> Path:
    """A model of two words."""
    Model(Vocabulary(["cat", "sat"], np.array([2, 1])), np.eye(2, dtype=np.float32)).save(folder / "small")
    return folder / "small"


@pytest.mark.parametrize("name", ["out.npy", "out.parquet", "out.jsonl", "out.csv"])
def test_encode_replaces_its_own_output_only(
    folder: Path, small: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = folder / name
    for text in ("cat\n", "cat\nsat\n"):
        (folder / "in.txt").write_text(text)
        assert code_of("encode", folder / "in.txt", "--model", small, "-o", output) == 0
    for strange in (b"years of work\n", b"a,b\n1,2\n", b'{"text": "cat"}\n'):
        output.write_bytes(strange)
        assert code_of("encode", folder / "in.txt", "--model", small, "-o", output) == 2, strange
        assert "already exists" in capsys.readouterr().err
        assert output.read_bytes() == strange
    output.write_bytes(b"")  # as mktemp makes it
    assert code_of("encode", folder / "in.txt", "--model", small, "-o", output) == 0


def test_unknown_words_replace_no_text(folder: Path, small: Path) -> None:
    words, thesis = folder / "words.txt", folder / "thesis.txt"
    thesis.write_text("years of work\n")
    command = ("encode", folder / "in.txt", "--model", small, "-o", folder / "out.npy", "--unknown")
    assert [code_of(*command, words) for _ in range(2)] == [0, 0]
    assert code_of(*command, thesis) == 2
    assert thesis.read_text() == "years of work\n"


def test_no_input_is_replaced(folder: Path, small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = folder / "in.csv"
    table.write_text("text,vector\ncat,[1]\ncat,[1]\n")  # looks like an output
    (folder / "link.csv").symlink_to(table)
    (folder / "same.csv").hardlink_to(table)
    for name in ("in.csv", "link.csv", "same.csv"):
        for command in (("encode", "--unit", "sentence"), ("dedup",)):
            assert code_of(*command, table, "--model", small, "-o", folder / name) == 2
            assert "both input and output" in capsys.readouterr().err
    for command in (("compress", small), ("combine", small, small), ("adapt", folder / "in.txt", "--model", small)):
        assert code_of(*command, "-o", small) == 2
        assert "both source and target" in capsys.readouterr().err
    assert table.read_text().count("cat") == 2


def test_dedup_replaces_no_rows(folder: Path, small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "in.csv").write_text("text\ncat\ncat\n")
    (folder / "copy.csv").write_text("text\ncat\ncat\n")
    assert code_of("dedup", folder / "in.csv", "--model", small, "-o", folder / "copy.csv") == 2
    assert "only copy" in capsys.readouterr().err
    assert (folder / "copy.csv").read_text().count("cat") == 2


@pytest.mark.parametrize("ending", ["txt", "bin", "vec", "glove", "parquet", "onnx", "txt.gz", "vec.xz"])
def test_convert_replaces_word_vectors_only(
    folder: Path, small: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = folder / f"out.{ending}"
    assert [code_of("convert", small, output) for _ in range(2)] == [0, 0]
    for strange in (b"years of work\nand more of it\n", b"\xfd7zXZ\x00no", b"PAR1"):
        output.write_bytes(strange)
        assert code_of("convert", small, output) == 2, strange
        assert "already exists" in capsys.readouterr().err
        assert output.read_bytes() == strange


def test_a_recipe_replaces_no_hand_written_one(folder: Path) -> None:
    recipe, mine = folder / "recipe.toml", folder / "mine.toml"
    mine.write_text("# why 50: see the notes of May\ndim = 50\n")
    assert [code_of("train", folder / "in.txt", "--dry-run", "--write-recipe", recipe) for _ in "12"] == [0, 0]
    sc.write_recipe(sc.SiameseCBOW(dim=8), recipe)
    sc.write_recipe(sc.SiameseCBOW(dim=9), recipe)
    assert sc.read_recipe(recipe).dim == 9
    with pytest.raises(sc.InputError, match="already exists"):
        sc.write_recipe(sc.SiameseCBOW(dim=8), mine)
    assert "why 50" in mine.read_text()


def test_a_training_that_is_not_finished_is_not_replaced(
    folder: Path, small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_file = folder / "books" / "training" / "run.json"
    run_file.parent.mkdir(parents=True)
    run_file.write_text("{}")
    assert code_of("compress", small, "-o", folder / "books") == 2
    assert "not finished" in capsys.readouterr().err
    with pytest.raises(sc.InputError, match="not finished"):
        sc.load(small).save(folder / "books")
    assert run_file.exists()
