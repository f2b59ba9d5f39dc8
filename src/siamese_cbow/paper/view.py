"""Results as the tables and figures look at them: scores under each protocol, and the paper's own figures beside them.

The paper's figures come from `paper_figures.json`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from siamese_cbow.evaluation.pair_sets import PROTOCOLS, PairSet, Protocol
from siamese_cbow.evaluation.scores import Scores, SetScore, headline, mean
from siamese_cbow.evaluation.significance import DAGGER, Comparison, compare, wilcoxon
from siamese_cbow.paper.pieces import scores_from_json
from siamese_cbow.paper.recipes import COMPARED, SYSTEMS, label_of
from siamese_cbow.paper.work_plan import Results

SIAMESE = ("siamese", "contrastive")


@cache
def paper() -> dict[str, Any]:
    """All of the paper's figures: `paper()["lowest_norm"][0]` -> "to"."""
    content: dict[str, Any] = json.loads((files(__package__) / "paper_figures.json").read_text("utf-8"))
    return content


def paper_row(year: int, dataset: str, table: str = "table1") -> dict[str, Any]:
    """A set's row of Table 1 or 2; empty for a set that is not in it: `paper_row(2014, "images")["cbow"]`."""
    return next((row for row in paper()[table] if (row["year"], row["dataset"]) == (year, dataset)), {})


def paper_figure(year: int, dataset: str, system: str, table: str = "table1") -> tuple[float, float] | None:
    """Pearson and Spearman in the paper: `paper_figure(2014, "images", "cbow")` -> (0.5056, 0.5213)."""
    figures = paper_row(year, dataset, table).get(system)
    return (figures[0], figures[1]) if figures else None


def paper_sets() -> list[tuple[int, str]]:
    """Year and name of the 20 sets, in the order of the paper."""
    return [(row["year"], row["dataset"]) for row in paper()["table1"]]


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

    def among(self, keys: Iterable[str]) -> list[str]:
        """Those of some systems that are there, in the order asked for."""
        return [key for key in keys if self.has(key)]

    @cached_property
    def columns(self) -> list[str]:
        """The systems of Table 1 that are there, in the order of the table."""
        return self.among(key for key in SYSTEMS if key in COMPARED)

    def scores(self, key: str, protocol: Protocol = "official") -> Scores:
        """All scores of a system."""
        return self._scores[key, protocol]

    def rows(self, protocol: Protocol = "official") -> list[tuple[PairSet, dict[str, SetScore]]]:
        """For each set the scores of all systems there are."""
        every = {key: self.scores(key, protocol).sets for key in self.results.systems}
        return [(one, {key: every[key][i] for key in every}) for i, one in enumerate(self.sets)]

    def n_ahead(self, key: str, others: Collection[str], protocol: Protocol = "official") -> tuple[int, int]:
        """On how many sets a system has a higher Pearson than all of the others, and of how many."""
        rows = [[row[other].pearson for other in (key, *others)] for _, row in self.rows(protocol)]
        defined = [[round(r, 4) for r in row if r is not None] for row in rows if None not in row]
        return sum(all(first > other for other in rest) for first, *rest in defined), len(defined)

    def comparison(self, first: str, second: str) -> Comparison:
        """All tests between two systems; worked out once."""
        known = self._comparisons
        if (first, second) not in known:
            known[first, second] = compare(self.scores(first), self.scores(second))
        return known[first, second]

    @cached_property
    def _comparisons(self) -> dict[tuple[str, str], Comparison]:
        return {}

    @cached_property
    def absent(self) -> list[tuple[int, str]]:
        """Sets of the paper that are not there, of the years that are."""
        there = {(pair_set.year, pair_set.dataset) for pair_set in self.sets if pair_set.collection == "STS"}
        years = {year for year, _ in there}
        return [place for place in paper_sets() if place not in there and place[0] in years]

    @cached_property
    def names(self) -> list[str]:
        """The names of the sets: "2012 MSRpar", ..."""
        return [pair_set.name for pair_set in self.sets]

    @cached_property
    def headline(self) -> list[int]:
        """Places of the sets that make a mean."""
        return headline(self.sets)

    def mean(self, figures: Sequence[float | None]) -> float | None:
        """The mean over sets of one figure each, as `Scores.mean_pearson` takes it."""
        return mean(figures[i] for i in self.headline)


def is_dagger(first: SetScore, second: SetScore) -> bool:
    """The paper's mark: the cosines differ, Wilcoxon p < .0001."""
    return wilcoxon(first.predictions, second.predictions) < DAGGER
