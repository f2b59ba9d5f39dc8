"""Near-duplicates: rows that say what an earlier row has said.

    "the cat sat", "A dog ran.", "The cat sat!"   ->   the third is a duplicate of the first

Rows come in order. A row is kept unless a row that was kept before it is as near as the threshold; so whatever is left
out has a kept row near it, and no two kept rows are that near. Rows without a known word are kept.

Rows with the same vector are found by a hash. The rest is compared with every kept row as long as these are few. Then
the graph of an index takes over (`graph.py`): it takes some 500 bytes per kept row, its cosines are off by some
thousandths, and it may miss a near row now and then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors, thread_count
from siamese_cbow.errors import SettingsError
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.retrieval.graph import Graph, add, fingerprints, nearest, new_graph, shrunk
from siamese_cbow.retrieval.search import encoded_blocks
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import RowReader

BATCH = 512
FEW = 16_384  # kept rows that are compared one by one: 20 MB of vectors in 300 dimensions


@dataclass(frozen=True)
class CheckedRow:
    """A row, and what it is a duplicate of: `of` is None for a row that is kept.

    `CheckedRow("b.txt", 3, "The cat sat!", 0.98, ("a.txt", 1))`
    """

    source: str
    line: int
    text: str
    score: float = 0.0  # the cosine with the row it is a duplicate of
    of: tuple[str, int] | None = None  # the source and the line of that row


def duplicates(
    inputs: Any,
    *,
    model: Model,
    threshold: float = 0.95,
    text: TextSettings | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Iterator[CheckedRow]:
    """Every row in order, with what it is a duplicate of: `[row.text for row in duplicates(...) if row.of is None]`.

    inputs     a file, folder, glob, "-", a list of those, or `Texts([...])`
    threshold  the cosine from which on two rows say the same
    text       how text is read, and what a row is; a line, unless said
    """
    if not 0 < threshold <= 1:
        raise SettingsError(f"threshold is {threshold}; expected a cosine, more than 0 and at most 1")
    reader = RowReader.of(inputs, text, progress.say)
    kept, places = Kept(model.dim, threshold, thread_count(threads)), list[tuple[str, int]]()
    for block, vectors in encoded_blocks(reader, model, threads, progress):
        for start in range(0, len(block), BATCH):
            for i, (twin, score) in enumerate(kept.take(vectors[start : start + BATCH]), start):
                place = (block.source, block.number(i))
                if twin == NEW:
                    places.append(place)
                of = places[twin] if twin >= 0 else None
                yield CheckedRow(*place, block.row(i), score if of else 0.0, of)


NEW, UNKNOWN = -1, -2  # instead of the number of a kept row


class Kept:
    """The vectors of the rows that were kept, each with its number: 0, 1, 2, ..."""

    def __init__(self, dim: int, threshold: float, threads: int) -> None:
        # A score at the threshold counts, and float32 may be off by its last digits.
        self._threshold, self._threads, self._dim = threshold - 1e-6, threads, dim
        self._first: dict[int, int] = {}  # fingerprint of a vector -> number
        self._rows: Vectors = np.empty((0, dim), np.float32)
        self._graph: Graph | None = None
        self._n = 0

    def take(self, vectors: Vectors) -> list[tuple[int, float]]:
        """For each vector, (n, dim): the number of the kept row that it is a duplicate of, or NEW, or UNKNOWN."""
        known = np.flatnonzero(vectors.any(axis=1))
        small = shrunk(vectors[known])
        matches: list[tuple[int, float]] = [(UNKNOWN, 0.0)] * len(vectors)
        marks = fingerprints(small)
        first_here: dict[int, int] = {}  # fingerprints that were never seen before this batch -> position in `known`
        for i, mark in enumerate(marks):
            if mark not in self._first:
                first_here.setdefault(mark, i)
        new = list(first_here.values())
        for i, match in zip(new, self._compare(vectors[known[new]], small[new]), strict=True):
            matches[known[i]] = match
            if match[0] == NEW:
                self._first[marks[i]] = self._n
                self._n += 1
        for i, mark in enumerate(marks):
            if mark not in self._first:  # the same vector as the first one here, which is a duplicate itself
                matches[known[i]] = matches[known[first_here[mark]]]
            elif first_here.get(mark) != i:
                matches[known[i]] = (self._first[mark], 1.0)
        return matches

    def _compare(self, vectors: Vectors, small: NDArray[np.int8]) -> list[tuple[int, float]]:
        """The same for vectors that all differ; those that are new are kept."""
        numbers, scores = self._nearest_kept(vectors)
        among = vectors @ vectors.T
        chosen: list[int] = []
        answers: list[tuple[int, float]] = []
        for i in range(len(vectors)):
            twin, score = int(numbers[i]), float(scores[i])
            if chosen:
                best = int(np.argmax(among[i, chosen]))
                if among[i, chosen[best]] > score:
                    twin, score = self._n + best, float(among[i, chosen[best]])
            if score >= self._threshold:
                answers.append((twin, min(score, 1.0)))
            else:
                chosen.append(i)
                answers.append((NEW, 0.0))
        self._keep(vectors[chosen], small[chosen])
        return answers

    def _nearest_kept(self, vectors: Vectors) -> tuple[NDArray[np.int64], Vectors]:
        """The number of the nearest kept row, and its score, for each vector; -1 where nothing was kept yet."""
        numbers, scores = np.full(len(vectors), -1), np.full(len(vectors), -1, np.float32)
        if self._graph is not None:
            for i, (keys, about) in enumerate(nearest(self._graph, vectors, 4, effort=96, threads=self._threads)):
                if len(keys):
                    numbers[i], scores[i] = keys[0], about[0]
        elif len(self._rows) and len(vectors):
            cosines = vectors @ self._rows.T
            numbers = np.argmax(cosines, axis=1)
            scores = np.take_along_axis(cosines, numbers[:, np.newaxis], axis=1)[:, 0]
        return numbers, scores

    def _keep(self, vectors: Vectors, small: NDArray[np.int8]) -> None:
        if self._graph is None and len(self._rows) + len(vectors) > FEW:
            self._graph = new_graph(self._dim)
            add(self._graph, np.arange(len(self._rows)), shrunk(self._rows), self._threads)
            self._rows = np.empty((0, self._dim), np.float32)
        if self._graph is None:
            self._rows = np.concatenate([self._rows, vectors])
        else:
            add(self._graph, self._n + np.arange(len(vectors)), small, self._threads)
