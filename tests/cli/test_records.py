"""One reader for all commands: every command reads a table as one row per record."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from search_world import topic_model
from siamese_cbow import Stream
from siamese_cbow.cli import main
from siamese_cbow.text import FORMATS

# Quoted cells with line ends, quotation marks and delimiters; one is empty; two per label, for folds.
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
    """A working folder with a model that the environment names."""
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
    assert [(row.get("body") or "").split() for row in rows] == [text.split() for text in BODIES]

    hits = [
        json.loads(line) for line in out(capsys, "search", "ship", table, *body, "-k0", "--threshold=-99", "--json")
    ]
    found = {hit["record"]: " ".join(hit["text"].split()) for hit in hits}
    assert found == {i: text for i, text in enumerate(WORDS, 1) if text}  # the empty one has a number but no vector

    main(["index", table, *body, "-o", "an.index"])
    assert "6 rows" in capsys.readouterr().err
    assert out(capsys, "search", "guitar", "--index", "an.index", "-k1")[0].split("\t")[1] == "record 6:the guitar"

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
        said = failure(capsys, "similarity", "--file", table)
        assert "line 1 has 4 tab-separated fields" in said
        assert "--text-column A,B" in said
    else:
        said = failure(capsys, "similarity", "--file", table)
        assert "is a table; name the two columns to compare: --text-column A,B" in said
    for columns, message in (("body", "expected two columns"), ("body,none", "no column 'none'; it has 'id', 'body'")):
        assert message in failure(capsys, "similarity", "--file", table, "--text-column", columns)
    Path("plain.txt").write_text("a\tb\n")
    said = failure(capsys, "similarity", "--file", "plain.txt", "--text-column", "a,b")
    assert "plain text, which has no columns" in said


def read_rows(path: str) -> list[dict[str, Any]]:
    """The rows that a command wrote, with vectors as lists."""
    if path.endswith(".jsonl"):
        return [json.loads(line) for line in Path(path).read_text().splitlines()]
    if path.endswith(".parquet"):
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return rows
    with Path(path).open(newline="") as file:
        return [{**row, **({"vector": json.loads(row["vector"])} if "vector" in row else {})}
                for row in csv.DictReader(file)]  # fmt: skip


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_all_columns_are_carried_through(table: str, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    bodies = WORDS if table == "t.tsv" else [body or None for body in BODIES]
    main(["encode", table, "--text-column", "body", "-o", f"out{ending}"])
    rows = read_rows(f"out{ending}")
    np.testing.assert_array_equal(
        np.array([row.pop("vector") for row in rows], np.float32), topic_model().encode(BODIES)
    )
    assert [{**row, "body": row.get("body") or None} for row in rows] == [
        {"id": str(i), "body": body or None, "other": "the ship", "label": label}
        for i, (body, label) in enumerate(zip(bodies, LABELS, strict=True))
    ]
    if ending == ".parquet":
        assert pq.read_schema("out.parquet").field("vector").type == pa.list_(pa.float32(), topic_model().dim)

    main(["dedup", table, "--text-column", "other", "-o", f"kept{ending}"])
    assert "kept 1 of 6 lines" in capsys.readouterr().err
    kept = read_rows(f"kept{ending}")
    assert [(row["id"], row["label"], row["other"]) for row in kept] == [("0", "sea", "the ship")]


def test_columns_keep_their_types_and_odd_values(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    when = datetime(2020, 1, 2, 3, tzinfo=UTC)
    columns = {
        "n": [1, None],
        "when": [when, None],
        "tags": [["a"], []],
        "f": [0.5, float("nan")],
        "text": ["ship", None],
    }
    pq.write_table(pa.table(columns), "a.parquet")
    main(["encode", "a.parquet", "-o", "b.parquet"])
    assert pq.read_table("b.parquet").drop_columns("vector").schema.equals(pq.read_table("a.parquet").schema)
    main(["encode", "a.parquet", "-o", "b.jsonl"])
    rows = read_rows("b.jsonl")
    assert [row["n"] for row in rows] == [1, None]
    assert rows[0]["when"] == when.isoformat()
    assert rows[1]["f"] is None  # JSON has no NaN
    main(["encode", "a.parquet", "-o", "b.csv"])
    assert [(row["n"], row["tags"]) for row in read_rows("b.csv")] == [("1", '["a"]'), ("", "[]")]


def test_what_can_not_be_carried_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.jsonl").write_text('{"text": "ship", "vector": 1}\n')
    Path("b.jsonl").write_text('{"text": "ship", "x": 1}\n{"text": "song", "x": "one"}\n')
    Path("c.csv").write_text("text,vector\nship,1\n")
    for name, ending, message in (
        ("a.jsonl", ".jsonl", "already has a column 'vector'; choose another name: --vector-column"),
        ("c.csv", ".parquet", "already has a column 'vector'"),
        ("b.jsonl", ".parquet", "the column 'x' mixes types"),
    ):
        assert message in failure(capsys, "encode", name, "-o", f"out{ending}")
        assert not Path(f"out{ending}").exists()
    main(["encode", "c.csv", "--vector-column", "v", "-o", "out.jsonl"])
    assert read_rows("out.jsonl")[0].keys() == {"text", "vector", "v"}
    main(["encode", "c.csv", "--sentences", "-o", "sentences.jsonl"])
    assert "each row is a sentence, not a record" in capsys.readouterr().err
    assert read_rows("sentences.jsonl")[0].keys() == {"text", "vector"}
    Path("tables").mkdir()
    Path("tables/a.csv").write_text("text,x\nship,1\nsong,2\n")
    Path("tables/b.csv").write_text("text,y\nsoup,1\n")
    main(["encode", "tables", "-o", "out.csv"])
    assert "the tables have different columns, so none are written" in capsys.readouterr().err
    assert [row["text"] for row in read_rows("out.csv")] == ["ship", "song", "soup"]
    Path("tables/b.csv").write_text("text,x\nsoup,3\n")
    main(["encode", "tables", "-o", "out.csv", "--batch-size", "2"])
    assert [(row["text"], row["x"]) for row in read_rows("out.csv")] == [("ship", "1"), ("song", "2"), ("soup", "3")]
    Path("tables/c.txt").write_text("bread\n")
    main(["encode", "tables", "-o", "out.csv"])
    assert "some of the files are not tables, so no table columns are written" in capsys.readouterr().err
    assert [row["text"] for row in read_rows("out.csv")] == ["ship", "song", "soup", "bread"]
    Path("d.csv").write_text("text,x\n")
    for ending in (".csv", ".jsonl", ".parquet", ".npy"):
        main(["encode", "d.csv", "-o", f"empty{ending}"])
    assert read_rows("empty.csv") == read_rows("empty.jsonl") == read_rows("empty.parquet") == []
    assert pq.read_schema("empty.parquet").names == ["text", "x", "vector"]
    assert "expected only one of them" in failure(capsys, "dedup", "d.csv", "-o", "empty.csv", "--json")
    assert "expected a name that ends in .parquet, .jsonl, .csv" in failure(capsys, "dedup", "d.csv", "-o", "empty.npy")


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
    main(["encode", "notes", "-o", "notes.npy"])
    assert "skipped 1 binary file" in capsys.readouterr().err  # never drops rows silently
    assert len(np.load("notes.npy")) == 4
    assert "PNG" in failure(capsys, "encode", "notes/c.txt", "-o", "c.npy")
    assert not Path("c.npy").exists()


def test_rows_of_zeros_are_counted_aloud(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.jsonl").write_text('{"text": "a ship"}\n{"id": 2}\n{"text": " "}\n')
    (folder / "b.txt").write_text("a ship\n")
    main(["encode", "a.jsonl", "-o", "a.npy"])
    assert "zero vectors for rows without text: 2 of 3\n" in capsys.readouterr().err
    assert np.load("a.npy").any(axis=1).tolist() == [True, False, False]
    main(["encode", "b.txt", "-o", "b.npy"])
    assert "zero" not in capsys.readouterr().err
    (folder / "c.txt").write_text("a ship\n\nqqq\n")
    main(["encode", "c.txt", "-o", "c.npy"])
    said = capsys.readouterr().err
    assert "zero vectors for empty lines: 1 of 3; --unit paragraph leaves them out\n" in said
    assert "zero vectors for rows without a known word: 1 of 3\n" in said


def test_the_table_of_formats_names_each_ending_once() -> None:
    endings = [ending for each in FORMATS for ending in each.endings]
    assert len(endings) == len(set(endings))
    assert {Path(name).suffix for name in WRITERS} <= {*endings, ".gz"}
