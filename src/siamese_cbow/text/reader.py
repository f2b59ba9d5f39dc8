"""From files to blocks of records: the one way in which all commands read text.

    file_blocks(Path("a.csv"), settings, choose)   -> RawBlock(b"A cat.\\n\\0\\nIt purrs.\\n\\0\\n", "a.csv", ...)

A record is a line of plain text or a row of a table. Two views finish the blocks: `corpus` makes sentences for
training, `row_reader` makes rows that know their place.
"""

from __future__ import annotations

import importlib
import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from siamese_cbow.errors import InputError
from siamese_cbow.text import FORMATS, FileFormat
from siamese_cbow.text.chunks import Overlong, cut_overlong, line_chunks, open_text
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.opening import ending_of
from siamese_cbow.text.records import BLOCK_BYTES, MARK, AnyLayout, RawBlock, TextSettings

# What a view chooses: a layout, and what becomes of overlong lines. By a sample, the name of its source, and whether
# its records end with marks.
Choose: TypeAlias = Callable[[bytes, str, bool], tuple[AnyLayout, Overlong]]
# The cells of each column, and the bytes of the file they came from.
CellBatch: TypeAlias = tuple[list[list[bytes]], int]
# From a path, columns that must be text, columns that may hold anything, and the encoding, to the cells of all of them.
ReadCells: TypeAlias = Callable[[Path, Sequence[str], Sequence[str], Decoding], Iterator[CellBatch]]


def format_of(path: str | Path | None) -> FileFormat:
    """By the ending of its name; standard input (None, or "-") and what has no known ending is plain text."""
    ending = ending_of(Path(path)) if path else ""
    return next((each for each in FORMATS if ending in each.endings), FORMATS[0])


def endings(kind: Literal["text", "groups"]) -> tuple[str, ...]:
    """Of the files that are read where a folder is given."""
    return tuple(ending for each in FORMATS if getattr(each, kind) for ending in each.endings)


def _cells_reader(path: Path, kind: Literal["text", "groups"]) -> ReadCells | None:
    """What reads the cells of a file; None where each line is a record."""
    module, _, function = getattr(format_of(path), kind).rpartition(".")
    if not module:
        return None
    read: ReadCells = getattr(importlib.import_module(f"{__package__}.{module}"), function)
    return read


def file_blocks(path: Path | None, settings: TextSettings, choose: Choose, decoding: Decoding) -> Iterator[RawBlock]:
    """The blocks of one file, or of standard input (None)."""
    read = _cells_reader(path, settings.kind) if path else None
    if path is None or read is None:
        yield from line_blocks(path, choose, decoding)
        return
    yield from record_blocks(_marked(read(path, [settings.text_column], [], decoding)), str(path), choose)


def line_blocks(path: Path | None, choose: Choose, decoding: Decoding) -> Iterator[RawBlock]:
    """The blocks of a file as plain text, whatever its ending; the last one ends with a mark."""
    with open_text(path, decoding) as text:
        layout, overlong = choose(text.sample, text.name, False)
        last = RawBlock(b"", text.name, layout, 0)
        by: Literal["line", "paragraph", "document"] = "line"
        if layout in ("wrapped", "document"):
            by = "paragraph" if layout == "wrapped" else "document"
        for chunk in line_chunks(text.reads(), text.name, by=by, overlong=overlong):
            if last.data:
                yield last
            last = RawBlock(chunk.data, text.name, layout, text.advance(), chunk.first_line, chunk.n_cut)
        yield replace(last, data=last.data + MARK, n_source_bytes=last.n_source_bytes + text.advance())


def record_blocks(batches: Iterable[tuple[bytes, int, int]], name: str, choose: Choose) -> Iterator[RawBlock]:
    """The blocks of records that end with marks; a batch is some of them, how many, and their bytes of the source."""
    chosen: tuple[AnyLayout, Overlong] | None = None
    first = 1
    for data, n_records, n_source_bytes in batches:
        layout, overlong = chosen = chosen or choose(data, name, True)
        data, n_cut = cut_overlong(data, name, overlong)
        yield RawBlock(data, name, layout, n_source_bytes, first, n_cut, marked=True)
        first += n_records


def _marked(batches: Iterable[CellBatch]) -> Iterator[tuple[bytes, int, int]]:
    r"""Cells of one column as records, at most about 4 MB of them: [b"a", b"b"] -> b"a\n\0\nb\n\0\n"."""
    end_of_record = b"\n" + MARK
    for (cells,), n_source_bytes in batches:
        sizes = list(itertools.accumulate(map(len, cells), initial=0))
        start, end = 0, 0
        while end < len(cells):
            start, end = end, min(bisect_left(sizes, sizes[end] + BLOCK_BYTES), len(cells))
            data = end_of_record.join((*cells[start:end], b""))
            if data.count(b"\0") > end - start:  # NULs inside
                data = end_of_record.join((*(cell.replace(b"\0", b" ") for cell in cells[start:end]), b""))
            yield data, end - start, n_source_bytes if end == len(cells) else 0
        if not cells and n_source_bytes:
            yield b"", 0, n_source_bytes


def read_columns(
    path: str | Path, texts: Sequence[str], others: Sequence[str] = (), decoding: Decoding | None = None
) -> Iterator[tuple[str, ...]]:
    """Some columns of a table, a tuple for each record; `others` may also hold numbers.

    `read_columns("films.csv", ["text"], ["label"])` -> ("great film", "good"), ("dull film", "bad")
    """
    path = Path(path).expanduser()
    read = _cells_reader(path, "text")
    if read is None:
        raise InputError(f"{path} is plain text, which has no columns; expected JSON lines, CSV, TSV or Parquet")
    for columns, _ in read(path, texts, others, decoding or Decoding()):
        for cells in zip(*columns, strict=True):
            yield tuple(cell.decode("utf-8", "replace") for cell in cells)
