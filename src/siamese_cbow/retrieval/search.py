"""Semantic grep: the rows of a text that are nearest to a query, in one pass, in memory that doesn't grow with it.

search("a pet", "notes.txt", model=model, k=2)   ->   [Hit(0.71, "notes.txt", 12, "my cat sat"), Hit(0.64, ...)]
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from siamese_cbow.base.arrays import Vectors, thread_count
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.model.encoding import at_least_1
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.retrieval import scoring
from siamese_cbow.retrieval.scoring import SAMPLE_ROWS, Bulk, Cutoff, Plain, Scored, Scorer
from siamese_cbow.text.records import RawBlock, TextSettings
from siamese_cbow.text.row_reader import Line, RowReader, Rows
from siamese_cbow.words.tokenizer import Tokenizer


@dataclass(frozen=True)
class Hit:
    """A row near the query: `Hit(0.71, "notes.txt", 12, "a cat sat")`.

    score   the cosine of its vector and the query's, from -1 to 1
    source  the file, "standard input" or "the iterable"
    line    its number there, from 1
    before  the rows before it, as many as were asked for; `after` those after it
    """

    score: float
    source: str
    line: int
    text: str
    before: tuple[Line, ...] = ()
    after: tuple[Line, ...] = ()


def search(
    query: str,
    inputs: Any,
    *,
    model: Model,
    k: int | None = 10,
    threshold: float | None = None,
    before: int = 0,
    after: int = 0,
    text: TextSettings | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> list[Hit]:
    """The rows nearest to the query, best first; of equally near ones, those that come first.

    inputs         a file, folder, glob, "-", a list of those, or `Texts([...])`
    k              how many; None for all that reach the threshold
    threshold      the lowest score of a hit
    before, after  how many rows around a hit come with it
    text           how text is read, and what a row is; a line, unless said
    """
    best, cutoff = start(k, threshold, before, after)
    vector = query_vector(model, query)
    reader = RowReader.of(inputs, text, progress.say)
    hits = BestHits(best, before, after)
    for block, rows, scored in _scored_blocks(reader, model, vector, cutoff, thread_count(threads)):
        hits.take(rows, scored, cutoff)
        progress.advance(block.n_source_bytes)
    return hits.ranked()


def encoded_blocks(
    reader: RowReader, model: Model, threads: int | None, progress: Progress
) -> Iterator[tuple[Rows, Vectors]]:
    """The rows of each block and their vectors of length 1, (n_rows, dim); zeros where a row has no known word."""
    for rows in reader.row_blocks(progress):
        yield rows, model.encode(rows.texts(), normalize_embeddings=True, threads=threads)


def query_vector(model: Model, query: str) -> Vectors:
    """The vector of a query at length 1, (dim,); a query without any known word is an error."""
    if not query.strip():
        raise InputError("the query is empty; expected some words")
    vector = model.encode(query, normalize_embeddings=True)
    if not vector.any():
        unknown = ", ".join(map(repr, model.unknown_words(query)[:5])) or "no words"
        raise InputError(f"the query {query!r:.80} has no word that the model knows ({unknown}); use other words")
    return vector


def start(k: int | None, threshold: float | None, before: int, after: int) -> tuple[Best, Cutoff]:
    """Checked settings, as what they are needed for."""
    if k is None and threshold is None:
        raise SettingsError("neither k nor a threshold was given: every row would be a hit; expected one of them")
    if k is not None:
        at_least_1("k", k)
    if threshold is not None and not -1 <= threshold <= 1:
        raise SettingsError(f"threshold is {threshold}; expected a cosine, from -1 to 1")
    if before < 0 or after < 0:
        raise SettingsError(f"context is {before} rows before and {after} after; expected 0 or more")
    return Best(k), Cutoff(k, threshold)


def _scored_blocks(
    reader: RowReader, model: Model, query: Vectors, cutoff: Cutoff, threads: int
) -> Iterator[tuple[RawBlock, Rows, Scored]]:
    """Each block with its rows and the scores that matter, in order; a few blocks are on their way at a time."""
    blocks = reader.blocks()
    first = list(_until_much(blocks))
    blocks = itertools.chain(first, blocks)
    score = _scorer(first, reader, model, query)

    def work(block: RawBlock) -> tuple[RawBlock, Rows, Scored]:
        rows = reader.rows(block)
        return block, rows, score(rows, cutoff)

    if isinstance(score, Plain) or threads == 1:  # plain Python gains nothing, `encode` has threads of its own
        yield from map(work, blocks)
        return
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[tuple[RawBlock, Rows, Scored]]] = deque()
        try:
            for block in blocks:
                running.append(pool.submit(work, block))
                if len(running) > threads:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:  # after an error: nothing of it is wanted any more
                future.cancel()


def _until_much(blocks: Iterator[RawBlock]) -> Iterator[RawBlock]:
    n = 0
    for block in blocks:
        yield block
        n += len(block.data)
        if n > scoring.LITTLE_TEXT:
            return


def _scorer(first: list[RawBlock], reader: RowReader, model: Model, query: Vectors) -> Scorer:
    if type(model.tokenizer) is not Tokenizer or sum(len(block.data) for block in first) <= scoring.LITTLE_TEXT:
        return Plain(model, query)  # another library's tokenizer has no scanner
    sample: list[str] = []
    for block in first:
        rows = reader.rows(block.start(1 << 19))
        sample += [text[:1000] for text in rows.texts(0, SAMPLE_ROWS - len(sample))]
        if len(sample) >= SAMPLE_ROWS:
            break
    return Bulk(model, query, sample)


class Best:
    """The k best of what is offered, or all (k None); of equal scores, those that come first.

    `place` is anything that grows from one offer to the next.
    """

    def __init__(self, k: int | None) -> None:
        self._k = k
        self._heap: list[tuple[float, int, int]] = []  # score, -place, key: the first is the worst

    def offer(self, score: float, place: int) -> tuple[bool, int | None]:
        """Whether it is taken in, and the place of the one that has to leave for it."""
        entry = (score, -place, place)
        if self._k is None or len(self._heap) < self._k:
            heapq.heappush(self._heap, entry)
            return True, None
        if entry < self._heap[0]:
            return False, None
        return True, heapq.heapreplace(self._heap, entry)[2]

    def places(self) -> list[int]:
        """The places of the best, best first."""
        return [place for _, _, place in sorted(self._heap, reverse=True)]


@dataclass
class BestHits:
    """The hits so far, with the rows around them; fed with blocks in order."""

    best: Best
    before: int
    after: int
    _hits: dict[int, Hit] = field(default_factory=dict)
    _short: set[int] = field(default_factory=set)  # hits whose rows after them were not all there yet
    _last: Rows | None = None
    _n_rows: int = 0

    def take(self, rows: Rows, scored: Scored, cutoff: Cutoff) -> None:
        """The rows of the next block, and which of them may be hits."""
        if rows.first == 1:  # another file
            self._last = None
            self._short.clear()
        for place in [place for place in self._short if place in self._hits]:
            hit = self._hits[place]
            missing = self.after - len(hit.after)
            self._hits[place] = replace(hit, after=hit.after + rows.lines(0, missing))
            if missing <= len(rows):
                self._short.discard(place)
        for row, score in zip(*scored, strict=True):
            if score >= cutoff.value:  # it may have risen meanwhile
                self._offer(int(row), float(score), rows)
        self._last = rows
        self._n_rows += len(rows)

    def _offer(self, row: int, score: float, rows: Rows) -> None:
        place = self._n_rows + row
        taken, left = self.best.offer(score, place)
        if left is not None:
            del self._hits[left]
            self._short.discard(left)
        if taken:
            self._hits[place] = self._hit(row, score, rows)
            if row + self.after >= len(rows):
                self._short.add(place)

    def _hit(self, row: int, score: float, rows: Rows) -> Hit:
        before = rows.lines(row - self.before, row)
        if len(before) < self.before and self._last is not None:
            before = self._last.lines(len(self._last) - self.before + len(before), len(self._last)) + before
        after = rows.lines(row + 1, row + 1 + self.after)
        return Hit(score, rows.source, rows.number(row), rows.row(row), before, after)

    def ranked(self) -> list[Hit]:
        """The best, best first."""
        return [self._hits[place] for place in self.best.places()]
