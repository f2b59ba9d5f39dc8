"""An index after a kill, between two writers, and damaged inside: one clear line, and the same command repairs it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search_world import topic_lines, topic_model, write_lines
from siamese_cbow import FormatError, Index, InputError, Model
from siamese_cbow.base.files import one_writer
from siamese_cbow.cli import main
from siamese_cbow.retrieval import graph
from siamese_cbow.retrieval.updating import update

LINES = topic_lines(5000)


@pytest.fixture(scope="module")
def model() -> Model:
    return topic_model()


@pytest.fixture(scope="module")
def made(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    write_lines(folder / "a.txt", LINES)
    update(folder / "index", folder / "a.txt", model=model)
    return folder / "index"


@pytest.fixture
def index(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "index"))


KILLED = """
import os, signal, sys
from siamese_cbow.cli import main
from siamese_cbow.retrieval import updating, manifest
def kill(*_): os.kill(os.getpid(), signal.SIGKILL)
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background of a shell
exec(sys.argv[1])
main(sys.argv[2:])
"""


@pytest.mark.parametrize(
    "moment",
    ["updating.description = kill", "updating.SegmentWriter.finish = kill", "updating.Manifest.write = kill"],
)
def test_a_first_index_that_was_killed_is_made_by_the_same_command(model: Model, tmp_path: Path, moment: str) -> None:
    text, folder = write_lines(tmp_path / "a.txt", LINES[:300]), tmp_path / "index"
    model.save(tmp_path / "model")
    command = ["index", str(text), "-o", str(folder), "--model", str(tmp_path / "model")]
    killed = subprocess.run([sys.executable, "-c", KILLED, moment, *command], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert any(folder.iterdir())
    main(command)
    kept = Index(folder, model=model)
    assert len(kept) == 300
    ours = {"index.json", *kept.manifest.segments, *kept.manifest.fits}
    assert {path.name for path in folder.iterdir()} == ours, "leftovers are gone"


def test_ctrl_c_leaves_nothing_and_says_one_line(model: Model, tmp_path: Path) -> None:
    text, folder = write_lines(tmp_path / "a.txt", LINES[:300]), tmp_path / "index"
    model.save(tmp_path / "model")
    command = ["index", str(text), "-o", str(folder), "--model", str(tmp_path / "model")]
    moment = "updating.description = lambda *_: os.kill(os.getpid(), signal.SIGINT)"
    stopped = subprocess.run(
        [sys.executable, "-c", KILLED, moment, *command], capture_output=True, text=True, check=False
    )
    assert stopped.returncode == 130
    assert stopped.stderr.strip() == "siamese-cbow: stopped by SIGINT before it finished; run the same command again"
    assert not folder.exists()


@pytest.mark.parametrize("message", ["Terminated by user", "Operation has been terminated"])
def test_a_signal_inside_the_library_of_graphs_is_an_interrupt(message: str) -> None:
    class Stopped:
        def add(self, *_: object, **__: object) -> None:
            raise RuntimeError(message)

    with pytest.raises(KeyboardInterrupt):
        graph.add(Stopped(), np.arange(1), np.ones((1, 3), np.int8), 1)


def test_a_second_writer_gets_an_error(
    model: Model, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model.save(tmp_path / "model")
    before = (index / "index.json").read_bytes()
    with one_writer(index):
        with pytest.raises(InputError, match="another process is writing"):
            update(index, model=model)
        with pytest.raises(SystemExit) as stop:
            main(["index", str(tmp_path), "-o", str(index), "--model", str(tmp_path / "model")])
        assert stop.value.code == 2
        assert Index(index, model=model).search("guitar", k=1), "readers need not wait"
    assert "another process is writing" in capsys.readouterr().err
    assert (index / "index.json").read_bytes() == before
    update(index, model=model)


def in_middle(path: Path) -> None:
    """A byte that is in none of the 16 sampled blocks."""
    data = bytearray(path.read_bytes())
    last = len(data) - 4096
    place = last // 15 + 4096 + (last // 15 - 4096) // 2
    data[place] ^= 0x55
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["codes.npy", "rows.txt"])
def test_a_byte_between_the_samples(model: Model, index: Path, name: str) -> None:
    path = next(index.glob("segment-*")) / name
    in_middle(path)
    with pytest.raises(FormatError, match=r"damaged or swapped.*--rebuild"):
        Index(index, model=model)
    with pytest.raises(FormatError, match=r"damaged or swapped.*--rebuild"):
        update(index, model=model)


def test_an_index_that_was_copied_is_read_once_as_a_whole(
    model: Model, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from siamese_cbow.retrieval import fitting, segment

    for path in index.rglob("*"):
        os.utime(path, ns=(1, 1))
    hashed = list[str]()
    real = segment.file_hash
    monkeypatch.setattr(segment, "file_hash", lambda path: (hashed.append(path.name), real(path))[1])
    Index(index, model=model)
    assert sorted(hashed) == sorted([*segment.FILES, *fitting.FIT_FILES])
    update(index, model=model)
    hashed.clear()
    Index(index, model=model)
    assert hashed == []


def described(index: Path) -> None:
    """Updates the index's file list, so that its files count as intact."""
    from siamese_cbow.retrieval.segment import description

    content = json.loads((index / "index.json").read_text())
    content["segments"] = {path.name: description(path) for path in index.glob("segment-*")}
    (index / "index.json").write_text(json.dumps(content))


