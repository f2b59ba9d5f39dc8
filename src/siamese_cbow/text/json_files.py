"""Reads records in JSON: one object per line; in a .json file also an array of objects, or objects over several lines.

    json_cells(Path("a.jsonl"), ["user.bio"], [], decoding)   -> ([[b"A cat.", b""]], 52), ...     cells, bytes

A name is a key, or a path with dots into nested objects; at a list, the path continues in each of its items.
A record without the key gives an empty cell.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from siamese_cbow.base.disk import as_path
from siamese_cbow.errors import InputError
from siamese_cbow.text.chunks import Chunk, TextStream, line_chunks, open_text
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.inputs import encoded
from siamese_cbow.text.opening import ending_of
from siamese_cbow.text.parquet_files import parquet_rows
from siamese_cbow.text.reader import CellBatch, chosen, format_of, joined, list_cell, missing_column, not_text
from siamese_cbow.text.records import MAX_ROW_BYTES, NoText
from siamese_cbow.text.table_files import Cells, delimited_rows, with_clear_errors

_LOOK_AT = 1000  # records examined to find the columns
_OPENS = re.compile(rb"\[\s*[{\]]|\{\s*\n")  # an array of objects, or an object over several lines
_SPACE = re.compile(r"[ \t\r\n]*")


@with_clear_errors
def json_cells(path: Path, texts: Sequence[str], others: Sequence[str], decoding: Decoding) -> Iterator[CellBatch]:
    """The cells of some columns."""
    names = [*texts, *others]
    with open_text(path, decoding) as text:
        wanted: list[list[str]] = []
        only: dict[str, Any] | None = None  # the record of a file with a single record
        for chunk in _chunks(text, path):
            rows = list(_numbered_rows(chunk, path))
            only = rows[0][1] if not wanted and len(rows) == 1 else None
            if not wanted:
                first = [row for _, row in rows[:_LOOK_AT]]
                wanted = [_checked(name, first, path, texts) for name in names]
            yield _cells(rows, path, wanted, len(texts)), text.advance()
        values = [value_at(only, column) for column in wanted[0]] if only else []
        if n := max((len(value) for value in values if isinstance(value, list)), default=0):
            decoding.notes[str(path)] = (
                f"{path} is one JSON object, so it is one record, with {n:,} texts in {names[0]!r}; to make each of "
                "them a record, write an array of objects or one object per line"
            )
        yield [[] for _ in names], text.advance()


@with_clear_errors
def json_rows(path: Path, decoding: Decoding) -> Iterator[list[dict[str, Any]]]:
    """Whole records in batches; the first batch is empty, as for other tables."""
    yield []
    with open_text(path, decoding) as text:
        for chunk in _chunks(text, path):
            yield [row for _, row in _numbered_rows(chunk, path)]


def _chunks(text: TextStream, path: Path) -> Iterator[Chunk]:
    """About 4 MB of lines with an object each."""
    advice = "expected one JSON object per line, with one document each"
    reads = text.reads() if _has_lines(text.head, path) else _element_lines(text.reads(), path)
    return line_chunks(reads, str(path), overlong="refuse", limit=MAX_ROW_BYTES, advice=advice)


def _numbered_rows(chunk: Chunk, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each record and the number of its line."""
    for number, line in enumerate(chunk.data.split(b"\n"), chunk.first_line):
        if line.strip():
            yield number, _row(line, path, number)


