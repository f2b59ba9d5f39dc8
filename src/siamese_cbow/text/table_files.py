"""Tables: JSON lines, CSV, TSV and Parquet, of which some columns are read. A cell is text, or a list of strings.

    json_cells(Path("a.jsonl"), ["text"])   -> ([[b"A cat.", b""]], 52), ...     cells of each column, bytes of the file

Everything is read in pieces: JSON by our own line chunks, CSV by Arrow's streaming reader, Parquet by record batches.
Each row gives a cell: where the column is null or missing, an empty one. Tab separated files have no quoting: a
quotation mark in them is one.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias

from siamese_cbow.errors import InputError, SiameseCBOWError
from siamese_cbow.text.chunks import Chunk, TextStream, line_chunks, open_text
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.inputs import encoded, lines_bytes
from siamese_cbow.text.opening import PiecesFile, ending_of, open_bytes
from siamese_cbow.text.reader import CellBatch, ReadCells
from siamese_cbow.text.records import BLOCK_BYTES

Cells: TypeAlias = list[bytes]  # of one column

MAX_ROW_BYTES = 64 << 20  # of JSON
_TOO_LONG = "expected one JSON object per line, with one document in each"
_TEXT_TYPES = {"string", "large_string", "string_view", "binary", "large_binary", "binary_view"}


def _missing_column(path: Path, column: str, columns: Sequence[str], texts: Sequence[str]) -> InputError:
    """The error to raise: names the columns there are; `texts` are those that --text-column has chosen."""
    there = ", ".join(repr(name[:40]) for name in columns[:20]) or "none"
    advice = ": choose one with --text-column" if column in texts else f"; expected {' and '.join((*texts, column))}"
    if ending_of(path) in (".csv", ".tsv"):
        advice += " (its first line is the header; for lines of plain text rename it to .txt)"
    return InputError(f"{path} has no column {column!r}; it has {there}{advice}")


def _not_text(path: Path, column: str, what: str) -> InputError:
    """The error to raise when a column holds `what`, such as "int64"."""
    return InputError(
        f"column {column!r} of {path} holds {what}; expected text or lists of strings: choose with --text-column"
    )


def _with_clear_errors(read: ReadCells) -> ReadCells:
    """Whatever a library says about a table, said with the name of the file."""

    @wraps(read)
    def clearly(path: Path, texts: Sequence[str], others: Sequence[str], decoding: Decoding) -> Iterator[CellBatch]:
        import pyarrow as pa

        try:
            yield from read(path, texts, others, decoding)
        except (pa.ArrowException, OSError, ValueError, csv.Error) as error:
            if isinstance(error, SiameseCBOWError):
                raise
            reason = " ".join(str(error).split())[:300]
            raise InputError(f"can't read {path} as {ending_of(path)}: {reason}; check the file") from error

    return clearly


def _cells(values: Any, kind: Any, path: Path, column: str, *, any_type: bool = False) -> Cells:
    """The cells of an Arrow array of type `kind`; nulls are empty. With `any_type`, numbers as they are written."""
    import pyarrow as pa

    test = pa.types
    if test.is_list(kind) or test.is_large_list(kind) or test.is_fixed_size_list(kind):
        if not (test.is_string(kind.value_type) or test.is_large_string(kind.value_type)):
            raise _not_text(path, column, str(kind))
        return [_list_cell(cell or ()) for cell in values.to_pylist()]
    if test.is_null(kind):
        return [b""] * len(values)
    if any_type and str(kind) not in _TEXT_TYPES:
        values, kind = values.cast(pa.string()), pa.string()
    if str(kind) not in _TEXT_TYPES:
        raise _not_text(path, column, str(kind))
    # As bytes: broken UTF-8 is replaced and counted later instead of ending the run here.
    return [cell or b"" for cell in values.cast(kind).cast(pa.large_binary()).to_pylist()]


def _list_cell(cell: Sequence[str | None]) -> bytes:
    return lines_bytes(line for line in cell if line is not None).removesuffix(b"\n")


# Parquet


@_with_clear_errors
def parquet_cells(path: Path, texts: Sequence[str], others: Sequence[str], decoding: Decoding) -> Iterator[CellBatch]:
    """The cells of columns that must be text, and of others."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [*texts, *others]
    with open_bytes(path), pq.ParquetFile(path) as file:  # open_bytes first: its errors are clear
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        for column in columns:
            if column not in schema.names:
                raise _missing_column(path, column, schema.names, texts)
        kinds = [schema.field(column).type for column in columns]
        kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds]
        n_bytes = path.stat().st_size
        done = rows = 0
        for batch in file.iter_batches(_batch_rows(file, columns), columns=columns):
            rows += batch.num_rows
            before, done = done, n_bytes * rows // n_rows
            cells = [
                _cells(batch.column(column), kind, path, column, any_type=column in others)
                for column, kind in zip(columns, kinds, strict=True)
            ]
            yield cells, done - before
        yield [[] for _ in columns], n_bytes - done


