"""Semantic grep: the rows of a text that are nearest to a query, in one pass, in memory that doesn't grow with it.

search("a pet", "notes.txt", model=model, k=2)   ->   [Hit(0.71, "notes.txt", 12, "my cat sat"), Hit(0.64, ...)]
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from siamese_cbow.base.arrays import Vectors, thread_count
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.model.encoding import at_least_1, is_much
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.retrieval.hits import Best, Cutoff, Hit
from siamese_cbow.retrieval.rows import Block, Rows, RowSettings, Source, finished
from siamese_cbow.retrieval.scoring import SAMPLE_ROWS, Bulk, Plain, Scored, Scorer
from siamese_cbow.words.tokenizer import Tokenizer


def search(
    query: str,
    inputs: Any,
    *,
    model: Model,
    k: int | None = 10,
    threshold: float | None = None,
    before: int = 0,
    after: int = 0,
    rows: RowSettings | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> list[Hit]:
    """The rows nearest to the query, best first; of equally near ones, those that come first.

    inputs         a file, folder, glob, "-", a list of those, or `Texts([...])`
    k              how many; None for all that reach the threshold
    threshold      the lowest score of a hit
    before, after  how many rows around a hit come with it
    rows           what a row is; a line, unless said
    """
    best, cutoff = start(k, threshold, before, after)
    vector = query_vector(model, query)
    source = inputs if isinstance(inputs, Source) else Source(inputs, rows or RowSettings(), progress.say)
    found = Found(best, before, after)
    for block, row, scored in _scored_blocks(source, model, vector, cutoff, thread_count(threads)):
        found.take(row, scored, cutoff)
        progress.advance(block.n_source_bytes)
    return found.hits()


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
    source: Source, model: Model, query: Vectors, cutoff: Cutoff, threads: int
) -> Iterator[tuple[Block, Rows, Scored]]:
    """Each block with its rows and the scores that matter, in order; a few blocks are on their way at a time."""
    blocks = source.blocks()
    first = list(_until_much(blocks))
    blocks = itertools.chain(first, blocks)
    settings, score = source.settings, _scorer(first, source.settings, model, query)

    def work(block: Block) -> tuple[Block, Rows, Scored]:
        rows = finished(block, settings)
        return block, rows, score(rows, cutoff)

    if isinstance(score, Plain) or threads == 1:  # plain Python gains nothing, `encode` has threads of its own
        yield from map(work, blocks)
        return
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[tuple[Block, Rows, Scored]]] = deque()
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


def _until_much(blocks: Iterator[Block]) -> Iterator[Block]:
    n = 0
    for block in blocks:
        yield block
        n += len(block.data)
        if is_much(n, raw=True):
            return


def _scorer(first: list[Block], settings: RowSettings, model: Model, query: Vectors) -> Scorer:
    if type(model.tokenizer) is not Tokenizer or not is_much(sum(len(block.data) for block in first), raw=True):
        return Plain(model, query)  # another library's tokenizer has no scanner
    sample: list[str] = []
    for block in first:
        end = block.data.find(b"\n", 1 << 19) + 1 or len(block.data)
        rows = finished(replace(block, data=block.data[:end]), settings)
        sample += [text[:1000] for text in rows.texts(0, SAMPLE_ROWS - len(sample))]
        if len(sample) >= SAMPLE_ROWS:
            break
    return Bulk(model, query, sample)


@dataclass
class Found:
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
        if rows.first_line == 1:  # another file
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

    def hits(self) -> list[Hit]:
        """The best, best first."""
        return [self._hits[place] for place in self.best.places()]
