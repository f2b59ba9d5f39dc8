"""Tables with a text column: JSON lines, CSV, TSV, Parquet. Each row is a document; a list of strings is one too.

Everything is read in pieces: JSON by our own line chunks, CSV by Arrow's streaming reader, Parquet by record batches.
Rows where the column is null or missing are left out.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from siamese_cbow.errors import InputError, SiameseCBOWError
from siamese_cbow.text.chunks import Chunk, TextStream, line_chunks
from siamese_cbow.text.opening import open_bytes
from siamese_cbow.text.records import BLOCK_BYTES, MARK
from siamese_cbow.text.rows import cell_bytes, lines_bytes
from siamese_cbow.text.sources import ending_of

MAX_ROW_BYTES = 64 << 20
Batch = tuple[list[bytes], int]  # documents, and how many bytes of the file they came from


def table_batches(path: Path, column: str) -> Iterator[Batch]:
    """The documents of a table, some megabytes at a time."""
    with _clear_arrow_errors(path):
        yield from {".parquet": _parquet, ".csv": _csv, ".tsv": _csv}.get(ending_of(path), _json_lines)(path, column)


@contextmanager
def _clear_arrow_errors(path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, csv.Error) as error:
        if isinstance(error, SiameseCBOWError):
            raise
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"can't read {path} as {ending_of(path)}: {reason}; check the file") from error


def _missing(path: Path, column: str, columns: Sequence[str]) -> InputError:
    there = ", ".join(repr(name[:40]) for name in columns[:20]) or "none"
    return InputError(f"{path} has no column {column!r}; it has {there}: choose one with --text-column")


def _not_text(path: Path, column: str, what: str) -> InputError:
    return InputError(
        f"column {column!r} of {path} holds {what}; expected text or lists of strings: choose with --text-column"
    )


# Parquet


def _parquet(path: Path, column: str) -> Iterator[Batch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_bytes(path), pq.ParquetFile(path) as file:  # open_bytes first: its errors are clear
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        if column not in schema.names:
            raise _missing(path, column, schema.names)
        kind = schema.field(column).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        n_bytes = path.stat().st_size
        done = rows = 0
        for batch in file.iter_batches(_batch_rows(file, column), columns=[column]):
            rows += batch.num_rows
            before, done = done, n_bytes * rows // n_rows
            yield list(_documents(batch.column(0), kind, path, column)), done - before
        yield [], n_bytes - done


def _batch_rows(file: Any, column: str) -> int:
    """Rows that make about 4 MB; a fixed number would be gigabytes where a row holds a book."""
    rows = size = 0
    for i in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(i)
        rows += group.num_rows
        size += sum(
            group.column(j).total_uncompressed_size
            for j in range(group.num_columns)
            if group.column(j).path_in_schema.split(".")[0] == column
        )
    return max(16, min(1 << 16, BLOCK_BYTES * rows // max(1, size)))


def _documents(values: Any, kind: Any, path: Path, column: str) -> Iterator[bytes]:
    import pyarrow as pa

    test = pa.types
    if test.is_list(kind) or test.is_large_list(kind) or test.is_fixed_size_list(kind):
        if not (test.is_string(kind.value_type) or test.is_large_string(kind.value_type)):
            raise _not_text(path, column, str(kind))
        for lines in values.to_pylist():
            if lines:
                yield lines_bytes(line for line in lines if line is not None) + MARK
    elif kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(), pa.binary_view()):
        # As bytes: broken UTF-8 is replaced and counted later instead of ending the run here.
        for cell in values.cast(kind).cast(pa.large_binary()).to_pylist():
            if cell:
                yield cell_bytes(cell)
    elif not test.is_null(kind):
        raise _not_text(path, column, str(kind))


# CSV and TSV


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a file that Arrow can read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._pieces, b"")
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n


def _csv(path: Path, column: str) -> Iterator[Batch]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    tabs = ending_of(path) == ".tsv"
    with open_bytes(path) as stream:
        text = TextStream(stream)
        _check_header(text.head, path, column, tabs)
        with arrow_csv.open_csv(
            io.BufferedReader(_Pieces(text.reads())),
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=4 * BLOCK_BYTES),
            # Tab separated files have no quoting: a quotation mark in them is one.
            parse_options=arrow_csv.ParseOptions(
                delimiter="\t" if tabs else ",", quote_char=False if tabs else '"', newlines_in_values=not tabs
            ),
            convert_options=arrow_csv.ConvertOptions(include_columns=[column], column_types={column: pa.binary()}),
        ) as reader:
            before = 0
            for batch in reader:
                position = stream.position()
                yield list(_documents(batch.column(0), pa.binary(), path, column)), position - before
                before = position
        yield [], stream.position() - before


def _check_header(head: bytes, path: Path, column: str, tabs: bool) -> None:
    first_lines = io.StringIO(head.decode("utf-8", "replace"), newline="")
    csv.field_size_limit(MAX_ROW_BYTES)
    rows = csv.reader(
        first_lines, delimiter="\t" if tabs else ",", quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL
    )
    header = next((row for row in rows if row), [])
    if column not in header:
        raise _missing(path, column, header)


# JSON lines


def _json_lines(path: Path, column: str) -> Iterator[Batch]:
    with open_bytes(path) as stream:
        text = TextStream(stream)
        kind = _json_kind(text.head, path, column)
        before = 0
        for chunk in line_chunks(text.reads(), str(path), cut_long=False, limit=MAX_ROW_BYTES):
            documents = list(_json_documents(chunk, kind, path, column))
            position = stream.position()
            yield documents, position - before
            before = position
        yield [], stream.position() - before


def _json_kind(head: bytes, path: Path, column: str) -> Any:
    """The Arrow type of the column: text or lists of texts, by the first row that has it."""
    import pyarrow as pa

    columns: dict[str, None] = {}
    for number, line in enumerate(head.split(b"\n")[:1000], 1):
        if line.strip():
            row = _json_row(line, path, number)
            if isinstance(row.get(column), list):
                return pa.list_(pa.string())
            if row.get(column) is not None:
                return pa.string()
            columns.update(dict.fromkeys(row))
            if len(line) == len(head):
                break
    if not columns:
        return pa.string()
    raise _missing(path, column, list(columns))


def _json_row(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        start = line[:60].decode("utf-8", "replace")
        raise InputError(
            f"{path} line {number:,} is no JSON ({error}): {start!r}; expected one object a line; for a JSON array "
            f"type: jq -c '.[]' {path} > {path.stem}.jsonl"
        ) from error
    if not isinstance(row, dict):
        raise InputError(
            f"{path} line {number:,} is a JSON {type(row).__name__}; expected one object a line, like "
            '{"text": "..."}; for a JSON array type: ' + f"jq -c '.[]' {path} > {path.stem}.jsonl"
        )
    return row


def _json_documents(chunk: Chunk, kind: Any, path: Path, column: str) -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow import json as arrow_json

    try:
        table = arrow_json.read_json(
            io.BytesIO(chunk.data),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(chunk.data) + 1),
            parse_options=arrow_json.ParseOptions(
                explicit_schema=pa.schema([(column, kind)]), unexpected_field_behavior="ignore"
            ),
        )
    except (pa.ArrowException, ValueError):
        # Something Arrow doesn't take: Python's reader takes a little more, and knows the line of a mistake.
        yield from _slow_json_documents(chunk, path, column)
        return
    for values in table.column(column).chunks:
        yield from _documents(values, kind, path, column)


def _slow_json_documents(chunk: Chunk, path: Path, column: str) -> Iterator[bytes]:
    for number, line in enumerate(chunk.data.split(b"\n"), chunk.first_line):
        if not line.strip():
            continue
        cell = _json_row(line, path, number).get(column)
        if isinstance(cell, str):
            yield lines_bytes(cell.split("\n")) + MARK
        elif isinstance(cell, list) and all(isinstance(part, str) for part in cell):
            yield lines_bytes(cell) + MARK
        elif cell is not None:
            raise _not_text(path, column, f"{type(cell).__name__} in line {number:,}")
