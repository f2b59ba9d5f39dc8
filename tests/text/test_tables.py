"""Tables with a text column: JSON lines, CSV, TSV, Parquet; each row is a document."""

from __future__ import annotations

import csv
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from siamese_cbow.errors import InputError
from siamese_cbow.text import json_files
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.json_files import table_rows
from siamese_cbow.text.reader import read_columns
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import RowReader

ROWS = ["one two. Three four.\n\nFive six.", "seven", "", "eight \x00nine"]
SENTENCES = "one two. Three four.\nFive six.\n\nseven\n\neight  nine\n\n"
SPLIT = "one two.\nThree four.\nFive six.\n\nseven\n\neight  nine\n\n"


def read(inputs: object, **options: Any) -> str:
    corpus = Corpus(inputs, TextSettings(**options))
    blocks = list(corpus.blocks())
    if corpus.total_bytes is not None:
        assert sum(block.n_source_bytes for block in blocks) == corpus.total_bytes
    text = b"".join(corpus.lines(block).text for block in blocks).decode()
    return re.sub(r"\n{3,}", "\n\n", text.replace(" \n", "\n"))  # repeated boundaries count once


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


def test_the_layout_of_every_kind_of_table_is_seen_by_its_first_rows(tmp_path: Path) -> None:
    running = ["The ship sank in the storm. Nobody was hurt, they said. " * 20] * 500
    texts = {read(write(tmp_path, ending, running)) for ending in (".parquet", ".jsonl", ".csv", ".tsv")}
    assert len(texts) == 1
    assert texts.pop().startswith("The ship sank in the storm.\nNobody was hurt, they said.\n")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (['say "hi', 'there" now'], ['say "hi', 'there" now']),
        (['"Yes" he said', "no", '"Open'], ['"Yes" he said', "no", '"Open']),
        (['"Yes"', "no"], ['"Yes"', "no"]),
        (['"a\ttab"', "no"], ["a\ttab", "no"]),
        (['"a\nline"', 'says "hi"'], ["a\nline", 'says "hi"']),
        (['"a ""quoted"" word"', "no"], ['a "quoted" word', "no"]),
        (['"a\nline" and', "no"], None),  # an unmatched quote: the line has too few cells
    ],
)
def test_tab_separated_is_quoted_where_it_must_be(tmp_path: Path, rows: list[str], expected: list[str] | None) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("id\ttext\n" + "".join(f"{i}\t{row}\n" for i, row in enumerate(rows)))
    if expected is None:
        with pytest.raises(InputError, match="Expected 2 columns, got 1"):
            list(read_columns(file, ["text"]))
    else:
        assert [text for (text,) in read_columns(file, ["text"])] == expected
    with file.open("w", newline="") as out:
        csv.writer(out, delimiter="\t", quoting=csv.QUOTE_ALL).writerows([["id", "text"], *([1, row] for row in rows)])
    assert [text for (text,) in read_columns(file, ["text"])] == rows


def test_quotes_that_come_late_in_tab_separated_text_are_no_silent_mistake(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    start = "id\ttext\n" + "".join(f"{i}\tplain words\n" for i in range(10_000))
    file.write_text(start + '1\t"two\nlines"\n')
    with pytest.raises(InputError, match="Expected 2 columns, got 1"):
        list(read_columns(file, ["text"]))
    file.write_text(start.replace("\n1\tplain words", '\n1\t"two\nlines"') + '1\t"two\nlines"\n')
    assert len(list(read_columns(file, ["text"]))) == 10_001


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".tsv"])
def test_text_tables_may_be_compressed(tmp_path: Path, ending: str) -> None:
    rows = [f"sentence {i} here" for i in range(2000)]
    file = write(tmp_path, ending, rows)
    packed = tmp_path / f"packed{ending}.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert read(packed) == read(file) == "".join(f"{row}\n\n" for row in rows)
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"packed\S+ is truncated or damaged"):
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
    with pytest.raises(InputError, match=r"column 'text' of \S+ contains int.*; expected text or lists of strings"):
        read(file)


