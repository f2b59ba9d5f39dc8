r"""Text as rows that know where they stand: a row is a line (or a sentence) with its file and the number of its line.

    notes.txt: "a b\n\nc d\n"   ->   rows "a b" (line 1), "" (line 2), "c d" (line 3)

Blocks of some megabytes come one after another, so that memory doesn't depend on the size of the input. Reading is
cheap and done in order; `finished` does the rest, in any thread.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.errors import InputError
from siamese_cbow.text.chunks import TextStream, line_chunks
from siamese_cbow.text.inputs import TABLE_ENDINGS, ending_of, find_files
from siamese_cbow.text.layout import evidence_of
from siamese_cbow.text.opening import open_bytes
from siamese_cbow.text.records import BLOCK_BYTES, MARK, SAMPLE_BYTES
from siamese_cbow.text.rows import ITERABLE, Texts, lines_bytes
from siamese_cbow.text.table_files import table_batches
from siamese_cbow.text.utf8 import valid_utf8


@dataclass(frozen=True)
class RowSettings:
    """What a row is.

    sentences    False: a line is a row; True: running text is cut into sentences, and a row is one of them
    language     of the sentence splitter, as a code such as "en", "de", "zh"
    text_column  the column of JSON lines, CSV, TSV and Parquet that holds the text; a record is a row
    """

    sentences: bool = False
    language: str = "en"
    text_column: str = "text"


@dataclass(frozen=True)
class Block:
    r"""Some megabytes of one source. `data` ends with a line end; `finished` makes `Rows` of it."""

    data: bytes
    source: str  # a path, "standard input" or "the iterable"
    first_line: int  # its number in the source, from 1
    n_source_bytes: int  # of the file on disk, for a progress bar
    n_cut: int = 0  # the first line was too long and stands here in pieces, with so many line ends added
    wrapped: bool = False  # short lines of running text: a paragraph ends at an empty line


class Line(NamedTuple):
    """A row and the number of its line: `Line(12, "my cat sat")`."""

    number: int
    text: str


@dataclass(frozen=True)
class Rows:
    r"""Finished rows in valid UTF-8: row i is `text[starts[i]:starts[i + 1]]`, on line `numbers[i]`."""

    text: bytes
    source: str
    numbers: NDArray[np.int64] | None  # (n_rows,); None where the lines simply follow one another
    first_line: int

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each row begins, (n_rows + 1,)."""
        return np.append(0, np.flatnonzero(np.frombuffer(self.text, np.uint8) == ord("\n")) + 1)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def number(self, row: int) -> int:
        """The number of the line that a row stands on, from 1."""
        return self.first_line + row if self.numbers is None else int(self.numbers[row])

    def row(self, row: int) -> str:
        """The text of a row, without its line end."""
        return self.text[self.starts[row] : self.starts[row + 1]].rstrip(b"\r\n").decode()

    def texts(self, first: int, last: int) -> list[str]:
        """The texts of rows first, first + 1, ..., last - 1, as far as they are there."""
        return [self.row(row) for row in range(max(first, 0), min(last, len(self)))]

    def lines(self, first: int, last: int) -> tuple[Line, ...]:
        """The same with their numbers."""
        return tuple(Line(self.number(row), self.row(row)) for row in range(max(first, 0), min(last, len(self))))


