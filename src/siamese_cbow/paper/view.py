"""Results as the tables and figures look at them: the scores of each system under each protocol."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.protocol import PROTOCOLS, Protocol
from siamese_cbow.evaluation.scores import Scores, SetScore
from siamese_cbow.evaluation.significance import Comparison, compare
from siamese_cbow.paper.figures import paper_sets
from siamese_cbow.paper.recipes import SYSTEMS, label_of
from siamese_cbow.paper.scoring import scores_from_json
from siamese_cbow.paper.work_plan import PARTS, Results

COLUMNS = tuple(key for key in SYSTEMS if key in PARTS["table1"])
SIAMESE = ("siamese", "contrastive")


@dataclass(frozen=True)
class View:
    """What was trained, on what, and how it scored."""

    results: Results
    sets: Sequence[PairSet]
    parts: Collection[str]

    @cached_property
    def _scores(self) -> dict[tuple[str, Protocol], Scores]:
        return {
            (key, protocol): scores_from_json(result["cosines"], self.sets, protocol, label_of(key))
            for key, result in self.results.systems.items()
            for protocol in PROTOCOLS
        }

    def has(self, *keys: str) -> bool:
        """Whether all these systems were trained."""
        return all(key in self.results.systems for key in keys)

    @property
    def columns(self) -> list[str]:
        """The systems of Table 1 that are there, in the order of the table."""
        return [key for key in COLUMNS if self.has(key)]

    def scores(self, key: str, protocol: Protocol = "official") -> Scores:
        """All scores of a system."""
        return self._scores[key, protocol]

    def pearson(self, key: str, name: str, protocol: Protocol = "official") -> float | None:
        """Pearson on one set: `pearson("cbow", "2014 images")`."""
        return next(one.pearson for one in self.scores(key, protocol).sets if one.name == name)

    def rows(self, protocol: Protocol = "official") -> list[tuple[PairSet, dict[str, SetScore]]]:
        """For each set the scores of all systems there are."""
        every = {key: self.scores(key, protocol).sets for key in self.results.systems}
        return [(one, {key: every[key][i] for key in every}) for i, one in enumerate(self.sets)]

    def n_ahead(self, key: str, others: Collection[str], protocol: Protocol = "official") -> tuple[int, int]:
        """On how many sets a system has a higher Pearson than all of the others, and of how many."""
        rows = [row for _, row in self.rows(protocol)]
        defined = [row for row in rows if all(row[one].pearson is not None for one in (key, *others))]
        ahead = [row for row in defined if all(_pearson(row[key]) > _pearson(row[other]) for other in others)]
        return len(ahead), len(defined)

    def comparison(self, first: str, second: str, protocol: Protocol = "official") -> Comparison:
        """All tests between two systems; worked out once."""
        known = self._comparisons
        if (first, second, protocol) not in known:
            known[first, second, protocol] = compare(self.scores(first, protocol), self.scores(second, protocol))
        return known[first, second, protocol]

    @cached_property
    def _comparisons(self) -> dict[tuple[str, str, Protocol], Comparison]:
        return {}

    @cached_property
    def absent(self) -> list[tuple[int, str]]:
        """Sets of the paper that are not there, of the years that are."""
        there = {(one.year, one.dataset) for one in self.sets if one.collection == "STS"}
        years = {year for year, _ in there}
        return [one for one in paper_sets() if one not in there and one[0] in years]

    @cached_property
    def names(self) -> list[str]:
        """The names of the sets: "2012 MSRpar", ..."""
        return [one.name for one in self.sets]

    @cached_property
    def headline(self) -> list[int]:
        """Places of the sets that make a mean: SemEval's, or all if there are none of these."""
        places = [i for i, one in enumerate(self.sets) if one.collection == "STS"]
        return places or list(range(len(self.sets)))

    def mean(self, figures: Sequence[float | None]) -> float | None:
        """The mean over sets of one figure each, as `Scores.mean_pearson` takes it."""
        known = [value for i in self.headline if (value := figures[i]) is not None]
        return float(np.mean(known)) if known else None


def _pearson(score: SetScore) -> float:
    return -2.0 if score.pearson is None else round(score.pearson, 4)


def chosen(results: dict[str, Any], keys: Collection[str]) -> list[str]:
    """Keys that are there, in the order asked for."""
    return [key for key in keys if key in results]
