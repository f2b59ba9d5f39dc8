"""Reads some columns of Parquet files: text (also dictionary-encoded), lists of strings, and fields of structs.

A repeated text is stored once, so a kilobyte may hold terabytes. Only a few rows are decoded at a time: memory depends
on the longest record, not on the decoded size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from siamese_cbow.errors import InputError
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.opening import open_bytes
from siamese_cbow.text.reader import CellBatch, chosen, joined, list_cell, missing_column, not_text, twice
from siamese_cbow.text.records import BLOCK_BYTES, MAX_ROW_BYTES
from siamese_cbow.text.table_files import Cells, with_clear_errors

TEXT_TYPES = {"string", "large_string", "string_view", "binary", "large_binary", "binary_view"}

# Rows decoded at a time. 16 cost no more than thousands; a dictionary-encoded column (the dictionary comes with each
# batch) needs more, and is decoded here.
_PLAIN_ROWS, _NUMBERED_ROWS, _MOST_ROWS = 16, 4096, 1 << 16
_MOST_DECODED = 256 << 20  # bytes of the largest row group, times rows at a time


@with_clear_errors
def parquet_cells(path: Path, texts: Sequence[str], others: Sequence[str], decoding: Decoding) -> Iterator[CellBatch]:
    """The cells of columns that must be text, and of others that may hold anything; a.b is field b of struct a."""
    import pyarrow.parquet as pq

    with open_bytes(path):  # for its clear errors
        schema = pq.read_schema(path)
    wanted = [chosen(name, schema.names) for name in (*texts, *others)]
    fields = {part: _field(path, part, schema, texts) for parts in wanted for part in parts}
    for table, n_source_bytes in _tables(path, [_read_name(part, schema) for part in fields]):
        cells = {
            part: arrow_cells(_column(table, part), kind, path, part, any_type=part in others)
            for part, kind in fields.items()
        }
        yield [joined([cells[part] for part in parts]) for parts in wanted], n_source_bytes


@with_clear_errors
def parquet_rows(path: Path, decoding: Decoding) -> Iterator[Any]:
    """Record batches of all columns, unchanged; the first one is empty."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_bytes(path):
        schema = pq.read_schema(path)
    yield pa.RecordBatch.from_pylist([], schema=schema)
    for table, _ in _tables(path, schema.names, as_they_are=True):
        yield from table.cast(schema).to_batches()


def arrow_cells(values: Any, kind: Any, path: Path, column: str, *, any_type: bool = False) -> Cells:
    """The cells of an Arrow array of type `kind`; nulls are empty. With `any_type`, other types become text."""
    import pyarrow as pa

    if _is_list(kind):
        if str(_strings_of(kind.value_type)) not in ("string", "large_string"):
            raise not_text(path, column, str(kind))
        return [list_cell(cell or ()) for cell in values.to_pylist()]
    if pa.types.is_null(kind):
        return [b""] * len(values)
    if any_type and str(kind) not in TEXT_TYPES:
        values, kind = values.cast(pa.string()), pa.string()
    if str(kind) not in TEXT_TYPES:
        raise not_text(path, column, str(kind))
    # As bytes: broken UTF-8 is replaced and counted later instead of ending the run here.
    return [cell or b"" for cell in values.cast(kind).cast(pa.large_binary()).to_pylist()]


def _strings_of(kind: Any) -> Any:
    """The value type of a dictionary type."""
    return kind.value_type if str(kind).startswith("dictionary") else kind


def _field(path: Path, column: str, schema: Any, texts: Sequence[str]) -> Any:
    """The Arrow type of a column, or of a field inside one."""
    import pyarrow as pa

    if schema.names.count(column) > 1:
        raise twice(path, column)
    kind: Any = pa.struct(list(schema))
    in_list = False
    for part in [column] if column in schema.names else column.split("."):
        in_list, kind = in_list or _is_list(kind), kind.value_type if _is_list(kind) else kind
        place = kind.get_field_index(part) if pa.types.is_struct(kind) else -1
        if place < 0:
            raise missing_column(path, column, list(_names(schema)), texts)
        kind = kind.field(place).type
    return pa.list_(kind.value_type if _is_list(kind) else kind) if in_list else _strings_of(kind)


def _is_list(kind: Any) -> bool:
    import pyarrow.types as test

    return bool(test.is_list(kind) or test.is_large_list(kind) or test.is_fixed_size_list(kind))


def _read_name(column: str, schema: Any) -> str:
    """The column to request from Arrow: fields of objects in a list have other names in the file, so all are read."""
    root = column if column in schema.names else column.split(".")[0]
    kind = schema.field(root).type
    for part in column.split(".")[1:] if root != column else ():
        if _is_list(kind):
            return root
        kind = kind.field(part).type
    return column


def _names(fields: Any, before: str = "") -> Iterator[str]:
    """The names of columns, dotted if nested."""
    import pyarrow as pa

    for each in fields:
        kind = each.type.value_type if _is_list(each.type) else each.type
        if pa.types.is_struct(kind):
            yield from _names(kind, f"{before}{each.name}.")
        else:
            yield before + each.name


