"""A segment: some of the rows of an index, written once and never changed.

    rows.txt       the text, one row per line
    starts.npy     (n_rows + 1,) int64: row i is rows.txt[starts[i]:starts[i + 1]], line end included
    numbers.npy    (n_rows,) uint32: the number of its line, or record, in its file
    hashes.npy     (n_rows,) uint64: of its text, for the sample of the collection (`fitting`)
    lengths.npy    (n_rows,) uint16: its words
    codes.npy      (n_rows, codes) int8: its vector (`fitting.Coding`); zeros if none of its words has one
    words.npy, word_starts.npy, word_rows.npy, word_counts.npy    which rows contain a word (`terms.Postings`)

All files are memory-mapped; none is read completely unless `take_in` is called.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors, check_offsets, mapped_array, save_array
from siamese_cbow.base.disk import file_hash, sample_hash
from siamese_cbow.errors import FormatError
from siamese_cbow.model.model import Model
from siamese_cbow.retrieval.fitting import Coding, row_hashes
from siamese_cbow.retrieval.row_words import BulkWords, PlainWords, Words
from siamese_cbow.retrieval.scoring import in_threads, means_of
from siamese_cbow.retrieval.terms import LONGEST, Postings, PostingsWriter, QueryMemory, QueryWords, Term
from siamese_cbow.text.row_reader import Line, Rows
from siamese_cbow.words.tokenizer import Tokenizer

TEXT, STARTS, NUMBERS, HASHES, LENGTHS, VECTORS = (
    "rows.txt", "starts.npy", "numbers.npy", "hashes.npy", "lengths.npy", "codes.npy"
)  # fmt: skip
POSTINGS = ("words.npy", "word_starts.npy", "word_rows.npy", "word_counts.npy")
FILES = (TEXT, STARTS, NUMBERS, HASHES, LENGTHS, VECTORS, *POSTINGS)
AT_A_TIME = 2_000  # rows looked up at a time
SCANNED = 1 << 16  # rows a thread compares with a query at a time


def how_to_rebuild(index: Path) -> str:
    """How to rebuild an unusable index, for the end of an error."""
    return f"rebuild it: siamese-cbow index -o {index} --rebuild (the text files stay untouched)"


class SegmentWriter:
    """Fills a new folder: `write` rows in order, then `finish` and `write_codes`."""

    def __init__(self, folder: Path, model: Model, threads: int) -> None:
        self._folder, self._model, self._threads = folder, model, threads
        self.words: Words = BulkWords(model) if type(model.tokenizer) is Tokenizer else PlainWords(model)
        self._text = (folder / TEXT).open("wb")
        self._postings = PostingsWriter(QueryWords(model).common)
        self._starts: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self._numbers: list[NDArray[np.uint32]] = []
        self._hashes: list[NDArray[np.uint64]] = []
        self._lengths: list[NDArray[np.uint16]] = []
        self.n_rows = 0

    def write(self, rows: Rows) -> None:
        """Append rows."""
        texts = rows.texts()
        self._model.watch(texts)
        parts = range(0, len(texts), AT_A_TIME)
        looked_up = in_threads(lambda i: self.words.of(texts[i : i + AT_A_TIME]), parts, self._threads)
        for first, words in zip(parts, looked_up, strict=True):
            self._postings.add(self.n_rows + first, words)
            self._lengths.append(np.minimum(words.lengths, LONGEST).astype(np.uint16))
        self._hashes.append(row_hashes(rows.text, rows.starts))
        self._starts.append(rows.starts[1:] + self._text.tell())
        self._text.write(rows.text)
        self._numbers.append(np.array([rows.number(row) for row in range(len(rows))], np.uint32))
        self.n_rows += len(rows)

    def __enter__(self) -> SegmentWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self._text.close()

    def finish(self) -> None:
        """Write everything but the codes; nothing can be appended after that."""
        self._text.close()
        save_array(self._folder / STARTS, np.concatenate(self._starts))
        save_array(self._folder / NUMBERS, np.concatenate([np.empty(0, np.uint32), *self._numbers]))
        save_array(self._folder / HASHES, np.concatenate([np.empty(0, np.uint64), *self._hashes]))
        save_array(self._folder / LENGTHS, np.concatenate([np.empty(0, np.uint16), *self._lengths]))
        arrays: list[NDArray[Any]] = list(self._postings.finished())
        for name, array in zip(POSTINGS, arrays, strict=True):
            save_array(self._folder / name, array)

    def write_codes(self, coding: Coding) -> None:
        """Write the codes of all rows, which are read again: the fit of the collection is known only now."""
        rows = SegmentText(self._folder, self.n_rows)
        parts = range(0, self.n_rows, AT_A_TIME)

        def codes(first: int) -> NDArray[np.int8]:
            texts = map(rows.text, range(first, min(first + AT_A_TIME, self.n_rows)))
            return coding.codes(coding.fit.units(means_of(self.words, texts, coding.fit)))

        if self.n_rows:
            codes(0)  # builds the table of weighted rows before several threads need it
        made = list(in_threads(codes, parts, self._threads))
        empty = np.empty((0, coding.basis.shape[1]), np.int8)
        save_array(self._folder / VECTORS, np.concatenate([empty, *made]))


class SegmentText:
    """The rows of a segment as text, memory-mapped."""

    def __init__(self, folder: Path, n_rows: int) -> None:
        self._folder, self._n_rows = folder, n_rows
        self.starts = mapped_array(folder / STARTS, np.int64, (n_rows + 1,), advice=how_to_rebuild(folder.parent))

    @cached_property
    def data(self) -> mmap.mmap | bytes:
        """The whole text."""
        with (self._folder / TEXT).open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self._n_rows else b""

    def take_in(self) -> None:
        """See `Segment.take_in`."""
        self.starts, self.data = np.array(self.starts), bytes(self.data)

    def text(self, row: int) -> str:
        """The text of a row."""
        return self.data[self.starts[row] : self.starts[row + 1]].rstrip(b"\r\n").decode("utf-8", "replace")


class Segment:
    """A segment on disk, whose files have been checked with `check`."""

    def __init__(self, folder: Path) -> None:
        self.folder, advice = folder, how_to_rebuild(folder.parent)
        self._numbers = mapped_array(folder / NUMBERS, np.uint32, (None,), advice=advice)
        self.text = SegmentText(folder, len(self))
        self.hashes = mapped_array(folder / HASHES, np.uint64, (len(self),), advice=advice)
        self.lengths = mapped_array(folder / LENGTHS, np.uint16, (len(self),), advice=advice)
        self.codes = mapped_array(folder / VECTORS, np.int8, (len(self), None), advice=advice)
        wrong = check_offsets(self.text.starts, (folder / TEXT).stat().st_size, empty=True)
        if wrong:
            raise FormatError(f"{folder / STARTS} is damaged ({wrong}); {advice}")
        dtypes = (np.uint64, np.int64, np.int32, np.uint8)
        arrays = [mapped_array(folder / name, dtype, (None,), advice=advice)
                  for name, dtype in zip(POSTINGS, dtypes, strict=True)]  # fmt: skip
        self.postings = Postings(*arrays)
        n = len(self.postings.rows)
        wrong = check_offsets(self.postings.starts, n) if n else ""
        if wrong or len(self.postings.starts) != len(self.postings.keys) + 1 or len(self.postings.counts) != n:
            raise FormatError(f"{folder / POSTINGS[1]} is damaged ({wrong or 'its length'}); {advice}")

    def __len__(self) -> int:
        return len(self._numbers)

    def take_in(self) -> None:
        """Read all files, so that truncating or deleting one later breaks no search and kills no process (SIGBUS)."""
        self._numbers, self.hashes, self.lengths = map(np.array, (self._numbers, self.hashes, self.lengths))
        self.codes, self.postings = np.array(self.codes), Postings(*map(np.array, self.postings))
        self.text.take_in()

    def line(self, row: int) -> Line:
        """A row and its number."""
        return Line(int(self._numbers[row]), self.text.text(row))

    def blocks(self, first: int, last: int, source: str, size: int = 20_000) -> Iterator[Rows]:
        """Rows first, ..., last - 1, in blocks."""
        starts = self.text.starts
        for start in range(first, last, size):
            end = min(start + size, last)
            text = self.text.data[starts[start] : starts[end]]
            yield Rows(bytes(text), source, np.array(self._numbers[start:end], np.int64), int(self._numbers[start]))

    def count(
        self, term: Term, live: NDArray[np.bool_], tally: NDArray[np.uint8], touched: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Write the live rows that contain a term to `touched`, and how often to `tally`. All arrays are (n_rows,)."""
        from siamese_cbow.kernels.row_scores import count_rows

        n = 0
        for part in self.postings.parts(term):
            n = count_rows(self.postings.rows[part], self.postings.counts[part], live, tally, touched, n)
            if n < 0:
                problem = f"{self.folder / POSTINGS[2]} names rows beyond the {len(self):,}"
                raise FormatError(f"{problem}; {how_to_rebuild(self.folder.parent)}")
        return touched[:n]

    def compare(
        self,
        query: Vectors,
        first: int,
        memory: QueryMemory,
        factors: Vectors,
        weight: float,
        live: NDArray[np.bool_],
        threads: int,
    ) -> None:
        """Write the approximate score of every row to `memory.about`: its cosine by `Coding.query`, and its words.

        first          the number of the first row among all rows of the index
        factors        (n_rows of the index,) factors of the cosines
        weight         factor of the word scores
        """
        if self.codes.shape[1] != len(query):
            found = f"{self.codes.shape[1]} numbers per row, expected {len(query)}"
            raise FormatError(f"{self.folder / VECTORS} has {found}; {how_to_rebuild(self.folder.parent)}")
        from siamese_cbow.kernels.row_scores import GROUP, code_scores

        def compare(begin: int) -> None:
            codes = self.codes[max(begin - first, 0) : begin - first + SCANNED]
            own = slice(max(begin, first), max(begin, first) + len(codes))
            arrays = factors[own], memory.scores[own], weight, live[own]
            code_scores(codes, query, *arrays, own.start, memory.about[own], memory.maxima)

        # Threads begin at group boundaries, so that no two write to the same maximum.
        begins = range(first // GROUP * GROUP, first + len(self), SCANNED)
        if threads == 1 or len(begins) == 1:
            list(map(compare, begins))
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(compare, begins))


