"""An index on disk: a query among millions of rows takes milliseconds.

    Index.update("notes.index", "notes/", model=model)         makes it; again: reads what is new or has changed
    Index("notes.index", model=model).search("a pet", k=2)     -> [Hit(0.71, "notes/a.txt", 12, "my cat sat"), ...]

A graph (see `graph.py`) names some rows that are near, and these are scored exactly. It may miss one now and then:
`check` measures how often. The text of the rows is in the index, so hits are shown as they were when it was made.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.base.files import one_writer
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.retrieval import updating
from siamese_cbow.retrieval.manifest import Manifest
from siamese_cbow.retrieval.scoring import cosines
from siamese_cbow.retrieval.search import Hit, check_wanted, query_vector
from siamese_cbow.text.records import TextSettings

# Rows that the graph names: three times as many as are wanted, at least 96, as its int8 vectors are not exact.
# Recall@10 over a million sentences of Wikipedia with the package's model is .960 with 32 of them, .972 with 64, .976
# with 128.
FACTOR, AT_LEAST = 3, 96
# Of the graph, some 10 ms. With 2,048 recall is .970, with twice as much hardly more than with this.
EFFORT = 3_072


Place: TypeAlias = tuple[int, int]  # segment and row


class _FileRows(NamedTuple):
    """The rows of a file: first, ..., last - 1 of a segment."""

    first: int
    last: int
    file: str


class Index:
    """An index that was made by `Index.update`, opened for searching."""

    def __init__(self, folder: str | Path, *, model: Model) -> None:
        self.folder, self.model = Path(folder), model
        self.manifest = Manifest.read(self.folder)
        self.manifest.check_model(model, self.folder)
        self._segments = list(self.manifest.open_segments(self.folder).values())

    @classmethod
    def update(
        cls,
        folder: str | Path,
        inputs: Any = (),
        *,
        model: Model,
        text: TextSettings | None = None,
        rebuild: bool = False,
        threads: int | None = None,
        progress: Progress = SILENT,
    ) -> Index:
        """Makes an index of files and folders, or brings it up to date; without inputs, with the files it knows."""
        updating.update(
            Path(folder), inputs, model=model, text=text, rebuild=rebuild, threads=threads, progress=progress
        )
        return cls(folder, model=model)

    def __len__(self) -> int:
        return self.manifest.n_live()

    def __repr__(self) -> str:
        return f"<Index of {len(self):,} rows of {len(self.manifest.files):,} files in {self.folder}>"

    def search(
        self, query: str, *, k: int | None = 10, threshold: float | None = None, before: int = 0, after: int = 0
    ) -> list[Hit]:
        """The rows nearest to the query, best first, as `siamese_cbow.search` gives them.

        With k None, all that reach the threshold: then every row is looked at, which takes longer.
        """
        check_wanted(k, threshold, before, after)
        vector = query_vector(self.model, query)
        scores = dict(self._near(vector, k) if k is not None else self._all(vector))
        ranked = sorted(scores, key=lambda place: (-scores[place], place))
        near = [place for place in ranked if threshold is None or scores[place] >= threshold]
        return [self._hit(scores[place], place, before, after) for place in near[:k]]

    def check(self, *, n_queries: int = 100, k: int = 10, seed: int = 1) -> dict[str, Any]:
        """Reads all files of the index to find damage, and measures how many of the true k nearest a search finds.

        Queries are the first halves of random rows. The result is kept in the index:
        {"recall": 0.99, "k": 10, "n_queries": 100, "n_rows": 1000000, "milliseconds": 2.1}
        """
        self.manifest.open_segments(self.folder, whole=True)
        queries = self._some_queries(n_queries, seed)
        if not queries:
            return {}
        scores, seconds = [], []
        for query in queries:
            began = time.perf_counter()
            scores.append([hit.score for hit in self.search(query, k=k)])
            seconds.append(time.perf_counter() - began)
        exact = self._exact_scores(queries, k)
        n_found = sum(int(np.sum(np.array(mine) >= row[0] - 1e-6)) for mine, row in zip(scores, exact, strict=True))
        self.manifest.recall = {
            "recall": round(n_found / sum(map(len, exact)), 4),
            "k": k,
            "n_queries": len(queries),
            "n_rows": len(self),
            "milliseconds": round(float(np.median(seconds)) * 1e3, 2),
        }
        with one_writer(self.folder):
            now = Manifest.read(self.folder)
            if (now.segments, now.files) == (self.manifest.segments, self.manifest.files):  # nobody has updated it
                self.manifest.write(self.folder)
        return self.manifest.recall

    @cached_property
    def _live(self) -> list[list[_FileRows]]:
        """For each segment the rows of its files, in order."""
        live: dict[str, list[_FileRows]] = {name: [] for name in self.manifest.segments}
        for file, entry in self.manifest.files.items():
            if entry.last > entry.first:
                live[entry.segment].append(_FileRows(entry.first, entry.last, file))
        return [sorted(files) for files in live.values()]

    def _file_of(self, segment: int, row: int) -> _FileRows | None:
        """The file that a row belongs to; None where the row is dead."""
        files = self._live[segment]
        i = bisect_right(files, row, key=lambda each: each.first) - 1
        return files[i] if i >= 0 and row < files[i].last else None

    def _near(self, query: Vectors, k: int) -> Iterator[tuple[Place, float]]:
        """The rows that are near by the graphs of all segments, scored exactly."""
        n, named = max(FACTOR * k, AT_LEAST), list[tuple[float, Place]]()
        for i, segment in enumerate(self._segments):
            n_live = sum(each.last - each.first for each in self._live[i])
            if n_live:
                wanted = n * len(segment) // n_live + 1  # where rows are dead, as many more are asked for
                nearest = segment.nearest(query, wanted, effort=max(EFFORT, 2 * wanted))
                named += [(-score, (i, row)) for row, score in nearest if self._file_of(i, row)]
        for _, (i, row) in sorted(named)[:n]:
            # One by one: a text takes some 20 microseconds, and many at once would make the model load numba one day.
            vector = self.model.encode(self._segments[i].line(row).text, normalize_embeddings=True)
            yield (i, row), float(cosines(vector[np.newaxis], query)[0])

    def _all(self, query: Vectors) -> Iterator[tuple[Place, float]]:
        for i, first, vectors in self._blocks():
            for row in np.flatnonzero(vectors.any(axis=1)).tolist():
                yield (i, first + row), float(cosines(vectors[row : row + 1], query)[0])

    def _blocks(self) -> Iterator[tuple[int, int, Vectors]]:
        """All live rows as vectors, some at a time: segment, first row, vectors of length 1."""
        for i, segment in enumerate(self._segments):
            for first, last, file in self._live[i]:
                row = first
                for rows in segment.blocks(first, last, file):
                    yield i, row, self.model.encode(rows.texts(), normalize_embeddings=True)
                    row += len(rows)

    def _hit(self, score: float, place: Place, before: int, after: int) -> Hit:
        i, row = place
        segment, file = self._segments[i], self._file_of(i, row)
        assert file is not None  # only live rows are scored
        line = segment.line(row)
        return Hit(
            score,
            _shown(file.file),
            line.number,
            line.text,
            tuple(map(segment.line, range(max(row - before, file.first), row))),
            tuple(map(segment.line, range(row + 1, min(row + 1 + after, file.last)))),
        )

    def _some_queries(self, n: int, seed: int) -> list[str]:
        """The first halves of random rows; fewer where rows are few or without known words."""
        live = [(segment, each) for segment, files in zip(self._segments, self._live, strict=True) for each in files]
        sizes = [each.last - each.first for _, each in live]
        rng, queries = np.random.default_rng(seed), list[str]()
        if not live:
            return []
        for chosen in rng.choice(len(live), 20 * n, p=np.array(sizes) / sum(sizes)):
            segment, each = live[chosen]
            words = segment.line(int(rng.integers(each.first, each.last))).text.split()
            query = " ".join(words[: (len(words) + 1) // 2])
            if self.model.encode(query).any():
                queries.append(query)
            if len(queries) == n:
                break
        return queries

    def _exact_scores(self, queries: list[str], k: int) -> list[Vectors]:
        """For each query the scores of its k nearest rows, rising, by looking at every row."""
        matrix = np.array([query_vector(self.model, query) for query in queries])
        best: list[Vectors] = [np.empty(0, np.float32) for _ in queries]
        for _, _, vectors in self._blocks():
            scores = vectors[vectors.any(axis=1)] @ matrix.T
            for q, column in enumerate(scores.T):
                together = np.concatenate([best[q], column])
                best[q] = np.sort(np.partition(together, max(len(together) - k, 0))[-k:])
        return best


def _shown(file: str) -> str:
    """Relative to where we are, if below."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file
