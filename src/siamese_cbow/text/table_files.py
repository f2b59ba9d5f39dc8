"""Tables of cells: CSV and TSV, of which some columns are read. A cell is text, or a list of strings.

    csv_cells(Path("a.csv"), ["text"], [], decoding)   -> ([[b"A cat.", b""]], 52), ...     cells, bytes of the file
    csv_rows(Path("a.csv"), decoding)                  -> record batches of all columns

Everything is read in pieces, by Arrow's streaming reader. Each row gives a cell: where the column is null, an empty
one. What separates the cells of a CSV file is found out, and whether those of a tab separated file are quoted: some
programs quote cells with tabs, line ends or quotation marks in them, to others a quotation mark is one like any other
letter.
"""

from __future__ import annotations

import csv
import io
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeAlias, TypeVar

from siamese_cbow.errors import InputError, SiameseCBOWError
from siamese_cbow.text.chunks import TextStream, open_text
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.opening import PiecesFile, ending_of
from siamese_cbow.text.reader import CellBatch, chosen, joined, list_cell, missing_column, not_text, twice, unique
from siamese_cbow.text.records import BLOCK_BYTES

Cells: TypeAlias = list[bytes]  # of one column
Parameters = ParamSpec("Parameters")
Item = TypeVar("Item")

TEXT_TYPES = {"string", "large_string", "string_view", "binary", "large_binary", "binary_view"}


# What all tables share


def with_clear_errors(
    read: Callable[Parameters, Iterator[Item]],
) -> Callable[Parameters, Iterator[Item]]:
    """Whatever a library says about a table, said with the name of the file, the first argument."""

    @wraps(read)
    def clearly(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Iterator[Item]:
        import pyarrow as pa

        try:
            yield from read(*args, **kwargs)
        except (pa.ArrowException, OSError, ValueError, LookupError, OverflowError, RuntimeError, csv.Error) as error:
            if isinstance(error, SiameseCBOWError):
                raise
            path = Path(str(args[0]))
            reason = " ".join(str(error).split())[:300]
            raise InputError(f"can't read {path} as {ending_of(path)}: {reason}; check the file") from error

    return clearly


def arrow_cells(values: Any, kind: Any, path: Path, column: str, *, any_type: bool = False) -> Cells:
    """The cells of an Arrow array of type `kind`; nulls are empty. With `any_type`, numbers as they are written."""
    import pyarrow as pa

    test = pa.types
    if test.is_list(kind) or test.is_large_list(kind) or test.is_fixed_size_list(kind):
        if str(strings_of(kind.value_type)) not in ("string", "large_string"):
            raise not_text(path, column, str(kind))
        return [list_cell(cell or ()) for cell in values.to_pylist()]
    if test.is_null(kind):
        return [b""] * len(values)
    if any_type and str(kind) not in TEXT_TYPES:
        values, kind = values.cast(pa.string()), pa.string()
    if str(kind) not in TEXT_TYPES:
        raise not_text(path, column, str(kind))
    # As bytes: broken UTF-8 is replaced and counted later instead of ending the run here.
    return [cell or b"" for cell in values.cast(kind).cast(pa.large_binary()).to_pylist()]


def strings_of(kind: Any) -> Any:
    """The type behind one of numbers of texts, a dictionary."""
    return kind.value_type if str(kind).startswith("dictionary") else kind


# CSV and TSV


class Dialect(NamedTuple):
    """How a file separates its cells: `Dialect(";", '"', ["id", "text"])`; n_skipped lines come before the header."""

    delimiter: str
    quote: str | None
    header: list[str]
    n_skipped: int = 0


_BLOCK = 4 * BLOCK_BYTES  # what Arrow parses at a time; no record may be longer
_PIECES_AHEAD = 3 * _BLOCK // BLOCK_BYTES  # that may be read before they are parsed
_DELIMITERS = ",;\t|"
_NO_DELIMITER = "\x1f"  # what separates the cells of a table of one column: nothing that is in a text
_LOOK_AT = 100  # rows, to see which delimiter gives each of them as many cells as the header has
_HEAD_BYTES = 1 << 16  # less than a cell may have for the csv module
_QUOTED_CELL = re.compile(r'"(?:[^"]|"")*"(?=[\t\r\n]|\Z)')
_PLAIN_CELL = re.compile(r"[^\t\r\n]*")
_EXCEL_HINT = re.compile(r"sep=(.)\r?\n")  # a first line that spreadsheets write


@with_clear_errors
def csv_cells(path: Path, texts: Sequence[str], others: Sequence[str], decoding: Decoding) -> Iterator[CellBatch]:
    """The cells of some columns; of CSV every one is text."""
    import pyarrow as pa

    with open_text(path, decoding) as text:
        dialect = dialect_of(text, path)
        wanted = [chosen(name, dialect.header) for name in (*texts, *others)]
        columns = list(dict.fromkeys(part for parts in wanted for part in parts))
        for column in columns:
            if column not in dialect.header:
                raise missing_column(path, column, dialect.header, texts)
            if dialect.header.count(column) > 1:
                raise twice(path, column)
        for batch in _csv_batches(text, dialect, columns):
            cells = {name: arrow_cells(batch.column(name), pa.binary(), path, "") for name in columns}
            yield [joined([cells[part] for part in parts]) for parts in wanted], text.advance()
        yield [[] for _ in wanted], text.advance()


@with_clear_errors
def csv_rows(path: Path, decoding: Decoding) -> Iterator[Any]:
    """Record batches of all columns as text, the first one empty; of two columns of one name, one gets a number."""
    import pyarrow as pa

    with open_text(path, decoding) as text:
        dialect = dialect_of(text, path)
        names = unique(dialect.header)
        schema = pa.schema([(name, pa.string()) for name in names])
        yield pa.RecordBatch.from_pylist([], schema=schema)
        for batch in _csv_batches(text, dialect, names):
            cells = [[cell.decode("utf-8", "replace") for cell in column.to_pylist()] for column in batch.columns]
            yield pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in cells], schema=schema)


