"""Is one system significantly better than another? Three tests over the same pairs, which ask different questions.

Wilcoxon   do the two systems give pairs different cosines? The paper's test and its dagger (p < .0001). It
           ignores the gold scores: adding .1 to all cosines makes everything "significant".
Williams   do the two cosines correlate differently with the gold scores? A t test for two correlations that share
           one variable (Williams 1959, the one Steiger 1980 recommends).
bootstrap  the same question without assuming normality: pairs are resampled with replacement.

One run of each system is compared; `verdicts` decides claims over several runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese_cbow.base.arrays import Floats
from siamese_cbow.errors import InputError, SettingsError, needs
from siamese_cbow.evaluation.correlation import Interval, interval, pearson, resamples, set_rng, weighted_pearson
from siamese_cbow.evaluation.pair_sets import Protocol
from siamese_cbow.evaluation.scores import Adapt, Scores, SetScore, headline, mean

DAGGER = 0.0001


@dataclass(frozen=True)
class SetComparison:
    """Two systems on one set. Values are None if a correlation is undefined or the test was not run."""

    year: int
    dataset: str
    name: str
    difference: float | None  # Pearson of the first minus that of the second
    wilcoxon_p: float | None
    williams_t: float | None
    williams_p: float | None
    bootstrap_p: float | None
    interval: Interval | None  # 95%, of the difference

    @property
    def dagger(self) -> bool:
        """The paper's mark: the cosines differ, Wilcoxon p < .0001."""
        return self.wilcoxon_p is not None and self.wilcoxon_p < DAGGER


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same sets: each set, and the difference of their mean Pearson over sets."""

    first: str
    second: str
    protocol: Protocol
    adapted: Adapt
    sets: tuple[SetComparison, ...]
    difference: float | None
    interval: Interval | None
    bootstrap_p: float | None

    @property
    def n_better(self) -> int:
        """On how many sets the first system has the higher Pearson."""
        return sum(row.difference is not None and row.difference > 0 for row in self.sets)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        rows = [{**vars(row), "dagger": row.dagger} for row in self.sets]
        return {**vars(self), "n_better": self.n_better, "sets": rows}


def compare(
    first: Scores, second: Scores, *, bootstrap: int = 1000, seed: int = 1, only_bootstrap: bool = False
) -> Comparison:
    """All three tests, or only the bootstrap, which needs no SciPy, on every set two systems were evaluated on.

    `compare(evaluate(ours, sets), evaluate(theirs, sets)).difference` -> 0.12
    """
    if bootstrap < 1:
        raise SettingsError(f"bootstrap is {bootstrap}; expected 1 resample or more, such as 1000")
    _check_same_pairs(first, second)
    pairs = zip(first.sets, second.sets, strict=True)
    rows = [_compare_set(a, b, bootstrap, seed, only_bootstrap) for a, b in pairs]
    counting = [rows[i] for i in headline([score.pair_set for score in first.sets])]
    differences = [differences for row, differences in counting if row.difference is not None]
    resampled = np.mean(differences, axis=0) if differences else np.full(1, np.nan)
    return Comparison(
        first.system,
        second.system,
        first.protocol,
        first.adapted,
        tuple(row for row, _ in rows),
        difference=mean(row.difference for row, _ in counting),
        interval=interval(resampled),
        bootstrap_p=two_sided(resampled),
    )


def wilcoxon(a: Floats, b: Floats) -> float:
    """The p value of Wilcoxon's signed-rank test on two arrays (n,) of scores; 1 when no two differ."""
    with needs("scipy", "stats"):
        from scipy.stats import wilcoxon as test
    if np.array_equal(a, b):
        return 1.0
    return float(test(a, b).pvalue)


def williams(r_a: float, r_b: float, r_ab: float, n: int) -> tuple[float, float]:
    """Williams' t and its two-sided p for r_a = r(gold, a) against r_b = r(gold, b), where r_ab = r(a, b).

    Howell's example: `williams(0.80, 0.72, 0.89, 26)` -> t 1.361, p .187
    """
    with needs("scipy", "stats"):
        from scipy.special import stdtr
    determinant = 1 - r_a**2 - r_b**2 - r_ab**2 + 2 * r_a * r_b * r_ab
    below = 2 * (n - 1) / (n - 3) * max(determinant, 0.0) + ((r_a + r_b) / 2) ** 2 * (1 - r_ab) ** 3 if n > 3 else 0.0
    if r_a == r_b or below <= 0:
        return 0.0, 1.0
    t = (r_a - r_b) * math.sqrt((n - 1) * (1 + r_ab) / below)
    return t, float(2 * stdtr(n - 3, -abs(t)))


def paired_bootstrap(a: Floats, b: Floats, gold: Floats, *, n: int, rng: np.random.Generator) -> Floats:
    """Pearson of `a` minus Pearson of `b` in each of `n` resamples of the same pairs, (n,); NaN: undefined."""
    a, b, gold = (values - values.mean() for values in (a, b, gold))
    blocks = resamples(len(gold), n, rng)
    return np.concatenate([weighted_pearson(drawn, a, gold) - weighted_pearson(drawn, b, gold) for drawn in blocks])


def two_sided(differences: Floats) -> float | None:
    """Twice the share of resamples on the other side of 0: none of 999 -> 0.002."""
    known = differences[~np.isnan(differences)]
    if not known.size:
        return None
    other_side = min(int((known <= 0).sum()), int((known >= 0).sum()))
    return min(1.0, 2 * (other_side + 1) / (known.size + 1))


def _compare_set(a: SetScore, b: SetScore, n: int, seed: int, only_bootstrap: bool) -> tuple[SetComparison, Floats]:
    """The row of one set, and the differences of the bootstrap, (n,)."""
    p = None if only_bootstrap else wilcoxon(a.predictions, b.predictions)
    if a.pearson is None or b.pearson is None:
        return SetComparison(a.year, a.dataset, a.name, None, p, None, None, None, None), np.full(n, np.nan)
    differences = paired_bootstrap(a.predictions, b.predictions, a.gold, n=n, rng=set_rng(a.name, seed))
    williams_t = williams_p = None
    if not only_bootstrap:
        between = pearson(a.predictions, b.predictions) or 0.0
        williams_t, williams_p = williams(a.pearson, b.pearson, between, a.n_pairs)
    row = SetComparison(
        a.year,
        a.dataset,
        a.name,
        difference=a.pearson - b.pearson,
        wilcoxon_p=p,
        williams_t=williams_t,
        williams_p=williams_p,
        bootstrap_p=two_sided(differences),
        interval=interval(differences),
    )
    return row, differences


def _check_same_pairs(first: Scores, second: Scores) -> None:
    names, others = ([score.name for score in scores.sets] for scores in (first, second))
    if (
        first.conditions != second.conditions
        or names != others
        or not all(np.array_equal(a.gold, b.gold) for a, b in zip(first.sets, second.sets, strict=True))
    ):
        raise InputError(
            f"{first.system} and {second.system} were evaluated differently ({first.conditions}, "
            f"{len(first.sets)} sets; {second.conditions}, {len(second.sets)} sets); evaluate both on the "
            "same sets in the same way"
        )
