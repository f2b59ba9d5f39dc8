r"""Turns bytes into text in UTF-8: cleans it and divides it into chunks of whole lines (or paragraphs).

    read:  "a b\nc d\ne"  in pieces of 5 bytes     chunks:  "a b\n"  "c d\n"  "e\n"

Only `\n` ends a line; a `\r` before it is dropped later. Memory doesn't grow with the file: a line longer than
16 MB is cut at white space, refused, or kept whole up to 64 MB, as the caller decides. Does not look for sentences: see
`sentences`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from siamese_cbow.errors import InputError
from siamese_cbow.text.encodings import Decoder, Decoding, broken_error, decodes, is_too_broken
from siamese_cbow.text.opening import ByteStream, check_is_no_other_file, check_is_text, open_bytes
from siamese_cbow.text.records import BLOCK_BYTES, MAX_LINE_BYTES, MAX_ROW_BYTES, SAMPLE_BYTES

Unit: TypeAlias = Literal["line", "paragraph", "document"]
Overlong: TypeAlias = Literal["cut", "refuse", "keep"]
BOM = b"\xef\xbb\xbf"
_TOO_LONG = "expected one sentence per line; for running text use --layout paragraphs"
_TOO_LONG_TO_KEEP = "expected one text per line; split it into lines, or add --unit sentence to commands that have it"
_BLANK_LINE = re.compile(rb"\n[ \t\r\x0b\x0c]*\n")


@contextmanager
def open_text(path: Path | None, decoding: Decoding) -> Iterator[TextStream]:
    """Opens a file, or standard input (None), as text; raises an error if it is not text.

    decoding  its encoding, and where to record the one detected
    """
    with open_bytes(path) as stream:
        yield TextStream(stream, decoding)


class TextStream:
    """A text input in UTF-8, without byte order mark and NULs.

    head    the first megabyte
    sample  whole lines from all over the file, or from the head if the rest isn't available yet
    """

    def __init__(self, stream: ByteStream, decoding: Decoding) -> None:
        self.name = stream.name
        self._stream = stream
        start = stream.read(SAMPLE_BYTES)
        check_is_no_other_file(start, stream.name)
        self._decoder = Decoder(stream.name, decoding, start, stream.elsewhere() if len(start) == SAMPLE_BYTES else [])
        start = self._decoder.utf8(start).removeprefix(BOM)
        check_is_text(start, stream.name)
        self._old_mac = b"\r" in start and b"\n" not in start
        self.head = self._clean(start)
        self.sample = self._spread([self._clean(place) for place in self._decoder.places()])

    def reads(self, size: int = BLOCK_BYTES) -> Iterator[bytes]:
        """All the text, head included, in pieces of `size` bytes."""
        yield from (self.head[i : i + size] for i in range(0, len(self.head), size))
        while piece := self._stream.read(size):
            yield self._clean(self._decoder.utf8(piece))
        if rest := self._decoder.utf8(b"", is_last=True):
            yield rest

    def advance(self) -> int:
        """Bytes of the (compressed) input consumed since the last call."""
        return self._stream.advance()

    def _spread(self, places: list[bytes]) -> bytes:
        """A quarter of the head and all other places, with empty lines between; the whole head if there are none."""
        if not any(places):
            return self.head
        start = self.head[: len(self.head) // 4]
        return b"\n\n".join((start[: start.rfind(b"\n") + 1], *places))

    def _clean(self, piece: bytes) -> bytes:
        """NULs become spaces; a `\\r` that ends lines by itself (old Macintosh files) becomes `\\n`."""
        if b"\0" in piece:
            piece = piece.replace(b"\0", b" ")
        return piece.replace(b"\r", b"\n") if self._old_mac else piece


# Cutting


@dataclass(frozen=True)
class Chunk:
    """Whole lines, how many were cut, and the number of the first one in the input (from 1)."""

    data: bytes
    n_cut: int
    first_line: int


def line_chunks(
    reads: Iterator[bytes],
    name: str,
    *,
    by: Unit = "line",
    overlong: Overlong = "cut",
    limit: int = MAX_LINE_BYTES,
    advice: str = _TOO_LONG,
) -> Iterator[Chunk]:
    r"""Divides the input after the last whole line (`by="line"`) or the last blank line (`by="paragraph"`).

    With `by="document"`, all of it is one unit. Every chunk ends with `\n`. `overlong` says what happens to a unit of
    more than `limit` bytes.
    """
    cutter = _Cutter(name, by, overlong, limit, advice)
    rest, line = bytearray(), 1
    for piece, is_last in _with_last(reads):
        end = len(piece) if is_last else cutter.last_end(rest, piece)
        if end:
            whole = b"".join((rest, memoryview(piece)[:end]))  # the only copy of the text
            yield Chunk(*cutter.cut(whole if whole.endswith(b"\n") else whole + b"\n", line), line)
            line += _n_lines(whole)
            rest = bytearray(memoryview(piece)[end:])
        else:
            rest += piece
        while len(rest) > cutter.longest:
            end = cutter.long_end(rest, line)
            yield Chunk(bytes(rest[:end]) + cutter.separator, 1, line)
            line += _n_lines(rest[:end])
            del rest[:end]


def unit_end(read: Callable[[int, int], bytes], before: int, by: Unit) -> int:
    """The end of the last whole line or paragraph before a position in a file; 0 if there is none.

    read  read(2, 5) gives bytes 2, 3, 4
    """
    window, begin = 1 << 16, before
    while begin:
        begin = max(0, before - window)
        text = read(begin, before)
        ends = [text.rfind(b"\n") + 1] if by == "line" else [match.end() for match in _BLANK_LINE.finditer(text)]
        if ends and ends[-1]:
            return begin + ends[-1]
        window *= 8
    return 0


def cut_overlong(data: bytes, name: str, overlong: Overlong) -> tuple[bytes, int]:
    """Lines of more than 16 MB cut at white space, and the number of cuts; or an error, as `overlong` says."""
    return _Cutter(name, "line", overlong, MAX_LINE_BYTES).cut(data, 1)


def _with_last(pieces: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each piece, and whether it is the last one: ["a", "b"] -> ("a", False), ("b", True)."""
    current = next(pieces, b"")
    while current:
        following = next(pieces, b"")
        yield current, not following
        current = following


