"""The bytes of a pickle, handed out so that no length in the file is believed before its bytes are there."""

from __future__ import annotations

import os
from typing import BinaryIO

SHORT_LINE = 1000  # bytes; numbers, positions and names have a line each in the oldest protocol


class Source:
    """A binary file from where it stands to its end."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._start = file.tell()
        self.size = file.seek(0, os.SEEK_END) - self._start
        file.seek(self._start)

    @property
    def position(self) -> int:
        """Bytes handed out so far."""
        return self._file.tell() - self._start

    def take(self, n: int) -> bytes:
        """The next n bytes."""
        if n > 64 and n > self.size - self.position:  # a buffered file would allocate the n bytes first
            raise EOFError(f"{n:,} bytes expected, {self.size - self.position:,} left")
        data = self._file.read(n)
        if len(data) < n:
            raise EOFError(f"{n:,} bytes expected, {len(data):,} left")
        return data

    def number(self, n: int, *, signed: bool = False) -> int:
        """The next n bytes as a little-endian number."""
        return int.from_bytes(self.take(n), "little", signed=signed)

    def line(self, longest: int = SHORT_LINE) -> bytes:
        """The next line, without its end."""
        line = self._file.readline(longest + 1)
        if not line.endswith(b"\n"):
            raise EOFError(f"a line of at most {longest:,} bytes expected")
        return line[:-1]
