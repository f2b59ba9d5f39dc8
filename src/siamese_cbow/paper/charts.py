"""Figures 2, 3 and 4: Pearson on every set during training, by negatives and by dimensions. One chart per year.

These are the data of the charts; `writing` draws them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from siamese_cbow.evaluation.scores import mean
from siamese_cbow.paper.document import Figure, Panel, Section, Series
from siamese_cbow.paper.recipes import PUBLISHED, RECIPES
from siamese_cbow.paper.view import View
from siamese_cbow.paper.work_plan import Run
from siamese_cbow.training.siamese_cbow import SiameseCBOW

Y_LABEL = "Pearson's r"
MANY_TICKS = 12  # more labels would overlap


def figure2(view: View) -> Section:
    """Figure 2: performance over the epochs."""
    figures = []
    for key, runs in view.results.curves.items():
        recipe = SiameseCBOW.paper() if key in PUBLISHED else SiameseCBOW()
        n = min(len(run["points"]) for run in runs)
        points = [averaged([run["points"][i] for run in runs]) for i in range(n)]
        # Readers must know both: weights and stems raise the scores much without training, and a decaying rate flattens
        # any curve.
        start = "random vectors" + (", with the recipe's stems and word weights" if recipe.idf_power else "")
        rate = "decays linearly to 0 over all epochs" if recipe.decay == "linear" else "is constant"
        step = int(points[1]["examples"] - points[0]["examples"]) if len(points) > 1 else 0
        xs = [point["epoch"] for point in points]
        ys = [point["pearsons"]["official"] for point in points]
        ticks = tuple((float(epoch), str(epoch)) for epoch in range(round(max(xs)) + 1))
        records = tuple(
            _record(view, {"recipe": key, "examples": point["examples"], "epoch": point["epoch"]}, point)
            for point in points
        )
        figures.append(
            Figure(
                f"figure2-{key}",
                f"Performance over {round(max(xs))} epochs, {RECIPES[key]}",
                f"Pearson (official protocol) every {step:,} examples and at the end of every epoch, "
                f"{_mean_of([len(runs)])}. Unknown words are ignored. The first point is before training: {start}. "
                f"The learning rate {rate}.",
                _panels(view, xs, ys, "epochs", ticks if len(ticks) < MANY_TICKS else None),
                records,
            )
        )
    return Section("figure2", "Figure 2: performance over the epochs", (), (), tuple(figures))


def averaged(points: Sequence[Run]) -> Run:
    """One point averaged over several runs: the mean of each value, None where one is undefined."""
    figures = {
        protocol: [
            None if None in column else float(np.mean(column))
            for column in zip(*(point["pearsons"][protocol] for point in points), strict=True)
        ]
        for protocol in points[0]["pearsons"]
    }
    return {**points[0], "pearsons": figures}


def _mean_of(counts: Sequence[int]) -> str:
    """How many runs each point is the mean of: `_mean_of([3, 3, 2])` -> "mean of 2 to 3 runs"."""
    fewest, most = min(counts), max(counts)
    if most == 1:
        return "one run"
    return f"mean of {most} runs" if fewest == most else f"mean of {fewest} to {most} runs"


def figure3(view: View) -> Section:
    """Figure 3: performance by the number of negatives."""
    note = "The contrastive recipe is not shown: it uses all other sentences in the batch as negatives."
    return Section(
        "figure3",
        "Figure 3: number of negative examples",
        (note,),
        (),
        _by_setting(view, "figure3", "negative examples", view.results.negatives),
    )


def figure4(view: View) -> Section:
    """Figure 4: performance by the number of dimensions."""
    return Section(
        "figure4",
        "Figure 4: number of dimensions",
        (),
        (),
        _by_setting(view, "figure4", "dimensions", view.results.dims),
    )


def _by_setting(view: View, key: str, name: str, recipes: dict[str, dict[int, list[Run]]]) -> tuple[Figure, ...]:
    """One figure per recipe; its points are runs that differ in one setting."""
    figures = []
    for recipe, trainings in recipes.items():
        values = sorted(trainings)
        points = {value: averaged(trainings[value]) for value in values}
        runs = _mean_of([len(trainings[value]) for value in values])
        others = "All other settings are the recipe's; unknown words are ignored."
        caption = f"Pearson (official protocol), {runs}. {others}"
        ys = [points[value]["pearsons"]["official"] for value in values]
        ticks = tuple((float(value), str(value)) for value in values)
        records = tuple(_record(view, {name.replace(" ", "_"): value}, points[value]) for value in values)
        panels = _panels(view, values, ys, name, ticks, log_x=True)
        figures.append(Figure(f"{key}-{recipe}", f"Number of {name}, {RECIPES[recipe]}", caption, panels, records))
    return tuple(figures)


def _panels(
    view: View,
    xs: Sequence[float],
    ys: Sequence[Sequence[float | None]],
    x_label: str,
    ticks: tuple[tuple[float, str], ...] | None,
    *,
    log_x: bool = False,
) -> tuple[Panel, ...]:
    """One chart of the means, then one per year with a line for each set."""
    groups: dict[str, list[int]] = {}
    for place, pair_set in enumerate(view.sets):
        groups.setdefault(pair_set.group, []).append(place)
    floats = tuple(map(float, xs))
    panels = []
    for label, places in groups.items():
        series = tuple(Series(view.sets[i].dataset, floats, tuple(row[i] for row in ys)) for i in places)
        panels.append(Panel(label, x_label, Y_LABEL, series, ticks, log_x))
    means = [
        Series(label, floats, tuple(mean(row[i] for i in places) for row in ys)) for label, places in groups.items()
    ]
    every = Series("all", floats, tuple(view.mean(row) for row in ys), emphasis=True)
    return (Panel("mean over sets", x_label, Y_LABEL, (*means, every), ticks, log_x), *panels)


def _record(view: View, about: dict[str, Any], point: dict[str, Any]) -> dict[str, Any]:
    figures = {
        f"{name} ({protocol})": value
        for protocol, values in point["pearsons"].items()
        for name, value in zip(view.names, values, strict=True)
    }
    means = {f"mean ({protocol})": view.mean(values) for protocol, values in point["pearsons"].items()}
    return {**about, **means, **figures}
