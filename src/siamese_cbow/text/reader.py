"""Turns files into blocks of records: all commands read text this way.

    file_blocks(Path("a.csv"), settings, choose)   -> RawBlock(b"A cat.\\n\\0\\nIt purrs.\\n\\0\\n", "a.csv", ...)

A record is a line of plain text, a paragraph of a document or a row of a table. Two views finish the blocks: `corpus`
makes sentences for training, `row_reader` makes rows with their positions.
"""

from __future__ import annotations

import importlib
import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from siamese_cbow.base.disk import as_path
from siamese_cbow.errors import InputError, did_you_mean
from siamese_cbow.text import FORMATS, FileFormat
from siamese_cbow.text.chunks import Overlong, Unit, cut_overlong, line_chunks, open_text, valid_utf8
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.folders import Walk
from siamese_cbow.text.inputs import Inputs, encoded, lines_bytes
from siamese_cbow.text.languages import AUTO, Detected, detect, language
from siamese_cbow.text.layout import rejoined, unwrapped
from siamese_cbow.text.opening import check_is_plain, ending_of
from siamese_cbow.text.records import BLOCK_BYTES, MARK, AnyLayout, NoText, RawBlock, TextSettings

# A view chooses a layout and what happens to overlong lines. It is given a sample, the name of its source, and the kind
# of its records: lines, records that end with marks, or paragraphs of a document, one per line.
Form: TypeAlias = Literal["lines", "records", "paragraphs"]
Choose: TypeAlias = Callable[[bytes, str, Form], tuple[AnyLayout, Overlong]]
# The cells of each column, and the bytes of the file they came from.
CellBatch: TypeAlias = tuple[list[list[bytes]], int]
# From a path, columns that must be text, columns that may hold anything, and the encoding, to the cells of all of them.
ReadCells: TypeAlias = Callable[[Path, Sequence[str], Sequence[str], Decoding], Iterator[CellBatch]]


def format_of(path: str | Path | None) -> FileFormat:
    """The format of a file, by its ending: `format_of("a.CSV.gz").name` -> 'CSV'.

    Standard input (None, or "-") and unknown endings are plain text.
    """
    ending = ending_of(Path(path)) if path else ""
    return next((each for each in FORMATS if ending in each.endings), FORMATS[0])


def walk_of(settings: TextSettings) -> Walk:
    """How folders are searched for files of text, or of groups."""
    return Walk(settings.globs, lambda path: bool(getattr(format_of(path), settings.kind)))


def _function(path: Path, kind: Literal["text", "groups", "document", "rows"]) -> Any:
    """`_function(Path("a.pdf"), "document")` -> `documents.pdf_paragraphs`; None if the format has none."""
    module, _, function = getattr(format_of(path), kind).rpartition(".")
    if not module:
        return None
    format_of(path).check_installed()
    return getattr(importlib.import_module(f"{__package__}.{module}"), function)


def file_blocks(path: Path | None, settings: TextSettings, choose: Choose, decoding: Decoding) -> Iterator[RawBlock]:
    """The blocks of one file, or of standard input (None)."""
    if path and settings.kind == "text" and format_of(path).document:
        yield document_block(path, settings, choose, decoding)
        return
    read: ReadCells | None = _function(path, settings.kind) if path else None
    if path is None or read is None:
        yield from line_blocks(path, choose, decoding, settings.text_column if settings.kind == "text" else "")
        return
    yield from record_blocks(_marked(read(path, [settings.text_column], [], decoding)), str(path), choose)


def document_block(path: Path, settings: TextSettings, choose: Choose, decoding: Decoding) -> RawBlock:
    """A document: one line per paragraph, and a mark at the end."""
    paragraphs = _function(path, "document")(path, decoding, code=settings.code)
    text = b"\n\n".join(encoded(paragraph) for _, paragraph in paragraphs)
    data = unwrapped(rejoined(text)) + b"\n" if paragraphs else b""
    layout, _ = choose(data, str(path), "paragraphs")
    numbers = tuple(number for number, _ in paragraphs)
    return RawBlock(data + MARK, str(path), layout, path.stat().st_size, numbers=numbers)


