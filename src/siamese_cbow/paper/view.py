"""Results as tables and figures use them: scores under each protocol, the basis of verdicts, and sound rivals."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from siamese_cbow.evaluation.correlation import interval
from siamese_cbow.evaluation.pair_sets import PROTOCOLS, PairSet, Protocol
from siamese_cbow.evaluation.scores import Scores, SetScore, headline, mean
from siamese_cbow.evaluation.significance import DAGGER, Comparison, compare, wilcoxon
from siamese_cbow.evaluation.tasks import TaskScore
from siamese_cbow.evaluation.verdicts import (
    LEAST_RUNS,
    NEAR,
    UNDECIDED,
    Decision,
    Resampled,
    decide_statistic,
    is_collapsed,
    item_replicates,
    one_run_each,
    resampled_pearsons,
)
from siamese_cbow.paper.document import listed
from siamese_cbow.paper.paper_figures import paper_sets
from siamese_cbow.paper.pieces import scores_from_json
from siamese_cbow.paper.recipes import ALIKE, COMPARED, PUBLISHED, READINGS, SYSTEMS, label_of
from siamese_cbow.paper.treatments import LABELS, TREATMENTS, Treatment
from siamese_cbow.paper.work_plan import Results, Run

CHANCE = 0.5  # expected rank of the next sentence if all sentences are equally likely
SIAMESE = ("siamese", "matched", "contrastive")


@dataclass(frozen=True)
class Rivals:
    """Whom a system must beat to be the best, what to say about them, and why beating them would prove nothing."""

    compared: list[str]
    note: str
    why: str


@dataclass(frozen=True)
class View:
    """The trained systems and their scores."""

    results: Results
    sets: Sequence[PairSet]
    parts: Collection[str]
    beside: Sequence[TaskScore] = ()  # the task scores of baselines without vectors

    @cached_property
    def _scores(self) -> dict[tuple[str, Treatment, Protocol], list[Scores]]:
        return {
            (key, treatment, protocol): [
                scores_from_json(run["cosines"][treatment], self.sets, protocol, label_of(key)) for run in runs
            ]
            for key, runs in self.results.systems.items()
            for treatment in TREATMENTS
            if treatment in runs[0]["cosines"]
            for protocol in PROTOCOLS
        }

    def has(self, *keys: str) -> bool:
        """Whether all of these systems were trained."""
        return all(key in self.results.systems for key in keys)

    def among(self, keys: Iterable[str], treatment: Treatment = "learnt") -> list[str]:
        """Those of these systems that have scores, in the given order."""
        return [key for key in keys if (key, treatment, "official") in self._scores]

    @cached_property
    def columns(self) -> list[str]:
        """The systems of Table 1 that have scores, in the order of the table."""
        return self.among(key for key in SYSTEMS if key in COMPARED)

    def treated(self, treatment: Treatment) -> list[str]:
        """The columns that have a treatment."""
        return self.among(self.columns, treatment)

    def given(self, key: str, treatment: Treatment) -> Treatment | None:
        """The treatment that holds a system's scores: the contrastive recipe, as learnt, has everything in `full`."""
        if key == "contrastive":
            return "learnt" if treatment == "full" else None
        return treatment if self.among([key], treatment) else None

    def settings(self) -> Iterator[tuple[str, Treatment, str]]:
        """Settings in which claims are decided: a reading of the paper's recipe, a treatment, and a name for both."""
        for treatment in ALIKE:
            for key in self.among(PUBLISHED, treatment):
                yield (
                    key,
                    treatment,
                    READINGS[key] if treatment == "learnt" else f"{READINGS[key]}, {LABELS[treatment]}",
                )

    def runs(self, key: str, protocol: Protocol = "official", treatment: Treatment = "learnt") -> list[Scores]:
        """The scores of each run of a system."""
        return self._scores[key, treatment, protocol]

    def scores(self, key: str, protocol: Protocol = "official", treatment: Treatment = "learnt") -> Scores:
        """The scores of its first run."""
        return self.runs(key, protocol, treatment)[0]

    def rows(
        self, protocol: Protocol = "official", treatment: Treatment = "learnt"
    ) -> list[tuple[PairSet, dict[str, SetScore]]]:
        """For each set, the scores of the first run of every system."""
        every = {key: self.scores(key, protocol, treatment).sets for key in self.among(SYSTEMS, treatment)}
        return [(pair_set, {key: every[key][i] for key in every}) for i, pair_set in enumerate(self.sets)]

    def figures(
        self, key: str, protocol: Protocol = "official", treatment: Treatment = "learnt", what: str = "pearson"
    ) -> list[float | None]:
        """Pearson (or Spearman) of each set, averaged over runs; None where one is undefined."""
        columns = zip(*(run.sets for run in self.runs(key, protocol, treatment)), strict=True)
        values = [[getattr(score, what) for score in column] for column in columns]
        return [None if None in column else float(np.mean(column)) for column in values]

    # The basis of verdicts

    @cached_property
    def _resampled(self) -> dict[tuple[str, Treatment], Resampled]:
        return self._resample("official")

    @cached_property
    def _resampled_as_in_paper(self) -> dict[tuple[str, Treatment], Resampled]:
        return self._resample("paper")

    def _resample(self, protocol: Protocol) -> dict[tuple[str, Treatment], Resampled]:
        """All systems and treatments together, because they share the pairs drawn for each resample."""
        names = [(key, treatment) for key, treatment, each in self._scores if each == protocol]
        runs = [(name, run) for name in names for run in self._scores[name[0], name[1], protocol]]
        if not runs:
            return {}
        every = resampled_pearsons([run for _, run in runs])
        by_name = {}
        for name in names:
            places = [i for i, (of, _) in enumerate(runs) if of == name]
            figures = [[np.nan if s.pearson is None else s.pearson for s in runs[i][1].sets] for i in places]
            is_single = SYSTEMS[name[0]].seeds is not None
            by_name[name] = Resampled(np.array(figures, np.float64), one_run_each(name[0], every[places]), is_single)
        return by_name

    def resampled(self, key: str, treatment: Treatment = "learnt", protocol: Protocol = "official") -> Resampled:
        """Pearson of every set in every resample."""
        return (self._resampled if protocol == "official" else self._resampled_as_in_paper)[key, treatment]

    def means(self, key: str, treatment: Treatment = "learnt") -> tuple[float | None, float | None]:
        """Mean Pearson of a system over sets, and its standard deviation over runs."""
        figures = [run.mean_pearson for run in self.runs(key, treatment=treatment)]
        if None in figures:
            return None, None
        return float(np.mean(figures)), float(np.std(figures, ddof=1)) if len(figures) > 1 else None  # type: ignore[arg-type]

    @cached_property
    def defined(self) -> list[int]:
        """Positions of the sets that count in the mean and on which every system and every point has a Pearson."""
        figures = [*(resampled.figures for resampled in self._resampled.values()), np.zeros((1, len(self.sets)))]
        points = [r["pearsons"]["official"] for r in self._points]
        undefined = set(np.flatnonzero(np.isnan(np.concatenate(figures)).any(axis=0)).tolist())
        undefined |= {i for row in points for i, r in enumerate(row) if r is None}
        return [i for i in self.headline if i not in undefined]

    @property
    def _points(self) -> Iterator[Run]:
        """Every point of every figure."""
        for settings in (*self.results.negatives.values(), *self.results.dims.values()):
            for points in settings.values():
                yield from points
        for runs in self.results.curves.values():
            yield from (point for run in runs for point in run["points"])

    def place(self, year: int, dataset: str) -> int | None:
        """The position of a set, or None if it is missing: `view.place(2014, "images")`."""
        every = [(pair_set.year, pair_set.dataset) for pair_set in self.sets]
        place = every.index((year, dataset)) if (year, dataset) in every else None
        return place if place is None or self.sets[place].collection == "STS" else None

    def points(self, name: str, points: Sequence[Run]) -> Resampled:
        """The runs of one point of a figure, ready for a verdict."""
        figures = [[np.nan if r is None else r for r in point["pearsons"]["official"]] for point in points]
        resampled = np.array([point["resampled"] for point in points], np.float64)
        undefined = np.array([point["undefined"] for point in points], bool)
        resampled[np.broadcast_to(undefined[:, None, :], resampled.shape)] = np.nan
        return Resampled(np.array(figures, np.float64), one_run_each(name, resampled))

    # Which systems are sound rivals

    def unsound(self, key: str, treatment: Treatment = "learnt") -> str:
        """Why beating this system proves nothing: "collapsed: ...", "... below random vectors"; "" if it is sound."""
        if key == "skip-thought" and (untrained := self._untrained(key)):
            return untrained
        if collapsed := self.collapsed(key, treatment):
            return collapsed
        if key != "random" and (key, treatment) in self._resampled and ("random", treatment) in self._resampled:
            decision = self.better("random", key, treatment)
            if decision.interval is not None and decision.interval.low > 0:
                return f"significantly below random vectors, by {decision.value:.3f}".replace("0.", ".")
        return ""

    def unmoved(self, key: str) -> str:
        """Why the effect of a setting on this system means nothing: it scores like random vectors; "" otherwise."""
        if key in self.columns and "random" in self.columns and self.better(key, "random").verdict == UNDECIDED:
            return "its vectors can't be told from random ones here, so this says nothing about what it learns"
        return ""

    def collapsed(self, key: str, treatment: Treatment = "learnt") -> str:
        """Why the words of this system tell nothing: "collapsed: ..."; "" if they do.

        It is measured as learnt. Whether finishing repairs collapsed vectors is unknown, so they stay under suspicion.
        """
        crowded = [run["crowding"] for run in self.results.systems[key] if run.get("crowding") is not None]
        if crowded and is_collapsed(float(np.mean(crowded))):
            when = "" if treatment == "learnt" else " as learnt"
            return f"collapsed{when}: {np.mean(crowded):.0%} of word pairs have a cosine above {NEAR}"
        return ""

    def rivals(self, keys: Iterable[str], treatment: Treatment) -> Rivals:
        """Whom to beat; skip-thought only if it has learnt its task. Unsound ones stay: failing to beat them counts."""
        every = self.among(keys, treatment)
        untrained = [key for key in every if key == "skip-thought" and self._untrained(key)]
        compared = [key for key in every if key not in untrained] or every
        unsound = [key for key in compared if self.unsound(key, treatment)]
        has_sound = len(unsound) < len(compared)
        notes = [f"; not sound rivals: {listed(map(label_of, unsound))}"] if unsound and has_sound else []
        notes += [f"; left out: {label_of(key)} ({self._untrained(key)})" for key in untrained if key not in compared]
        return Rivals(compared, "".join(notes), "" if has_sound else "none of them is a sound rival")

    def _untrained(self, key: str) -> str:
        """Why a system counts as untrained: it ranks the next sentence no better than chance; "" if it does better."""
        ranks = np.array([run["next"] for run in self.results.systems[key] if run.get("next")])
        if not ranks.size:
            return ""
        bounds = interval(item_replicates(key, ranks))
        if bounds is None or bounds.high >= CHANCE:
            return f"hardly trained: mean rank of the next sentence {ranks.mean():.0%}, where chance is {CHANCE:.0%}"
        return ""

    def better(
        self, first: str, second: str, treatment: Treatment = "learnt", other: Treatment | None = None
    ) -> Decision:
        """Whether the first system has the higher mean Pearson over sets; the second may have another treatment."""
        places = self.defined
        if not places:
            return Decision(UNDECIDED, why="undefined on every set")
        systems = self.resampled(first, treatment), self.resampled(second, other or treatment)
        decision = decide_statistic(lambda a, b: (a[..., places] - b[..., places]).mean(axis=-1), *systems, above=0)
        if decision.why or not any(system.is_single for system in systems):
            return decision
        return replace(decision, verdict=UNDECIDED, why=f"1 training run, {LEAST_RUNS} needed")

    def n_ahead(self, key: str, others: Sequence[str], protocol: Protocol = "official") -> tuple[int, int]:
        """The number of sets on which a system beats all others in Pearson, and the number of sets compared."""
        rows = list(zip(*(self.figures(other, protocol) for other in (key, *others)), strict=True))
        defined = [[round(r, 4) for r in row if r is not None] for row in rows if None not in row]
        return sum(all(first > other for other in rest) for first, *rest in defined), len(defined)

    def comparison(self, first: str, second: str, treatment: Treatment = "learnt") -> Comparison:
        """All tests between the first runs of two systems with the same treatment, computed once."""
        known = self._comparisons
        if (first, second, treatment) not in known:
            given = [self.scores(key, treatment=self.given(key, treatment) or "learnt") for key in (first, second)]
            known[first, second, treatment] = compare(*given)
        return known[first, second, treatment]

    @cached_property
    def _comparisons(self) -> dict[tuple[str, str, Treatment], Comparison]:
        return {}

    @cached_property
    def absent(self) -> list[tuple[int, str]]:
        """Sets of the paper that are missing from the years that are present."""
        there = {(pair_set.year, pair_set.dataset) for pair_set in self.sets if pair_set.collection == "STS"}
        years = {year for year, _ in there}
        return [place for place in paper_sets() if place not in there and place[0] in years]

    @cached_property
    def names(self) -> list[str]:
        """The names of the sets: "2012 MSRpar", ..."""
        return [pair_set.name for pair_set in self.sets]

    @cached_property
    def headline(self) -> list[int]:
        """Positions of the sets that count in the mean."""
        return headline(self.sets)

    def mean(self, figures: Sequence[float | None]) -> float | None:
        """The mean of one value per set, over the same sets as `Scores.mean_pearson`."""
        return mean(figures[i] for i in self.headline)


def is_dagger(first: SetScore, second: SetScore) -> bool:
    """The paper's mark: the cosines differ (Wilcoxon, p < .0001)."""
    return wilcoxon(first.predictions, second.predictions) < DAGGER