def _column(table: Any, column: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if column in table.schema.names:
        return table.column(column)
    first, *inner = column.split(".")
    if _read_name(column, table.schema) == first:
        lists = [_inside(value, inner) for value in table.column(first).to_pylist()]
        return pa.array(lists) if any(lists) else pa.array(lists, pa.list_(pa.string()))
    return pc.struct_field(table.column(first), inner)


def _inside(value: Any, path: Sequence[str]) -> list[Any]:
    """All values at the end of a path: `_inside([{"a": "x"}, {"a": "y"}], ["a"])` -> ['x', 'y']."""
    if isinstance(value, list):
        return [each for item in value for each in _inside(item, path)]
    return [value] if value is None or not path else _inside(value.get(path[0]), path[1:])


# A few rows at a time


def _tables(path: Path, columns: list[str], *, as_they_are: bool = False) -> Iterator[tuple[Any, int]]:
    """Tables of about 4 MB of some columns, and the bytes of the file they came from; the last one is empty.

    as_they_are  don't read strings in lists as dictionaries, from which not every column could be converted back
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    in_lists, largest = _layout_of(pq.read_metadata(path), columns)
    in_lists = [] if as_they_are else in_lists
    # With pre_buffer, the default of newer pyarrow, all row groups read so far stay in memory until the end.
    with pq.ParquetFile(path, read_dictionary=in_lists, pre_buffer=False) as file:
        schema, n_bytes, n_rows = file.schema_arrow, path.stat().st_size, max(file.metadata.num_rows, 1)
        numbered = bool(in_lists) or any(pa.types.is_dictionary(field.type) for field in schema)
        size = _NUMBERED_ROWS if numbered else max(1, min(_PLAIN_ROWS, _MOST_DECODED // largest))
        done = rows = 0
        for table in _joined(file.iter_batches(size, columns=columns, use_threads=False), path):
            rows += table.num_rows
            before, done = done, min(n_bytes, n_bytes * rows // n_rows)
            yield table, done - before
        if rows != file.metadata.num_rows:  # if columns differ in length, Arrow stops at the shortest
            raise InputError(
                f"{path} is damaged: it has {rows:,} complete records of {file.metadata.num_rows:,}; get it again"
            )
        roots = dict.fromkeys(column if column in schema.names else column.split(".")[0] for column in columns)
        yield pa.schema([schema.field(root) for root in roots]).empty_table(), n_bytes - done


def _layout_of(metadata: Any, columns: Sequence[str]) -> tuple[list[str], int]:
    """The names that Parquet gives the strings in lists (`text.list.element`), and the bytes of the largest row group.

    Reads no column chunk: if its statistics contradict themselves, pyarrow 26 ends the process.
    """
    leaves = [metadata.schema.column(i) for i in range(len(metadata.schema))]
    below = [leaf for leaf in leaves if leaf.path.startswith(tuple(f"{name}." for name in columns))]
    in_lists = [leaf.path for leaf in below if leaf.max_repetition_level and leaf.physical_type == "BYTE_ARRAY"]
    sizes = [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)]
    return in_lists, max([1, *sizes])


def _joined(batches: Iterator[Any], path: Path) -> Iterator[Any]:
    """Batches joined to about 4 MB, or divided if they are larger."""
    import pyarrow as pa

    waiting: list[Any] = []
    size = rows = 0
    for batch in batches:
        for part, part_size in _parts(batch, path):
            waiting.append(part)
            size, rows = size + part_size, rows + part.num_rows
            if size >= BLOCK_BYTES or rows >= _MOST_ROWS:
                yield pa.Table.from_batches(waiting).combine_chunks()
                waiting, size, rows = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _parts(batch: Any, path: Path) -> Iterator[tuple[Any, int]]:
    """A batch, or halves of it, of about 4 MB after decoding, with their sizes; a record is never divided."""
    size = sum(map(_decoded_size, batch.columns))
    if size > MAX_ROW_BYTES and batch.num_rows == 1:
        what = f"{path} has a record of {size:,} bytes, more than {MAX_ROW_BYTES:,}"
        raise InputError(f"{what}; expected one document per record")
    if size > BLOCK_BYTES and batch.num_rows > 1:
        half = batch.num_rows // 2
        yield from _parts(batch.slice(0, half), path)
        yield from _parts(batch.slice(half), path)
        return
    columns = [column.dictionary_decode() if hasattr(column, "dictionary") else column for column in batch.columns]
    yield type(batch).from_arrays(columns, batch.schema.names), size


def _decoded_size(values: Any) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(values, pa.MapArray):
        return int(values.nbytes)
    if isinstance(values, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        return _decoded_size(values.flatten()) + 4 * len(values)
    if isinstance(values, pa.StructArray):
        return sum(_decoded_size(field) for field in values.flatten())
    if isinstance(values, pa.DictionaryArray) and str(values.dictionary.type) in TEXT_TYPES:
        return int(pc.sum(pc.binary_length(values.dictionary).take(values.indices)).as_py() or 0)
    return int(values.nbytes)
