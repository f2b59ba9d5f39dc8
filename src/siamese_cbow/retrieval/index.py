"""An index on disk: a query among millions of rows takes milliseconds.

    Index.update("notes.index", "notes/", model=model)         creates it; later calls read new and changed files
    Index("notes.index", model=model).search("a pet", k=2)     -> [Hit(6.1, "notes/a.txt", 12, "my cat sat"), ...]

The words of every row are known exactly, its cosine approximately (`fitting.Coding`). So every row gets an approximate
score, and the best rows are scored exactly, with the same result as `search`. A hit may occasionally be missed; `check`
measures how often. The index contains the text of the rows, so hits show what was indexed; `stale` lists files that
have changed since.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats, Vectors, thread_count
from siamese_cbow.base.disk import as_path
from siamese_cbow.base.files import one_writer
from siamese_cbow.formats.resolver import open_model
from siamese_cbow.kernels.bm25 import idf
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress, shown
from siamese_cbow.retrieval import updating
from siamese_cbow.retrieval.fitting import Coding, Fit, in_spreads, shortened
from siamese_cbow.retrieval.fusion import Halves, Mode, Wanted, highest, pool_of, ranked, spread_of
from siamese_cbow.retrieval.manifest import Manifest, kept_model
from siamese_cbow.retrieval.row_words import PlainWords, Words, few_words_of
from siamese_cbow.retrieval.scoring import means_of, query_direction
from siamese_cbow.retrieval.search import Hit, check_context, checked_terms, matched_words, recall
from siamese_cbow.retrieval.segment import how_to_rebuild
from siamese_cbow.retrieval.terms import QueryMemory, QueryWords, Term, length_norms
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import Rows

# Rows scored exactly per requested hit, because codes are approximate. Never fewer than AT_LEAST.
FACTOR, AT_LEAST = 2, 50


class _FileRows(NamedTuple):
    """The rows of a file: first, ..., last - 1 of a segment."""

    first: int
    last: int
    file: str


class Index:
    """An index built by `Index.update`, open for searching; by default with the model it was built with."""

    def __init__(self, folder: str | Path, *, model: Model | str | None = None) -> None:
        self.folder = as_path(folder, "the index")
        self.manifest = Manifest.read(self.folder)
        place, fallback = self.manifest.built_with
        self.model = model = open_model(place).with_fallback(fallback) if model is None else open_model(model)
        self.manifest.check_model(model, self.folder)
        self._segments = list(self.manifest.open_segments(self.folder).values())
        self._firsts = np.cumsum([0, *map(len, self._segments)]).tolist()  # rows are numbered across all segments
        self._words, self._query_words = PlainWords(model), QueryWords(model)
        self._row_words: Words | None = None
        self._memories: list[QueryMemory] = []

    @classmethod
    def update(
        cls,
        folder: str | Path,
        inputs: Any = (),
        *,
        model: Model | str | None = None,
        text: TextSettings | None = None,
        rebuild: bool = False,
        threads: int | None = None,
        progress: Progress | bool = SILENT,
    ) -> Index:
        """Create or update an index of files and folders; without inputs, of the files it already has.

        model    a model or its name, which the index keeps; by default the one it was built with, or the pretrained one
        text     how text is read, and what a row is; `rebuild` reads everything again, for instance to change that
        """
        target = as_path(folder, "the index", home=False)
        name = kept_model(target, forgiving=True)[0] if model is None else model
        opened, place = open_model(name), None if isinstance(name, Model) or name is None else Path(name)
        with shown(progress, "reading", None, unit="B") as reporter:
            updating.update(
                target, inputs, model=opened, text=text, rebuild=rebuild, model_folder=place, threads=threads,
                progress=reporter,
            )  # fmt: skip
        return cls(folder, model=opened)

    def in_memory(self) -> Index:
        """This index with its files in memory, for long-running servers: later changes to the files have no effect."""
        for segment in self._segments:
            segment.take_in()
        self._codings = [coding.in_memory() for coding in self._codings]
        return self

    def __len__(self) -> int:
        return self.manifest.n_live()

    def __repr__(self) -> str:
        return f"<Index of {len(self):,} rows of {len(self.manifest.files):,} files in {self.folder}>"

    def stale(self) -> list[str]:
        """Files that have changed or been deleted since the index was built; `Index.update(folder)` updates it."""
        return [_shown(name) for name, entry in self.manifest.files.items() if not entry.is_of(name)]

    def search(
        self,
        query: str,
        *,
        k: int | None = 10,
        threshold: float | None = None,
        before: int = 0,
        after: int = 0,
        mode: Mode = "hybrid",
        threads: int | None = None,
    ) -> list[Hit]:
        """The rows that match the query best, best first; the options are those of `siamese_cbow.search`.

        If k is None, all rows that reach the threshold: then every row is scored exactly, which takes longer.
        """
        check_context(before, after)
        wanted = Wanted(k, threshold, mode)
        terms = checked_terms(self.model, self._query_words, query, mode)
        best = self._best(query, terms, wanted, thread_count(threads)) if len(self) else []
        return [self._hit(*each, before, after, terms) for each in best]

    def _best(self, query: str, terms: list[Term], wanted: Wanted, threads: int) -> list[tuple[int, float, float]]:
        """The best rows with the two halves of their scores, numbered across all segments."""
        fit = self._codings[-1].fit if wanted.mode != "exact" else None
        direction = None if fit is None else query_direction(self._words, fit, query)
        memory = self._borrowed_memory()
        scored = self._score_terms(terms, memory)
        halves = Halves(wanted.mode, direction, spread_of(memory.scores[scored], len(self)))
        rows = self._candidates(query, wanted, halves, scored, memory, threads)
        exact = halves.exact(memory.scores[rows])
        memory.scores[scored] = 0
        self._memories.append(memory)
        means = self._means(rows, fit)
        units = means if fit is None else fit.units_one_by_one(means)
        scores = exact + halves.meaning(units, self._lengths[rows])
        scores[(exact == 0) & ~units.any(axis=1)] = -np.inf
        pool = pool_of(wanted, scores)
        return ranked(halves, fit, wanted, rows[pool], exact[pool], units[pool], self._lengths[rows[pool]])

    def _borrowed_memory(self) -> QueryMemory:
        """Buffers for one query alone; they are handed back clean, or dropped after an error."""
        from siamese_cbow.kernels.row_scores import GROUP

        with suppress(IndexError):
            return self._memories.pop()
        return QueryMemory(self._firsts[-1], GROUP)

    def _score_terms(self, terms: list[Term], memory: QueryMemory) -> NDArray[np.int64]:
        """The rows with a query word; writes their BM25, as defined by `terms.bm25`, to `memory.scores`."""
        from siamese_cbow.kernels.row_scores import add_scores

        n, parts = 0, [slice(*ends) for ends in zip(self._firsts, self._firsts[1:], strict=False)]
        for term in terms:
            touched = [
                segment.count(term, self._live_mask[part], memory.tally[part], memory.touched[part])
                for part, segment in zip(parts, self._segments, strict=True)
            ]
            weight = term.count * float(idf(np.array([sum(map(len, touched))]), len(self))[0])
            for part, rows in zip(parts, touched, strict=True):
                arrays = memory.tally[part], self._norms[part], memory.scores[part], memory.scored
                n = add_scores(rows, weight, *arrays, part.start, n)
        return memory.scored[:n]

    def _candidates(
        self, query: str, wanted: Wanted, halves: Halves, scored: NDArray[np.int64], memory: QueryMemory, threads: int
    ) -> NDArray[np.int64]:
        """The rows to score exactly, in ascending order: those with the highest scores by words and codes."""
        if wanted.mode == "exact":
            return np.sort(scored)
        if wanted.k is None:
            return np.flatnonzero(self._live_mask)
        from siamese_cbow.kernels.row_scores import GROUP

        assert halves.direction is not None
        vector = halves.direction.vector
        if self._codings[0].fit is not self._codings[-1].fit:
            vector = query_direction(self._words, self._codings[0].fit, query).vector
        vector = in_spreads(vector, halves.direction.spread) if wanted.mode == "hybrid" else vector
        coded = self._codings[0].query(vector)
        weight = float(halves.exact(np.ones(1))[0])
        factors = self._short if wanted.mode == "hybrid" else np.ones_like(self._short)
        memory.maxima[:] = -np.inf
        for first, segment in zip(self._firsts, self._segments, strict=False):
            segment.compare(coded, first, memory, factors, weight, self._live_mask, threads)
        return highest(memory.about, memory.maxima, GROUP, max(FACTOR * (wanted.n_pool or 0), AT_LEAST))

    def _means(self, rows: NDArray[np.int64], fit: Fit | None) -> Vectors:
        """The means of rows, (n, dim): plain Python for the first query, perhaps the only one, then the scanner."""
        if fit is None:
            return np.zeros((len(rows), 1), np.float32)
        words, self._row_words = self._row_words or self._words, self._row_words or few_words_of(self.model)
        return means_of(words, map(self._text, rows.tolist()), fit)

    def check(self, *, n_queries: int = 100, k: int = 10, seed: int = 1) -> dict[str, Any]:
        """Read all files of the index to find damage, and measure how many of the true k best rows a search finds.

        Queries are the first halves of random rows. The result is kept in the index:
        {"recall": 0.99, "k": 10, "n_queries": 100, "n_rows": 1000000, "milliseconds": 2.1}
        """
        self.manifest.open_segments(self.folder, whole=True)
        measured = recall(self, n_queries, k, seed)
        if not measured:
            return {}
        self.manifest.recall = measured
        with one_writer(self.folder):
            now = Manifest.read(self.folder)
            if (now.segments, now.files) == (self.manifest.segments, self.manifest.files):  # unchanged meanwhile
                self.manifest.write(self.folder)
        return measured

    def blocks(self) -> Iterator[Rows]:
        """All live rows, in blocks."""
        for segment, files in zip(self._segments, self._live, strict=True):
            for first, last, file in files:
                yield from segment.blocks(first, last, file)

    # rows

    @cached_property
    def _live(self) -> list[list[_FileRows]]:
        """For each segment, the rows of its files, in order."""
        live: dict[str, list[_FileRows]] = {name: [] for name in self.manifest.segments}
        for file, entry in self.manifest.files.items():
            if entry.last > entry.first:
                live[entry.segment].append(_FileRows(entry.first, entry.last, file))
        return [sorted(files) for files in live.values()]

    @cached_property
    def _live_mask(self) -> NDArray[np.bool_]:
        mask = np.zeros(self._firsts[-1], bool)
        for start, files in zip(self._firsts, self._live, strict=False):
            for first, last, _ in files:
                mask[start + first : start + last] = True
        return mask

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        return np.concatenate([np.empty(0, np.int64), *(segment.lengths for segment in self._segments)])

    @cached_property
    def _short(self) -> Vectors:
        return shortened(self._lengths)

    @cached_property
    def _norms(self) -> Floats:
        live = self._lengths[self._live_mask]
        return length_norms(self._lengths.astype(np.float64), float(live.mean()) if len(live) else 0.0)

    @cached_property
    def _codings(self) -> list[Coding]:
        """The coding that made the codes, and the current fit if it differs."""
        names, advice = list(self.manifest.fits), how_to_rebuild(self.folder)
        used = [*names[:1], *names[1:][-1:]]
        return [Coding.load(self.folder / name, self.model, advice=advice) for name in used]

    def _place(self, row: int) -> tuple[int, int]:
        """The segment of a row, and its number within it."""
        segment = bisect_right(self._firsts, row) - 1
        return segment, row - self._firsts[segment]

    def _text(self, row: int) -> str:
        segment, i = self._place(row)
        return self._segments[segment].text.text(i)

    def _hit(self, row: int, exact: float, meaning: float, before: int, after: int, terms: list[Term]) -> Hit:
        i, own = self._place(row)
        segment, files = self._segments[i], self._live[i]
        file = files[bisect_right(files, own, key=lambda each: each.first) - 1]
        line = segment.line(own)
        return Hit(
            exact + meaning,
            _shown(file.file),
            line.number,
            line.text,
            tuple(map(segment.line, range(max(own - before, file.first), own))),
            tuple(map(segment.line, range(own + 1, min(own + 1 + after, file.last)))),
            exact,
            meaning,
            matched_words(self.model, terms, line.text),
            self.manifest.files[file.file].counted,  # type: ignore[arg-type]
        )


def _shown(file: str) -> str:
    """A path relative to the working directory, if it is inside."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file