def test_lists_are_documents_of_sentences(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [["a b", "c\nd"], [], None, ["e"]]}), file)
    assert read(file, layout="sentences") == "a b\nc d\n\ne\n\n"
    pq.write_table(pa.table({"text": [[1], [2]]}), file)
    with pytest.raises(InputError, match=r"contains list<.*int64>"):
        read(file)


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_any_arrow_type_of_text(tmp_path: Path, kind: pa.DataType) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": pa.array(["a b", None, "c", "a b"]).cast(kind)}), file)
    assert read(file) == "a b\n\nc\n\na b\n\n"


def test_json_of_many_kinds_of_values_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(
        '{"text": "a \\ud800 b"}\n\n{"text": ["c", "d"], "x": NaN}\n{"text": null}\n{"y": 1}\n{"text": "e"}\n'
    )
    assert read(file) == "a \ufffd b\n\nc\nd\n\ne\n\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a"}\nnonsense\n', r"line 2 is not JSON .*'nonsense'; expected one object per line"),
        ('["a", 1]\n', r"line 1 is a JSON list; expected one object per line.*or an array of them"),
        ('[\n{"text": "a"}\n', r"is truncated: its array of 1 records does not end"),
        ('{"text": "a"}\n{"text": 3}\n', r"contains int in line 2"),
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
    with pytest.raises(InputError, match=r"can't read \S+a\.csv as a \.csv file \(.*Expected 2 columns, got 3"):
        read(file)
    file.write_text("")
    with pytest.raises(InputError, match="has no column 'text': it has no columns at all"):
        read(file)
    parquet = tmp_path / "a.parquet"
    parquet.write_bytes(b"PAR1 this is none PAR1")
    with pytest.raises(InputError, match=r"can't read \S+a\.parquet as a \.parquet file"):
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


REPEATED = """
import itertools, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from siamese_cbow.text.reader import read_columns
rows = itertools.islice(read_columns(sys.argv[1], ["text"]), 100)
print(sum(len(text) for text, in rows))
"""


@pytest.mark.parametrize("kind", ["string", "dictionary", "list", "delta"])
def test_repeated_texts_take_no_more_memory_than_one(tmp_path: Path, kind: str) -> None:
    """65 GB in a kilobyte: the text is stored once. A legitimate table of repeated long texts looks the same."""
    text, n = "a b " * 250_000, 65_536
    path = tmp_path / "a.parquet"
    if kind in ("dictionary", "list"):
        column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([text]))
        if kind == "list":
            column = pa.ListArray.from_arrays(pa.array(np.arange(n + 1), pa.int32()), column)
        pq.write_table(pa.table({"text": column}), path, compression="zstd")
    else:
        encoding = {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"} if kind == "delta" else {}
        with pq.ParquetWriter(path, pa.schema([("text", pa.string())]), compression="zstd", **encoding) as writer:
            for _ in range(20):
                writer.write_table(pa.table({"text": [text] * 50}))
    assert path.stat().st_size < 12_000
    done = subprocess.run([sys.executable, "-c", REPEATED, path], capture_output=True, text=True, check=False)
    assert done.stdout == "100000000\n", done.stderr[-500:]


def test_a_record_larger_than_memory_is_refused(tmp_path: Path) -> None:
    one = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), pa.array(["a b " * 1000]))
    pq.write_table(
        pa.table({"text": pa.ListArray.from_arrays(pa.array([0, 100_000], pa.int32()), one)}), tmp_path / "a.parquet"
    )
    with pytest.raises(InputError, match=r"has a record of 400,\d+,\d+ bytes, more than 67,108,864"):
        read(tmp_path / "a.parquet")


