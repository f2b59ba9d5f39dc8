"""From text to a model in one step: accepted inputs, what is kept, and resuming after any interruption."""

from __future__ import annotations

import io
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siamese_cbow.cli import main
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.stream.mix import Mix
from siamese_cbow.stream.preparation import prepare
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text.inputs import Texts
from siamese_cbow.text.records import TextSettings
from siamese_cbow.training.siamese_cbow import SiameseCBOW, mix_of

RECIPE = SiameseCBOW(dim=8, epochs=1, batch_size=16, run_length=2, subsample=0, share_stems=False)
LEARNING = ["--batch-size", "16", "--run-length", "2", "--subsample", "0", "--no-share-stems", "--threads", "1"]
STORIES = [
    "The cat sat here. Then it slept there.\nThe dog ran. It came back.",
    "A cat ran. A dog sat. Both slept.",
    "The sun rose. The cat rose. The dog slept.",
] * 5
SETTINGS: dict[str, Any] = {"min_count": 1, "text": TextSettings(layout="paragraphs")}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two files, and the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "books").mkdir()
    for number in (1, 2):
        (tmp_path / "books" / f"{number}.txt").write_text("\n\n".join(STORIES))
    return tmp_path / "books"


def arguments(*text: str, output: str = "model", dim: int = 8) -> list[str]:
    return ["train", *text, "-o", output, "--min-count", "1", "--layout", "paragraphs", "--dim", str(dim), *LEARNING]


