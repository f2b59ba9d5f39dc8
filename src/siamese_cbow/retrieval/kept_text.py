"""Holds the rows of a text during a search, which needs them twice, because scores depend on the whole collection.

Rows are in memory up to MOST_BYTES of text, beyond that in a temporary file. Nothing outlives the search.
"""

from __future__ import annotations

import os
import tempfile
from bisect import bisect_right
from dataclasses import replace
from typing import IO

from siamese_cbow.text.row_reader import Line, Rows

MOST_BYTES = 1 << 30


class KeptText:
    """Blocks of rows, in order; row i of all is row `i - firsts[b]` of its block b."""

    def __init__(self) -> None:
        self._blocks: list[Rows] = []
        self._spooled: dict[int, tuple[int, int]] = {}  # block -> position of its text in the file
        self._file: IO[bytes] | None = None
        self._files: list[int] = []  # the number of each block's file
        self.firsts: list[int] = []
        self.n_rows = self.n_bytes = 0

    def append(self, rows: Rows) -> None:
        """Add a block."""
        is_new = not self._blocks or rows.first == 1 or rows.source != self._blocks[-1].source
        self._files.append((self._files[-1] if self._files else 0) + is_new)
        self.firsts.append(self.n_rows)
        self.n_rows += len(rows)
        self.n_bytes += len(rows.text)
        if self.n_bytes > MOST_BYTES and rows.text:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed when this is gone)
            place = self._file.seek(0, 2)
            self._file.write(rows.text)
            self._spooled[len(self._blocks)] = place, len(rows.text)
            starts = rows.starts
            rows = replace(rows, text=b"")
            rows.__dict__["starts"] = starts  # computed from its text before
        self._blocks.append(rows)

    def __len__(self) -> int:
        return len(self._blocks)

    def block(self, i: int) -> Rows:
        """A block as it was added."""
        rows = self._blocks[i]
        if i not in self._spooled:
            return rows
        assert self._file is not None
        place, size = self._spooled[i]
        return replace(rows, text=os.pread(self._file.fileno(), size, place))

    def place(self, row: int) -> tuple[int, int]:
        """The block of a row, and its number within it."""
        block = bisect_right(self.firsts, row) - 1
        return block, row - self.firsts[block]

    def text(self, row: int) -> str:
        """The text of a row."""
        block, i = self.place(row)
        return self.block(block).row(i)

    def around(self, row: int, before: int, after: int) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
        """The rows before and after one, of the same file."""
        file = self._files[self.place(row)[0]]

        def lines(first: int, last: int) -> tuple[Line, ...]:
            places = map(self.place, range(max(first, 0), min(last, self.n_rows)))
            here = [(self.block(block), i) for block, i in places if self._files[block] == file]
            return tuple(Line(rows.number(i), rows.row(i)) for rows, i in here)

        return lines(row - before, row), lines(row + 1, row + 1 + after)
