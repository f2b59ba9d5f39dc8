"""The score of a system on a set, and three ways to aggregate several sets.

    mean      of the sets' correlations, all weighted equally: the headline number here
    weighted  the same, weighted by the number of pairs
    pooled    one correlation over the pairs of all sets together, as MTEB does for each year

A set whose correlation is undefined (every pair has the same cosine, or the same gold score) is excluded from the
means and counted. Only `SetScore` scores a set: `evaluate`, the significance tests, the report and the benchmarks all
use it. Nothing is encoded here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from siamese_cbow.base.arrays import Floats
from siamese_cbow.base.notebook import grid
from siamese_cbow.evaluation.correlation import Interval, interval, is_constant, pearson, spearman
from siamese_cbow.evaluation.pair_sets import Flags, PairSet, Protocol

Adapt: TypeAlias = Literal["no", "set", "held-out"]
ADAPTED: dict[Adapt, str] = {
    "no": "",
    "set": ", adapted to the sentences of each set",
    "held-out": ", adapted to other sentences of each set",
}


@dataclass(frozen=True, eq=False)
class SetScore:
    """The result of a system on one set: `score.pearson` -> 0.66, or None if undefined; then `note` says why."""

    pair_set: PairSet  # with the pairs that count under the protocol
    predictions: Floats  # (n_pairs,) their cosines
    is_empty: Flags  # (n_pairs,) pairs with a sentence of unknown words only; their cosine is 0
    n_unknown: int | None = None  # words the system does not know; None if it can't tell
    replicates: tuple[Floats, Floats] | None = None  # bootstrap: (n,) Pearson, (n,) Spearman

    @property
    def year(self) -> int:
        """The year of the set."""
        return self.pair_set.year

    @property
    def dataset(self) -> str:
        """The name of the set within its year."""
        return self.pair_set.dataset

    @property
    def name(self) -> str:
        """`2014 images`."""
        return self.pair_set.name

    @property
    def gold(self) -> Floats:
        """The gold scores of the pairs, (n_pairs,)."""
        return self.pair_set.gold

    @property
    def n_pairs(self) -> int:
        """How many pairs count under the protocol."""
        return len(self.gold)

    @property
    def n_empty(self) -> int:
        """How many pairs have a sentence whose vector is zero."""
        return int(self.is_empty.sum())

    @cached_property
    def pearson(self) -> float | None:
        """Pearson's r of the cosines and the gold scores."""
        return pearson(self.predictions, self.gold)

    @cached_property
    def spearman(self) -> float | None:
        """Spearman's rho of the cosines and the gold scores."""
        return spearman(self.predictions, self.gold)

    @property
    def note(self) -> str:
        """Why the correlations are undefined; "" where they are defined."""
        if is_constant(self.predictions):
            return f"undefined: every pair has the same cosine, {self.predictions[0]:.4f}"
        return f"undefined: every pair has the same gold score, {self.gold[0]:g}" if is_constant(self.gold) else ""

    @property
    def intervals(self) -> tuple[Interval | None, Interval | None]:
        """The 95% intervals of Pearson and Spearman, if a bootstrap was requested."""
        return (None, None) if self.replicates is None else (interval(self.replicates[0]), interval(self.replicates[1]))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        text = self.pair_set.text()
        row: dict[str, Any] = {
            "year": self.year,
            "dataset": self.dataset,
            "collection": self.pair_set.collection,
            "n_pairs": self.n_pairs,
            "pearson": self.pearson,
            "spearman": self.spearman,
            "n_words": text.n_words,
            "words_per_sentence": text.words_per_sentence,
            "overlap": text.overlap,
            "n_unknown": self.n_unknown,
            "n_empty": self.n_empty,
        }
        if self.note:
            row["note"] = self.note
        if self.replicates:
            row["pearson_interval"], row["spearman_interval"] = self.intervals
        return row


@dataclass(frozen=True)
class Aggregate:
    """Several sets in one number, in three ways; see the top of this file."""

    label: str  # "all", "2014", "SICK"
    n_sets: int  # with defined correlations
    n_undefined: int
    n_pairs: int
    mean_pearson: float | None
    mean_spearman: float | None
    weighted_pearson: float | None
    weighted_spearman: float | None
    pooled_pearson: float | None
    pooled_spearman: float | None
    mean_pearson_interval: Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {key: value for key, value in vars(self).items() if key != "mean_pearson_interval" or value}