def line_blocks(path: Path | None, choose: Choose, decoding: Decoding, column: str = "") -> Iterator[RawBlock]:
    """The blocks of a file as plain text, whatever its ending; the last one ends with a mark.

    column  its name in the first line distinguishes a table from plain text; "": everything is lines
    """
    with open_text(path, decoding) as text:
        if column:
            check_is_plain(text.head, text.name, column)
        layout, overlong = choose(text.sample, text.name, "lines")
        last = RawBlock(b"", text.name, layout, 0)
        by: Unit = "paragraph" if layout == "wrapped" else "document" if layout == "document" else "line"
        for chunk in line_chunks(text.reads(), text.name, by=by, overlong=overlong):
            if last.data:
                yield last
            last = RawBlock(chunk.data, text.name, layout, text.advance(), chunk.first_line, chunk.n_cut)
        yield replace(last, data=last.data + MARK, n_source_bytes=last.n_source_bytes + text.advance())


def record_blocks(batches: Iterable[tuple[bytes, int, int]], name: str, choose: Choose) -> Iterator[RawBlock]:
    """The blocks of records that end with marks; a batch is records, their number and bytes in the source."""
    chosen: tuple[AnyLayout, Overlong] | None = None
    first = 1
    for data, n_records, n_source_bytes in batches:
        layout, overlong = chosen = chosen or choose(data, name, "records")
        data, n_cut = cut_overlong(data, name, overlong)
        yield RawBlock(data, name, layout, n_source_bytes, first, n_cut, marked=True)
        first += n_records


# The language

AnyFile = TypeVar("AnyFile")
_N_FILES = 16  # of a folder, sampled to detect its language


def language_of(
    inputs: Inputs, settings: TextSettings, blocks: Iterator[RawBlock]
) -> tuple[Detected, Iterator[RawBlock]]:
    """The language, as named in the settings or detected, and all the blocks.

    Detection samples some of the files, or the first block of what can be read only once.
    """
    named = settings.languages[0] if settings.languages else settings.language
    if named != AUTO:
        return Detected(language(named)), blocks
    if inputs.files:
        samples = (sample for path in telling_files(inputs.files) for sample in language_samples(path, settings))
        return detect(samples), blocks
    first = list(itertools.islice(blocks, 1))
    return detect(block.data for block in first), itertools.chain(first, blocks)


