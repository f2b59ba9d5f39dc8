"""Near-duplicates: rows that repeat an earlier row.

    "the cat sat", "A dog ran.", "The cat sat!"   ->   the third is a duplicate of the first

Rows are processed in order. A row is kept unless an earlier kept row reaches the threshold and agrees with it in
everything that a mean of words can't see (`agreement`): numbers, names, unknown words, negations, order. Rows without a
known word are kept, unless the same words occurred before.

Rows are bucketed by their numbers and codes: only rows in the same bucket (a "drawer") are compared, one by one while
they are few. Then usearch's graph takes over (`graph.py`): it needs about 500 bytes per kept row, its cosines are off
by a few thousandths, and it may occasionally miss a near row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from siamese_cbow.base.arrays import Vectors, thread_count
from siamese_cbow.errors import SettingsError
from siamese_cbow.formats.resolver import open_model
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress, shown
from siamese_cbow.retrieval.agreement import Agreement, Word
from siamese_cbow.retrieval.graph import Graph, add, nearest, new_graph, shrunk, what_is_missing
from siamese_cbow.retrieval.search import encoded_blocks
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import RowReader

BATCH = 512  # rows compared at a time
FEW = 4_096  # kept rows of a drawer compared one by one: 5 MB of vectors in 300 dimensions
MANY_BYTES = 20 * FEW  # size of a text that may contain more rows than that
SOME = 32  # nearest rows to check
LOOSE = 0.6  # minimum cosine for checking typos, which vectors treat as other words


@dataclass(frozen=True)
class CheckedRow:
    """A row, and the earlier row that it duplicates: `of` is None for a row that is kept.

    `CheckedRow("b.txt", 3, "The cat sat!", 0.98, ("a.txt", 1))`
    """

    source: str
    line: int
    text: str
    score: float = 0.0  # the cosine with the row that it duplicates
    of: tuple[str, int] | None = None  # the source and the line of that row
    of_text: str = ""  # its text


def duplicates(
    inputs: Any,
    *,
    model: Model | str | None = None,
    threshold: float = 0.95,
    text: TextSettings | None = None,
    threads: int | None = None,
    progress: Progress | bool = SILENT,
) -> Iterator[CheckedRow]:
    """Every row in order, with the row that it duplicates, if any.

    The rows to keep: `[row.text for row in duplicates(...) if row.of is None]`

    inputs     a file, folder, glob, "-", a list of those, or `Texts([...])`
    model      a model or its name; by default the pretrained one
    threshold  minimum cosine at which two rows may count as duplicates
    text       how text is read, and what a row is; by default a line
    """
    if not isinstance(threshold, int | float | np.number) or not 0 < threshold <= 1:
        raise SettingsError(f"threshold is {threshold!r}; expected a cosine, more than 0 and at most 1")
    model = open_model(model)
    with shown(progress, "reading", None, unit="B") as reporter:
        reader = RowReader.of(inputs, text, reporter.say)
        missing = what_is_missing()
        if missing and (reader.total_bytes is None or reader.total_bytes > MANY_BYTES):
            reporter.say(
                f"this may stop once {FEW:,} lines are kept: {missing}"
            )  # said now, as the error would come much later
        kept = Kept(model, threshold, thread_count(threads))
        for block, vectors in encoded_blocks(reader, model, threads, reporter):
            for start in range(0, len(block), BATCH):
                numbers = range(start, min(start + BATCH, len(block)))
                rows = [KeptRow(block.source, block.number(i), block.row(i)) for i in numbers]
                for row, (twin, score) in zip(rows, kept.take(rows, vectors[start : start + BATCH]), strict=True):
                    yield CheckedRow(*row) if twin is None else CheckedRow(*row, score, twin[:2], twin.text)


class KeptRow(NamedTuple):
    """A row and its position."""

    source: str
    line: int
    text: str


Verdict: TypeAlias = tuple[KeptRow | None, float]  # the row it duplicates, and their cosine


class Kept:
    """The kept rows, in drawers by their numbers and codes."""

    def __init__(self, model: Model, threshold: float, threads: int) -> None:
        # A score at the threshold counts, and float32 may be off in its last digits.
        self._threshold, self._threads, self._dim = threshold - 1e-6, threads, model.dim
        self._agreement = Agreement(model)
        self._drawers: dict[tuple[str, ...], Drawer] = {}
        self._same: dict[tuple[str, ...], KeptRow] = {}  # rows by all their words, folded

    def take(self, rows: Sequence[KeptRow], vectors: Vectors) -> list[Verdict]:
        """For each row, the kept row it duplicates and their cosine; None if it is kept.

        rows     consecutive rows
        vectors  their vectors, (n, dim), of length 1 or zeros
        """
        words = [self._agreement.words(row.text) for row in rows]
        folded = [tuple(word.folded for word in each) for each in words]
        verdicts: list[Verdict] = [(None, 0.0)] * len(rows)
        drawers: dict[tuple[str, ...], list[int]] = {}
        first: dict[tuple[str, ...], int] = {}  # position of the first row with these words
        for i in range(len(rows)):
            if folded[i] in self._same:
                verdicts[i] = (self._same[folded[i]], 1.0)
            elif (not folded[i] or first.setdefault(folded[i], i) == i) and vectors[i].any():
                drawers.setdefault(tuple(word.folded for word in words[i] if word.is_code), []).append(i)
        for codes, members in drawers.items():
            drawer = self._drawers.setdefault(codes, Drawer(self._dim))
            items = [Item(rows[i], words[i], vectors[i]) for i in members]
            for i, verdict in zip(members, self._take(drawer, items), strict=True):
                verdicts[i] = verdict
        for i in range(len(rows)):
            if folded[i] and (earlier := first.get(folded[i], i)) < i:
                verdicts[i] = verdicts[earlier] if verdicts[earlier][0] else (rows[earlier], 1.0)
            elif folded[i] and verdicts[i][0] is None:
                self._same[folded[i]] = rows[i]
        return verdicts

    def _take(self, drawer: Drawer, items: Sequence[Item]) -> Iterator[Verdict]:
        """The same for rows of one drawer; new ones are added to it."""
        vectors = np.array([item.vector for item in items])
        before = drawer.nearest(vectors, min(self._threshold, LOOSE), self._threads)
        among = vectors @ vectors.T
        new: list[int] = []
        for i, item in enumerate(items):
            near = [(score, drawer.items[key]) for key, score in before[i]]
            near += [(float(among[i, j]), items[j]) for j in new if among[i, j] >= LOOSE]
            near.sort(key=lambda pair: -pair[0])
            twin = next((pair for pair in near[:SOME] if self._says_the_same(item, *pair)), None)
            if twin is None:
                new.append(i)
            yield (None, 0.0) if twin is None else (twin[1].row, min(twin[0], 1.0))
        drawer.keep([items[i] for i in new], vectors[new], self._threads)

    def _says_the_same(self, item: Item, score: float, other: Item) -> bool:
        if self._agreement.differ_by_slips(item.words, other.words):
            return True
        return score >= self._threshold and self._agreement.agree(item.words, other.words)


class Item(NamedTuple):
    """A row with its words and its vector."""

    row: KeptRow
    words: tuple[Word, ...]
    vector: Vectors | None  # None once it is kept, as the drawer then holds it


class Drawer:
    """Kept rows that are comparable, and their vectors."""

    def __init__(self, dim: int) -> None:
        self.items: list[Item] = []
        self._vectors: Vectors = np.empty((0, dim), np.float32)
        self._graph: Graph | None = None

    def nearest(self, vectors: Vectors, threshold: float, threads: int) -> list[list[tuple[int, float]]]:
        """For each vector, the numbers of rows with at least this cosine (only some, if many), and the cosines."""
        if self._graph is not None:
            found = nearest(self._graph, vectors, SOME, effort=96, threads=threads)
        else:
            cosines = vectors @ self._vectors.T
            numbers = (np.flatnonzero(row >= threshold) for row in cosines)
            found = [(keys, row[keys]) for keys, row in zip(numbers, cosines, strict=True)]
        return [
            [(int(key), float(score)) for key, score in zip(*pair, strict=True) if score >= threshold] for pair in found
        ]

    def keep(self, items: Sequence[Item], vectors: Vectors, threads: int) -> None:
        """Add rows."""
        n = len(self.items)
        self.items += [item._replace(vector=None) for item in items]
        if self._graph is None and len(self.items) > FEW:
            self._graph = new_graph(vectors.shape[1])
            add(self._graph, np.arange(n), shrunk(self._vectors), threads)
            self._vectors = self._vectors[:0].copy()
        if self._graph is not None:
            add(self._graph, np.arange(n, len(self.items)), shrunk(vectors), threads)
        else:
            self._vectors = np.concatenate([self._vectors, vectors])