LINES = b"a b\n" * (15 << 18)  # 15 MB, allowed in a cell


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"text\n" + b"a" * (17 << 20), "line 2 is longer than 16,777,216 bytes"),
        (
            b'text\n"' + 2 * LINES,
            r"field larger than field limit .*16777216.* in line \d\S+: .* unclosed quotation mark",
        ),
        (b"x,y,z,u,text\n" + b",".join([b'"' + LINES + b'"'] * 5), "has a record of more than 67,108,864 bytes"),
        (b"id,text\n1,a\n\n2,b,c\n", "Expected 2 columns, got 3 in line 4: '2,b,c'"),
    ],
    ids=["line", "cell", "record", "cells"],
)
def test_what_is_too_long_or_too_wide_in_csv_names_the_line(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        cells(file)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_csv_may_end_in_any_way(tmp_path: Path, end: str) -> None:
    file = tmp_path / "a.csv"
    rows = [f'{i},"né {i}{end}x"' for i in range(200_000)]
    file.write_bytes(end.join(["id,text", *rows]).encode())
    inside = "\n" if end == "\r" else end
    assert cells(file) == [f"né {i}{inside}x" for i in range(200_000)]


def cells(file: Path, column: str = "text") -> list[str]:
    return [cell for (cell,) in read_columns(file, [column])]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_csv_is_found_out(tmp_path: Path, delimiter: str) -> None:
    file = tmp_path / "a.csv"
    with file.open("w", newline="") as out:
        writer = csv.writer(out, delimiter=delimiter)
        writer.writerows([["id", "text"], ["1", "one, two; three | four"], ["2", 'a "b"\nc\td'], ["3", ""]])
    assert cells(file) == ["one, two; three | four", 'a "b"\nc\td', ""]
    file.write_text(f"\n\nsep={delimiter}\n".lstrip() + file.read_text())
    assert cells(file) == ["one, two; three | four", 'a "b"\nc\td', ""]


def test_a_table_of_one_column_needs_no_quotes(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text('\n\ntext\nhello, you; there | and\n"quoted, ""too"""\n""\nlast')
    assert cells(file) == ["hello, you; there | and", 'quoted, "too"', "", "last"]


def test_several_columns_are_joined_as_paragraphs(tmp_path: Path) -> None:
    rows = [{"title": "A", "body": "b c"}, {"title": None, "body": "d"}, {"title": None, "body": None}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "a.csv").write_text("title,body\nA,b c\n,d\n,\n")
    for ending in ("parquet", "jsonl", "csv"):
        assert cells(tmp_path / f"a.{ending}", "title, body") == ["A\n\nb c", "d", ""]
        with pytest.raises(InputError, match="no column 'author'; it has 'title', 'body': choose one with"):
            cells(tmp_path / f"a.{ending}", "title,author")
    (tmp_path / "b.csv").write_text('"title,body",title,body\nx,y,z\n')
    assert cells(tmp_path / "b.csv", "title,body") == ["x"]  # a column with exactly that name comes first


def test_nested_records_by_a_path(tmp_path: Path) -> None:
    rows = [{"user": {"bio": "hi", "age": 3}, "notes": [{"t": "x"}, {"t": "y"}]}, {"user": None, "notes": []}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    for ending in ("jsonl", "parquet"):
        assert cells(tmp_path / f"a.{ending}", "user.bio") == ["hi", ""]
        with pytest.raises(InputError, match=r"no column 'user.name'; it has 'user.(bio|age)', 'user.(bio|age)', 'no"):
            cells(tmp_path / f"a.{ending}", "user.name")
    assert cells(tmp_path / "a.jsonl", "notes.t") == ["x\ny", ""]
    (tmp_path / "b.jsonl").write_text('{"user.bio": "flat"}\n{"user": {"bio": "deep"}}\n')
    assert cells(tmp_path / "b.jsonl", "user.bio") == ["flat", "deep"]


def test_an_object_is_no_column_though_some_records_lack_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ({"d": {"a": "x"}}, {"d": {}}, {"d": None}, {"e": None})))
    with pytest.raises(InputError, match=r"no column 'text'; it has 'd\.a', 'e': choose"):
        cells(path, "text")
    assert table_rows(path) == ([["d.a", "e"], ["x", ""], ["", ""], ["", ""], ["", ""]], True)


def test_a_json_file_may_be_one_array(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"text": f'a "{i}"\n[', "more": [1, {"x": "]"}]} for i in range(2000)]
    file = tmp_path / "a.json"
    for indent in (None, 1):
        for content in (json.dumps(rows, indent=indent), "\n".join(json.dumps(row, indent=indent) for row in rows)):
            file.write_text(content)
            assert cells(file) == [row["text"] for row in rows]
            pieces = (content[i : i + 777].encode() for i in range(0, len(content), 777))  # elements span two pieces
            lines = b"".join(json_files._element_lines(pieces, file)).splitlines()
            assert [json.loads(line) for line in lines] == rows
    file.write_text("[]")
    assert cells(file) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"text": "a"}', "is truncated: its array of 1 records does not end"),
        ('[{"text": "a"}] x', "continues after the end of its array: 'x'"),
        ('[{"text": "a"}, {"text": ]', "record 2 is not JSON"),
        ('["a"]', "is a JSON str; expected one object"),
        ("text,text\na,b\n", "has more than one column 'text'"),
        ("id,text\n1,a\n2\n", "Expected 2 columns, got 1"),
    ],
)
def test_what_is_wrong_with_an_array_or_a_table(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / ("a.json" if content.startswith("[") else "a.csv")
    file.write_text(content)
    with pytest.raises(InputError, match=message):
        cells(file)


def test_a_quotation_mark_that_is_never_closed(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    for content in ('id,text\n1,"a\n2,b\n3,c\n', 'text,id\n"a",1\nb,"2\nc,3', 'id,text\n1,"cut off'):
        file.write_text(content)
        with pytest.raises(InputError, match="ends inside a cell with an unclosed quotation mark"):
            cells(file)
    file.write_text('id,text\n1,a 5" disk\n2,"b\nc"\n\n')
    assert cells(file) == ['a 5" disk', "b\nc"]
    file.write_text('id,text\n1,"a\n"b')  # closed, and the cell continues
    assert cells(file) == ["a\nb"]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", 'id,text\n1,"he said \\"ship, sea\\" to me"\n2,"C:\\\\"\n', ['he said "ship, sea" to me', "C:\\"]),
        ("a.csv", 'id,text,z\n1,"in C:\\dir\\",x\n2,"a ""x"" b",y\n', ["in C:\\dir\\", 'a "x" b']),
        ("a.csv", 'id,text\n1,"{""a"": ""x\\""y""}"\n2,b\n', ['{"a": "x\\"y"}', "b"]),
        ("a.csv", 'id, text\n1, "the ship, big"\n2, song\n', ["the ship, big", "song"]),
        ("a.csv", "id, Text ,z\n1,a,\n2,b,\n", ["a", "b"]),
        ("a.csv", "id,text\n1,a,,\n2,b,\n", ["a", "b"]),
        ("a.psv", "id|text\n1|a\n2|b\n", ["a", "b"]),
        ("a.tab", "id\ttext\n1\ta\n2\tb\n", ["a", "b"]),
        ("a.jsonl", '[{"text": "a"}, {"text": "b"}]', ["a", "b"]),
        ("a.jsonl", '{\n "text": "a"\n}\n{\n "Text": 1, "text": "b"\n}\n', ["a", "b"]),
    ],
)
def test_tables_as_other_programs_write_them(tmp_path: Path, name: str, content: str, expected: list[str]) -> None:
    (tmp_path / name).write_text(content)
    assert cells(tmp_path / name) == expected