@dataclass(frozen=True, eq=False)
class Scores:
    """What `evaluate` returns: the system's name, the protocol, a score for each set, and what it was adapted to."""

    system: str
    protocol: Protocol
    sets: tuple[SetScore, ...]
    adapted: Adapt = "no"

    @property
    def conditions(self) -> str:
        """What must accompany every number."""
        return conditions(self.protocol, self.adapted)

    @property
    def mean_pearson(self) -> float | None:
        """The mean over sets of Pearson's r; over the SemEval sets, or over all sets if there are none of these."""
        return self.aggregates[0].mean_pearson

    @property
    def mean_spearman(self) -> float | None:
        """The mean over sets of Spearman's rho, over the same sets as `mean_pearson`."""
        return self.aggregates[0].mean_spearman

    def _repr_html_(self) -> str:
        rows = []
        for group in self.aggregates:
            means = ("undefined" if r is None else f"{r:.4f}" for r in (group.mean_pearson, group.mean_spearman))
            rows.append([group.label, f"{group.n_sets:,}", f"{group.n_pairs:,}", *means])
        heads = ["sets of", "sets", "pairs", "mean Pearson", "mean Spearman"]
        return grid(f"{self.system}, {self.conditions}", heads, rows)

    @cached_property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """`all` first, then each year of SemEval, then STS-Benchmark and SICK."""
        groups: dict[str, list[SetScore]] = {}
        for score in self.sets:
            groups.setdefault(score.pair_set.group, []).append(score)
        every = [self.sets[i] for i in headline([score.pair_set for score in self.sets])]
        return (aggregate("all", every), *(aggregate(label, sets) for label, sets in groups.items()))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "model": self.system,
            "protocol": self.protocol,
            "adapted": self.adapted,
            "mean_pearson": self.mean_pearson,
            "mean_spearman": self.mean_spearman,
            "aggregates": [group.to_dict() for group in self.aggregates],
            "sets": [score.to_dict() for score in self.sets],
        }


def conditions(protocol: Protocol, adapted: Adapt) -> str:
    """`conditions("official", "no")` -> "protocol official"; adaptation is appended."""
    return f"protocol {protocol}{ADAPTED[adapted]}"


def headline(sets: Sequence[PairSet]) -> list[int]:
    """Positions of the sets in the headline number: SemEval's, or all if there are none of these.

    STS-Benchmark is drawn from the SemEval sets; including it would count the same pairs twice.
    """
    return [i for i, pair_set in enumerate(sets) if pair_set.collection == "STS"] or list(range(len(sets)))


def mean(figures: Iterable[float | None]) -> float | None:
    """The mean of the defined values: [.4, None, .8] -> .6; None if none is."""
    defined = [figure for figure in figures if figure is not None]
    return float(np.mean(defined)) if defined else None


def aggregate(label: str, sets: Sequence[SetScore]) -> Aggregate:
    """The three aggregates of some sets. Two sets of 100 and 300 pairs with .4 and .8 -> mean .6, weighted .7."""
    defined = [score for score in sets if score.pearson is not None]

    def weighted(of: Callable[[SetScore], Any]) -> float | None:
        weights = [score.n_pairs for score in defined]
        return float(np.average([of(score) for score in defined], weights=weights)) if defined else None

    # For the interval of the mean, pairs are resampled within each set; the sets are fixed.
    replicates = [score.replicates[0] for score in defined if score.replicates is not None]
    is_resampled = replicates and len(replicates) == len(defined)
    predictions = np.concatenate([score.predictions for score in sets])
    gold = np.concatenate([score.gold for score in sets])
    return Aggregate(
        label=label,
        n_sets=len(defined),
        n_undefined=len(sets) - len(defined),
        n_pairs=len(gold),
        mean_pearson=mean(score.pearson for score in defined),
        mean_spearman=mean(score.spearman for score in defined),
        weighted_pearson=weighted(lambda score: score.pearson),
        weighted_spearman=weighted(lambda score: score.spearman),
        pooled_pearson=pearson(predictions, gold),
        pooled_spearman=spearman(predictions, gold),
        mean_pearson_interval=interval(np.mean(replicates, axis=0)) if is_resampled else None,
    )