def refused(call: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The message of a command that ends with exit code 2."""
    with pytest.raises(SystemExit) as stopped:
        main(call)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


# In Python


def test_names_of_files_in_every_form(folder: Path) -> None:
    expected = prepare([folder / "1.txt", folder / "2.txt"], **SETTINGS).fingerprint
    files = [str(folder / "1.txt"), str(folder / "2.txt")]
    for source in (
        "books",
        folder,
        "books/",
        files,
        tuple(files),
        [folder],
        ["books/*.txt"],
        [Path(files[0]), files[1]],
    ):
        assert mix_of(source, **SETTINGS).fingerprint == expected


def test_texts_are_documents_of_their_own(folder: Path) -> None:
    expected = prepare([story.split("\n") for story in STORIES], **SETTINGS).fingerprint

    def generator() -> Iterator[str]:
        yield from STORIES

    for source in (STORIES, tuple(STORIES), generator(), [story.split("\n") for story in STORIES]):
        mix = mix_of(source, **SETTINGS)
        assert mix.fingerprint == expected
        assert mix.streams[0].n_documents == len(STORIES)


def test_consecutive_lines_must_be_declared_as_such(folder: Path) -> None:
    lines = ["The cat sat.", "It slept.", "", "The dog ran.", "It sat."]
    assert mix_of(Texts(lines), min_count=1).streams[0].n_documents == 2
    (folder / "lines.txt").write_text("\n".join(lines))
    with (folder / "lines.txt").open() as file:
        assert mix_of(file, min_count=1).streams[0].n_documents == 2
    with pytest.raises(InputError, match=r"each of the 4 texts is a single sentence.*Texts"):
        mix_of(lines, min_count=1)


def test_streams_in_every_form(folder: Path) -> None:
    stream = prepare(folder, output="stream", **SETTINGS)
    for source in (stream, "stream", Path("stream"), ["stream"], [stream], Mix([stream])):
        assert mix_of(source).fingerprint == stream.fingerprint
    assert len(mix_of(["stream", "stream"]).streams) == 2
    with pytest.raises(SettingsError, match="min_count: only for text"):
        mix_of("stream", min_count=2)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (["books", "The cat sat here."], r"1 of 2 strings are file names, but 'The cat sat here.' is not"),
        (["books/1.txt", "books/3.txt"], r"1 of 2 strings are file names, but 'books/3.txt' is not"),
        (["books/3.txt"], "no such file or folder: books/3.txt"),
        (["my notes.csv.gz", "a/b"], "no such file or folder: my notes.csv.gz"),
        ("The cat sat.", r"no such file or folder: The cat sat.*Texts"),
        (["stream", "books"], "stream is a stream but books is text"),
        ([], "no input"),
        (5, "the input is a int"),
        ({"a": 1}, "the input is a dict"),
    ],
)
def test_what_could_mean_two_things_is_refused(folder: Path, source: Any, expected: str) -> None:
    prepare(folder, output="stream", **SETTINGS)
    with pytest.raises(InputError, match=expected):
        mix_of(source, **({} if source == ["stream", "books"] else SETTINGS))


def test_text_and_stream_together_are_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="1 of 2 inputs are streams"):
        mix_of([prepare(folder, **SETTINGS), "books"])


def test_a_recipe_trains_on_text_as_on_its_stream(folder: Path) -> None:
    expected = RECIPE.train(prepare(folder, **SETTINGS), threads=1)
    assert np.array_equal(RECIPE.train(folder, threads=1, **SETTINGS).vectors, expected.vectors)
    assert RECIPE.train(STORIES, threads=1, **SETTINGS).similarity("cat", "dog") == pytest.approx(
        RECIPE.train([story.split("\n") for story in STORIES], threads=1, **SETTINGS).similarity("cat", "dog")
    )


# With the command


def test_the_stream_is_kept_reported_and_used_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(arguments("books"))
    out, err = capsys.readouterr()
    assert out == "model\n"
    assert "stream: model@stream" in err
    made = Path("model@stream/stream.json").stat()
    main([*arguments("books", output="model2", dim=4), "--stream", "model@stream"])
    err = capsys.readouterr().err
    assert "model@stream is up to date" in err
    assert "stream: model@stream" not in err
    assert Path("model@stream/stream.json").stat().st_mtime_ns == made.st_mtime_ns
    main(arguments("books"))
    assert "model is up to date" in capsys.readouterr().err
    main(["train", "model@stream", "-o", "other", "--dim", "8", *LEARNING])
    assert Path("other/model.safetensors").read_bytes() == Path("model/model.safetensors").read_bytes()


def test_other_text_or_settings_replace_nothing_by_default(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(arguments("books"))
    model = Path("model/model.safetensors").read_bytes()
    said = refused([*arguments("books"), "--min-count", "3"], capsys)
    assert "holds a stream of other text or settings (min_count)" in said
    (folder / "3.txt").write_text("Another cat came. It sat.\n")
    assert "(the text)" in refused(arguments("books"), capsys)
    assert Path("model/model.safetensors").read_bytes() == model
    main([*arguments("books"), "--restart"])
    assert "stream: model@stream" in capsys.readouterr().err
    assert Path("model/model.safetensors").read_bytes() != model
    made = Path("model@stream/stream.json").stat().st_mtime_ns
    main([*arguments("books"), "--restart"])  # a new model from the same stream
    assert Path("model@stream/stream.json").stat().st_mtime_ns == made


def test_input_that_is_neither_text_nor_stream_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(arguments("books"))
    assert "model is a model, not text or a stream; to continue" in refused(arguments("model", output="b"), capsys)
    assert "model@stream is a stream but books is text" in refused(arguments("model@stream", "books"), capsys)
    assert "--min-count" in refused(["train", "model@stream", "-o", "b", "--min-count", "2"], capsys)
    Path("model@stream/stream.json").unlink()
    assert "is not a stream, or stream.json is damaged" in refused(["train", "model@stream", "-o", "b"], capsys)
    Path("empty").mkdir()
    assert "no text in the folder empty" in refused(arguments("empty", output="b"), capsys)
    Path("taken").mkdir()
    Path("taken/thesis.txt").write_text("mine")
    assert "thesis.txt" in refused(arguments("books", output="taken"), capsys)
    assert not Path("taken@stream").exists()  # refused before any work
    assert not Path("b").exists()


def test_a_dry_run_of_text_prepares_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["train", "books", "--dry-run"])
    assert "2 files, 0.0 MB, would be prepared first" in capsys.readouterr().out
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["books"]


def test_standard_input_is_compared_by_what_it_becomes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def give(text: str) -> list[str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return arguments("-")

    text = "\n\n".join(STORIES)
    main(give(text))
    assert "stream: model@stream" in capsys.readouterr().err
    main(give(text))
    assert "model@stream is up to date" in capsys.readouterr().err
    assert "(the text)" in refused(give(text + "\n\nAnother cat.\n"), capsys)


@pytest.mark.slow
def test_a_killed_command_resumes_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = [" ".join(f"w{i}" for i in rng.zipf(1.3, 9) % 2000).capitalize() + "." for _ in range(40_000)]
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(" ".join(words[i : i + 10]) for i in range(0, len(words), 10)))
    options = [
        "--layout",
        "paragraphs",
        "--dim",
        "32",
        "--epochs",
        "12",
        "--checkpoint-minutes",
        "0.002",
        "--threads",
        "2",
    ]

    def start(output: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "siamese_cbow", "train", str(text), "-o", str(tmp_path / output), *options]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=False)

    whole = start("whole")
    began = time.monotonic()
    said = whole.communicate()[1]
    seconds, kills = time.monotonic() - began, 0
    assert whole.returncode == 0, said
    generator = random.Random(1)
    for share in (0.5, 0.7, 0.9):
        process = start("killed")
        time.sleep(seconds * share * generator.uniform(0.9, 1.1))
        kills += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
    process = start("killed")
    said = process.communicate()[1]
    assert process.returncode == 0, said
    assert kills
    for name in ("model.safetensors", "vocabulary.txt"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert Stream.load(tmp_path / "killed@stream").fingerprint == Stream.load(tmp_path / "whole@stream").fingerprint
