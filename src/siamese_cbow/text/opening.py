"""Files and standard input as streams of bytes: opened, decompressed and checked to be text. Errors name the file.

A truncated stream is an error, never a short text: gzip, bzip2, xz and zstd come from the standard library
(before Python 3.14, zstd comes from its backport), which raises an error if the end is missing. All of them release the
GIL.

The first bytes show what clearly isn't text: known file types and heads full of control bytes. Does not detect
encodings: see `encodings`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from siamese_cbow.errors import InputError
from siamese_cbow.text.records import NoText

STDIN = "standard input"
COMPRESSIONS: dict[str, tuple[bytes, ...]] = {  # ending -> how such a file starts
    ".gz": (b"\x1f\x8b",),
    ".bz2": (b"BZh",),
    ".xz": (b"\xfd7zXZ\0",),
    ".zst": (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + i]) + b"\x2a\x4d\x18" for i in range(16))),
}

N_PLACES, PLACE_BYTES = 16, 1 << 16  # sampled in a file besides its head
_LONGEST_START = max(len(start) for starts in COMPRESSIONS.values() for start in starts)


def compression_of(head: bytes) -> str | None:
    r"""The ending a file with these first bytes should have: `compression_of(b"\x1f\x8b\x08")` -> '.gz'."""
    return next((ending for ending, starts in COMPRESSIONS.items() if head.startswith(starts)), None)


def ending_of(path: Path) -> str:
    """The ending that gives the format, without the compression: `ending_of(Path("a.JSONL.gz"))` -> '.jsonl'."""
    inner = Path(path.stem) if path.suffix.lower() in COMPRESSIONS else path
    return inner.suffix.lower()


class Readable(Protocol):
    """Anything with `read(size) -> bytes`."""

    def read(self, size: int, /) -> bytes | None:
        """At most `size` bytes; none at the end."""


class ByteStream:
    """Bytes of one input, decompressed. `read(n)` gives n bytes unless the end comes first."""

    def __init__(self, name: str, raw: Readable, reader: Readable) -> None:
        self.name = name
        self._raw, self._reader = raw, reader
        self._n_read = self._n_reported = 0
        self._n_bytes = os.fstat(raw.fileno()).st_size if isinstance(raw, io.FileIO) and raw is reader else 0

    def read(self, size: int) -> bytes:
        """The next `size` bytes, fewer at the end, none after it."""
        pieces: list[bytes] = []
        wanted = size
        while wanted:
            with _clear_read_errors(self.name, self._n_read, compressed=self._reader is not self._raw):
                piece = self._reader.read(wanted)
            if not piece:
                self._check_length()
                break
            pieces.append(piece)
            wanted -= len(piece)
            self._n_read += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _check_length(self) -> None:
        """Raises an error if the file became shorter since it was opened; a growing file is read on."""
        if self._n_read < self._n_bytes:
            raise InputError(
                f"{self.name} shrank while it was read: {self._n_read:,} of {self._n_bytes:,} bytes; wait "
                "until it is complete, then run the same command again"
            )

    def advance(self) -> int:
        """Bytes of the (compressed) input consumed since the last call."""
        before = self._n_reported
        self._n_reported = (
            self._raw.tell() if isinstance(self._raw, io.FileIO) and self._raw.seekable() else self._n_read
        )
        return self._n_reported - before

    def elsewhere(self) -> list[bytes]:
        """Samples from all over the rest of the file; none if it is compressed or can't be read twice."""
        if self._reader is not self._raw or not (isinstance(self._raw, io.FileIO) and self._raw.seekable()):
            return []
        handle, n_bytes = self._raw.fileno(), os.fstat(self._raw.fileno()).st_size
        step = (n_bytes - self._n_read) // N_PLACES // 4 * 4  # UTF-16 and UTF-32 begin at multiples of 4
        first = self._n_read // 4 * 4
        places = range(first, n_bytes, max(step, PLACE_BYTES))[:N_PLACES]
        with _clear_read_errors(self.name, self._n_read, compressed=False):
            return [os.pread(handle, PLACE_BYTES, place) for place in places]


