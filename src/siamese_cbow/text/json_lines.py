"""JSON lines: one object a line, of which one column is read, text or a list of strings."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from siamese_cbow.errors import InputError
from siamese_cbow.text.cells import documents_of, missing_column, not_text
from siamese_cbow.text.chunks import Chunk, TextStream, line_chunks
from siamese_cbow.text.opening import open_bytes
from siamese_cbow.text.records import MARK
from siamese_cbow.text.rows import lines_bytes

MAX_ROW_BYTES = 64 << 20
_TOO_LONG = "expected one JSON object a line, with one document in each"


def json_batches(path: Path, column: str) -> Iterator[tuple[list[bytes], int]]:
    """Documents, some megabytes at a time, and how many bytes of the file they came from."""
    with open_bytes(path) as stream:
        text = TextStream(stream)
        kind = None
        before = 0
        for chunk in line_chunks(text.reads(), str(path), cut_long=False, limit=MAX_ROW_BYTES, advice=_TOO_LONG):
            kind = kind or _column_type(chunk.data, path, column)
            documents = list(_documents(chunk, kind, path, column))
            position = stream.position()
            yield documents, position - before
            before = position
        yield [], stream.position() - before


def _column_type(data: bytes, path: Path, column: str) -> Any:
    """The Arrow type of the column, text or a list of texts, by the first of a thousand rows that has it."""
    import pyarrow as pa

    columns: dict[str, None] = {}
    for number, line in enumerate(data.split(b"\n")[:1000], 1):
        row = _row(line, path, number) if line.strip() else {}
        if row.get(column) is not None:
            return pa.list_(pa.string()) if isinstance(row[column], list) else pa.string()
        columns.update(dict.fromkeys(row))
    if columns and column not in columns:
        raise missing_column(path, column, list(columns))
    return pa.string()


def _row(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8", "surrogateescape"))  # broken bytes are replaced and counted later
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


def _documents(chunk: Chunk, kind: Any, path: Path, column: str) -> Iterator[bytes]:
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
        yield from _slow_documents(chunk, path, column)
        return
    for values in table.column(column).chunks:
        yield from documents_of(values, kind, path, column)


def _slow_documents(chunk: Chunk, path: Path, column: str) -> Iterator[bytes]:
    for number, line in enumerate(chunk.data.split(b"\n"), chunk.first_line):
        if not line.strip():
            continue
        cell = _row(line, path, number).get(column)
        if isinstance(cell, str):
            yield lines_bytes(cell.split("\n")) + MARK
        elif isinstance(cell, list) and all(isinstance(part, str) for part in cell):
            yield lines_bytes(cell) + MARK
        elif cell is not None:
            raise not_text(path, column, f"{type(cell).__name__} in line {number:,}")
