"""Streams with damaged content: refused before any kernel reads them, with one line and exit code 2."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siamese_cbow.cli import main
from siamese_cbow.errors import FormatError
from siamese_cbow.stream.preparation import prepare
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text.records import TextSettings

WHOLE = Path(__file__).with_name("data") / "stream-0.1.0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(WHOLE, tmp_path / "stream"))


def change(folder: Path, name: str, place: int, value: int) -> None:
    array = np.load(folder / f"{name}.npy")
    array[place] = value
    np.save(folder / f"{name}.npy", array)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("ids", 7, 1_000_000),
        ("ids", 7, -1),
        ("ids", -1, 2**31 - 1),
        ("sentences", 0, 3),
        ("sentences", 2, 2**40),
        ("sentences", 2, -5),
        ("sentences", 2, 0),
        ("sentences", -1, 10**6),
        ("documents", 1, 99),
        ("documents", -1, 4),
    ],
)
def test_ids_out_of_range_and_offsets_out_of_order(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, place: int, value: int
) -> None:
    change(folder, name, place, value)
    with pytest.raises(FormatError, match=rf"{name}.npy is damaged \(.*prepare it again: siamese-cbow prepare"):
        Stream.load(folder)
    with pytest.raises(SystemExit) as stop:
        main(["train", str(folder), "-o", str(tmp_path / "model")])
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("siamese-cbow: ")
    assert not (tmp_path / "model").exists()


def test_every_id_of_the_vocabulary_is_allowed(folder: Path) -> None:
    n_words = len(Stream.load(folder).vocabulary)
    change(folder, "ids", 3, n_words - 1)
    Stream.load(folder)
    change(folder, "ids", 3, n_words)
    with pytest.raises(FormatError, match=f"the word {n_words} of {n_words}"):
        Stream.load(folder)


def test_the_fingerprint_finds_what_ranges_do_not(folder: Path, tmp_path: Path) -> None:
    Stream.load(folder, verify=True)
    change(folder, "ids", 3, (int(np.load(folder / "ids.npy")[3]) + 1) % 5)
    Stream.load(folder)
    with pytest.raises(FormatError, match="do not match their checksum"):
        Stream.load(folder, verify=True)
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a house\tein haus\na cat\teine katze\n" * 5)
    prepare(pairs, output=tmp_path / "pairs", min_count=1, text=TextSettings(kind="groups", languages=("en", "de")))
    Stream.load(tmp_path / "pairs", verify=True)


CHANGES: list[dict[str, Any]] = [
    {"lengths": {}},
    {"lengths": None},
    {"lengths": {"ids": "42", "sentences": 6, "documents": 4}},
    {"lengths": {"ids": -42, "sentences": 6, "documents": 4}},
    {"n_words": "many"},
    {"n_words": True},
    {"fingerprint": None},
    {"settings": {}},
    {"settings": []},
    {"settings": {"tokenizer": {}, "text": {"kind": "poem"}}},
    {"settings": {"tokenizer": {}, "text": []}},
    {"settings": {"tokenizer": {}, "text": {"kind": "text", "languages": 7}}},
    {"settings": {"tokenizer": {"kind": []}, "text": {"kind": "text"}}},
    {"settings": {"tokenizer": 5, "text": {"kind": "text"}}},
    {"format_version": "1"},
    {"format_version": None},
]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_values_that_stream_json_never_has(folder: Path, changes: dict[str, Any]) -> None:
    about = json.loads((folder / "stream.json").read_text())
    (folder / "stream.json").write_text(json.dumps({**about, **changes}))
    with pytest.raises(FormatError, match="prepare it again"):
        Stream.load(folder)


@pytest.mark.parametrize("text", ["[]", "null", "7", '"text"', "[" * 100_000, "\xff", ""])
def test_a_stream_json_of_something_else(folder: Path, text: str) -> None:
    (folder / "stream.json").write_text(text, encoding="latin-1")
    with pytest.raises(FormatError, match="damaged"):
        Stream.load(folder)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999,), }",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-42,), }",
        "{'descr': '<i4', 'fortran_order': False, 'shape': 42, }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (42,), }",
        "{'descr': '<i4'",
        "(" * 300,
    ],
)
def test_headers_that_lie(folder: Path, header: str) -> None:
    path = folder / "ids.npy"
    data = path.read_bytes()
    size = int.from_bytes(data[8:10], "little")
    line = header.encode().ljust(max(size, len(header) + 1) - 1) + b"\n"
    path.write_bytes(data[:8] + len(line).to_bytes(2, "little") + line + data[10 + size :])
    with pytest.raises(FormatError, match=r"can't read \S+ids.npy|ids.npy holds"):
        Stream.load(folder)


def test_a_newer_stream_names_what_to_install(folder: Path) -> None:
    about = json.loads((folder / "stream.json").read_text())
    (folder / "stream.json").write_text(json.dumps(about | {"format_version": 99}))
    with pytest.raises(FormatError, match="pip install -U siamese-cbow"):
        Stream.load(folder)