def telling_files(files: Sequence[AnyFile]) -> Sequence[AnyFile]:
    """The files to sample: every n-th of many."""
    return files[:: -(-len(files) // _N_FILES)]


def language_samples(path: Path, settings: TextSettings) -> list[bytes]:
    """Samples of a file, as for `choose`; none if it can't be read, which reading will report."""
    samples: list[bytes] = []

    def choose(sample: bytes, name: str, form: Form) -> tuple[AnyLayout, Overlong]:
        samples.append(sample)
        return "paragraphs", "cut"

    with suppress(InputError):
        next(file_blocks(path, settings, choose, settings.decoding()), None)
    return samples


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
    path = as_path(path)
    read: ReadCells | None = _function(path, "text")
    if read is None:
        raise InputError(f"{path} is plain text, which has no columns; expected JSON lines, CSV, TSV or Parquet")
    decoding = decoding or Decoding()
    for columns, _ in read(path, texts, others, decoding):
        for cells in zip(*columns, strict=True):
            valid = [valid_utf8(cell, str(path)) for cell in cells]
            decoding.broken[str(path)] += sum(n_broken for _, n_broken in valid)
            yield tuple(cell.decode() for cell, _ in valid)


# Columns of tables


def chosen(column: str, names: Sequence[str]) -> list[str]:
    """The columns that one name stands for: `chosen("title,body", ["id", "Title ", "body"])` -> ['Title ', 'body']."""
    parts = [column] if column in names or "," not in column else [part.strip() for part in column.split(",")]
    alike = [[name for name in names if name.strip().lower() == part.lower()] for part in parts]
    return [like[0] if part not in names and len(like) == 1 else part for part, like in zip(parts, alike, strict=True)]


def joined(columns: Sequence[list[bytes]]) -> list[bytes]:
    r"""Columns joined in one cell, one paragraph each, unless empty: `joined([[b"A"], [b"B"]])` -> [b"A\n\nB"]."""
    if len(columns) == 1:
        return columns[0]
    return [b"\n\n".join(filter(None, cells)) for cells in zip(*columns, strict=True)]


def missing_column(path: Path, column: str, columns: Sequence[str], texts: Sequence[str]) -> NoText:
    """The error to raise, naming the existing columns; `texts` are those that --text-column chose."""
    if not columns:
        return NoText(f"{path} has no column {column!r}: it has no columns at all; check the file")
    there = ", ".join(repr(name[:40]) for name in columns[:20])
    is_text = any(column in text.split(",") or column == text for text in texts)
    nearest = did_you_mean(column, columns, "-")
    if is_text and nearest != "-":
        return NoText(f"{path} has no column {column!r}; it has {there}; {nearest} (--text-column)")
    advice = ": choose one with --text-column" if is_text else f"; expected {' and '.join((*texts, column))}"
    if format_of(path).name in ("CSV", "TSV"):
        advice += " (its first line is the header; for lines of plain text rename it to .txt)"
    return NoText(f"{path} has no column {column!r}; it has {there}{advice}")


def not_text(path: Path, column: str, what: str) -> InputError:
    """The error to raise when a column holds `what`, such as "int64"."""
    return InputError(
        f"column {column!r} of {path} contains {what}; expected text or lists of strings: set --text-column"
    )


def list_cell(cell: Sequence[str | None]) -> bytes:
    """A list of strings as lines: ["a", None, "b"] -> b"a\\nb"."""
    return lines_bytes(line for line in cell if line is not None).removesuffix(b"\n")


def twice(path: Path, column: str) -> InputError:
    """The error to raise if a requested column occurs more than once."""
    return InputError(f"{path} has more than one column {column!r}; rename one of them in the file")


def column_names_of(batch: Any) -> list[str]:
    """The column names of a record batch or of plain records; none if each record has its own."""
    names: list[str] = getattr(getattr(batch, "schema", batch), "names", [])
    return list(names)


class RecordColumns:
    """All columns of tables, to be written out again with the results for their texts.

    names  of the columns; none for JSON, where each record has its own
    """

    def __init__(self, paths: Sequence[Path], encoding: str | None) -> None:
        self._paths, self._encoding = {str(path): path for path in paths}, encoding
        self._source, self._batches = "", iter(())
        self._rest: Any = None
        first = [next(self._open(path)) for path in paths]
        self.start = first[0]
        kinds = {format_of(path).rows for path in paths}
        self.are_alike = len(kinds) == 1 and all(_kind(each) == _kind(self.start) for each in first)
        self.names = column_names_of(self.start)

    @classmethod
    def of(cls, paths: Sequence[Path], encoding: str | None) -> RecordColumns | None:
        """None if some of the files are not tables."""
        return cls(paths, encoding) if paths and all(format_of(path).rows for path in paths) else None

    def take(self, source: str, n: int) -> list[Any]:
        """The next n records of a table: record batches, or lists of plain records, one after another."""
        if source != self._source:
            self.finish()
            self._source, self._batches, self._rest = source, self._open(self._paths[source]), None
        parts: list[Any] = []
        while n:
            if self._rest is None or not len(self._rest):
                self._rest = next(self._batches, None)
                if self._rest is None:
                    raise InputError(f"{source} changed while it was read; run the same command again")
                continue
            parts.append(self._rest[:n])
            self._rest = self._rest[n:]
            n -= len(parts[-1])
        return parts

    def finish(self) -> None:
        """Raises an error unless all records of the table were used."""
        if (self._rest is not None and len(self._rest)) or any(map(len, self._batches)):
            raise InputError(f"{self._source} changed while it was read; run the same command again")

    def _open(self, path: Path) -> Iterator[Any]:
        rows: Iterator[Any] = _function(path, "rows")(path, Decoding(self._encoding))
        return rows


def _kind(batch: Any) -> Any:
    return getattr(batch, "schema", column_names_of(batch))