def _row(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8", "surrogateescape"))  # broken bytes are replaced and counted later
    except (ValueError, RecursionError) as error:
        start = line[:60].decode("utf-8", "replace")
        raise (NoText if number == 1 else InputError)(
            f"{path} line {number:,} is not JSON ({error}): {start!r}; expected one object per line, "
            "or an array of them"
        ) from error
    if not isinstance(row, dict):
        raise (NoText if number == 1 else InputError)(
            f"{path} line {number:,} is a JSON {type(row).__name__}; expected one object per line, like "
            f'{{"text": "..."}}, or an array of them'
        )
    return row


# Which columns


def value_at(row: Any, column: str) -> Any:
    """The value of a record at a key or a path: `value_at({"user": {"bio": "a"}}, "user.bio")` -> 'a'."""
    if isinstance(row, list):
        values = [value_at(item, column) for item in row if isinstance(item, dict)]
        return [item for value in values for item in (value if isinstance(value, list) else [value])]
    if not isinstance(row, dict) or column in row:
        return row.get(column) if isinstance(row, dict) else None
    first, dot, rest = column.partition(".")
    return value_at(row.get(first), rest) if dot else None


def column_names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """All keys in order of appearance; those of nested objects, even in lists, with dots.

    An object itself is not a column, even if empty or missing: {"a": {"b": 1}}, {"a": {}}, {"a": None} -> ["a.b"].
    """
    rows = list(rows)
    objects = {key for row in rows for key, value in row.items() if _objects(value) is not None}
    names: dict[str, None] = {}
    for row in rows:
        for key, value in row.items():
            if (inner := _objects(value)) is not None:
                names.update(dict.fromkeys(f"{key}.{each}" for each in column_names(inner)))
            elif value is not None or key not in objects:
                names[key] = None
    return list(names)


def _objects(value: Any) -> list[Mapping[str, Any]] | None:
    """The object that a value is, or the objects in a list; None for other values."""
    items = value if isinstance(value, list) and value else [value]
    return items if all(isinstance(item, Mapping) for item in items) else None


def _checked(name: str, rows: Sequence[dict[str, Any]], path: Path, texts: Sequence[str]) -> list[str]:
    """The columns that a name stands for; an error if the first records have none of them."""
    keys = {key for row in rows for key in row}
    columns = chosen(name, list(keys))
    for column in columns:
        values = [value_at(row, column) for row in rows]
        items = (item for value in values for item in (value if isinstance(value, list) and value else [value]))
        is_there = column in keys or any(item is not None for item in items)
        if rows and (not is_there or any(_objects(value) is not None for value in values)):
            raise missing_column(path, column, column_names(rows), texts)
    return columns


# Cells


def _cells(
    rows: Sequence[tuple[int, dict[str, Any]]], path: Path, wanted: Sequence[Sequence[str]], n_texts: int
) -> list[Cells]:
    return [
        joined([[_cell(value_at(row, column), path, column, number, is_text=i < n_texts) for number, row in rows]
                for column in columns])
        for i, columns in enumerate(wanted)
    ]  # fmt: skip


def _cell(value: Any, path: Path, column: str, number: int, *, is_text: bool) -> bytes:
    if isinstance(value, int | float) and not is_text:
        value = str(value)
    if value is None or isinstance(value, str):
        return encoded(value or "")
    if isinstance(value, list) and all(part is None or isinstance(part, str) for part in value):
        return list_cell(value)
    raise not_text(path, column, f"{type(value).__name__} in line {number:,}")


# Arrays and objects over several lines


def _has_lines(head: bytes, path: Path) -> bool:
    """False for a file that is one array, or whose first object spans several lines."""
    start = head.lstrip()
    if not start.startswith((b"[", b"{")) or (ending_of(path) != ".json" and not _OPENS.match(start)):
        return True
    try:
        return isinstance(json.loads(start.partition(b"\n")[0]), dict)
    except (ValueError, RecursionError):
        return False


def _element_lines(reads: Iterator[bytes], path: Path) -> Iterator[bytes]:
    """Each element of an array, or each of several objects, on a line of its own."""
    scan, utf8 = json.JSONDecoder().raw_decode, codecs.getincrementaldecoder("utf-8")("surrogateescape")
    text, place, n, depth = "", 0, 0, -1  # depth -1: nothing seen yet; 0: objects; 1: in an array; 2: after it
    pieces = iter(reads)
    is_last = False
    while not is_last:
        piece = next(pieces, b"")
        is_last = not piece
        text, place = text[place:] + utf8.decode(piece, is_last), 0
        lines: list[str] = []
        while True:
            space = _SPACE.match(text, place)
            place = space.end() if space else place
            if place == len(text):
                break
            if depth == -1:
                depth = 1 if text[place] == "[" else 0
                place += depth
            elif depth == 2:
                raise InputError(
                    f"{path} continues after the end of its array: {text[place : place + 40]!r}; expected "
                    "nothing there: join the arrays, or write one object per line"
                )
            elif depth == 1 and text[place] == "]":
                depth, place = 2, place + 1
            elif depth == 1 and text[place] == "," and n:
                place += 1
            else:
                try:
                    _, end = scan(text, place)
                except (ValueError, RecursionError) as error:
                    if is_last or len(text) - place > MAX_ROW_BYTES or isinstance(error, RecursionError):
                        raise _bad_element(path, n + 1, text[place:], error) from error
                    break  # it may continue in the next piece
                lines.append(text[place:end].replace("\n", " ").replace("\r", " ") + "\n")
                place, n = end, n + 1
        if lines:
            yield "".join(lines).encode("utf-8", "surrogateescape")
    if depth == 1:
        raise InputError(f"{path} is truncated: its array of {n:,} records does not end; get the file again")


def _bad_element(path: Path, number: int, text: str, error: Exception) -> InputError:
    reason = str(error).partition(":")[0]
    return (NoText if number == 1 else InputError)(
        f"{path}: record {number:,} is not JSON ({reason}): {text[:60]!r}; expected an array of objects, or "
        "one object per line"
    )


# Whole tables of any kind


def table_rows(path: str | Path, decoding: Decoding | None = None) -> tuple[list[list[str]], bool]:
    """All rows of a small table as text, and whether the first row certainly names the columns.

    For CSV, TSV and lines with tabs this is uncertain: [["id", "text"], ["1", "A cat."]], False.
    """
    path, decoding = as_path(path), decoding or Decoding()
    if format_of(path).name == "Parquet":
        format_of(path).check_installed()
        records = [row for batch in parquet_rows(path, decoding) for row in batch.to_pylist()]
    elif format_of(path).name == "JSON lines":
        records = [row for batch in json_rows(path, decoding) for row in batch]
    else:
        return list(delimited_rows(path, decoding)), False
    names = column_names(records)
    return [names, *([_cell_text(value_at(row, name)) for name in names] for row in records)] if records else [], True


def _cell_text(value: Any) -> str:
    """None -> "", True -> "1", 4.5 -> "4.5"."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)