def _n_lines(text: bytes | bytearray) -> int:
    r"""The number of line ends; five times as fast as `text.count(b"\n")`, which stops at every line."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


@dataclass(frozen=True)
class _Cutter:
    """Where units (lines, paragraphs between blank lines, or the whole) end, and what happens to overlong ones."""

    name: str
    by: Unit
    overlong: Overlong
    limit: int
    advice: str = _TOO_LONG

    @property
    def separator(self) -> bytes:
        return b"\n\n" if self.by == "paragraph" else b"\n"

    @property
    def longest(self) -> int:
        return MAX_ROW_BYTES if self.overlong == "keep" else self.limit

    def last_end(self, rest: bytearray, piece: bytes) -> int:
        """The end of the last whole unit, counted in `piece`, or 0; `rest`, which comes before it, has none."""
        if self.by != "paragraph":
            return piece.rfind(b"\n") + 1 if self.by == "line" else 0
        end = unit_end(lambda start, stop: piece[start:stop], len(piece), self.by)
        return end or self._end_across(rest, piece)

    @staticmethod
    def _end_across(rest: bytearray, piece: bytes) -> int:
        """A blank line that began in `rest` and ends in `piece`."""
        last_line = rest[rest.rfind(b"\n") :]
        match = _BLANK_LINE.match(last_line + piece[: piece.find(b"\n") + 1])
        return match.end() - len(last_line) if match else 0

    def cut(self, text: bytes, line: int) -> tuple[bytes, int]:
        """`text` (whole units) with those over the limit cut, and the number of cuts."""
        if len(text) <= self.longest:
            return text, 0
        pieces: list[bytes] = []
        n_cut = 0
        whole = text.removesuffix(b"\n")
        lines = [whole] if self.by == "document" else whole.split(b"\n")
        for unit in _BLANK_LINE.split(text) if self.by == "paragraph" else lines:
            rest = unit
            while len(rest) > self.longest:
                end = self.long_end(rest, line + len(pieces) - n_cut)
                pieces.append(rest[:end])
                rest = rest[end:]
                n_cut += 1
            pieces.append(rest)
        return self.separator.join(pieces) + b"\n", n_cut

    def long_end(self, text: bytes | bytearray, line: int) -> int:
        """Where to cut an overlong unit: at white space, else between two characters."""
        if self.overlong != "cut":
            advice = _TOO_LONG_TO_KEEP if self.overlong == "keep" else self.advice
            where = "" if self.by == "document" else f" line {line:,}"
            raise InputError(f"{self.name}{where} is longer than {self.longest:,} bytes; {advice}")
        end = max(text.rfind(space, self.limit // 2, self.limit) for space in (b" ", b"\n", b"\t")) + 1
        if end:
            return end
        end = self.limit
        while end > self.limit - 4 and text[end] & 0xC0 == 0x80:
            end -= 1
        return end


# UTF-8


_FEW = 64  # broken characters in a block that may be accidental


def valid_utf8(data: bytes, source: str = "the text") -> tuple[bytes, int]:
    r"""`data` with broken UTF-8 replaced by U+FFFD, and the number of replacements.

    `valid_utf8(b"caf\xe9")` -> (b"caf\xef\xbf\xbd", 1). Too many are an error: this part of `source` is in another
    encoding, though the text began as UTF-8.
    """
    if data.isascii() or _is_utf8(data):
        return data, 0
    repaired = data.decode("utf-8", "replace").encode()
    n_broken = repaired.count(b"\xef\xbf\xbd") - data.count(b"\xef\xbf\xbd")
    if n_broken > _FEW and is_too_broken(n_broken, n_characters := len(repaired.decode())):
        raise broken_error(source, n_broken, n_characters, "utf-8", [data])
    return repaired, n_broken


def _is_utf8(data: bytes) -> bool:
    if len(data) < 1 << 16:
        return decodes(data)
    from siamese_cbow.machine.utf8 import is_utf8  # a kernel, which small commands need not wait for

    return bool(is_utf8(np.frombuffer(data, np.uint8)))
