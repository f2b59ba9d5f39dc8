"""Output files of commands: vectors next to their texts, and records with all their original columns.

    with open_rows(Path("a.parquet"), columns, "vector", dim) as write:
        write([{"id": 1, "text": "a cat"}], vectors)        # one row for each record, always

The extension sets the format. Record batches from Parquet keep their types in Parquet; CSV and JSON lines get plain
values.
"""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import numpy as np

from siamese_cbow.base.arrays import GrowingArray, Vectors
from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.text.reader import RecordColumns, column_names_of, format_of
from siamese_cbow.text.records import TextSettings

# Called with the records of some rows, as record batches or lists of plain records, and their vectors, if any.
Write: TypeAlias = Callable[[Sequence[Any], Vectors | None], None]

VECTOR = "vector"


def check_output(path: Path | None, *, vectors: bool) -> None:
    """Raise an error unless the extension of `path` names a format; None is standard output."""
    known = [ending for ending in FORMATS if vectors or ending != ".npy"]
    if path is not None and path.suffix not in known:
        raise SettingsError(f"can't write {path}; expected a name that ends in {', '.join(known)}")
    format_of(path).check_installed()


def refuse_input(path: Path | None, inputs: Sequence[Path]) -> None:
    """Raise an error if the output is one of the inputs, under any name."""
    if path is not None and path.is_file() and any(each.is_file() and path.samefile(each) for each in inputs):
        raise InputError(f"{path} is both input and output; choose another name for the output")


def carried_columns(
    paths: Sequence[Path], text: TextSettings, vector: str | None, say: Callable[[str], None]
) -> RecordColumns | None:
    """The columns to carry over to the output, or None; reports why those of tables are left out."""
    columns = RecordColumns.of(paths, text.encoding)
    if columns is None:
        if any(format_of(path).is_table for path in paths):
            say("some of the files are not tables, so no table columns are written")
        return None
    if text.unit != "line":
        say(f"each row is a {text.unit}, not a record, so no table columns are written")
        return None
    if not columns.are_alike:
        say("the tables have different columns, so none are written; encode them one at a time to keep their columns")
        return None
    if vector in columns.names:
        raise SettingsError(f"{paths[0]} already has a column {vector!r}; choose another name: --vector-column NAME")
    return columns


@contextmanager
def open_rows(path: Path | None, columns: RecordColumns | None, vector: str, dim: int) -> Iterator[Write]:
    """A function to call with each batch of rows; the file appears when the `with` block succeeds.

    vector  the name of the vector column
    dim     the size of the vectors; 0 if there are none
    """
    if path is None:
        yield _json_writer(sys.stdout, vector, dim)
        return
    with atomic_file(path) as unfinished, FORMATS[path.suffix](unfinished, vector, dim) as write:
        if columns is not None:  # a table without rows still has its columns
            write([columns.start], np.empty((0, dim), np.float32) if dim else None)
        yield write
        if columns is not None:
            columns.finish()


@contextmanager
def _npy(path: Path, vector: str, dim: int) -> Iterator[Write]:
    """One float32 matrix."""
    with closing(GrowingArray(path, "<f4", (dim,))) as matrix:

        def write(records: Sequence[Any], vectors: Vectors | None) -> None:
            if vectors is not None:
                matrix.append(vectors)

        yield write


# Parquet