def test_parquet_through_lists_and_next_to_maps(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    talks = [[{"who": "a", "said": "hi"}, {"who": "b", "said": None}, {"who": "c", "said": "bye"}], None, []]
    deep = [{"list": [{"said": ["x", "y"]}, {"said": ["z"]}]}, {"list": None}, None]
    pairs = pa.array([[("k", "v")], None, []], pa.map_(pa.string(), pa.string()))
    pq.write_table(pa.table({"talks": talks, "deep": deep, "pairs": pairs, "text": ["a", "b", None]}), file)
    assert cells(file, "talks.said") == ["hi\nbye", "", ""]
    assert cells(file, "deep.list.said") == ["x\ny\nz", "", ""]
    assert cells(file, "text,talks.who") == ["a\n\na\nb\nc", "b", ""]
    with pytest.raises(InputError, match=r"'pairs' of \S+ contains map<"):
        cells(file, "pairs")
    with pytest.raises(InputError, match=r"it has 'talks.who', 'talks.said', 'deep.list.said', 'pairs', 'text'"):
        cells(file, "talk")


def test_one_object_with_many_texts_is_reported_as_one_record(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"n": 2, "data": [{"text": "a"}, {"text": "b"}]}')
    reader = RowReader(tmp_path / "a.json", TextSettings(text_column="data.text"))
    assert list(reader.texts()) == ["a\nb"]
    assert reader.remarks == [
        f"{tmp_path}/a.json is one JSON object, so it is one record, with 2 texts in 'data.text'; to make each of them "
        "a record, write an array of objects or one object per line"
    ]
    for column in ("data", "data.x"):
        with pytest.raises(InputError, match=rf"no column '{column}'; it has 'n', 'data.text'"):
            cells(tmp_path / "a.json", column)
