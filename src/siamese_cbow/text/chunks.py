r"""A stream of bytes cut into chunks of whole lines (or whole paragraphs), in memory that doesn't grow with the file.

    read:  "a b\nc d\ne"  in pieces of 5 bytes     chunks:  "a b\n"  "c d\n"  "e\n"

Only `\n` ends a line; a `\r` before it is dropped later. A line longer than 16 MB is an error where lines are
sentences, and is cut at white space where lines are running text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from siamese_cbow.errors import InputError
from siamese_cbow.text.opening import ByteStream, open_bytes
from siamese_cbow.text.records import BLOCK_BYTES, MAX_LINE_BYTES, SAMPLE_BYTES
from siamese_cbow.text.sniff import check_is_text

_BOM = b"\xef\xbb\xbf"
_TOO_LONG = "expected one sentence a line: for running text use --layout paragraphs"
_BLANK_LINE = re.compile(rb"\n[ \t\r\x0b\x0c]*\n")


@dataclass(frozen=True)
class Chunk:
    """Whole lines, how many had to be cut, and the number of the first one in the input (from 1)."""

    data: bytes
    n_cut: int
    first_line: int


class TextStream:
    """The bytes of an input that was found to be text: no byte order mark, no NULs, and a head to look at."""

    def __init__(self, stream: ByteStream) -> None:
        self.name = stream.name
        self._stream = stream
        start = stream.read(SAMPLE_BYTES)
        check_is_text(start, stream.name)
        self._old_mac = b"\r" in start and b"\n" not in start
        self.head = self._clean(start.removeprefix(_BOM))

    def reads(self, size: int = BLOCK_BYTES) -> Iterator[bytes]:
        """All the text, head included, in pieces of `size` bytes."""
        yield from (self.head[i : i + size] for i in range(0, len(self.head), size))
        while piece := self._stream.read(size):
            yield self._clean(piece)

    def position(self) -> int:
        """Bytes of the (compressed) input consumed so far."""
        return self._stream.position()

    def _clean(self, piece: bytes) -> bytes:
        """NULs become spaces; where `\\r` alone ends lines (old Macintosh files), it becomes `\\n`."""
        if b"\0" in piece:
            piece = piece.replace(b"\0", b" ")
        return piece.replace(b"\r", b"\n") if self._old_mac else piece


def line_chunks(
    reads: Iterator[bytes],
    name: str,
    *,
    by: Literal["line", "paragraph"] = "line",
    cut_long: bool = True,
    limit: int = MAX_LINE_BYTES,
    advice: str = _TOO_LONG,
) -> Iterator[Chunk]:
    r"""Cut what is read after the last whole line (`by="line"`) or the last blank line (`by="paragraph"`).

    Every chunk ends with `\n`. A line or paragraph of more than `limit` bytes is cut at white space, or, with
    `cut_long=False`, an error.
    """
    cutter = _Cutter(name, by == "paragraph", cut_long, limit, advice)
    rest, line = b"", 1
    for piece, is_last in _with_last(reads):
        end = len(piece) if is_last else cutter.last_end(rest, piece)
        if end:
            whole = b"".join((rest, memoryview(piece)[:end]))  # the only copy of the text on its way
            yield Chunk(*cutter.cut(whole if whole.endswith(b"\n") else whole + b"\n", line), line)
            line += _n_lines(whole)
            rest = piece[end:]
        else:
            rest += piece
        while len(rest) > limit:
            end = cutter.long_end(rest, line)
            yield Chunk(rest[:end] + cutter.separator, 1, line)
            line += _n_lines(rest[:end])
            rest = rest[end:]


def _with_last(pieces: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each piece, and whether it is the last one: ["a", "b"] -> ("a", False), ("b", True)."""
    current = next(pieces, b"")
    while current:
        following = next(pieces, b"")
        yield current, not following
        current = following


def _n_lines(text: bytes) -> int:
    """Five times as fast as `text.count(b"\n")`, which stops at every line."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


@dataclass(frozen=True)
class _Cutter:
    """Where units (lines, or paragraphs between blank lines) end, and what happens to those that are too long."""

    name: str
    paragraphs: bool
    cut_long: bool
    limit: int
    advice: str = _TOO_LONG

    @property
    def separator(self) -> bytes:
        return b"\n\n" if self.paragraphs else b"\n"

    def last_end(self, rest: bytes, piece: bytes) -> int:
        """The end of the last whole unit, counted in `piece`, or 0; `rest`, which comes before it, has none."""
        if not self.paragraphs:
            return piece.rfind(b"\n") + 1
        window = 1 << 16
        while True:
            begin = max(0, len(piece) - window)
            ends = [match.end() for match in _BLANK_LINE.finditer(piece, begin)]
            if ends:
                return ends[-1]
            if begin == 0:
                return self._end_across(rest, piece)
            window *= 8

    @staticmethod
    def _end_across(rest: bytes, piece: bytes) -> int:
        """A blank line that began in `rest` and ends in `piece`."""
        last_line = rest[rest.rfind(b"\n") :]
        match = _BLANK_LINE.match(last_line + piece[: piece.find(b"\n") + 1])
        return match.end() - len(last_line) if match else 0

    def cut(self, text: bytes, line: int) -> tuple[bytes, int]:
        """`text` (whole units) with those over the limit cut, and the number of cuts."""
        if len(text) <= self.limit:
            return text, 0
        pieces: list[bytes] = []
        n_cut = 0
        for unit in _BLANK_LINE.split(text) if self.paragraphs else text.removesuffix(b"\n").split(b"\n"):
            rest = unit
            while len(rest) > self.limit:
                end = self.long_end(rest, line + len(pieces) - n_cut)
                pieces.append(rest[:end])
                rest = rest[end:]
                n_cut += 1
            pieces.append(rest)
        return self.separator.join(pieces) + b"\n", n_cut

    def long_end(self, text: bytes, line: int) -> int:
        """Where to cut a unit that is too long: at white space, else between two characters."""
        if not self.cut_long:
            raise InputError(f"{self.name} line {line:,} is longer than {self.limit:,} bytes; {self.advice}")
        end = max(text.rfind(space, self.limit // 2, self.limit) for space in (b" ", b"\n", b"\t")) + 1
        if end:
            return end
        end = self.limit
        while end > self.limit - 4 and text[end] & 0xC0 == 0x80:
            end -= 1
        return end


def cut_overlong(data: bytes, name: str, *, cut_long: bool) -> tuple[bytes, int]:
    """Lines of more than 16 MB cut at white space, and how many cuts; with `cut_long=False` they are an error."""
    return _Cutter(name, False, cut_long, MAX_LINE_BYTES).cut(data, 1)


def iter_lines(path: str | Path) -> Iterator[str]:
    r"""Every line of a (compressed) text file, or of standard input (`-`), as a string without its line end.

    One item per line whatever it holds: `"a\n\nb\r\nc"` -> "a", "", "b", "c". Broken UTF-8 becomes U+FFFD.
    Nothing but the line at hand is kept in memory.
    """
    with open_bytes(None if path == "-" else Path(path).expanduser()) as stream:
        start = stream.read(SAMPLE_BYTES)
        check_is_text(start, stream.name)
        piece = start.removeprefix(_BOM)
        rest: list[bytes] = []  # pieces of a line that has not ended yet
        while piece:
            first, *others = piece.split(b"\n")
            rest.append(first)
            if others:
                yield _decoded(b"".join(rest))
                yield from map(_decoded, others[:-1])
                rest = [others[-1]]
            piece = stream.read(BLOCK_BYTES)
        if any(rest):
            yield _decoded(b"".join(rest))


def _decoded(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")
