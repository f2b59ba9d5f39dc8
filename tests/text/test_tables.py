"""Tables with a text column: JSON lines, CSV, TSV, Parquet; each row is a document."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from siamese_cbow.errors import InputError
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.records import TextSettings

ROWS = ["one two. Three four.\n\nFive six.", "seven", "", "eight \x00nine"]
SENTENCES = "one two. Three four.\nFive six.\n\nseven\n\neight  nine\n\n"
SPLIT = "one two.\nThree four.\nFive six.\n\nseven\n\neight  nine\n\n"


def read(inputs: object, **options: Any) -> str:
    corpus = Corpus(inputs, TextSettings(**options))
    blocks = list(corpus.blocks())
    if corpus.total_bytes is not None:
        assert sum(block.n_source_bytes for block in blocks) == corpus.total_bytes
    text = b"".join(corpus.lines(block).text for block in blocks).decode()
    return re.sub(r"\n{3,}", "\n\n", text.replace(" \n", "\n"))  # boundaries in a row are one


def write(folder: Path, ending: str, rows: list[str], column: str = "text") -> Path:
    file = folder / f"table{ending}"
    if ending == ".parquet":
        pq.write_table(pa.table({"id": range(len(rows)), column: rows}), file)
    elif ending == ".jsonl":
        file.write_text("".join(json.dumps({"id": i, column: row}) + "\n" for i, row in enumerate(rows)))
    elif ending == ".csv":
        quoted = (row.replace('"', '""') for row in rows)
        file.write_text(f"id,{column}\n" + "".join(f'{i},"{row}"\n' for i, row in enumerate(quoted)))
    else:
        flat = (row.replace("\n", " ") for row in rows)
        file.write_text(f"id\t{column}\n" + "".join(f"{i}\t{row}\n" for i, row in enumerate(flat)))
    return file


@pytest.mark.parametrize("ending", [".parquet", ".jsonl", ".csv"])
def test_each_row_is_a_document(tmp_path: Path, ending: str) -> None:
    file = write(tmp_path, ending, ROWS)
    assert read(file, layout="sentences") == SENTENCES
    assert read(file, layout="paragraphs") == SPLIT
    assert read(file, layout="paragraphs", boundary="paragraph") == (
        "one two.\nThree four.\n\nFive six.\n\nseven\n\neight  nine\n\n"
    )
    assert read(file, layout="wrapped") == SPLIT


def test_tab_separated_has_no_quoting(tmp_path: Path) -> None:
    file = write(tmp_path, ".tsv", ['say "hi', 'there" now', ""])
    assert read(file, layout="sentences") == 'say "hi\n\nthere" now\n\n'


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".tsv"])
def test_text_tables_may_be_compressed(tmp_path: Path, ending: str) -> None:
    rows = [f"sentence {i} here" for i in range(2000)]
    file = write(tmp_path, ending, rows)
    packed = tmp_path / f"packed{ending}.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert read(packed) == read(file) == "".join(f"{row}\n\n" for row in rows)
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"packed\S+ is cut off or damaged"):
        read(packed)


@pytest.mark.parametrize("ending", [".parquet", ".jsonl", ".csv", ".tsv"])
def test_a_missing_column_names_those_there_are(tmp_path: Path, ending: str) -> None:
    file = write(tmp_path, ending, ROWS, column="body")
    with pytest.raises(InputError, match=r"has no column 'text'; it has 'id', 'body': choose one with --text-column"):
        read(file)
    assert read(file, text_column="body").startswith("one two.")


def test_long_tables_come_in_many_blocks(tmp_path: Path) -> None:
    rows = [f"row {i} " + "word " * 40 for i in range(60_000)]
    for ending in (".parquet", ".jsonl", ".csv", ".tsv"):
        corpus = Corpus(write(tmp_path, ending, rows), TextSettings(layout="sentences"))
        sizes = [len(block.data) for block in corpus.blocks()]
        assert len(sizes) > 2
        assert max(sizes) < 5 << 20
        assert read(corpus.inputs, layout="sentences").count("\n\n") == 60_000


@pytest.mark.parametrize("ending", [".parquet", ".jsonl"])
def test_a_column_that_is_no_text(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"table{ending}"
    if ending == ".parquet":
        pq.write_table(pa.table({"text": [1, 2]}), file)
    else:
        file.write_text('{"text": 1}\n{"text": 2}\n')
    with pytest.raises(InputError, match=r"column 'text' of \S+ holds int.*; expected text or lists of strings"):
        read(file)


def test_lists_are_documents_of_sentences(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [["a b", "c\nd"], [], None, ["e"]]}), file)
    assert read(file, layout="sentences") == "a b\nc d\n\ne\n\n"
    pq.write_table(pa.table({"text": [[1], [2]]}), file)
    with pytest.raises(InputError, match=r"holds list<.*int64>"):
        read(file)


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_any_arrow_type_of_text(tmp_path: Path, kind: pa.DataType) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": pa.array(["a b", None, "c", "a b"]).cast(kind)}), file)
    assert read(file) == "a b\n\nc\n\na b\n\n"


def test_json_that_arrow_refuses_is_read_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(
        '{"text": "a \\ud800 b"}\n\n{"text": ["c", "d"], "x": NaN}\n{"text": null}\n{"y": 1}\n{"text": "e"}\n'
    )
    assert read(file) == "a \ufffd b\n\nc\nd\n\ne\n\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a"}\nnonsense\n', r"line 2 is not JSON .*'nonsense'; expected one object per line"),
        ('[{"text": "a"}]\n', r"line 1 is a JSON list; expected one object per line.*jq -c"),
        ('[\n{"text": "a"}\n]\n', r"line 1 is not JSON .*jq -c"),
        ('{"text": "a"}\n{"text": 3}\n', r"holds int in line 2"),
        ('{"text": "a"}\n{"text": "b"', r"line 2 is not JSON"),
    ],
)
def test_mistakes_in_json_name_the_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(content)
    with pytest.raises(InputError, match=message):
        read(file)


def test_mistakes_in_csv_and_parquet_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("text,n\na,1\nb,2,3\n")
    with pytest.raises(InputError, match=r"can't read \S+a\.csv as \.csv: .*Expected 2 columns, got 3"):
        read(file)
    file.write_text("")
    with pytest.raises(InputError, match="has no column 'text'; it has none"):
        read(file)
    parquet = tmp_path / "a.parquet"
    parquet.write_bytes(b"PAR1 this is none PAR1")
    with pytest.raises(InputError, match=r"can't read \S+a\.parquet as \.parquet"):
        read(parquet)


def test_broken_utf8_in_a_table_is_replaced_and_counted(tmp_path: Path) -> None:
    for ending, content in (
        (".csv", b"text\n\xc3\xa9\xc3\xa9 caf\xe9\n"),
        (".jsonl", b'{"text": "\xc3\xa9\xc3\xa9 caf\xe9"}\n'),
    ):
        file = tmp_path / f"a{ending}"
        file.write_bytes(content)
        corpus = Corpus(file)
        lines = [corpus.lines(block) for block in corpus.blocks()]
        assert b"".join(part.text for part in lines).decode() == "éé caf\ufffd\n\n"
        assert sum(part.n_broken for part in lines) == 1


def test_one_huge_row_and_an_empty_table(tmp_path: Path) -> None:
    rows = ["word " * 500_000, "short"]
    for ending in (".parquet", ".jsonl", ".csv"):
        assert read(write(tmp_path, ending, rows), layout="sentences").endswith("word\n\nshort\n\n")
        assert read(write(tmp_path, ending, [])) == ""


def test_a_reader_that_is_left_early_leaves_nothing_open(tmp_path: Path) -> None:
    for ending in (".parquet", ".jsonl", ".csv"):
        file = write(tmp_path, ending, ["some words here"] * 100_000)
        blocks = Corpus(file).blocks()
        next(blocks)
        blocks.close()  # type: ignore[attr-defined]
        file.unlink()
