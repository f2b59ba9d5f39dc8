"""Does a claim hold? An interval over pairs and runs decides, in the same way for every claim.

A claim states that a value exceeds a bound: a difference of two means exceeds 0, or a system is ahead on more than half
of the sets. The value is recomputed in many resamples. Each resample draws the pairs of every set with replacement, the
same pairs for all systems, and picks one of a system's runs at random, so that the interval reflects both sampling
error in the test and variation in training:

    holds            the middle 95% of the resamples lie above the bound
    does not hold    they lie at or below it
    cannot be told   otherwise; also with fewer than three runs, or against a rival that is not `sound`

Reports show the last as "undecided". A rival is not sound if its vectors have collapsed or if it scores below random
vectors: beating it proves nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from siamese_cbow.base.arrays import Floats, Vectors
from siamese_cbow.errors import counted
from siamese_cbow.evaluation.correlation import Interval, interval, resamples, set_rng, weighted_pearson
from siamese_cbow.evaluation.scores import Scores
from siamese_cbow.model.geometry import units

Verdict: TypeAlias = Literal["holds", "does not hold", "cannot be told"]
HOLDS: Verdict = "holds"
FAILS: Verdict = "does not hold"
UNDECIDED: Verdict = "cannot be told"

RESAMPLES = 500
LEAST_RUNS = 3  # runs with different seeds
NEAR = 0.6  # cosine: the paper's bound for related words
CROWDED = 0.05  # of all word pairs; in healthy vectors of 100 or more dimensions, fewer than .001 are that near
N_LOOKED_AT = 2000  # words


@dataclass(frozen=True)
class Decision:
    """`Decision("holds", 0.021, Interval(0.012, 0.034))`; `why` says why it is undecided."""

    verdict: Verdict
    value: float | None = None
    interval: Interval | None = None
    why: str = ""

    def but(self, reason: str) -> Decision:
        """The same, but undecided for this reason if it would hold; a claim that does not hold stays that way."""
        return Decision(UNDECIDED, self.value, self.interval, reason) if reason and self.verdict == HOLDS else self


def decide(value: float | None, replicates: Floats, *, above: float, n_runs: int) -> Decision:
    """Whether a value exceeds a bound, given its value in each resample, (n,); NaN: undefined there."""
    bounds = interval(replicates)
    if value is None or bounds is None:
        return Decision(UNDECIDED, value, bounds, "undefined")
    if n_runs < LEAST_RUNS:
        return Decision(UNDECIDED, value, bounds, f"{counted(n_runs, 'training run')}, {LEAST_RUNS} needed")
    verdict = HOLDS if bounds.low > above else FAILS if bounds.high <= above else UNDECIDED
    return Decision(verdict, value, bounds)


def decide_by_runs(values: Sequence[float], *, above: float) -> Decision:
    """The same for a value without pairs to resample, such as a count of words: all runs must agree."""
    if not values:
        return Decision(UNDECIDED, why="undefined")
    spread = Interval(float(min(values)), float(max(values)))
    return decide(float(np.mean(values)), np.array(spread), above=above, n_runs=len(values))


def every(decisions: Sequence[Decision]) -> Verdict:
    """The verdict on a claim with several parts: it holds if all hold, and fails if one fails."""
    verdicts = {decision.verdict for decision in decisions}
    return FAILS if FAILS in verdicts else HOLDS if verdicts == {HOLDS} else UNDECIDED


# The basis of decisions


@dataclass(frozen=True, eq=False)
class Resampled:
    """Pearson of each set for the runs of one system, as measured and in each resample."""

    figures: Floats  # (n_runs, n_sets); NaN: undefined
    replicates: Floats  # (n_resamples, n_sets): of the run drawn for each resample
    is_single: bool = False  # trained once by design because it takes hours; others need three runs

    @property
    def n_runs(self) -> int:
        """The number of runs; a system trained once by design counts as three."""
        return LEAST_RUNS if self.is_single else len(self.figures)

    @property
    def point(self) -> Floats:
        """The mean over runs, (n_sets,)."""
        point: Floats = self.figures.mean(axis=0)
        return point


def resampled_pearsons(runs: Sequence[Scores], *, n: int = RESAMPLES) -> Floats:
    """Pearson of each set in each resample of its pairs, (n_runs, n, n_sets); the draw depends only on the set."""
    columns = []
    for scores in zip(*(run.sets for run in runs), strict=True):
        gold = scores[0].gold - scores[0].gold.mean()
        drawn = np.concatenate(list(resamples(len(gold), n, set_rng(scores[0].name, 1))))
        columns.append(
            [weighted_pearson(drawn, score.predictions - score.predictions.mean(), gold) for score in scores]
        )
    return np.moveaxis(np.array(columns), 0, -1)


def one_run_each(name: str, pearsons: Floats) -> Floats:
    """(n_runs, n, ...) -> (n, ...): for each resample, the values of the run that the system's name draws for it."""
    n = pearsons.shape[1]
    drawn = np.random.default_rng(zlib.crc32(name.encode())).integers(len(pearsons), size=n)
    picked: Floats = pearsons[drawn, np.arange(n)]
    return picked


def item_replicates(name: str, items: Floats, *, n: int = RESAMPLES) -> Floats:
    """The mean over items in each resample, (n,), from items (n_runs, n_items): examples or queries, resampled."""
    drawn = np.concatenate(list(resamples(items.shape[1], n, set_rng("items", 1)))) / items.shape[1]
    return one_run_each(name, np.stack([drawn @ run for run in items]))


# Which rivals are sound


def crowding(vectors: Vectors) -> float:
    """The share of word pairs with a cosine above .6, among 2,000 words: 0 for random vectors, 1 for identical ones."""
    rng = np.random.default_rng(1)
    rows = units(vectors[np.sort(rng.permutation(len(vectors))[:N_LOOKED_AT])].astype(np.float32))
    rows = rows[rows.any(axis=1)]
    if len(rows) < 2:
        return 1.0
    cosines = rows @ rows.T
    return float((cosines[np.triu_indices(len(rows), 1)] > NEAR).mean())


def is_collapsed(crowded: float | None) -> bool:
    """Whether so many words are near each other that the vectors distinguish little."""
    return crowded is not None and crowded > CROWDED


Statistic: TypeAlias = Callable[..., Floats]  # scores (..., n_sets) of some systems -> one number each, (...)


def decide_statistic(statistic: Statistic, *systems: Resampled, above: float) -> Decision:
    """`decide_statistic(lambda a, b: (a - b).mean(-1), ours, theirs, above=0)`: whether the first is better.

    The value is the mean over runs, taking one run of each system at a time, as in a resample.
    """
    runs = range(max(len(system.figures) for system in systems))
    values = [statistic(*(system.figures[run % len(system.figures)] for system in systems)) for run in runs]
    value = float(np.mean(values))
    replicates = np.asarray(statistic(*(system.replicates for system in systems)), np.float64)
    n_runs = min(system.n_runs for system in systems)
    return decide(None if np.isnan(value) else value, replicates, above=above, n_runs=n_runs)
