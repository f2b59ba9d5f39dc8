"""Combine two scores: BM25 for exact words and cosines for meaning, each in units of its spread over the collection.

    score = BM25 / (standard deviation over rows with a word of the query)
          + cosine / (standard deviation over a sample of all rows)

So neither half needs a weight: each counts as far as it discriminates between rows of this collection. The part of a
score that comes from words is `exact`, the part from vectors `meaning`, and the score is their sum.

Then the first FEEDBACK rows, which are likely to be right, are used as feedback: the query moves towards their mean by
SHIFT, and the POOL best rows are ranked again. (Relevance feedback, Rocchio 1971; FEEDBACK and SHIFT come from
Cranfield, where three to ten rows and shifts of .3 to 1 all help; `benchmarks/retrieval.py`.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats, Vectors
from siamese_cbow.base.option_fields import at_least_1
from siamese_cbow.errors import SettingsError
from siamese_cbow.retrieval.fitting import TINY, Fit, QueryDirection, steadied

Mode: TypeAlias = Literal["hybrid", "exact", "meaning"]
FEEDBACK, SHIFT, POOL = 3, 0.3, 100
USUAL_SHARE = 0.6  # spread of BM25 relative to its mean: median .50 on Wikipedia, .73 on Cranfield
TIE = 1e-5  # scores that differ by less count as equal


@dataclass(frozen=True)
class Wanted:
    """Which hits are wanted: the k best (None: all) that reach the threshold, by the halves of the score in `mode`."""

    k: int | None = 10
    threshold: float | None = None
    mode: Mode = "hybrid"

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise SettingsError(f"mode is {self.mode!r}; expected one of {', '.join(get_args(Mode))}")
        if self.k is None and self.threshold is None:
            raise SettingsError(
                "neither k nor threshold is set, so every row would be a hit; set k to 1 or more, or set a threshold"
            )
        if self.k is not None:
            at_least_1("k", self.k)
        if self.threshold is not None and not (
            isinstance(self.threshold, int | float | np.number) and np.isfinite(self.threshold)
        ):
            raise SettingsError(f"threshold is {self.threshold!r}; expected a number")
        if self.threshold is not None and self.mode == "meaning" and not -1 <= self.threshold <= 1:
            raise SettingsError(f"threshold is {self.threshold}; expected a cosine, from -1 to 1")

    @property
    def n_pool(self) -> int | None:
        """How many rows are scored exactly."""
        if self.k is None or self.mode != "hybrid":
            return self.k
        return max(POOL, 2 * self.k)


class Halves:
    """Computes the two halves of a score, for one query over one collection."""

    def __init__(self, mode: Mode, direction: QueryDirection | None, exact_spread: float) -> None:
        self.mode, self.direction = mode, direction
        self._exact_spread = exact_spread

    def exact(self, bm25: Floats) -> Floats:
        """The exact half of the scores of rows: BM25 in units of its spread, or raw if it is used alone."""
        if self.mode == "meaning":
            return np.zeros_like(bm25)
        if self.mode == "exact":
            return bm25
        return bm25 / self._exact_spread if self._exact_spread > TINY else np.zeros_like(bm25)

    def meaning(self, units: Vectors, lengths: NDArray[np.int64]) -> Floats:
        """The meaning half of the scores of rows, from their vectors and numbers of words."""
        if self.direction is None:
            return np.zeros(len(units))
        if self.mode == "meaning":
            cosines: Vectors = np.einsum("ij,j->i", units, self.direction.vector)
            return cosines.astype(np.float64)
        return self.direction.scores(units, lengths).astype(np.float64)

    def with_feedback(self, fit: Fit, best: Vectors) -> Halves:
        """The same with the query moved towards the best rows, (n, dim)."""
        assert self.direction is not None
        mean = _unit(best.sum(axis=0))
        moved = _unit(self.direction.vector + np.float32(SHIFT) * mean)
        return Halves(self.mode, QueryDirection.of(fit, moved), self._exact_spread)


def ranked(
    halves: Halves,
    fit: Fit | None,
    wanted: Wanted,
    rows: NDArray[np.int64],
    exact: Floats,
    units: Vectors,
    lengths: NDArray[np.int64],
) -> list[tuple[int, float, float]]:
    """The rows of a pool by decreasing score, each with its exact and meaning half; ties go to the earlier row.

    exact, units, lengths  for each row of the pool: its exact half, its vector, its number of words
    """
    meaning = halves.meaning(units, lengths)
    if wanted.threshold is not None:
        keep = exact + meaning >= wanted.threshold - TIE
        rows, exact, units, lengths, meaning = rows[keep], exact[keep], units[keep], lengths[keep], meaning[keep]
    if wanted.mode == "hybrid" and fit is not None and halves.direction is not None and halves.direction.vector.any():
        first = np.lexsort((rows, -(exact + meaning)))[:FEEDBACK]
        if len(first) and units[first].any():
            halves = halves.with_feedback(fit, units[first])
            meaning = halves.meaning(units, lengths)
    scores = exact + meaning
    order = np.lexsort((rows, -scores))
    if wanted.threshold is not None:
        order = order[scores[order] >= wanted.threshold]
    return [(int(rows[i]), float(exact[i]), float(meaning[i])) for i in order[: wanted.k]]


def spread_of(scores: Floats, n_rows: int) -> float:
    """The standard deviation of BM25 over the rows that have a word of the query: [0, 1, 3, 0] of 1,000 rows -> 1.

    Not over all rows: in a large collection, nearly all have none, and the few others would outweigh any cosine. At
    least a tenth of the mean, so that a single row with a rare code gets a score and not a division by 0.

    n_rows  rows in the collection; if there are few, the spread is unreliable (`fitting.steadied`)
    """
    matching = scores[scores > 0]
    if not len(matching):
        return 0.0
    mean = float(matching.mean())
    return max(steadied(float(matching.std()), USUAL_SHARE * mean, n_rows), mean / 10)


def _unit(vector: Vectors) -> Vectors:
    length = float(np.sqrt(np.einsum("i,i->", vector, vector)))
    return vector / np.float32(length) if length > TINY else np.zeros_like(vector)


def pool_of(wanted: Wanted, scores: Floats) -> NDArray[np.bool_]:
    """The pool that `search` takes from rows with these scores, so that feedback ranks the same rows again."""
    n, pool = wanted.n_pool, scores > -np.inf
    if n is not None and len(scores) > n:
        pool &= scores >= nth_highest(scores, n) - TIE
    return pool


def nth_highest(scores: Floats | Vectors, n: int) -> float:
    """`nth_highest([.1, .9, .5], 2)` -> .5."""
    return float(np.partition(scores, len(scores) - n)[len(scores) - n])


def highest(scores: Vectors, maxima: Vectors, group: int, n: int) -> NDArray[np.int64]:
    """The rows of the n highest scores, ascending; never -inf, ties go to the earlier row. [.1, .9, .5], n 2 -> [1, 2]

    maxima  of each `group` rows: at least n rows reach the n-th highest maximum, so only a few rows must be sorted
    """
    groups = np.arange(len(maxima))
    if len(maxima) > n:
        groups = np.flatnonzero(maxima >= nth_highest(maxima, n))
    rows = (groups[:, np.newaxis] * group + np.arange(group)).reshape(-1)
    rows = rows[rows < len(scores)]
    rows = rows[scores[rows] > -np.inf]
    if len(rows) > n:
        rows = rows[scores[rows] >= nth_highest(scores[rows], n)]
        rows = np.sort(rows[np.lexsort((rows, -scores[rows]))[:n]])
    return rows
