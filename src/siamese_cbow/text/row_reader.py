r"""Reads text as rows with their positions: a line, a sentence or a record of a table, with its source and number.

notes.txt: "a b\n\nc d\n"   ->   rows "a b" (line 1), "" (line 2), "c d" (line 3)
a.csv: one row per record, even with line ends inside; numbered by record, from 1

reader = RowReader("notes/", TextSettings(unit="sentence"))
for block in reader.blocks():          # sequential and cheap; memory doesn't grow with the text
    rows = reader.rows(block)          # pure and heavy: any thread may do it
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.disk import as_path
from siamese_cbow.errors import InputError, SettingsError, listed
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.text.chunks import Overlong, valid_utf8
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.inputs import ITERABLE, Inputs, lines_bytes
from siamese_cbow.text.languages import AUTO
from siamese_cbow.text.layout import sample_evidence
from siamese_cbow.text.reader import Form, file_blocks, language_of, line_blocks, walk_of
from siamese_cbow.text.records import MARK, AnyLayout, NoText, RawBlock, TextSettings, text_settings

Say: TypeAlias = Callable[[str], None]


class Line(NamedTuple):
    """A row and its number: `Line(12, "my cat sat")`."""

    number: int
    text: str


@dataclass(frozen=True)
class Rows:
    r"""Finished rows in valid UTF-8: row i is `text[starts[i]:starts[i + 1]]`, on line `numbers[i]`."""

    text: bytes
    source: str
    numbers: NDArray[np.int64] | None  # (n_rows,); None if consecutive
    first: int  # the number of the first line, or record
    counted: Literal["line", "record"] = "line"  # what the numbers count

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each row begins, (n_rows + 1,)."""
        return np.append(0, np.flatnonzero(np.frombuffer(self.text, np.uint8) == ord("\n")) + 1)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def number(self, row: int) -> int:
        """The number of a row's line or record, from 1."""
        return self.first + row if self.numbers is None else int(self.numbers[row])

    def row(self, row: int) -> str:
        """The text of a row, without its line end."""
        return self.text[self.starts[row] : self.starts[row + 1]].rstrip(b"\r\n").decode()

    def texts(self, first: int = 0, last: int | None = None) -> list[str]:
        """The texts of rows first, first + 1, ..., last - 1, as far as they exist; by default all."""
        return [self.row(row) for row in self._range(first, last)]

    def lines(self, first: int, last: int) -> tuple[Line, ...]:
        """Rows first, first + 1, ..., last - 1 with their numbers."""
        return tuple(Line(self.number(row), self.row(row)) for row in self._range(first, last))

    def _range(self, first: int, last: int | None) -> range:
        return range(max(first, 0), len(self) if last is None else min(last, len(self)))


