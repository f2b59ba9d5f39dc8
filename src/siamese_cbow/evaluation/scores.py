"""The scores of one system: a line for each set, and three ways of making one number of them.

    mean      of the sets' correlations, each set counting the same: the headline number here
    weighted  the same, each set counting by its pairs
    pooled    one correlation over the pairs of all sets together, as MTEB does for each year

A set whose correlation is undefined (the system gave every pair the same score) is left out of the means, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from siamese_cbow.base.notebook import grid
from siamese_cbow.evaluation.adapting import Adapt
from siamese_cbow.evaluation.correlation import Floats, Interval, interval, pearson, spearman
from siamese_cbow.evaluation.pair_sets import Collection, TextFacts
from siamese_cbow.evaluation.protocol import Protocol

ADAPTED: dict[Adapt, str] = {
    "no": "",
    "set": ", adapted to the sentences of each set",
    "held-out": ", adapted to other sentences of each set",
}


@dataclass(frozen=True, eq=False)
class SetScore:
    """How a system did on one set. `pearson` and `spearman` are None when undefined, and `note` says why."""

    year: int
    dataset: str
    collection: Collection
    name: str
    predictions: Floats  # (n_pairs,) cosines of the pairs that count under the protocol
    gold: Floats  # (n_pairs,)
    text: TextFacts
    n_unknown: int | None  # words the system does not know; None if it can't say
    n_empty: int  # pairs with a sentence of which the system knows nothing: its vector is zero, the cosine counts as 0
    pearson: float | None
    spearman: float | None
    note: str = ""
    replicates: tuple[Floats, Floats] | None = None  # bootstrap: (n,) Pearson, (n,) Spearman

    @property
    def n_pairs(self) -> int:
        """How many pairs count under the protocol."""
        return len(self.gold)

    @property
    def intervals(self) -> tuple[Interval | None, Interval | None]:
        """The 95% intervals of Pearson and Spearman, if a bootstrap was asked for."""
        return (None, None) if self.replicates is None else (interval(self.replicates[0]), interval(self.replicates[1]))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        row: dict[str, Any] = {
            "year": self.year,
            "dataset": self.dataset,
            "collection": self.collection,
            "n_pairs": self.n_pairs,
            "pearson": self.pearson,
            "spearman": self.spearman,
            "n_words": self.text.n_words,
            "words_per_sentence": self.text.words_per_sentence,
            "overlap": self.text.overlap,
            "n_unknown": self.n_unknown,
            "n_empty": self.n_empty,
        }
        if self.note:
            row["note"] = self.note
        if self.replicates:
            row["pearson_interval"], row["spearman_interval"] = (one and one.to_list() for one in self.intervals)
        return row


@dataclass(frozen=True)
class Aggregate:
    """Several sets in one number, three ways; see the top of this file."""

    label: str  # "all", "2014", "SICK"
    n_sets: int  # that are defined
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
        row = dict(vars(self))
        found = row.pop("mean_pearson_interval")
        return {**row, "mean_pearson_interval": found.to_list()} if found else row


@dataclass(frozen=True, eq=False)
class Scores:
    """What `evaluate` returns: the system's name, the protocol, a line for each set, and what it was adapted to."""

    system: str
    protocol: Protocol
    sets: tuple[SetScore, ...]
    adapted: Adapt = "no"

    @property
    def conditions(self) -> str:
        """What must be said with every number."""
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
        def shown(value: float | None) -> str:
            return "undefined" if value is None else f"{value:.4f}"

        rows = [
            [one.label, f"{one.n_sets:,}", f"{one.n_pairs:,}", shown(one.mean_pearson), shown(one.mean_spearman)]
            for one in self.aggregates
        ]
        heads = ["sets of", "sets", "pairs", "mean Pearson", "mean Spearman"]
        return grid(f"{self.system}, {self.conditions}", heads, rows)

    @cached_property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """`all` first, then each year of SemEval, then STS-Benchmark and SICK."""
        groups: dict[str, list[SetScore]] = {}
        for one in self.sets:
            groups.setdefault(str(one.year) if one.collection == "STS" else one.collection, []).append(one)
        return (aggregate("all", headline(self.sets)), *(aggregate(label, sets) for label, sets in groups.items()))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "model": self.system,
            "protocol": self.protocol,
            "adapted": self.adapted,
            "mean_pearson": self.mean_pearson,
            "mean_spearman": self.mean_spearman,
            "aggregates": [one.to_dict() for one in self.aggregates],
            "sets": [one.to_dict() for one in self.sets],
        }


def conditions(protocol: Protocol, adapted: Adapt) -> str:
    """`conditions("official", "no")` -> "protocol official"; what was adapted is said behind it."""
    return f"protocol {protocol}{ADAPTED[adapted]}"


def headline(sets: Sequence[SetScore]) -> list[SetScore]:
    """The sets that make the headline number: SemEval's, or all if there are none of these.

    STS-Benchmark is drawn from the SemEval sets; beside them it would count the same pairs twice.
    """
    return [one for one in sets if one.collection == "STS"] or list(sets)


def aggregate(label: str, sets: Sequence[SetScore]) -> Aggregate:
    """The three aggregates of some sets. Two sets of 100 and 300 pairs with .4 and .8 -> mean .6, weighted .7."""
    defined = [one for one in sets if one.pearson is not None]

    def mean(of: Callable[[SetScore], Any], weights: list[int] | None = None) -> float | None:
        return float(np.average([of(one) for one in defined], weights=weights)) if defined else None

    sizes = [one.n_pairs for one in defined]
    predictions = np.concatenate([one.predictions for one in sets])
    gold = np.concatenate([one.gold for one in sets])
    return Aggregate(
        label=label,
        n_sets=len(defined),
        n_undefined=len(sets) - len(defined),
        n_pairs=len(gold),
        mean_pearson=mean(lambda one: one.pearson),
        mean_spearman=mean(lambda one: one.spearman),
        weighted_pearson=mean(lambda one: one.pearson, sizes),
        weighted_spearman=mean(lambda one: one.spearman, sizes),
        pooled_pearson=pearson(predictions, gold),
        pooled_spearman=spearman(predictions, gold),
        mean_pearson_interval=_mean_interval(defined),
    )


def _mean_interval(sets: Sequence[SetScore]) -> Interval | None:
    """The interval of the mean: pairs are resampled within each set, the sets stay."""
    replicates = [one.replicates[0] for one in sets if one.replicates is not None]
    return interval(np.mean(replicates, axis=0)) if replicates and len(replicates) == len(sets) else None