@with_clear_errors
def delimited_rows(path: Path, decoding: Decoding) -> Iterator[list[str]]:
    """All rows of a small file, also the header; what ends neither in .csv nor in .tsv has tabs and no quoting."""
    with open_text(path, decoding) as text:
        dialect = dialect_of(text, path) if ending_of(path) in (".csv", ".tsv") else Dialect("\t", None, [])
        whole = b"".join(text.reads()).decode("utf-8", "replace").lstrip("\r\n")
        yield from list(_rows(whole, dialect.delimiter, dialect.quote))[dialect.n_skipped :]


def _csv_batches(text: TextStream, dialect: Dialect, columns: Sequence[str]) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    names, pieces = unique(dialect.header), _Pieces(text.reads())
    wanted = list(dict.fromkeys([*columns, names[-1]]))
    last = b""
    with arrow_csv.open_csv(
        io.BufferedReader(PiecesFile(pieces)),
        read_options=arrow_csv.ReadOptions(
            use_threads=False, block_size=_BLOCK, skip_rows=dialect.n_skipped, column_names=names,
            skip_rows_after_names=1,
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=dialect.delimiter, quote_char=dialect.quote or False, newlines_in_values=dialect.quote is not None
        ),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=wanted, column_types=dict.fromkeys(wanted, pa.binary())
        ),
    ) as reader, pieces.in_step():  # fmt: skip
        while (batch := pieces.awaited(reader)) is not None:
            last = batch.column(names[-1])[-1].as_py() if len(batch) else last
            few = max(1, len(batch) * BLOCK_BYTES // _BLOCK)
            for first in range(0, len(batch), few):  # what becomes of them in Python takes several times the memory
                yield batch.slice(first, few)
            batch = None  # its memory is of use to the next
    if dialect.quote and b"\n" in last and not pieces.last.rstrip(b"\r\n").endswith(dialect.quote.encode()):
        start = last[:60].decode("utf-8", "replace")
        raise InputError(f"{text.name} ends inside of a cell whose quotation mark is never closed: {start!r}; close it")


class _Pieces(Iterator[bytes]):
    """What is read, without the empty lines before the header; `last` is the end of it so far.

    Arrow's reader has a thread that reads up to 32 blocks, half a gigabyte, ahead of what is asked for. Here it waits
    while it is some blocks ahead and nobody waits for a batch.
    """

    def __init__(self, reads: Iterator[bytes]) -> None:
        self._reads, self._has_begun, self.last = reads, False, b""
        self._changed, self._n_ahead, self._is_awaited, self._is_left = threading.Condition(), 0, True, False
        self._ended = threading.Event()

    def __next__(self) -> bytes:
        with self._changed:
            while self._n_ahead >= _PIECES_AHEAD and not self._is_left:
                if not self._changed.wait(5) and self._is_awaited:  # it wants more before it gives a batch
                    break
            self._n_ahead += 1
        try:
            piece = next(iter(()) if self._is_left else self._reads)
            while not self._has_begun and not (piece := piece.lstrip(b"\r\n")):
                piece = next(self._reads)
        except StopIteration:
            self._ended.set()
            raise
        self._has_begun, self.last = True, piece[-8:] if piece.strip(b"\r\n") else self.last
        return piece

    def awaited(self, reader: Any) -> Any:
        """The next batch; None at the end."""
        self._is_awaited = True
        try:
            return reader.read_next_batch()
        except StopIteration:
            return None
        finally:
            with self._changed:
                self._is_awaited = False
                self._n_ahead -= _BLOCK // BLOCK_BYTES
                self._changed.notify()

    @contextmanager
    def in_step(self) -> Iterator[None]:
        """Inside of it Arrow waits. A reader that is left early reads no more: its thread would outlive Python."""
        try:
            yield
        finally:
            with self._changed:
                self._is_left = True
                self._changed.notify()
            self._ended.wait(1)


def dialect_of(text: TextStream, path: Path) -> Dialect:
    """By the first rows: the delimiter that gives most of them as many cells as the header, two or more."""
    start = text.head[:_HEAD_BYTES].decode("utf-8", "replace").lstrip("\r\n")
    if ending_of(path) == ".tsv":
        quote = _quote_of_tabbed(start, is_whole=len(text.head) <= _HEAD_BYTES)
        return Dialect("\t", quote, next(_rows(start, "\t", quote), []))
    if hint := _EXCEL_HINT.match(start):
        header = next(_rows(start[hint.end() :], hint[1], '"'), [])
        return Dialect(hint[1], '"', header, n_skipped=1)
    is_whole = len(text.head) <= _HEAD_BYTES
    best = (0.0, 1, Dialect(_NO_DELIMITER, '"', next(_rows(start, _NO_DELIMITER, '"'), [])))
    for delimiter in _DELIMITERS:
        rows = [row for _, row in zip(range(_LOOK_AT), _rows(start, delimiter, '"'), strict=False)]
        header, *others = (rows if is_whole or len(rows) == _LOOK_AT else rows[:-1]) or rows or [[]]
        share = sum(len(row) == len(header) for row in others) / max(len(others), 1)
        if len(header) > 1 and (best[1] == 1 or (share, len(header)) > best[:2]):
            best = (share, len(header), Dialect(delimiter, '"', header))
    return best[2]


def _quote_of_tabbed(start: str, *, is_whole: bool) -> str | None:
    r"""The quotation mark where cells are quoted: some hold what only quoted cells can, and all of them are closed.

    'a\tb\n1\t"two\nlines"\n' -> '"'; 'a\tb\n1\t"Yes" he said\n' -> None; 'a\tb\n1\t"Yes"\n' -> None: the same words
    """
    place, is_quoted, in_header = 0, False, True
    while place < len(start):
        if start[place] == '"':
            cell = _QUOTED_CELL.match(start, place)
            if cell is None:
                return '"' if is_quoted and not is_whole and '"' not in start[place + 1 :].replace('""', "") else None
            is_quoted = is_quoted or in_header or any(each in cell[0][1:-1] for each in '"\t\r\n')
            place = cell.end()
        else:
            place = _PLAIN_CELL.match(start, place).end()  # type: ignore[union-attr]
        in_header = in_header and start[place : place + 1] == "\t"
        place += 1
    return '"' if is_quoted else None


def _rows(text: str, delimiter: str, quote: str | None) -> Iterator[list[str]]:
    lines = io.StringIO(text, newline="")
    if quote:
        return filter(None, csv.reader(lines, delimiter=delimiter, quotechar=quote))
    return filter(None, csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE))
