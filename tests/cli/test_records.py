"""One reader for all commands: a table gives a row for each record, whatever command reads it."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from search_world import topic_model
from siamese_cbow import Stream
from siamese_cbow.cli import main
from siamese_cbow.text import FORMATS

# Quoted, with line ends, quotation marks and delimiters inside; one is empty, and two of each label for folds.
BODIES = ['the "ship",\nin the harbour', "a song of the band", "", "soup\r\n\r\nand bread", "storm", "the guitar"]
LABELS = ["sea", "music", "food", "food", "sea", "music"]
COLUMNS = {"id": [str(i) for i in range(6)], "body": BODIES, "other": ["the ship"] * 6, "label": LABELS}


def write_csv(path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(zip(*COLUMNS.values(), strict=True))


def write_csv_gz(path: Path) -> None:
    write_csv(path.with_suffix(""))
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))


def write_tsv(path: Path) -> None:
    rows = [COLUMNS, *zip(*COLUMNS.values(), strict=True)]
    flat = ["\t".join(" ".join(cell.split()) for cell in row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in flat))


def write_jsonl(path: Path) -> None:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    del rows[2]["body"]  # a record without text is still a record
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")


def write_parquet(path: Path) -> None:
    pq.write_table(pa.table({**COLUMNS, "body": [body or None for body in BODIES]}), path)


WRITERS: dict[str, Callable[[Path], None]] = {
    "t.csv": write_csv,
    "t.csv.gz": write_csv_gz,
    "t.tsv": write_tsv,
    "t.jsonl": write_jsonl,
    "t.parquet": write_parquet,
}
WORDS = [" ".join(body.split()) for body in BODIES]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a model that is found through the environment."""
    topic_model().save(tmp_path / "model")
    monkeypatch.setenv("SIAMESE_CBOW_MODEL", str(tmp_path / "model"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=WRITERS)
def table(request: pytest.FixtureRequest, folder: Path) -> str:
    """The name of a table in that folder."""
    WRITERS[request.param](folder / request.param)
    return str(request.param)


def out(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    main(list(arguments))
    return capsys.readouterr().out.splitlines()


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_a_row_for_each_record_in_every_command(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    body = ("--text-column", "body")
    expected = topic_model().encode(BODIES)

    main(["encode", table, *body, "-o", "a.npy"])
    np.testing.assert_array_equal(np.load("a.npy"), expected)
    rows = [json.loads(line) for line in out(capsys, "encode", table, *body)]
    assert [row["text"].split() for row in rows] == [text.split() for text in BODIES]

    hits = [json.loads(line) for line in out(capsys, "search", "ship", table, *body, "-k0", "--threshold=-1", "--json")]
    found = {hit["line"]: " ".join(hit["text"].split()) for hit in hits}
    assert found == {i: text for i, text in enumerate(WORDS, 1) if text}  # the empty one has no vector, but a number

    main(["index", table, *body, "-o", "an.index"])
    assert "6 rows" in capsys.readouterr().err
    assert out(capsys, "search", "guitar", "--index", "an.index", "-k1")[0].endswith("\t6:the guitar")

    assert len(out(capsys, "dedup", table, *body)) == 6
    assert [line.split(":")[1] for line in out(capsys, "cluster", table, *body, "--lines")] == list("123456")

    main(["adapt", table, *body, "-o", "adapted"])
    assert "adapted to 5 texts" in capsys.readouterr().err  # with words

    probe = out(capsys, "evaluate", "model", "--probe", table, *body, "--folds", "2")
    assert probe[0] == f"{table}: 6 texts, accuracy in 2 folds"

    scores = out(capsys, "similarity", "--file", table, "--text-column", "body,other")
    assert scores == [f"{score:.6f}" for score in topic_model().similarity_pairwise(BODIES, ["the ship"] * 6)]

    main(["prepare", table, *body, "-o", "stream", "--min-count", "1", "--layout", "sentences"])
    assert Stream.load("stream").n_documents == 5  # with words


@pytest.mark.parametrize(
    "command",
    [
        ["encode"],
        ["search", "ship"],
        ["index", "-o", "an.index"],
        ["dedup"],
        ["cluster"],
        ["adapt", "-o", "adapted"],
        ["prepare", "-o", "stream"],
        ["evaluate", "model", "--probe"],
    ],
)
def test_a_missing_column_names_those_there_are(
    table: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = failure(capsys, *command, table)
    assert f"{table} has no column 'text'; it has 'id', 'body', 'other', 'label': choose one with --text-column" in said


def test_similarity_never_takes_the_lines_of_a_table_for_pairs(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    if table == "t.tsv":
        assert len(out(capsys, "similarity", "--file", table)) == 7  # tab separated lines, without a header
    else:
        said = failure(capsys, "similarity", "--file", table)
        assert "is a table; say which two columns to compare: --text-column A,B" in said
    for columns, message in (("body", "expected two columns"), ("body,none", "no column 'none'; it has 'id', 'body'")):
        assert message in failure(capsys, "similarity", "--file", table, "--text-column", columns)
    Path("plain.txt").write_text("a\tb\n")
    said = failure(capsys, "similarity", "--file", "plain.txt", "--text-column", "a,b")
    assert "plain text, which has no columns" in said


def test_sentences_of_a_record_have_its_number(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.csv").write_text('text\n"The ship sank. A storm!\n\nWe had soup. It was good."\n"Bread."\n')
    sentences = ["The ship sank.", "A storm!", "We had soup.", "It was good.", "Bread."]
    rows = [json.loads(line) for line in out(capsys, "encode", "b.csv", "--sentences")]
    assert [row["text"] for row in rows] == sentences
    rows = [json.loads(line) for line in out(capsys, "dedup", "b.csv", "--sentences", "--json")]
    assert [(row["text"], row["line"]) for row in rows] == list(zip(sentences, [1, 1, 1, 1, 2], strict=True))


def test_a_folder_and_a_glob_are_encoded_file_by_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("notes").mkdir()
    Path("notes/a.txt").write_text("the ship\n\nsoup")
    Path("notes/b.jsonl").write_text('{"text": "the band"}\n')
    for source in ("notes", "notes/*"):
        rows = [json.loads(line) for line in out(capsys, "encode", source)]
        assert [row["text"] for row in rows] == ["the ship", "", "soup", "the band"]
    Path("notes/c.txt").write_bytes(b"\x89PNG")
    assert "PNG" in failure(capsys, "encode", "notes", "-o", "notes.npy")  # never some rows without a word
    assert not Path("notes.npy").exists()


def test_the_table_of_formats_names_each_ending_once() -> None:
    endings = [ending for each in FORMATS for ending in each.endings]
    assert len(endings) == len(set(endings))
    assert {Path(name).suffix for name in WRITERS} <= {*endings, ".gz"}
