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

import numpy as np

from siamese_cbow.base.arrays import Vectors, thread_count
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.model.encoding import at_least_1, is_much
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.retrieval.scoring import SAMPLE_ROWS, BulkScorer, Cutoff, PlainScorer, Scored, Scorer
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
    text           how text is read, and what a row is; a line, or a paragraph of wrapped text, unless said
    """
    check_wanted(k, threshold, before, after)
    vector = query_vector(model, query)
    reader = RowReader.of(inputs, text or TextSettings(unit="auto"), progress.say)
    hits = BestHits(k, before, after)
    for block, rows, scored in _scored_blocks(reader, model, vector, Cutoff(k, threshold), thread_count(threads)):
        hits.take(rows, scored)
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


def check_wanted(k: int | None, threshold: float | None, before: int, after: int) -> None:
    """Raises an error unless these say which hits are wanted."""
    if k is None and threshold is None:
        raise SettingsError("neither k nor a threshold was given: every row would be a hit; expected one of them")
    if k is not None:
        at_least_1("k", k)
    if threshold is not None and not -1 <= threshold <= 1:
        raise SettingsError(f"threshold is {threshold}; expected a cosine, from -1 to 1")
    if before < 0 or after < 0:
        raise SettingsError(f"context is {before} rows before and {after} after; expected 0 or more")


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

    if isinstance(score, PlainScorer) or threads == 1:  # plain Python gains nothing, `encode` has threads of its own
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
        if is_much(n, raw=True):
            return


def _scorer(first: list[RawBlock], reader: RowReader, model: Model, query: Vectors) -> Scorer:
    if type(model.tokenizer) is not Tokenizer or not is_much(sum(len(block.data) for block in first), raw=True):
        return PlainScorer(model, query)  # another library's tokenizer has no scanner
    sample: list[str] = []
    for block in first:
        rows = reader.rows(block.start(1 << 19))
        sample += [text[:1000] for text in rows.texts(0, SAMPLE_ROWS - len(sample))]
        if len(sample) >= SAMPLE_ROWS:
            break
    return BulkScorer(model, query, sample)


@dataclass
class _Candidate:
    hit: Hit
    n_missing: int  # rows after it that were not there yet


@dataclass
class BestHits:
    """The k best rows so far (all, for k None) with the rows around them; fed with blocks in order."""

    k: int | None
    before: int = 0
    after: int = 0
    _candidates: list[_Candidate] = field(default_factory=list)
    _unfinished: list[_Candidate] = field(default_factory=list)
    _last: Rows | None = None

    def take(self, rows: Rows, scored: Scored) -> None:
        """The rows of the next block, and which of them may be hits."""
        if rows.first == 1:  # another file
            self._last, self._unfinished = None, []
        for candidate in self._unfinished:
            hit = candidate.hit
            candidate.hit = replace(hit, after=hit.after + rows.lines(0, candidate.n_missing))
            candidate.n_missing -= len(rows)
        places, scores = scored
        best = np.argsort(-scores, kind="stable")[: self.k]
        new = [self._candidate(int(places[i]), float(scores[i]), rows) for i in best]
        self._candidates += new
        if self.k is not None:
            self._candidates.sort(key=_rank)
            del self._candidates[self.k :]
        self._unfinished = [candidate for candidate in (*self._unfinished, *new) if candidate.n_missing > 0]
        self._last = rows

    def _candidate(self, row: int, score: float, rows: Rows) -> _Candidate:
        before = rows.lines(row - self.before, row)
        if len(before) < self.before and self._last is not None:
            before = self._last.lines(len(self._last) - self.before + len(before), len(self._last)) + before
        after = rows.lines(row + 1, row + 1 + self.after)
        hit = Hit(score, rows.source, rows.number(row), rows.row(row), before, after)
        return _Candidate(hit, self.after - len(after))

    def ranked(self) -> list[Hit]:
        """The best, best first; of equal ones, those that come first."""
        return [candidate.hit for candidate in sorted(self._candidates, key=_rank)]


def _rank(candidate: _Candidate) -> float:
    return -candidate.hit.score
