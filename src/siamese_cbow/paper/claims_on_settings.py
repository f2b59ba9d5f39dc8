"""The paper's claims about epochs, negatives and dimensions (4.2), tested on this run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from siamese_cbow.base.arrays import Floats
from siamese_cbow.evaluation.score_tables import number
from siamese_cbow.evaluation.verdicts import FAILS, HOLDS, Decision, Resampled, Statistic, decide_statistic, every
from siamese_cbow.paper.document import Claim, count_of, listed, used, value_of
from siamese_cbow.paper.recipes import PUBLISHED, READINGS, RECIPES
from siamese_cbow.paper.view import View
from siamese_cbow.paper.work_plan import Run

LITTLE = 0.05  # Pearson: a smaller change counts as little, and the texts say so
STANDSTILL = 0.01  # Pearson: a set that changes less in an epoch has settled
FALLS, RISES, DROPS = (2014, "deft-news"), (2013, "OnWN"), (2012, "MSRvid")  # the three exceptions of Figure 2
MANY_NEGATIVES, FEW_NEGATIVES = (2013, "FNWN"), (2015, "belief")
BY_DIMENSION = ((2014, "deft-forum"), (2015, "answers-forums"), (2015, "belief"))


def epochs(view: View) -> Iterator[Claim]:
    """Figure 2: stable over the epochs except on three sets; and whether training changes anything at all."""
    for key in [key for key in PUBLISHED if view.results.curves.get(key)]:
        curve = _curve(view, key)
        stable = _n_little(view, [point for _, point in curve[1:]]).but(view.unmoved(key))
        yield Claim(
            f"epochs-{key}",
            "Performance is stable over 5 epochs on the majority of sets (4.2.1, Figure 2)",
            f"from the first measurement in training to the last, Pearson varies by less than .05 on "
            f"{count_of(stable, len(view.defined))}; {_course(view, curve[0][1], curve[-1][1])}",
            stable.verdict,
            READINGS[key],
        )
        yield from _exceptions(view, key, curve)
    for key in [key for key in RECIPES if view.results.curves.get(key)]:
        yield _improves(view, key)


def _improves(view: View, key: str) -> Claim:
    """Whether the vectors are better at the end of training than before it."""
    curve, places = _curve(view, key), view.headline
    gained = decide_statistic(
        lambda a, b: np.nanmean(b[..., places] - a[..., places], axis=-1), curve[0][1], curve[-1][1], above=0
    )
    note = (
        "; the random vectors before training already have the recipe's stems and weights, and unknown words are "
        "ignored, unlike in Table 1"
        if key == "contrastive"
        else ""
    )
    return Claim(
        "epochs-contrastive" if key == "contrastive" else f"epochs-improve-{key}",
        f"Training improves the vectors of {RECIPES[key]}",
        f"{value_of(gained)}; {_course(view, curve[0][1], curve[-1][1])}{note}",
        gained.verdict,
        "",
        "us",
    )


def _exceptions(view: View, key: str, curve: list[tuple[float, Resampled]]) -> Iterator[Claim]:
    """deft-news falls, 2013 OnWN rises and both settle; MSRvid drops after the first epoch."""
    last = curve[-1][0]
    (_, fifth), (_, late) = (min(curve, key=lambda point: abs(point[0] - last * share)) for share in (0.2, 0.8))
    before, early, end = curve[0][1], curve[1][1], curve[-1][1]

    def change(place: int, start: Resampled, finish: Resampled, sign: int) -> Decision:
        return decide_statistic(lambda a, b: sign * (b[..., place] - a[..., place]), start, finish, above=0)

    wanted = (
        ("falls", FALLS, -1, "2014 deft-news steadily decreases over the epochs (4.2.1)"),
        ("rises", RISES, 1, "2013 OnWN steadily increases over the epochs (4.2.1)"),
        ("drops", DROPS, -1, "2012 MSRvid drops consistently after an initial increase (4.2.1)"),
    )
    for name, where, sign, claim in wanted:
        place = view.place(*where)
        if place is None:
            continue
        steps = ", ".join(number(point.point[place]) for epoch, point in curve if abs(epoch * 5 / last % 1) < 1e-6)
        course, later = change(place, early, end, sign), change(place, fifth, end, sign)
        shown = (
            f"{'increase' if sign > 0 else 'decrease'} after the first measurement in training: {value_of(course)}, "
            f"after the first fifth of it: {value_of(later)}"
        )
        decisions = [course, later]  # a jump at the start that is taken back later is not steady
        if name == "drops":
            at_first = change(place, before, early, 1)
            decisions, shown = [at_first, *decisions], f"increase before it: {value_of(at_first)}; {shown}"
        yield Claim(
            f"epochs-{name}-{key}",
            claim,
            f"{shown}; Pearson before training and after each fifth of it: {steps}",
            every(decisions),
            READINGS[key],
        )
    places = [place for where in (FALLS, RISES) if (place := view.place(*where)) is not None]
    if len(places) == 2:
        settled = decide_statistic(
            lambda a, b: -np.abs(b[..., places] - a[..., places]).max(axis=-1), late, end, above=-STANDSTILL
        ).but(view.unmoved(key))
        yield Claim(
            f"epochs-settles-{key}",
            "2014 deft-news and 2013 OnWN seem to stabilise at the end of epoch 5 (4.2.1)",
            f"in the last epoch they change by at most {value_of(used(settled, 0.0), number)}; the claim holds "
            "below .01",
            settled.verdict,
            READINGS[key],
        )


def _curve(view: View, key: str) -> list[tuple[float, Resampled]]:
    """The epoch and the scores of each point, over all runs."""
    runs = view.results.curves[key]
    n = min(len(run["points"]) for run in runs)
    return [(runs[0]["points"][i]["epoch"], view.points(key, [run["points"][i] for run in runs])) for i in range(n)]


def _course(view: View, first: Resampled, last: Resampled) -> str:
    """Where the mean over sets starts and ends."""
    start, end = (view.mean([None if np.isnan(r) else float(r) for r in place.point]) for place in (first, last))
    return f"mean over sets {number(start)} before training, {number(end)} at the end"


def _n_little(view: View, points: Sequence[Resampled]) -> Decision:
    """Whether Pearson varies by less than .05 on more than half of the sets."""
    places = view.defined

    def statistic(*figures: Floats) -> Floats:
        every_point = np.stack([scores[..., places] for scores in figures])
        return np.asarray((np.ptp(every_point, axis=0) < LITTLE).sum(axis=-1), np.float64)

    return decide_statistic(statistic, *points, above=len(places) / 2)


def negatives(view: View) -> Iterator[Claim]:
    """Figure 3: the number of negatives."""
    for key in [key for key in PUBLISHED if view.results.negatives.get(key)]:
        points = _by_value(view, key, view.results.negatives[key])
        varies = _n_little(view, list(points.values())).but(view.unmoved(key))
        yield Claim(
            f"negatives-{key}",
            "On most sets the number of negative examples has limited effect (4.2.2, Figure 3)",
            f"from {min(points)} to {max(points)} negatives Pearson varies by less than .05 on "
            f"{count_of(varies, len(view.defined))}; mean over sets {_means(view, points)}",
            varies.verdict,
            READINGS[key],
        )
        few, many = [points[n] for n in points if n <= 2], [points[n] for n in points if n > 2]
        if not few or not many:
            continue
        suffices = decide_statistic(_shortfall(view, len(few)), *few, *many, above=0).but(view.unmoved(key))
        yield Claim(
            f"negatives-suffice-{key}",
            "A small number of negatives like 1 or 2 typically suffices (4.2.2)",
            "mean Pearson of the best larger number minus that of the best of 1 and 2: "
            f"{value_of(used(suffices, LITTLE))}; the claim holds below .05",
            suffices.verdict,
            READINGS[key],
        )
        ten = points.get(10) or points[max(points)]
        for where, sign, above, name, claim in (
            (MANY_NEGATIVES, 1, 0.0, "many", "A higher number like 10 is slightly better on 2013 FNWN (4.2.2)"),
            (FEW_NEGATIVES, -1, LITTLE, "few", "1 or 2 negatives are markedly better on 2015 belief (4.2.2)"),
        ):
            place = view.place(*where)
            if place is not None:
                decision = decide_statistic(_gain(place, sign), ten, *few, above=above)
                shown = f"by {value_of(decision)}{'; the claim holds above .05' if above else ''}"
                yield Claim(f"negatives-{name}-{key}", claim, shown, decision.verdict, READINGS[key])


def _gain(place: int, sign: int) -> Statistic:
    """How much the first scores exceed the mean of the others on a set; with a sign of -1, how much they fall short."""
    return lambda more, *less: sign * (more[..., place] - np.mean([scores[..., place] for scores in less], axis=0))


def _shortfall(view: View, n: int) -> Statistic:
    """How far the best of all but the first n is from exceeding the best of these by LITTLE."""
    places = view.defined

    def statistic(*figures: Floats) -> Floats:
        means = [scores[..., places].mean(axis=-1) for scores in figures]
        return np.asarray(LITTLE - (np.max(means[n:], axis=0) - np.max(means[:n], axis=0)))

    return statistic


def dimensions(view: View) -> Iterator[Claim]:
    """Figure 4: the number of dimensions."""
    for key in [key for key in PUBLISHED if view.results.dims.get(key)]:
        points = _by_value(view, key, view.results.dims[key])
        yield _too_few(view, key, points)
        if {200, 300, 600} <= set(points):
            yield _moderate(view, key, points)
        trends = {where: place for where in BY_DIMENSION if (place := view.place(*where)) is not None}
        if trends:
            yield _trend(view, key, points, list(trends.values()))
        place = view.place(*DROPS)
        if place is not None and {200, 300} <= set(points):
            better = decide_statistic(lambda a, b, i=place: a[..., i] - b[..., i], points[200], points[300], above=0)
            yield Claim(
                f"dimensions-msrvid-{key}",
                "On 2012 MSRvid 200 dimensions work slightly better than 300 (4.2.1)",
                value_of(better),
                better.verdict,
                READINGS[key],
            )


def _trend(view: View, key: str, points: Mapping[int, Resampled], places: Sequence[int]) -> Claim:
    """Whether more dimensions do better on these sets: the slope of a line, and no step that is significantly down."""
    decisions, shown = [], []
    for place in places:
        slope = decide_statistic(_slope(points, place), *points.values(), above=0).but(view.unmoved(key))
        steps = {
            (few, more): decide_statistic(_gain(place, 1), points[more], points[few], above=0)
            for few, more in pairwise(points)
        }
        down = {step: decision for step, decision in steps.items() if decision.verdict == FAILS}
        falls = "".join(f", but {value_of(down[few, more])} from {few} to {more}" for few, more in down)
        shown.append(f"{view.names[place]} {value_of(slope)}{falls}")
        decisions += [slope, *down.values()]
    return Claim(
        f"dimensions-trend-{key}",
        "On 2014 deft-forum, 2015 answers-forums and 2015 belief more dimensions consistently do better (4.2.3)",
        f"gain per doubling of the dimensions: {'; '.join(shown)}; the claim fails where a larger number is "
        "significantly worse than the one before",
        every(decisions),
        READINGS[key],
    )


def _too_few(view: View, key: str, points: Mapping[int, Resampled]) -> Claim:
    """Whether few dimensions are worse on every set; each set is tested by itself."""
    low, high = [dim for dim in points if dim <= 100], [dim for dim in points if dim > 100]
    if not low or not high:  # a quick report: compare the smallest with the largest
        low, high = [min(points)], [max(points)]
    n, systems = len(low), [points[dim] for dim in (*low, *high)]

    def gain(*figures: Floats, place: int) -> Floats:
        few, more = (np.mean([scores[..., place] for scores in part], axis=0) for part in (figures[:n], figures[n:]))
        return np.asarray(more - few)

    decisions = [decide_statistic(partial(gain, place=place), *systems, above=0) for place in view.defined]
    n_worse, n_better = (sum(each.verdict == verdict for each in decisions) for verdict in (HOLDS, FAILS))
    return Claim(
        f"dimensions-{key}",
        "Too few dimensions (50 or 100) invariably lead to inferior results (4.2.3, Figure 4)",
        f"the mean of {listed(low)} dimensions is significantly below that of {listed(high)} on {n_worse} of "
        f"{len(decisions)} sets and significantly above it on {n_better}; mean over sets {_means(view, points)}",
        every([decision.but(view.unmoved(key)) for decision in decisions]),
        READINGS[key],
    )


def _moderate(view: View, key: str, points: Mapping[int, Resampled]) -> Claim:
    """Whether 600 dimensions gain little over the better of 200 and 300."""
    places = view.defined

    def little(few: Floats, some: Floats, many: Floats) -> Floats:
        moderate, most = np.maximum(few[..., places].mean(-1), some[..., places].mean(-1)), many[..., places].mean(-1)
        return np.asarray(LITTLE - (most - moderate))

    decision = decide_statistic(little, points[200], points[300], points[600], above=0).but(view.unmoved(key))
    return Claim(
        f"dimensions-moderate-{key}",
        "A moderate number of dimensions (200 or 300) is to be preferred (4.2.3)",
        f"mean Pearson of 600 dimensions minus that of the better of 200 and 300: {value_of(used(decision, LITTLE))}; "
        "the claim holds below .05",
        decision.verdict,
        READINGS[key],
    )


def _slope(points: Mapping[int, Resampled], place: int) -> Statistic:
    """Gain in Pearson per doubling of the dimensions: the slope of a line fitted through all points."""
    steps = np.log2(np.array(list(points), np.float64))
    steps -= steps.mean()
    return lambda *figures: np.tensordot(steps, [scores[..., place] for scores in figures], axes=1) / (steps @ steps)


def _by_value(view: View, key: str, points: Mapping[int, Sequence[Run]]) -> dict[int, Resampled]:
    return {value: view.points(key, points[value]) for value in sorted(points)}


def _means(view: View, points: Mapping[int, Resampled]) -> str:
    """`.40 with 50, .42 with 100`: the mean over sets at each value."""
    means = {n: view.mean([None if np.isnan(r) else float(r) for r in points[n].point]) for n in points}
    return ", ".join(f"{number(mean)} with {n}" for n, mean in means.items())