def changed(name: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def apply(segment: Path) -> None:
        np.save(segment / name, change(np.load(segment / name)))

    return apply


ARRAYS = {
    "starts fall": changed("starts.npy", lambda a: a[::-1].copy()),
    "starts beyond the text": changed("starts.npy", lambda a: a * 1000),
    "one start fewer": changed("starts.npy", lambda a: a[:-1]),
    "starts of another type": changed("starts.npy", lambda a: a.astype(np.float64)),
    "numbers of two dimensions": changed("numbers.npy", lambda a: a.reshape(1, -1)),
    "words in rows beyond the text": changed("word_rows.npy", lambda a: a + 10**6),
    "words in rows below 0": changed("word_rows.npy", lambda a: a - 10**6),
    "starts of words fall": changed("word_starts.npy", lambda a: a[::-1].copy()),
    "one count fewer": changed("word_counts.npy", lambda a: a[:-1]),
    "codes in one column": changed("codes.npy", lambda a: a[:, :1].copy()),
    "codes of nothing": lambda segment: (segment / "codes.npy").write_bytes(b""),
    "codes of text": lambda segment: (segment / "codes.npy").write_bytes(b"codes? " * 100),
}


@pytest.mark.parametrize("damage", ARRAYS.values(), ids=ARRAYS)
def test_files_that_are_wrong_but_described(model: Model, index: Path, damage: Callable[[Path], None]) -> None:
    damage(next(index.glob("segment-*")))
    described(index)
    with pytest.raises(FormatError, match="--rebuild"):
        Index(index, model=model).search("guitar")


def entry(**values: Any) -> Callable[[dict[str, Any]], None]:
    def apply(content: dict[str, Any]) -> None:
        for name in content["files"]:
            content["files"][name] |= values

    return apply


def value(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content.update(values)


LISTS = {
    "a segment that is not there": entry(segment="segment-00000000"),
    "a segment of no name": entry(segment=None),
    "rows beyond the segment": entry(last=10**9),
    "rows below 0": entry(first=-5),
    "rows in reverse": entry(first=7, last=3),
    "a row that is text": entry(first="0"),
    "a row that is true": entry(first=True),
    "a size that is not": entry(size=None),
    "one value more": entry(more=1),
    "a folder outside": lambda content: content["segments"].update({"../index/segment-1": {}}),
    "segments as a list": value(segments=[1, 2]),
    "a segment without files": lambda content: content["segments"].update(dict.fromkeys(content["segments"], 5)),
    "files as a list": value(files=[]),
    "a file that is a number": value(files={"a.txt": 3}),
    "recall as a number": value(recall=3),
    "settings of nothing": value(settings=None),
    "a language that is a number": value(settings={"language": 3}),
    "languages that are a number": value(settings={"languages": 3}),
}


@pytest.mark.parametrize("damage", LISTS.values(), ids=LISTS)
def test_a_list_with_wrong_values(model: Model, index: Path, damage: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads((index / "index.json").read_text())
    damage(content)
    (index / "index.json").write_text(json.dumps(content))
    with pytest.raises(FormatError, match="--rebuild"):
        Index(index, model=model).search("guitar")
    with pytest.raises(FormatError, match="--rebuild"):
        update(index, model=model)
