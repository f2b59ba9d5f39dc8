"""Reads some or all columns of CSV and TSV files. Parquet and JSON have modules of their own.

    csv_cells(Path("a.csv"), ["text"], [], decoding)   -> ([[b"A cat.", b""]], 52), ...     cells, bytes of the file
    csv_rows(Path("a.csv"), decoding)                  -> [{"id": "1", "text": "A cat."}], ...

Everything is read in pieces, by Python's csv module: 115 MB/s on one core; Arrow's reader reaches 270, but is part
of a library of 170 MB. Each row gives one cell per column. The delimiter of a CSV file is detected, and so is whether
the cells of a tab-separated file are quoted: some programs quote cells that contain tabs, line ends or quotation marks;
for others a quotation mark is an ordinary character.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeAlias, TypeVar

from siamese_cbow.errors import InputError, SiameseCBOWError
from siamese_cbow.text.chunks import TextStream, line_chunks, open_text
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.opening import ending_of
from siamese_cbow.text.reader import CellBatch, chosen, format_of, joined, missing_column, twice
from siamese_cbow.text.records import MAX_LINE_BYTES, MAX_ROW_BYTES

Cells: TypeAlias = list[bytes]  # of one column
Parameters = ParamSpec("Parameters")
Item = TypeVar("Item")


# What all tables share


def with_clear_errors(
    read: Callable[Parameters, Iterator[Item]],
) -> Callable[Parameters, Iterator[Item]]:
    """Decorates a table reader: a library's errors get the name of the file, which is the first argument."""

    @wraps(read)
    def clearly(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Iterator[Item]:
        try:
            yield from read(*args, **kwargs)
        except _errors() as error:
            if isinstance(error, SiameseCBOWError):
                raise
            path = Path(str(args[0]))
            reason = " ".join(str(error).split())[:300]
            raise InputError(
                f"can't read {path} as a {ending_of(path)} file ({reason}); correct or export it again"
            ) from error

    return clearly


def _errors() -> tuple[type[Exception], ...]:
    """The errors that readers of tables raise: Arrow, if loaded, has its own."""
    of_python = (OSError, ValueError, LookupError, OverflowError, RuntimeError, csv.Error)
    return (*of_python, sys.modules["pyarrow"].ArrowException) if "pyarrow" in sys.modules else of_python


# CSV and TSV


class Dialect(NamedTuple):
    r"""How a file separates its cells: `Dialect(";", '"', ["id", "text"])`.

    n_skipped  lines before the header
    spaced     a space follows the delimiter: `id, text`
    escaped    a quotation mark inside a cell is written as `\"`, not as `""`
    """

    delimiter: str
    quote: str | None
    header: list[str]
    n_skipped: int = 0
    spaced: bool = False
    escaped: bool = False


class NamedRecords(list[dict[str, Any]]):
    """Plain records of a table whose columns have names even without records."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self.names = list(names)


_MOST_ROWS = 1 << 16  # parsed at a time, if short
_DELIMITERS = ",;\t|"
_NO_DELIMITER = "\x1f"  # the delimiter for a table of one column: never occurs in text
_LOOK_AT = 100  # rows examined to find the delimiter that gives each as many cells as the header
_HEAD_BYTES = 1 << 16  # below the csv module's limit for a cell
_QUOTED_CELL = re.compile(r'"(?:[^"]|"")*"(?=[\t\r\n]|\Z)')
_PLAIN_CELL = re.compile(r"[^\t\r\n]*")
_EXCEL_HINT = re.compile(r"sep=([\t -!#-~])\r?\n")  # a first line that spreadsheets write
_ESCAPED_QUOTE = re.compile(rb'(?<!\\)\\"[^"\r\n,;\t|]')  # something else follows a backslash at the end of a cell
_TOO_LONG = "expected one document per record; look for an unclosed quotation mark before it"


@with_clear_errors
def csv_cells(path: Path, texts: Sequence[str], others: Sequence[str], decoding: Decoding) -> Iterator[CellBatch]:
    """The cells of some columns; in CSV all are text."""
    with open_text(path, decoding) as text:
        dialect = dialect_of(text, path)
        wanted = [chosen(name, dialect.header) for name in (*texts, *others)]
        columns = list(dict.fromkeys(part for parts in wanted for part in parts))
        for column in columns:
            if column not in dialect.header:
                raise missing_column(path, column, dialect.header, texts)
            if dialect.header.count(column) > 1:
                raise twice(path, column)
        places = {column: dialect.header.index(column) for column in columns}
        for rows in _csv_batches(text, dialect):
            cells = {name: [row[place].encode("latin-1") for row in rows] for name, place in places.items()}
            yield [joined([cells[part] for part in parts]) for parts in wanted], text.advance()
        yield [[] for _ in wanted], text.advance()


@with_clear_errors
def csv_rows(path: Path, decoding: Decoding) -> Iterator[list[dict[str, Any]]]:
    """Records of all columns as text, the first batch empty; duplicate column names get a number."""
    with open_text(path, decoding) as text:
        dialect = dialect_of(text, path)
        names = unique(dialect.header)
        yield NamedRecords(names)
        for rows in _csv_batches(text, dialect):
            yield [dict(zip(names, map(_text, row), strict=True)) for row in rows]


def unique(names: Sequence[str]) -> list[str]:
    """Column names that differ: ["a", "b", "a"] -> ["a", "b", "a_2"]."""
    seen: dict[str, None] = {}
    for name in names:
        n, new = 1, name
        while new in seen:
            n += 1
            new = f"{name}_{n}"
        seen[new] = None
    return list(seen)


def _text(cell: str) -> str:
    return cell if cell.isascii() else cell.encode("latin-1").decode("utf-8", "replace")


@with_clear_errors
def delimited_rows(path: Path, decoding: Decoding) -> Iterator[list[str]]:
    """All rows of a small file, header included; without the ending of a table, it is tab-separated and unquoted."""
    with open_text(path, decoding) as text:
        is_table = format_of(path).name in ("CSV", "TSV")
        dialect = dialect_of(text, path) if is_table else Dialect("\t", None, [])
        chunks = line_chunks(text.reads(), text.name, overlong="refuse", advice="expected short rows of a table")
        whole = b"".join(chunk.data for chunk in chunks).decode("utf-8", "replace").lstrip("\r\n")
        yield from list(_rows(whole, dialect))[dialect.n_skipped :]


def _csv_batches(text: TextStream, dialect: Dialect) -> Iterator[list[list[str]]]:
    """Rows in batches, without the header; each character of a cell is a byte of the file."""
    lines, n_cells = _Lines(text), len(dialect.header)
    reader = _reader(iter(lines), dialect)
    rows: list[list[str]] = []
    n_pieces = 0
    try:
        for row in itertools.islice(filter(None, reader), dialect.n_skipped + 1, None):
            if rows and (lines.n_pieces != n_pieces or len(rows) == _MOST_ROWS):
                yield rows
                rows = []
            n_pieces = lines.n_pieces
            if lines.is_over:  # the csv module turns the rest of a file into a row
                start = _text(row[-1].rstrip())[:60]
                raise InputError(f"{text.name} ends inside a cell with an unclosed quotation mark: {start!r}; close it")
            if len(row) > n_cells and not any(row[n_cells:]):  # trailing delimiters that the header lacks
                del row[n_cells:]
            if len(row) != n_cells:
                start, sign = _text(dialect.delimiter.join(row))[:60], repr(dialect.delimiter)
                why = f"; a cell with {sign} or a line end in it needs quotation marks" if dialect.quote else ""
                raise ValueError(
                    f"Expected {n_cells} columns, got {len(row)} in line {reader.line_num:,}: {start!r}{why}"
                )
            rows.append(row)
            lines.n_waiting = 0
    except csv.Error as error:
        raise ValueError(f"{error} in line {reader.line_num:,}: {_TOO_LONG}") from None
    if rows:
        yield rows


class _Lines:
    """The lines of a text for the csv module, one character per byte: broken UTF-8 is replaced and counted later.

    n_pieces   pieces of 4 MB used so far
    n_waiting  bytes of the pieces used since it was last set to 0, which hold an incomplete record
    is_over    one more line was requested after the last
    """

    def __init__(self, text: TextStream) -> None:
        self._text, self.n_pieces, self.n_waiting, self.is_over = text, 0, 0, False

    def __iter__(self) -> Iterator[str]:
        return itertools.chain.from_iterable(self._pieces())

    def _pieces(self) -> Iterator[io.StringIO]:
        for chunk in line_chunks(self._text.reads(), self._text.name, overlong="refuse", advice=_TOO_LONG):
            self.n_pieces, self.n_waiting = self.n_pieces + 1, self.n_waiting + len(chunk.data)
            if self.n_waiting > MAX_ROW_BYTES:
                raise InputError(
                    f"{self._text.name} has a record of more than {MAX_ROW_BYTES:,} bytes in line "
                    f"{chunk.first_line:,}; {_TOO_LONG}"
                )
            yield io.StringIO(chunk.data.decode("latin-1"), newline="")  # ends lines as the module does
        self.is_over = True


def dialect_of(text: TextStream, path: Path) -> Dialect:
    """The dialect, by the first rows: its delimiter gives most of them as many cells as the header, two or more."""
    start = text.head[:_HEAD_BYTES].decode("utf-8", "replace").lstrip("\r\n")
    is_whole = len(text.head) <= _HEAD_BYTES
    if format_of(path).name == "TSV":
        return _with_header(Dialect("\t", _quote_of_tabbed(start, is_whole=is_whole), []), start)
    if hint := _EXCEL_HINT.match(start):
        return _with_header(Dialect(hint[1], '"', [], n_skipped=1), start[hint.end() :])
    escaped = bool(_ESCAPED_QUOTE.search(text.sample))
    best = (0.0, 1, _with_header(Dialect(_NO_DELIMITER, '"', []), start))
    for delimiter in _DELIMITERS:
        dialect = _with_header(Dialect(delimiter, '"', [], escaped=escaped), start)
        rows = list(itertools.islice(_rows(start, dialect), _LOOK_AT))
        header, *others = (rows if is_whole or len(rows) == _LOOK_AT else rows[:-1]) or rows or [[]]
        share = sum(len(row) == len(header) for row in others) / max(len(others), 1)
        if len(header) > 1 and (best[1] == 1 or (share, len(header)) > best[:2]):
            best = (share, len(header), dialect)
    return best[2]


def _with_header(dialect: Dialect, start: str) -> Dialect:
    """The dialect with the column names in the first row, if there is one; spaced if a space precedes each name."""
    header = next(_rows(start, dialect), [])
    if len(header) > 1 and all(name[:1] == " " and name.strip() for name in header[1:]):
        dialect = dialect._replace(spaced=True)
        header = next(_rows(start, dialect), [])
    return dialect._replace(header=header)


def _quote_of_tabbed(start: str, *, is_whole: bool) -> str | None:
    r"""The quotation mark if cells are quoted: some hold what only quoted cells can, and all are closed.

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


def _rows(text: str, dialect: Dialect) -> Iterator[list[str]]:
    return filter(None, _reader(io.StringIO(text, newline=""), dialect))


def _reader(lines: Iterable[str], dialect: Dialect) -> Any:
    """The csv module's reader. Its limit is global to the process: it is raised, never lowered."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
    if not dialect.quote:
        return csv.reader(lines, delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote, skipinitialspace=dialect.spaced,
                      escapechar="\\" if dialect.escaped else None)  # fmt: skip
