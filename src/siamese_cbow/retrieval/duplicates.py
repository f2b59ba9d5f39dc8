"""Near-duplicates: rows that say what an earlier row has said.

    "the cat sat", "A dog ran.", "The cat sat!"   ->   the third is a duplicate of the first

Rows come in order. A row is kept unless a row that was kept before it is as near as the threshold, and agrees with it
in what a mean of words can't see (`agreement`): numbers, names, unknown words, negations, order. Rows without a known
word are kept, unless the same words were there before.

The numbers and codes of a row are its drawer: only rows of the same drawer are compared, with every kept row as long
as these are few. Then the graph of usearch takes over (`graph.py`): it takes some 500 bytes per kept row, its cosines
are off by some thousandths, and it may miss a near row now and then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from siamese_cbow.base.arrays import Vectors, thread_count
from siamese_cbow.errors import SettingsError
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.retrieval.agreement import Agreement, Word
from siamese_cbow.retrieval.graph import Graph, add, nearest, new_graph, shrunk
from siamese_cbow.retrieval.search import encoded_blocks
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import RowReader

FEW = 4_096  # kept rows of a drawer that are compared one by one: 5 MB of vectors in 300 dimensions
SOME = 32  # near rows that are looked at
LOOSE = 0.6  # the cosine from which on rows are looked at for slips of the keys, which vectors take for other words


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
    of_text: str = ""  # its text


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
    threshold  the cosine from which on two rows may say the same
    text       how text is read, and what a row is; a line, unless said
    """
    if not 0 < threshold <= 1:
        raise SettingsError(f"threshold is {threshold}; expected a cosine, more than 0 and at most 1")
    reader = RowReader.of(inputs, text, progress.say)
    kept = Kept(model, threshold, thread_count(threads))
    for block, vectors in encoded_blocks(reader, model, threads, progress):
        for i in range(len(block)):
            row = KeptRow(block.source, block.number(i), block.row(i))
            twin, score = kept.take(row, vectors[i])
            place = row.source, row.line, row.text
            yield CheckedRow(*place) if twin is None else CheckedRow(*place, score, twin[:2], twin.text)


class KeptRow(NamedTuple):
    """A row and where it stands."""

    source: str
    line: int
    text: str


class Kept:
    """The rows that were kept, in drawers by their numbers and codes."""

    def __init__(self, model: Model, threshold: float, threads: int) -> None:
        # A score at the threshold counts, and float32 may be off by its last digits.
        self._threshold, self._threads, self._dim = threshold - 1e-6, threads, model.dim
        self._agreement = Agreement(model)
        self._drawers: dict[tuple[str, ...], Drawer] = {}
        self._same: dict[tuple[str, ...], KeptRow] = {}  # rows by all their words, folded

    def take(self, row: KeptRow, vector: Vectors) -> tuple[KeptRow | None, float]:
        """The kept row that this one is a duplicate of, and their cosine; None where it is kept."""
        words = self._agreement.words(row.text)
        folded = tuple(word.folded for word in words)
        if folded and folded in self._same:
            return self._same[folded], 1.0
        drawer = None
        if vector.any():
            codes = tuple(word.folded for word in words if word.is_code)
            drawer = self._drawers.setdefault(codes, Drawer(self._dim))
            for i, score in drawer.nearest(vector, min(self._threshold, LOOSE), self._threads):
                other, is_near = drawer.words[i], score >= self._threshold
                if self._agreement.differ_by_slips(words, other) or (is_near and self._agreement.agree(words, other)):
                    return drawer.rows[i], min(score, 1.0)
            drawer.keep(row, words, vector, self._threads)
        if folded:
            self._same[folded] = row
        return None, 0.0


class Drawer:
    """Kept rows that may be compared: their places, words and vectors."""

    def __init__(self, dim: int) -> None:
        self.rows: list[KeptRow] = []
        self.words: list[tuple[Word, ...]] = []
        self._vectors: Vectors = np.empty((4, dim), np.float32)
        self._graph: Graph | None = None

    def nearest(self, vector: Vectors, threshold: float, threads: int) -> Iterator[tuple[int, float]]:
        """The numbers of rows with at least this cosine, the nearest first (of many, only some), and the cosines."""
        n = len(self.rows)
        if self._graph is not None:
            keys, scores = nearest(self._graph, vector[np.newaxis], SOME, effort=96, threads=threads)[0]
        else:
            scores = self._vectors[:n] @ vector
            keys = np.flatnonzero(scores >= threshold)
            keys = keys[np.argsort(-scores[keys], kind="stable")][:SOME]
            scores = scores[keys]
        yield from ((int(i), float(score)) for i, score in zip(keys, scores, strict=True) if score >= threshold)

    def keep(self, row: KeptRow, words: tuple[Word, ...], vector: Vectors, threads: int) -> None:
        """One more row."""
        n = len(self.rows)
        if self._graph is None and n == FEW:
            self._graph = new_graph(len(vector))
            add(self._graph, np.arange(n), shrunk(self._vectors[:n]), threads)
            self._vectors = self._vectors[:0].copy()
        if self._graph is not None:
            add(self._graph, np.array([n]), shrunk(vector[np.newaxis]), threads)
        else:
            if n == len(self._vectors):
                self._vectors = np.concatenate([self._vectors, np.empty_like(self._vectors)])
            self._vectors[n] = vector
        self.rows.append(row)
        self.words.append(words)