class RowReader:
    """Rows of files, folders, globs, "-" for standard input, or `Texts([...])`.

    settings     how text is read, and what a row is
    say          called with a line about each skipped file that came from a folder or a pattern, and with `remarks` at
                 the end. Without it, and for a file named explicitly, a file that can't be read is an error
    files        as in `Corpus`, like `total_bytes`
    aliases      file -> the name to show instead
    source       while `texts` runs, the source of the last one
    """

    def __init__(self, inputs: Any, settings: TextSettings | None = None, *, say: Say | None = None) -> None:
        self.settings = text_settings(settings)
        if self.settings.kind == "groups":
            raise SettingsError("kind is 'groups', which is for training only; expected 'text'")
        self._inputs, self._say = Inputs(inputs, walk_of(self.settings)), say
        self.files, self.total_bytes = self._inputs.files, self._inputs.total_bytes
        self.aliases, self.source = dict[str, str](), ""
        self._decoding = self.settings.decoding()
        self._said: set[str] = set()
        self._paragraphs: list[str] = []  # documents, whose rows are paragraphs
        self._wrapped: list[str] = []  # sources whose rows are paragraphs too, though the user didn't ask for that
        self._language = ""  # the message about it

    @classmethod
    def of(cls, inputs: Any, settings: TextSettings | None, say: Say) -> RowReader:
        """A function's argument `inputs` as a reader, unless it is one already."""
        return inputs if isinstance(inputs, RowReader) else cls(inputs, settings, say=say)

    @property
    def names_help(self) -> bool:
        """Whether rows should name their file: there are several, or the user did not name it."""
        paths = self._inputs.paths
        return len(paths) > 1 or not all(map(self._inputs.is_named, paths))

    def blocks(self) -> Iterator[RawBlock]:
        """The text in order, about 4 MB at a time."""
        return self._with_language(self._blocks())

    def settle_language(self) -> None:
        """Detects the language now if sentences are to be split and the user named none."""
        if self.files:
            self._with_language(iter(()))

    def _with_language(self, blocks: Iterator[RawBlock]) -> Iterator[RawBlock]:
        if self.settings.unit == "sentence" and self.settings.language == AUTO:
            detected, blocks = language_of(self._inputs, self.settings, blocks)
            self.settings = replace(self.settings, language=detected.language.code)
            self._language = detected.message("--sentence-language", decides=f"splitter {detected.language.splitter}")
        return blocks

    def _blocks(self) -> Iterator[RawBlock]:
        if self._inputs.items is not None:
            yield from self._item_blocks(iter(self._inputs.items))
        self._wrapped.clear()
        self._paragraphs.clear()
        self._decoding.broken.clear()
        yield from self._inputs.blocks(self._blocks_of)
        if self._say is not None:
            for remark in self.remarks:
                self._say_once(remark)

    def _say_once(self, remark: str) -> None:
        """Passes on a message, but not a second time if the text is read again."""
        if self._say is not None and remark not in self._said:
            self._said.add(remark)
            self._say(remark)

    def _blocks_of(self, path: Path | None) -> Iterator[RawBlock]:
        try:
            for block in self.file_blocks(path):
                yield replace(block, source=self.aliases.get(block.source, block.source))
        except NoText:
            raise
        except InputError as error:
            if self._say is None or self._inputs.is_named(path):
                raise
            self._say_once(f"skipped: {error}")

    @property
    def remarks(self) -> list[str]:
        """Messages about how the text was read; complete once its blocks have been read."""
        wrapped, paragraphs = ([self.aliases.get(name, name) for name in dict.fromkeys(names)]
                               for names in (self._wrapped, self._paragraphs))  # fmt: skip
        rows = []
        if wrapped:
            rows.append(f"lines are wrapped, so each paragraph is a row: {listed(wrapped)} (--unit line)")
        if paragraphs:
            rows.append(f"each paragraph of a document is a row: {listed(paragraphs)}")
        language = [self._language] if self._language else []
        return [*self._inputs.remarks, *self._decoding.remarks(), *rows, *language]

    def file_blocks(self, path: Path | None) -> Iterator[RawBlock]:
        """The blocks of one file, whose broken characters are replaced and counted; None is standard input."""
        for block in file_blocks(path, self.settings, self._choose, self._decoding):
            data, n_broken = valid_utf8(block.data, block.source)
            self._decoding.broken[self.aliases.get(block.source, block.source)] += n_broken
            yield replace(block, data=data) if n_broken else block

    def rows(self, block: RawBlock) -> Rows:
        """The rows of a block: UTF-8 repaired, running text split into sentences on request."""
        return finished_rows(block, self.settings)

    def row_blocks(self, progress: Progress = SILENT) -> Iterator[Rows]:
        """The rows of each block; progress counts a block once the next one is requested."""
        for block in self.blocks():
            yield self.rows(block)
            progress.advance(block.n_source_bytes)

    def texts(self, progress: Progress = SILENT) -> Iterator[str]:
        """The text of each row; records keep their line ends."""
        for block in self.blocks():
            self.source = block.source
            yield from block_texts(block) if unit_of(block, self.settings) == "line" else self.rows(block).texts()
            progress.advance(block.n_source_bytes)

    def _item_blocks(self, items: Iterator[Any]) -> Iterator[RawBlock]:
        layout: AnyLayout = "sentences" if self.settings.layout == "sentences" else "paragraphs"
        first = 1
        while batch := list(itertools.islice(items, 20_000)):
            for number, item in enumerate(batch, first):
                if not isinstance(item, str):
                    what = f"{item!r:.60} ({type(item).__name__})"
                    raise InputError(f"text {number:,} is {what}; expected a string: convert it, or leave it out")
            data = lines_bytes(batch)
            yield RawBlock(data, ITERABLE, layout, len(data), first)
            first += len(batch)

    def _choose(self, sample: bytes, name: str, form: Form) -> tuple[AnyLayout, Overlong]:
        # Each line is a row, so none is cut, and one of more than 64 MB is an error; for sentences any line may be cut.
        return self._layout(sample, name, form), "cut" if self.settings.unit == "sentence" else "keep"

    def _layout(self, sample: bytes, name: str, form: Form) -> AnyLayout:
        """How lines become rows: each is one, or they are running text (paragraphs or wrapped), or all are one."""
        unit, marked = self.settings.unit, form == "records"
        if form == "paragraphs":
            if unit == "line":
                self._paragraphs.append(name)
            return "document" if unit == "document" else "paragraphs"
        if unit == "line" or (marked and unit in ("auto", "document")):
            return "sentences"
        if unit == "document":
            return "document"
        layout = sample_evidence(sample).layout if self.settings.layout == "auto" else self.settings.layout
        if unit == "sentence":
            return "paragraphs" if self.settings.layout == "auto" and layout == "sentences" else layout
        if unit == "paragraph":  # with one sentence per line, the lines between empty lines
            return "paragraphs" if layout == "paragraphs" and not marked else "wrapped"
        if layout == "wrapped":
            self._wrapped.append(name)
        return "wrapped" if layout == "wrapped" else "sentences"