@contextmanager
def open_bytes(path: Path | None) -> Iterator[ByteStream]:
    """Opens a file, decompressing by its ending, or standard input (None), decompressing by its first bytes."""
    if path is None:
        yield _stdin_stream()
        return
    with _open_errors(path), path.open("rb", buffering=0) as raw:
        ending = path.suffix.lower()
        if ending not in COMPRESSIONS:
            yield ByteStream(str(path), raw, raw)
            return
        if raw.seekable():
            _check_start(path, raw, ending)
        yield ByteStream(str(path), raw, _decompress(raw, ending))


class PiecesFile(io.RawIOBase):
    """Pieces of bytes as a file that decompressors and Arrow can read; closing it closes nothing else."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, memoryview(b"")

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Some bytes, at most what is left of one piece; 0 at the end."""
        self._rest = self._rest or memoryview(next(self._pieces, b""))
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n


def _stdin_stream() -> ByteStream:
    """Standard input, decompressed by its first bytes: it has no name that shows the compression."""
    if sys.stdin is None:
        raise InputError("standard input is closed; expected text: name files, or pipe text into the command")
    source = sys.stdin.buffer
    start = source.read(_LONGEST_START)
    ending = compression_of(start)
    raw = PiecesFile(itertools.chain([start], iter(lambda: source.read(1 << 20), b"")))
    return ByteStream(STDIN, raw, _decompress(raw, ending) if ending else raw)


def _decompress(raw: Readable, ending: str) -> Readable:
    source = cast(BinaryIO, raw)
    if ending == ".gz":
        return gzip.GzipFile(fileobj=source)
    if ending == ".bz2":
        return bz2.BZ2File(source)
    if ending == ".xz":
        return lzma.LZMAFile(source)
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdFile(source)


def _check_start(path: Path, raw: io.FileIO, ending: str) -> None:
    start = raw.read(_LONGEST_START)
    raw.seek(0)
    if (real := compression_of(start)) == ending:
        return
    state = "is empty" if not start else f"starts with {start[:4].decode('ascii', 'backslashreplace')!r}"
    advice = f"rename it to end in {real}" if real else "get it again, or rename it if it is plain text"
    raise InputError(f"{path} {state}, so it is not a {ending} file; {advice}")


@contextmanager
def _open_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"no such file: {path}; check the path") from error
    except PermissionError as error:
        raise InputError(f"can't read {path}: permission denied; check the file's permissions") from error
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror or error}; expected a text file") from error


def _damages() -> tuple[type[Exception], ...]:
    """The errors that readers raise; that of zstd exists only once a zstd file has been opened."""
    module = sys.modules.get("compression.zstd") or sys.modules.get("backports.zstd")
    of_zstd = (module.ZstdError,) if module else ()
    return (EOFError, zlib.error, lzma.LZMAError, ValueError, OSError, *of_zstd)


@contextmanager
def _clear_read_errors(name: str, position: int, *, compressed: bool) -> Iterator[None]:
    """Reword decompression and disk errors with the name of the file and how far it could be read."""
    try:
        yield
    except _damages() as error:
        if not compressed:
            raise InputError(f"can't read {name} beyond byte {position:,}: {error}; expected a text file") from error
        reason = str(error).rstrip(".")
        raise InputError(
            f"{name} is truncated or damaged: after {position:,} bytes of text: {reason}; get the file again"
        ) from error


# What is text

