"""Tables with a text column: JSON lines, CSV, TSV, Parquet. Each row is a document; a list of strings is one too.

Everything is read in pieces: JSON by our own line chunks, CSV by Arrow's streaming reader, Parquet by record batches.
Rows where the column is null or missing are left out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from siamese_cbow.errors import InputError, SiameseCBOWError
from siamese_cbow.text.cells import documents_of, missing_column
from siamese_cbow.text.chunks import TextStream
from siamese_cbow.text.inputs import ending_of
from siamese_cbow.text.json_lines import json_batches
from siamese_cbow.text.opening import PiecesFile, open_bytes
from siamese_cbow.text.records import BLOCK_BYTES

Batch = tuple[list[bytes], int]  # documents, and how many bytes of the file they came from


def table_batches(path: Path, column: str) -> Iterator[Batch]:
    """The documents of a table, some megabytes at a time."""
    with _clear_arrow_errors(path):
        yield from {".parquet": _parquet, ".csv": _csv, ".tsv": _csv}.get(ending_of(path), json_batches)(path, column)


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


# Parquet


def _parquet(path: Path, column: str) -> Iterator[Batch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_bytes(path), pq.ParquetFile(path) as file:  # open_bytes first: its errors are clear
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        if column not in schema.names:
            raise missing_column(path, column, schema.names)
        kind = schema.field(column).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        n_bytes = path.stat().st_size
        done = rows = 0
        for batch in file.iter_batches(_batch_rows(file, column), columns=[column]):
            rows += batch.num_rows
            before, done = done, n_bytes * rows // n_rows
            yield list(documents_of(batch.column(0), kind, path, column)), done - before
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


# CSV and TSV


def _csv(path: Path, column: str) -> Iterator[Batch]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    tabs = ending_of(path) == ".tsv"
    with open_bytes(path) as stream:
        text = TextStream(stream)
        _check_header(text.head, path, column, tabs)
        with arrow_csv.open_csv(
            io.BufferedReader(PiecesFile(text.reads())),
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
                yield list(documents_of(batch.column(0), pa.binary(), path, column)), position - before
                before = position
        yield [], stream.position() - before


def _check_header(head: bytes, path: Path, column: str, tabs: bool) -> None:
    first_lines = io.StringIO(head.decode("utf-8", "replace"), newline="")
    rows = csv.reader(
        first_lines, delimiter="\t" if tabs else ",", quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL
    )
    header = next((row for row in rows if row), [])
    if column not in header:
        raise missing_column(path, column, header)