class Source:
    """What is searched: files, folders, globs, "-" for standard input, or `Texts([...])`.

    total_bytes  of the files on disk; None where that can't be known
    n_files      how many there are; a folder of one file counts as several, as its name is worth telling
    aliases      file -> the name to tell instead
    say          called with a line about each file that had to be left out: one that a folder or a pattern has brought
                 in; a file that was named itself is an error
    """

    def __init__(self, inputs: Any, settings: RowSettings, say: Callable[[str], None] = lambda message: None) -> None:
        self.settings, self._say = settings, say
        self.aliases: dict[str, str] = {}
        self._texts: Iterable[Any] | None = None
        self._paths: list[Path | None] = []
        self._named: set[Path] = set()
        if isinstance(inputs, Texts):
            self._texts = inputs.texts
        else:
            given = [inputs] if isinstance(inputs, str | Path) else list(inputs)
            self._paths = find_files(given)
            self._named = {Path(name).expanduser() for name in given}
        files = [path for path in self._paths if path is not None and path.is_file()]
        self.files = files if self._texts is None and len(files) == len(self._paths) else []
        self.total_bytes = sum(path.stat().st_size for path in files) if self.files else None
        self.n_files = len(self._paths) + sum(not self.is_named(path) for path in self._paths)

    def is_named(self, path: Path | None) -> bool:
        """Whether a file was given by its own name, and not by its folder or a pattern."""
        return path is None or path in self._named

    def blocks(self) -> Iterator[Block]:
        """The text in order, about 4 MB at a time."""
        if self._texts is not None:
            yield from _text_blocks(self._texts)
        for path in self._paths:
            try:
                for block in self.file_blocks(path):
                    yield replace(block, source=self.aliases.get(block.source, block.source))
            except InputError as error:
                if self.is_named(path):
                    raise
                self._say(f"left out: {error}")

    def file_blocks(self, path: Path | None) -> Iterator[Block]:
        """The blocks of one file; None is standard input."""
        if path is not None and ending_of(path) in TABLE_ENDINGS:
            return _table_blocks(path, self.settings.text_column)
        return self._line_blocks(path)

    def _line_blocks(self, path: Path | None) -> Iterator[Block]:
        with open_bytes(path) as stream:
            text, done = TextStream(stream), 0
            wrapped = self.settings.sentences and _is_wrapped(text.head)
            for chunk in line_chunks(text.reads(), text.name, by="paragraph" if wrapped else "line"):
                before, done = done, text.position()
                yield Block(chunk.data, text.name, chunk.first_line, done - before, chunk.n_cut, wrapped)


def finished(block: Block, settings: RowSettings) -> Rows:
    """The rows of a block: UTF-8 repaired, running text cut into sentences where asked to. Pure, so for any thread."""
    text, _ = valid_utf8(block.data)
    if settings.sentences:
        from siamese_cbow.retrieval.sentences import sentence_rows

        text, numbers = sentence_rows(text, settings.language, wrapped=block.wrapped)
        return Rows(text, block.source, np.maximum(numbers - block.n_cut, 0) + block.first_line, block.first_line)
    rows = Rows(text, block.source, None, block.first_line)
    if not block.n_cut:
        return rows
    numbers = np.maximum(np.arange(len(rows)) - block.n_cut, 0) + block.first_line
    return Rows(text, block.source, numbers, block.first_line)


def _text_blocks(texts: Iterable[Any]) -> Iterator[Block]:
    iterator, first = iter(texts), 1
    while batch := list(itertools.islice(iterator, 20_000)):
        strange = next((text for text in batch if not isinstance(text, str)), None)
        if strange is not None:
            raise InputError(f"Texts holds {type(strange).__name__} {strange!r:.60}; expected strings")
        data = lines_bytes(batch)
        yield Block(data, ITERABLE, first, len(data))
        first += len(batch)


def _table_blocks(path: Path, column: str) -> Iterator[Block]:
    first = 1
    for documents, n_source_bytes in table_batches(path, column):
        rows = [document.removesuffix(MARK).strip(b"\n").replace(b"\n", b" ") + b"\n" for document in documents]
        pieces = _cut_lists(rows)
        for i, piece in enumerate(pieces):
            yield Block(b"".join(piece), str(path), first, n_source_bytes if i == len(pieces) - 1 else 0)
            first += len(piece)


def _cut_lists(rows: list[bytes]) -> list[list[bytes]]:
    """Rows in lists of about 4 MB: a batch of a table may be far larger."""
    lists: list[list[bytes]] = [[]]
    size = 0
    for row in rows:
        if size >= BLOCK_BYTES:
            lists.append([])
            size = 0
        lists[-1].append(row)
        size += len(row)
    return lists


def _is_wrapped(head: bytes) -> bool:
    return evidence_of(head[:SAMPLE_BYTES], is_whole=len(head) < SAMPLE_BYTES).layout == "wrapped"