def iter_lines(path: str | Path, decoding: Decoding | None = None) -> Iterator[str]:
    r"""Every line of a (compressed) file, whatever its ending, or of standard input (`-`), without its line end.

    One item per line, whatever its content: `"a\n\nb\r\nc"` -> "a", "", "b", "c". Broken UTF-8 becomes U+FFFD.
    """
    file, decoding = None if path == "-" else as_path(path), decoding or Decoding()
    for block in line_blocks(file, lambda *sample: ("sentences", "keep"), decoding):
        decoding.broken[block.source] += valid_utf8(block.data, block.source)[1]
        yield from block_texts(block)


def block_texts(block: RawBlock) -> list[str]:
    """The lines or records of a block, unchanged."""
    text = valid_utf8(block.data, block.source)[0].decode()
    if block.marked:
        return [record.removesuffix("\n") for record in text.split(MARK.decode())[:-1]]
    lines = text.removesuffix(MARK.decode()).split("\n")[:-1]
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


# From a raw block to rows


def unit_of(block: RawBlock, settings: TextSettings) -> Literal["line", "sentence", "paragraph", "document"]:
    """What a row of this block is."""
    if settings.unit == "sentence":
        return "sentence"
    if block.layout == "document":
        return "document"
    return "paragraph" if block.layout == "wrapped" else "line"


def finished_rows(block: RawBlock, settings: TextSettings) -> Rows:
    """The rows of a block. Pure: the same block gives the same rows, in any thread."""
    text, _ = valid_utf8(block.data, block.source)
    unit = unit_of(block, settings)
    if unit == "document":
        row = b" ".join(text.removesuffix(MARK).splitlines()).strip() + b"\n"
        return Rows(row, block.source, np.array([block.first]), block.first)
    if unit != "line":
        from siamese_cbow.text.sentences import line_of_each, paragraph_lines, sentence_lines, wrapped_text

        pieces = sentence_lines(block, settings).text if unit == "sentence" else paragraph_lines(block)
        rows = b"".join(piece + b"\n" for piece in map(bytes.strip, pieces.split(b"\n")) if piece)
        text = wrapped_text(block)
        lines = line_of_each(rows, text)
        if block.numbers is not None:
            return Rows(rows, block.source, np.array(block.numbers, np.int64)[lines], block.first)
        if block.marked:  # lines are numbered by their record: count the marks before them
            numbers = np.cumsum([line == b"\0" for line in text.split(b"\n")])[lines]
        else:
            numbers = np.maximum(lines - block.n_cut, 0)
        return Rows(rows, block.source, numbers + block.first, block.first, "record" if block.marked else "line")
    rows = _record_lines(text) if block.marked else text.removesuffix(MARK)
    if block.numbers is not None:
        return Rows(rows, block.source, np.array(block.numbers[: rows.count(b"\n")], np.int64), block.first)
    return Rows(rows, block.source, None, block.first, "record" if block.marked else "line")


def _record_lines(data: bytes) -> bytes:
    r"""One line per record: `b"a\nb\n\0\nc\n\0\n"` -> `b"a b\nc\n"`."""
    text = data.replace(MARK, b"")
    if text.count(b"\n") == data.count(MARK):  # no record contains line ends
        return text
    records = data.replace(b"\r\n", b"\n").split(MARK)[:-1]
    return b"".join(b" ".join(filter(None, record.split(b"\n"))) + b"\n" for record in records)