def _batch_rows(file: Any, columns: Sequence[str]) -> int:
    """Rows that make about 4 MB; a fixed number would be gigabytes where a row holds a book."""
    rows = size = 0
    for i in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(i)
        rows += group.num_rows
        size += sum(
            group.column(j).total_uncompressed_size
            for j in range(group.num_columns)
            if group.column(j).path_in_schema.split(".")[0] in columns
        )
    return max(16, min(1 << 16, BLOCK_BYTES * rows // max(1, size)))


# CSV and TSV


@_with_clear_errors
def csv_cells(path: Path, texts: Sequence[str], others: Sequence[str], decoding: Decoding) -> Iterator[CellBatch]:
    """The cells of some columns; of CSV every one is text. What ends in .tsv has tabs and no quoting."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    tabs, columns = ending_of(path) == ".tsv", [*texts, *others]
    with open_text(path, decoding) as text:
        header = _header(text, tabs)
        for column in columns:
            if column not in header:
                raise _missing_column(path, column, header, texts)
        with arrow_csv.open_csv(
            io.BufferedReader(PiecesFile(text.reads())),
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=4 * BLOCK_BYTES),
            parse_options=arrow_csv.ParseOptions(
                delimiter="\t" if tabs else ",", quote_char=False if tabs else '"', newlines_in_values=not tabs
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=columns, column_types=dict.fromkeys(columns, pa.binary())
            ),
        ) as reader:
            for batch in reader:
                yield [_cells(values, pa.binary(), path, "") for values in batch.columns], text.advance()
        yield [[] for _ in columns], text.advance()


def _header(text: TextStream, tabs: bool) -> list[str]:
    first_lines = io.StringIO(text.head.decode("utf-8", "replace"), newline="")
    rows = csv.reader(
        first_lines, delimiter="\t" if tabs else ",", quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL
    )
    return next((row for row in rows if row), [])


# JSON lines


@_with_clear_errors
def json_cells(path: Path, texts: Sequence[str], others: Sequence[str], decoding: Decoding) -> Iterator[CellBatch]:
    """The cells of some columns: by Arrow where one is wanted, else, or where Arrow refuses, by Python."""
    columns = [*texts, *others]
    with open_text(path, decoding) as text:
        kinds: list[Any] = []
        for chunk in line_chunks(text.reads(), str(path), overlong="refuse", limit=MAX_ROW_BYTES, advice=_TOO_LONG):
            kinds = kinds or [_column_type(chunk.data, path, column, texts) for column in columns]
            cells = _arrow_cells(chunk, kinds[0], path, columns[0]) if len(columns) == 1 else None
            yield cells or _python_cells(chunk, path, texts, others), text.advance()
        yield [[] for _ in columns], text.advance()


def _column_type(data: bytes, path: Path, column: str, texts: Sequence[str]) -> Any:
    """The Arrow type of a column, text or a list of texts, by the first of a thousand rows that has it."""
    import pyarrow as pa

    columns: dict[str, None] = {}
    for number, line in enumerate(data.split(b"\n")[:1000], 1):
        row = _json_row(line, path, number) if line.strip() else {}
        if row.get(column) is not None:
            return pa.list_(pa.string()) if isinstance(row[column], list) else pa.string()
        columns.update(dict.fromkeys(row))
    if columns and column not in columns:
        raise _missing_column(path, column, list(columns), texts)
    return pa.string()


def _json_row(line: bytes, path: Path, number: int) -> dict[str, Any]:
    array = f"for a JSON array type: jq -c '.[]' {path} > {path.stem}.jsonl"
    try:
        row = json.loads(line.decode("utf-8", "surrogateescape"))  # broken bytes are replaced and counted later
    except (ValueError, RecursionError) as error:
        start = line[:60].decode("utf-8", "replace")
        raise InputError(
            f"{path} line {number:,} is not JSON ({error}): {start!r}; expected one object per line; {array}"
        ) from error
    if not isinstance(row, dict):
        raise InputError(
            f"{path} line {number:,} is a JSON {type(row).__name__}; expected one object per line, like "
            f'{{"text": "..."}}; {array}'
        )
    return row


def _arrow_cells(chunk: Chunk, kind: Any, path: Path, column: str) -> list[Cells] | None:
    """The cells of a column, or None where something is in the lines that Arrow doesn't take."""
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
        return None
    return [[cell for values in table.column(column).chunks for cell in _cells(values, kind, path, column)]]


def _python_cells(chunk: Chunk, path: Path, texts: Sequence[str], others: Sequence[str]) -> list[Cells]:
    """The same for several columns; takes a little more than Arrow does, and knows the line of a mistake."""
    cells: list[Cells] = [[] for _ in (*texts, *others)]
    for number, line in enumerate(chunk.data.split(b"\n"), chunk.first_line):
        if not line.strip():
            continue
        row = _json_row(line, path, number)
        for column, column_cells in zip((*texts, *others), cells, strict=True):
            cell = row.get(column)
            if column in others and isinstance(cell, int | float):
                cell = str(cell)
            if isinstance(cell, list) and all(isinstance(part, str) for part in cell):
                column_cells.append(_list_cell(cell))
            elif cell is None or isinstance(cell, str):
                column_cells.append(encoded(cell or ""))
            else:
                raise _not_text(path, column, f"{type(cell).__name__} in line {number:,}")
    return cells
