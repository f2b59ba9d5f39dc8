"""From files to blocks of records: the one way in which all commands read text. Adding a format is a line in FORMATS.

    file_blocks(Path("a.csv"), settings, layout_of)   -> RawBlock(b"A cat.\\n\\0\\nIt purrs.\\n\\0\\n", "a.csv", ...)

A record is a line of plain text or a row of a table. Two views finish the blocks: `corpus` makes sentences for
training, `row_reader` makes rows that know their place.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from siamese_cbow.errors import InputError
from siamese_cbow.text.chunks import Overlong, cut_overlong, line_chunks, open_text
from siamese_cbow.text.opening import ending_of
from siamese_cbow.text.records import BLOCK_BYTES, MARK, AnyLayout, RawBlock, TextSettings
from siamese_cbow.text.table_files import CellBatch, ReadCells, csv_cells, json_cells, parquet_cells

# Chooses the layout: given a sample, the name of its source, and whether its records end with marks.
LayoutOf: TypeAlias = Callable[[bytes, str, bool], AnyLayout]
OverlongOf: TypeAlias = Callable[[AnyLayout], Overlong]


@dataclass(frozen=True)
class FileFormat:
    """A kind of file, and how it is read.

    endings  of the names of such files, without the compression
    text     a function from a path, the columns that are text and other columns to their cells; "lines" where each
             line is a record; None where a folder's files of this kind are passed over
    groups   the same for groups of paraphrases
    """

    name: str
    endings: tuple[str, ...]
    text: ReadCells | Literal["lines"] | None = None
    groups: ReadCells | Literal["lines"] | None = None

    @property
    def is_table(self) -> bool:
        """Whether its records are rows with columns."""
        return callable(self.text)


FORMATS = (
    FileFormat("plain text", (".txt", ".text", ".md", ".sentences", ".tok"), "lines", "lines"),
    FileFormat("JSON lines", (".jsonl", ".ndjson", ".json"), json_cells, json_cells),
    FileFormat("CSV", (".csv",), csv_cells),
    FileFormat("TSV", (".tsv",), csv_cells, "lines"),
    FileFormat("Parquet", (".parquet",), parquet_cells, parquet_cells),
    FileFormat("PPDB", (".ppdb",), None, "lines"),
)


def format_of(path: str | Path | None) -> FileFormat:
    """By the ending of its name; standard input (None, or "-") and what has no known ending is plain text."""
    ending = ending_of(Path(path)) if path else ""
    return next((each for each in FORMATS if ending in each.endings), FORMATS[0])


def endings(kind: Literal["text", "groups"]) -> tuple[str, ...]:
    """Of the files that are read where a folder is given."""
    return tuple(ending for each in FORMATS if getattr(each, kind) for ending in each.endings)


def file_blocks(
    path: Path | None, settings: TextSettings, layout_of: LayoutOf, overlong_of: OverlongOf
) -> Iterator[RawBlock]:
    """The blocks of one file, or of standard input (None)."""
    read = getattr(format_of(path), settings.kind)
    if path is None or not callable(read):
        yield from line_blocks(path, layout_of, overlong_of)
        return
    batches = _marked(read(path, [settings.text_column], []))
    yield from record_blocks(batches, str(path), layout_of, overlong_of)


def line_blocks(path: Path | None, layout_of: LayoutOf, overlong_of: OverlongOf) -> Iterator[RawBlock]:
    """The blocks of a file as plain text, whatever its ending; the last one ends with a mark."""
    with open_text(path) as text:
        layout = layout_of(text.head, text.name, False)
        last = RawBlock(b"", text.name, layout, 0)
        for chunk in line_chunks(
            text.reads(),
            text.name,
            by="paragraph" if layout == "wrapped" else "line",
            overlong=overlong_of(layout),
        ):
            if last.data:
                yield last
            last = RawBlock(chunk.data, text.name, layout, text.advance(), chunk.first_line, chunk.n_cut)
        yield replace(last, data=last.data + MARK, n_source_bytes=last.n_source_bytes + text.advance())


def record_blocks(
    batches: Iterable[tuple[bytes, int, int]], name: str, layout_of: LayoutOf, overlong_of: OverlongOf
) -> Iterator[RawBlock]:
    """The blocks of records that end with marks; a batch is some of them, how many, and their bytes of the source."""
    layout: AnyLayout | None = None
    first = 1
    for data, n_records, n_source_bytes in batches:
        layout = layout or layout_of(data, name, True)
        data, n_cut = cut_overlong(data, name, overlong_of(layout))
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


def read_columns(path: str | Path, texts: Sequence[str], others: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """Some columns of a table, a tuple for each record; `others` may also hold numbers.

    `read_columns("films.csv", ["text"], ["label"])` -> ("great film", "good"), ("dull film", "bad")
    """
    read = format_of(path).text
    if not callable(read):
        raise InputError(f"{path} is plain text, which has no columns; expected JSON lines, CSV, TSV or Parquet")
    for columns, _ in read(Path(path).expanduser(), texts, others):
        for cells in zip(*columns, strict=True):
            yield tuple(cell.decode("utf-8", "replace") for cell in cells)