def description(folder: Path, files: tuple[str, ...] = FILES) -> dict[str, Any]:
    """The manifest's description of the files of a segment, to check later whether they are intact."""
    paths = {name: folder / name for name in files}
    return {
        name: {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sample": sample_hash(path), "hash": file_hash(path)}
        for name, path, stat in ((name, path, path.stat()) for name, path in paths.items())
    }


def check(folder: Path, described: Any, files: tuple[str, ...] = FILES, *, whole: bool = False) -> None:
    """Raise an error unless the files of a segment are intact; `whole` reads all of them.

    A file whose modification time has changed is always read completely (a second per gigabyte).
    """
    for name in files:
        path, entry = folder / name, described.get(name) if isinstance(described, dict) else None
        problem = None
        if not isinstance(entry, dict):
            problem = "is not listed in the index"
        elif not path.is_file():
            problem = "is missing"
        elif path.stat().st_size != entry.get("size"):
            problem = f"has {path.stat().st_size:,} bytes, expected {entry.get('size')}"
        elif sample_hash(path) != entry.get("sample") or (
            (whole or path.stat().st_mtime_ns != entry.get("mtime_ns")) and file_hash(path) != entry.get("hash")
        ):
            problem = "does not match its checksum: damaged or swapped"
        if problem:
            raise FormatError(f"{path} {problem}; {how_to_rebuild(folder.parent)}")