_HEAD_BYTES = 1 << 16
_KNOWN_FILES: tuple[tuple[bytes, str, str], ...] = (
    (b"%PDF", "a PDF", "rename it to end in .pdf, or extract its text: pdftotext {name}"),
    (b"\x89PNG", "a PNG image", "pass a text file instead"),
    (b"\xff\xd8\xff", "a JPEG image", "pass a text file instead"),
    (b"GIF8", "a GIF image", "pass a text file instead"),
    (b"PK\x03\x04", "a zip archive (or an office document or e-book)", "unpack or export it as text first"),
    (b"\x04\x22\x4d\x18", "compressed by lz4", "unpack it first: lz4 -d {name}"),
    (b"\x1f\x9d", "compressed by compress", "unpack it first: uncompress {name}"),
    (b"Rar!\x1a", "a RAR archive", "unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"),
    (b"\x7fELF", "a program", "pass a text file instead"),
    (b"\xd0\xcf\x11\xe0", "an old office document", "export it as text first"),
    (b"{\\rtf", "an RTF document", "export it as text first"),
    (b"SQLite format 3\0", "an SQLite database", "export the text as .jsonl first"),
    (b"\x93NUMPY", "a NumPy array", "pass a text file instead"),
    (b"\x89HDF", "an HDF5 file", "pass a text file instead"),
    (b"PAR1", "a Parquet file", "rename it to end in .parquet"),
    (b"ARROW1\0", "an Arrow file", "write it as .parquet"),
)
# Zip archives that users take for text, by the ending of their names.
_PANDOC = "write its text first: pandoc -t plain {name} -o {stem}.txt"
_ZIPPED = {
    ".docx": ("a Word document", _PANDOC),
    ".odt": ("an ODT document", _PANDOC),
    ".epub": ("an e-book (EPUB)", _PANDOC),
    ".xlsx": ("an Excel workbook", "save the sheet as CSV first"),
    ".ods": ("an ODS spreadsheet", "save the sheet as CSV first"),
    ".pptx": ("a PowerPoint presentation", "save its outline as text first"),
}
_CONTROL = bytes(set(range(32)) - set(b"\t\n\x0b\x0c\r\x1b") | {127})  # escape stays: coloured logs are text


def check_is_no_other_file(start: bytes, name: str) -> None:
    """Raises an InputError if `start`, the first bytes of the input `name`, belongs to a known binary format."""
    if ending := compression_of(start):
        raise InputError(f"{name} is compressed, but its name does not say so; rename it to end in {ending}")
    if start[257:262] == b"ustar":
        raise InputError(f"{name} is a tar archive, not text; unpack it first: tar -xf {name}")
    for known, what, advice in _KNOWN_FILES:
        if start.startswith(known):
            if known == b"PK\x03\x04":
                what, advice = _ZIPPED.get(Path(name).suffix.lower(), (what, advice))
            raise InputError(f"{name} is {what}, not text; {advice.format(name=name, stem=Path(name).stem)}")


def check_is_text(head: bytes, name: str) -> None:
    """Raises an InputError if `head`, decoded to UTF-8, clearly isn't text."""
    head = head[:_HEAD_BYTES]
    rest = head.translate(None, _CONTROL)
    n_control = len(head) - len(rest)
    if n_control and (not rest.strip() or (n_control >= 16 and n_control > 0.1 * len(head))):
        raise InputError(
            f"{name} looks binary: {n_control:,} of its first {len(head):,} bytes are control bytes; "
            "pass a text file instead"
        )


_PAGE = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
_JSON = re.compile(rb'\s*(?:\[\s*)?\{\s*"(?:[^"\\\n]|\\.)*"\s*:')
_NOT_JSON = (".ipynb",)  # reported in a note instead


def check_is_plain(head: bytes, name: str, column: str) -> None:
    """Raises NoText if input to be read as plain text starts like an HTML page, JSON or a table with this column."""
    first, _, rest = head.lstrip().partition(b"\n")
    what = ending = ""
    if _PAGE.match(head[: 1 << 12]):
        what, ending = "an HTML page", ".html"
    elif _JSON.match(head) and (not first.endswith(b"}") or not rest.strip() or _JSON.match(rest)):
        what, ending = ("JSON lines", ".jsonl") if first.endswith(b"}") else ("JSON", ".json")
    else:
        for delimiter, its_ending in ((b"\t", ".tsv"), (b",", ".csv"), (b";", ".csv"), (b"|", ".csv")):
            names = [cell.strip(b"\"' \r") for cell in first.split(delimiter)]
            lines = [line for line in rest.split(b"\n", 20)[:20] if line.strip()]
            n_like = sum(line.count(delimiter) >= len(names) - 1 for line in lines)
            if len(names) > 1 and all(part.encode() in names for part in column.split(",")) and 2 * n_like > len(lines):
                what, ending = f"a table with a column {column!r}", its_ending
    if not what or Path(name).suffix.lower() in _NOT_JSON:
        return
    how = f"save it as a file that ends in {ending}" if name == STDIN else f"rename it to end in {ending}"
    raise NoText(f"{name} looks like {what}, not plain text; {how}")
