"""A line without an end: every command stops at a limit and says so in one line; long rows take little memory."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from readers import zstd

import siamese_cbow as sc
from siamese_cbow.cli import main
from siamese_cbow.model.model import Model
from siamese_cbow.retrieval.row_words import BulkWords, FewWords, PlainWords
from siamese_cbow.text import chunks

WORDS = ["guitar", "song", "band", "soup", "bread", "cheese", "ship", "wave"]
LIMIT = 6 << 20
DIM = 300
SENTENCE = b"Wave " + b"soup wave " * 20 + b"soup. "


def toy_model() -> Model:
    rows = np.random.default_rng(1).standard_normal((len(WORDS), DIM), dtype=np.float32)
    return Model(sc.Vocabulary.of_words(WORDS), rows).with_fallback("ngrams")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model, and a file whose second line is longer than a line may be."""
    toy_model().save(tmp_path / "model")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "long.txt.zst").write_bytes(zstd(b"a guitar\n" + SENTENCE * (LIMIT // len(SENTENCE) + 1)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIAMESE_CBOW_MODEL", str(tmp_path / "model"))
    monkeypatch.setattr(chunks, "MAX_ROW_BYTES", LIMIT)
    return tmp_path


def exit_code(*arguments: str) -> int:
    try:
        main(list(arguments))
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.mark.parametrize(
    "command",
    [
        "search guitar FILE",
        "dedup FILE",
        "cluster FILE",
        "index FILE -o index",
        "encode FILE -o rows.npy",
        "adapt FILE -o adapted",
        "similarity --file FILE",
        "evaluate --probe FILE",
        "search guitar FILE --unit paragraph",
        "encode FILE -o rows.npy --unit document",
    ],
)
def test_an_endless_line_is_one_clear_line(folder: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    if command.startswith("similarity"):
        (folder / "text" / "long.txt.zst").write_bytes(zstd(b"a guitar\ta song\n" + b"soup wave " * (LIMIT // 10 + 1)))
    assert exit_code(*command.replace("FILE", "text/long.txt.zst").split()) == 2
    said = capsys.readouterr().err
    assert said.rstrip("\n").count("\n") == 0
    assert "text/long.txt.zst" in said
    assert "is longer than 6,291,456 bytes; expected one text per line" in said


def test_its_sentences_can_be_had(folder: Path) -> None:
    """The message's advice works."""
    how = ["--unit", "sentence", "--sentence-language", "en"]
    assert exit_code("encode", "text/long.txt.zst", "-o", "rows.npy", *how) == 0
    assert len(np.load(folder / "rows.npy")) == LIMIT // len(SENTENCE) + 2


def test_in_a_folder_its_file_is_skipped_and_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "text" / "short.txt").write_text("a song\n")
    assert exit_code("search", "song", "text") == 0
    out, said = capsys.readouterr()
    assert "a song" in out
    assert "skipped: text/long.txt.zst line 2 is longer than" in said


def test_an_endless_row_of_pairs_is_refused_by_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pairs.tsv.zst").write_bytes(zstd(b"a song\ta band\t4\n" + b"soup wave " * ((17 << 20) // 10)))
    assert exit_code("evaluate", "random", "--pairs", str(tmp_path / "pairs.tsv.zst")) == 2
    assert "pairs.tsv.zst line 2 is longer than 16,777,216 bytes" in capsys.readouterr().err


def unknown_text(n: int) -> str:
    return " ".join(f"x{np.base_repr(7919 * i + 10**6, 36).lower()}y" for i in range(n))


def means_by(words: type[PlainWords | BulkWords]) -> Callable[[Model, str], object]:
    def means(model: Model, text: str) -> object:
        path = words(model)
        return path.means(path.of([text]), np.ones(len(WORDS), np.float32))

    return means


def on_a_basis(model: Model, text: str) -> object:
    path = FewWords(model)
    return path.unknown_on(path.of([text]), np.eye(DIM, 16, dtype=np.float32))


@pytest.mark.parametrize(
    "work",
    [Model.encode, means_by(PlainWords), means_by(BulkWords), means_by(FewWords), on_a_basis],
    ids=["encode", "plain", "bulk", "few", "bound"],
)
def test_a_long_row_of_unknown_words_takes_little_memory(work: Callable[[Model, str], object]) -> None:
    """The rows of all its words at once would take DIM numbers per word."""
    model, n = toy_model(), 8_000
    text = unknown_text(n)
    work(model, unknown_text(10))  # makes what is made only once
    tracemalloc.start()
    work(model, text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * n * DIM / 2


def test_all_paths_give_the_same_row() -> None:
    model, text = toy_model(), unknown_text(700) + " guitar song"
    expected = model.encode(text)
    for words in (PlainWords, BulkWords, FewWords):
        assert np.array_equal(means_by(words)(model, text), expected[np.newaxis])
    assert np.array_equal(model.encode([text] * 3 + ["x" * 5_000_000])[0], expected)