@contextmanager
def _parquet(path: Path, vector: str, dim: int) -> Iterator[Write]:
    """The columns of the records, and one of lists of `dim` numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from siamese_cbow.integrations.columns import arrow_vectors, parquet_writer

    schema: Any = None
    writer: Any = None
    column = [pa.field(vector, pa.list_(pa.float32(), dim))] if dim else []

    def write(records: Sequence[Any], vectors: Vectors | None) -> None:
        nonlocal schema, writer
        batches = [part if hasattr(part, "schema") else _batch(part, schema) for part in records]
        if schema is None and not (batches[0].num_columns == 0 and not len(batches[0])):
            schema = batches[0].schema
            whole = pa.schema([*schema, *column], metadata=schema.metadata)
            writer = parquet_writer(path, whole, vector if dim else None)
        if writer is None:
            return
        table = pa.Table.from_batches(batches, schema)
        if vectors is not None:
            table = table.append_column(column[0], arrow_vectors(vectors))
        writer.write_table(table)

    yield write
    if writer is None:  # no record at all
        pq.write_table(pa.schema(column).empty_table(), path)
    else:
        writer.close()


def _batch(records: list[dict[str, Any]], schema: Any) -> Any:
    """Plain records as Arrow data, with the columns and types of the first ones."""
    import pyarrow as pa

    if schema is None:
        names = column_names_of(records) or list(dict.fromkeys(name for record in records for name in record))
        columns = {name: _array([record.get(name) for record in records], name) for name in names}
        return pa.RecordBatch.from_pydict(columns)
    new = {name for record in records for name in record} - set(schema.names)
    if new:
        raise InputError(
            f"the column {sorted(new)[0]!r} appears only in later records, but Parquet needs all columns from "
            "the start; write JSON lines instead: -o NAME.jsonl"
        )
    columns = {field.name: _array([each.get(field.name) for each in records], field.name, field.type)
               for field in schema}  # fmt: skip
    return pa.RecordBatch.from_pydict(columns, schema=schema)


def _array(values: list[Any], name: str, kind: Any = None) -> Any:
    import pyarrow as pa

    try:
        array = pa.array(values, kind)
        return array.cast(pa.string()) if pa.types.is_null(array.type) else array
    except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
        reason = " ".join(str(error).split())[:100]
        raise InputError(
            f"the column {name!r} mixes types, but Parquet needs a single one ({reason}); write JSON lines "
            "instead: -o NAME.jsonl"
        ) from None


# JSON lines and CSV


@contextmanager
def _jsonl(path: Path, vector: str, dim: int) -> Iterator[Write]:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        yield _json_writer(file, vector, dim)


def _json_writer(file: TextIO, vector: str, dim: int) -> Write:
    """One {"text": "a cat", "vector": [0.25, ...]} per line; nine digits restore every float32 exactly."""
    numbers = ", ".join(["%.9g"] * dim)

    def write(records: Sequence[Any], vectors: Vectors | None) -> None:
        rows = [row for part in records for row in plain_records(part)]
        for i, row in enumerate(rows):
            if vectors is None:
                file.write(json_text(row) + "\n")
                continue
            if vector in row:
                raise SettingsError(
                    f"a record already has a column {vector!r}; choose another name: --vector-column NAME"
                )
            start = json_text(row)[:-1] + (", " if row else "")
            file.write(f"{start}{json_text(vector)}: [{numbers % tuple(vectors[i].tolist())}]}}\n")

    return write


@contextmanager
def _csv(path: Path, vector: str, dim: int) -> Iterator[Write]:
    """The columns of the first records, and a vector column of JSON lists; nested values are JSON, too."""
    numbers = ", ".join(["%.9g"] * dim)
    names: list[str] | None = None
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")

        def write(records: Sequence[Any], vectors: Vectors | None) -> None:
            nonlocal names
            rows = [row for part in records for row in plain_records(part)]
            if names is None:
                names = column_names_of(records[0]) or list(dict.fromkeys(name for row in rows for name in row))
                if rows or names:
                    writer.writerow([*names, vector] if dim else names)
                else:
                    names = None
            for i, row in enumerate(rows):
                if late := [name for name in row if name not in (names or ())]:
                    raise InputError(
                        f"the column {late[0]!r} appears only in later records, but CSV needs all columns "
                        "from the start; write JSON lines instead: -o NAME.jsonl"
                    )
                cells = [_cell(row.get(name)) for name in names or ()]
                writer.writerow(cells if vectors is None else [*cells, f"[{numbers % tuple(vectors[i].tolist())}]"])

        yield write
        if names is None and dim:  # no record at all
            writer.writerow([vector])


def _cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return valid_text(value or "")
    return json_text(value) if isinstance(value, list | dict | bool) else str(_plain(value))


def chosen_records(part: Any, mask: Sequence[bool]) -> Any:
    """The records of a batch or list where the mask is true."""
    if hasattr(part, "filter"):
        import pyarrow as pa

        return part.filter(pa.array(mask, pa.bool_()))
    return [record for record, is_chosen in zip(part, mask, strict=True) if is_chosen]


def plain_records(part: Any) -> list[dict[str, Any]]:
    """The records of a batch or list as plain values."""
    records: list[dict[str, Any]] = part.to_pylist() if hasattr(part, "to_pylist") else part
    return records


def json_text(value: Any) -> str:
    """A value as one line of JSON: dates and bytes become text, NaN becomes null."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, default=_plain)
    return valid_text(text)


def valid_text(text: str) -> str:
    """A text without lone surrogates, which file names and JSON may contain."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


FORMATS: dict[str, Callable[[Path, str, int], AbstractContextManager[Write]]] = {
    ".npy": _npy,
    ".parquet": _parquet,
    ".jsonl": _jsonl,
    ".csv": _csv,
}
