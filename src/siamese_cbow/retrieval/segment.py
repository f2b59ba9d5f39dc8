"""A segment: some of the rows of an index, written once and never changed.

    rows.txt       the text, one row per line
    starts.npy     (n_rows + 1,) int64: row i is rows.txt[starts[i]:starts[i + 1]], line end included
    numbers.npy    (n_rows,) int64: the number of its line in its file
    graph.usearch  the vectors of all rows with a known word; the key of a vector is its row
    copies.npy     (n_copies, 2) int64: [row in the graph, later row with the same vector], sorted

Each vector stands in the graph once: many equal ones would be near to nothing but each other, and nobody would find a
way out.

All files are mapped into memory, none is read as a whole.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors, check_offsets, mapped_array, save_array
from siamese_cbow.base.disk import file_hash, sample_hash
from siamese_cbow.errors import FormatError
from siamese_cbow.model.model import Model
from siamese_cbow.retrieval.graph import Graph, add, fingerprints, mapped_graph, nearest, new_graph, save, shrunk
from siamese_cbow.text.row_reader import Line, Rows

TEXT, STARTS, NUMBERS, GRAPH, COPIES = "rows.txt", "starts.npy", "numbers.npy", "graph.usearch", "copies.npy"
FILES = (TEXT, STARTS, NUMBERS, GRAPH, COPIES)
REBUILD = "make it anew with `siamese-cbow index --rebuild` (the text itself is not touched)"


class SegmentWriter:
    """Fills a new folder; `finish` writes what is still in memory."""

    def __init__(self, folder: Path, model: Model, threads: int) -> None:
        self._folder, self._model, self._threads = folder, model, threads
        self._graph = new_graph(model.dim)
        self._text = (folder / TEXT).open("wb")
        self._starts: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self._numbers: list[NDArray[np.int64]] = []
        self._first_row: dict[int, int] = {}  # of each vector
        self._copies: list[tuple[int, int]] = []
        self.n_rows = 0

    def write(self, rows: Rows) -> None:
        """Appends rows."""
        vectors = self._model.encode(rows.texts(), normalize_embeddings=True, threads=self._threads)
        known = np.flatnonzero(vectors.any(axis=1))
        small = shrunk(vectors[known])
        new = []
        for i, (row, mark) in enumerate(zip((self.n_rows + known).tolist(), fingerprints(small), strict=True)):
            first = self._first_row.setdefault(mark, row)
            if first == row:
                new.append(i)
            else:
                self._copies.append((first, row))
        add(self._graph, self.n_rows + known[new], small[new], self._threads)
        self._starts.append(rows.starts[1:] + self._text.tell())
        self._text.write(rows.text)
        self._numbers.append(np.array([rows.number(row) for row in range(len(rows))], np.int64))
        self.n_rows += len(rows)

    def __enter__(self) -> SegmentWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self._text.close()

    def finish(self) -> None:
        """Writes the arrays and the graph; nothing can be appended after that."""
        self._text.close()
        save_array(self._folder / STARTS, np.concatenate(self._starts))
        save_array(self._folder / NUMBERS, np.concatenate([np.empty(0, np.int64), *self._numbers]))
        save_array(self._folder / COPIES, np.array(sorted(self._copies), np.int64).reshape(-1, 2))
        save(self._graph, self._folder / GRAPH)


class Segment:
    """A segment on disk. Whoever opens it has checked that its files are those that were written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = mapped_array(folder / NUMBERS, np.int64, (None,), advice=REBUILD)
        self._starts = mapped_array(folder / STARTS, np.int64, (len(self) + 1,), advice=REBUILD)
        self._copies = mapped_array(folder / COPIES, np.int64, (None, 2), advice=REBUILD)
        wrong = check_offsets(self._starts, (folder / TEXT).stat().st_size, empty=True)
        if wrong:
            raise FormatError(f"{folder / STARTS} is damaged ({wrong}); {REBUILD}")
        if len(self._copies) and not (self._copies.min() >= 0 and self._copies.max() < len(self)):
            raise FormatError(f"{folder / COPIES} names rows beyond the {len(self):,} that there are; {REBUILD}")

    @cached_property
    def _text(self) -> mmap.mmap | bytes:
        with (self.folder / TEXT).open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if len(self) else b""

    @cached_property
    def _graph(self) -> Graph:
        try:
            return mapped_graph(self.folder / GRAPH)
        except (RuntimeError, ValueError, TypeError) as error:
            raise FormatError(f"{self.folder / GRAPH} can't be read ({error}); {REBUILD}") from None

    def __len__(self) -> int:
        return len(self._numbers)

    def line(self, row: int) -> Line:
        """A row and its number."""
        text = self._text[self._starts[row] : self._starts[row + 1]].rstrip(b"\r\n").decode("utf-8", "replace")
        return Line(int(self._numbers[row]), text)

    def blocks(self, first: int, last: int, source: str, size: int = 20_000) -> Iterator[Rows]:
        """Rows first, ..., last - 1, some at a time."""
        for start in range(first, last, size):
            end = min(start + size, last)
            text = self._text[self._starts[start] : self._starts[end]]
            yield Rows(bytes(text), source, np.array(self._numbers[start:end]), int(self._numbers[start]))

    def nearest(self, query: Vectors, n: int, *, effort: int) -> Iterator[tuple[int, float]]:
        """About the n rows nearest to a vector (dim,), best first, and about their cosines; of equal ones the first."""
        left = n
        keys, scores = nearest(self._graph, query[np.newaxis], n, effort=effort)[0]
        for row, score in zip(keys.tolist(), scores.tolist(), strict=True):
            yield row, score
            first, last = np.searchsorted(self._copies[:, 0], [row, row + 1])
            copies = self._copies[first : min(last, first + left), 1].tolist()
            yield from ((copy, score) for copy in copies)
            left -= 1 + len(copies)
            if left <= 0:
                return


def description(folder: Path) -> dict[str, Any]:
    """What the list of segments says about the files of one, to tell later whether they are whole."""
    paths = {name: folder / name for name in FILES}
    return {
        name: {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sample": sample_hash(path), "hash": file_hash(path)}
        for name, path, stat in ((name, path, path.stat()) for name, path in paths.items())
    }


def check(folder: Path, described: Any, *, whole: bool = False) -> None:
    """Raises an error unless the files of a segment are those that were written; `whole` reads all of them.

    A file that was written to since, as its time says, is read as a whole in any case (a second for each gigabyte): a
    graph with one wrong link ends the process that searches in it.
    """
    for name in FILES:
        path, entry = folder / name, described.get(name) if isinstance(described, dict) else None
        problem = None
        if not isinstance(entry, dict):
            problem = "is not described in the list of the index"
        elif not path.is_file():
            problem = "is missing"
        elif path.stat().st_size != entry.get("size"):
            problem = f"has {path.stat().st_size:,} bytes, expected {entry.get('size')}"
        elif sample_hash(path) != entry.get("sample") or (
            (whole or path.stat().st_mtime_ns != entry.get("mtime_ns")) and file_hash(path) != entry.get("hash")
        ):
            problem = "is not the file that was written: damaged or swapped"
        if problem:
            raise FormatError(f"{path} {problem}; {REBUILD}")
