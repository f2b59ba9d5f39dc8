"""An index on disk: a query among millions of rows takes milliseconds.

    Index.update("notes.index", "notes/", model=model)         makes it; again: reads what is new or has changed
    Index("notes.index", model=model).search("a pet", k=2)     -> [Hit(6.1, "notes/a.txt", 12, "my cat sat"), ...]

The words of every row are known exactly, its cosine nearly (`coding`): so every row gets a score, and the best are
scored exactly, with the same result as `search`. One may be missed now and then: `check` measures how often. The text
of the rows is in the index, so hits are shown as they were when it was made; `stale` tells which files have changed.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats, Vectors, thread_count
from siamese_cbow.base.files import one_writer
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.retrieval import updating
from siamese_cbow.retrieval.coding import Coding
from siamese_cbow.retrieval.fitting import shortened
from siamese_cbow.retrieval.manifest import Manifest
from siamese_cbow.retrieval.postings import as_matches
from siamese_cbow.retrieval.ranking import Halves, Mode, Wanted, ranked, spread_of
from siamese_cbow.retrieval.row_words import PlainWords
from siamese_cbow.retrieval.scoring import query_direction
from siamese_cbow.retrieval.search import Hit, check_context, checked_terms, matched_words
from siamese_cbow.retrieval.segment import REBUILD
from siamese_cbow.retrieval.terms import QueryWords, Term, bm25, joined
from siamese_cbow.text.records import TextSettings

# Rows that are scored exactly, for each that is wanted: codes are not exact. Never fewer than AT_LEAST.
FACTOR, AT_LEAST = 2, 50
TOGETHER = 64  # rows whose highest score is looked at first


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
        self._firsts = np.cumsum([0, *map(len, self._segments)]).tolist()  # rows are counted through all segments
        self._words, self._query_words = PlainWords(model), QueryWords(model)

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

    def stale(self) -> list[str]:
        """Files that have changed or are gone since the index was made; `index -o FOLDER` brings it up to date."""
        changed = []
        for name, entry in self.manifest.files.items():
            try:
                now = os.stat(name)  # noqa: PTH116 (a name, and thousands of them)
            except OSError:
                changed.append(_shown(name))
                continue
            if (now.st_size, now.st_mtime_ns) != (entry.size, entry.mtime_ns):
                changed.append(_shown(name))
        return changed

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
        """The rows that match the query best, best first, as `siamese_cbow.search` gives them.

        With k None, all that reach the threshold: then every row is scored exactly, which takes longer.
        """
        check_context(before, after)
        wanted = Wanted(k, threshold, mode)
        terms = checked_terms(self.model, self._query_words, query, mode)
        best = self._best(query, terms, wanted, thread_count(threads)) if len(self) else []
        return [self._hit(*each, before, after, terms) for each in best]

    def _best(
        self, query: str, terms: list[Term], wanted: Wanted, threads: int, *, all_rows: bool = False
    ) -> list[tuple[int, float, float]]:
        """The best rows with the two halves of their scores, counted through all segments."""
        n_live = len(self)
        matches = joined(
            (first, as_matches([_live_only(rows, counts, live) for rows, counts in segment.matches(terms)]))
            for first, segment, live in zip(self._firsts, self._segments, self._live_masks, strict=False)
        )
        worth = bm25(matches, terms, self._lengths[matches.rows], self._mean_length, n_live)
        scores = np.bincount(matches.rows, worth, minlength=self._firsts[-1])
        fit = self._fitted.fit if wanted.mode != "exact" else None
        direction = None if fit is None else query_direction(self._words, fit, query)
        halves = Halves(wanted.mode, direction, spread_of(scores))
        exact = halves.exact(scores)
        rows = self._candidates(query, wanted, halves, exact, threads, all_rows=all_rows or wanted.k is None)
        units = np.zeros((len(rows), 1), np.float32)
        if fit is not None:
            words = self._words.of([self._text(row) for row in rows.tolist()])
            units = fit.units_one_by_one(self._words.means(words, fit.weights))
        counts = exact[rows] != 0
        keep = counts | units.any(axis=1)
        rows, units = rows[keep], units[keep]
        rows, units = _pool(wanted, halves, rows, exact[rows], units, self._lengths[rows])
        return ranked(halves, fit, wanted, rows, exact[rows], units, self._lengths[rows])

    def _candidates(
        self, query: str, wanted: Wanted, halves: Halves, exact: Floats, threads: int, *, all_rows: bool
    ) -> NDArray[np.int64]:
        """The rows that are scored exactly, rising: those with the highest scores by their codes."""
        live = np.concatenate([np.empty(0, bool), *self._live_masks])
        if wanted.mode == "exact":
            return np.flatnonzero(live & (exact > 0))
        if all_rows:
            return np.flatnonzero(live)
        coding = self._coding
        vector = query_direction(self._words, coding.fit, query).vector
        coded = coding.query(vector)
        about = np.concatenate([segment.cosines(coded, threads) for segment in self._segments])
        if halves.mode == "hybrid" and halves.direction is not None and halves.direction.spread > 0:
            about *= self._short / np.float32(halves.direction.spread)
            about += exact
        about[~live] = -np.inf
        n = max(FACTOR * (wanted.n_pool or 0), AT_LEAST)
        return highest(about, n)

    def check(self, *, n_queries: int = 100, k: int = 10, seed: int = 1) -> dict[str, Any]:
        """Reads all files of the index to find damage, and measures how many of the true k best a search finds.

        Queries are the first halves of random rows. The result is kept in the index:
        {"recall": 0.99, "k": 10, "n_queries": 100, "n_rows": 1000000, "milliseconds": 2.1}
        """
        self.manifest.open_segments(self.folder, whole=True)
        queries = self._some_queries(n_queries, seed)
        if not queries:
            return {}
        n_found, n_wanted, seconds = 0, 0, []
        for query in queries:
            began = time.perf_counter()
            mine = [hit.score for hit in self.search(query, k=k)]
            seconds.append(time.perf_counter() - began)
            true = self._exact(query, k)
            n_wanted += len(true)
            n_found += sum(score >= true[-1] - 1e-4 for score in mine)
        self.manifest.recall = {
            "recall": round(n_found / max(1, n_wanted), 4),
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

    # rows

    @cached_property
    def _live(self) -> list[list[_FileRows]]:
        """For each segment the rows of its files, in order."""
        live: dict[str, list[_FileRows]] = {name: [] for name in self.manifest.segments}
        for file, entry in self.manifest.files.items():
            if entry.last > entry.first:
                live[entry.segment].append(_FileRows(entry.first, entry.last, file))
        return [sorted(files) for files in live.values()]

    @cached_property
    def _live_masks(self) -> list[NDArray[np.bool_]]:
        masks = []
        for segment, files in zip(self._segments, self._live, strict=True):
            mask = np.zeros(len(segment), bool)
            for first, last, _ in files:
                mask[first:last] = True
            masks.append(mask)
        return masks

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        return np.concatenate([np.empty(0, np.int64), *(segment.lengths for segment in self._segments)])

    @cached_property
    def _short(self) -> Vectors:
        return shortened(self._lengths)

    @cached_property
    def _mean_length(self) -> float:
        live = np.concatenate([np.empty(0, bool), *self._live_masks])
        return float(self._lengths[live].mean()) if live.any() else 0.0

    @cached_property
    def _coding(self) -> Coding:
        return Coding.load(self.folder / next(iter(self.manifest.fits)), self.model, advice=REBUILD)

    @cached_property
    def _fitted(self) -> Coding:
        return Coding.load(self.folder / list(self.manifest.fits)[-1], self.model, advice=REBUILD)

    def _place(self, row: int) -> tuple[int, int]:
        """The segment of a row, and its number there."""
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
            if query and self.model.encode(query).any():
                queries.append(query)
            if len(queries) == n:
                break
        return queries

    def _exact(self, query: str, k: int) -> list[float]:
        """The scores of the k best rows, falling, by looking at every row."""
        from siamese_cbow.retrieval.kept_text import KeptText
        from siamese_cbow.retrieval.scoring import Collection

        if not self._whole:
            kept = KeptText()
            for segment, files in zip(self._segments, self._live, strict=True):
                for first, last, file in files:
                    for rows in segment.blocks(first, last, file):
                        kept.append(rows)
            self._whole.append(Collection(self.model, kept, thread_count(None)))
        terms = checked_terms(self.model, self._query_words, query, "hybrid")
        best = self._whole[0].best(query, terms, Wanted(k))
        return [exact + meaning for _, exact, meaning in best]

    @cached_property
    def _whole(self) -> list[Any]:
        return []


def _pool(
    wanted: Wanted, halves: Halves, rows: NDArray[np.int64], exact: Floats, units: Vectors, lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Vectors]:
    """Of rows with exact vectors, the pool that `search` would take: feedback ranks the same rows again."""
    n = wanted.n_pool
    if n is None or len(rows) <= n:
        return rows, units
    scores = exact + halves.meaning(units, lengths)
    keep = np.sort(np.lexsort((rows, -scores))[:n])
    return rows[keep], units[keep]


def _live_only(
    rows: NDArray[np.int64], counts: NDArray[np.int64], live: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if live.all():
        return rows, counts
    keep = live[rows]
    return rows[keep], counts[keep]


def highest(scores: Vectors, n: int) -> NDArray[np.int64]:
    """The rows of about the n highest scores, n at least, rising; -inf never. [.1, .9, .5], 2 -> [1, 2]

    The n-th highest of the maxima of TOGETHER rows each is reached by n rows and more, and hardly any row is sorted.
    """
    if len(scores) <= n:
        return np.flatnonzero(scores > -np.inf)
    n_groups = len(scores) // TOGETHER
    if n_groups > n:
        maxima = scores[: n_groups * TOGETHER].reshape(-1, TOGETHER).max(axis=1)
        bar = np.partition(maxima, n_groups - n)[n_groups - n]
        rows = np.flatnonzero(scores >= bar)
    else:
        rows = np.arange(len(scores))
    if len(rows) > n:
        rows = np.sort(rows[np.lexsort((rows, -scores[rows]))[:n]])  # of equal ones the first
    return rows[scores[rows] > -np.inf]


def _shown(file: str) -> str:
    """Relative to where we are, if below."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file
