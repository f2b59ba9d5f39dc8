"""Figures 2, 3 and 4: Pearson of every set during training, by negatives, by dimensions. One chart a year."""

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
MANY_TICKS = 12  # more would run into each other


def figure2(view: View) -> Section:
    """Performance over the epochs."""
    figures = []
    for key, runs in view.results.curves.items():
        recipe = SiameseCBOW.paper() if key in PUBLISHED else SiameseCBOW()
        n = min(len(run["points"]) for run in runs)
        points = [averaged([run["points"][i] for run in runs]) for i in range(n)]
        # Weights and stems don't have to be learnt, and are worth much; a falling rate calms any curve.
        start = "random vectors" + (
            ", with the stems and weights that the recipe gives to all" if recipe.idf_power else ""
        )
        rate = "falls to nothing over all epochs" if recipe.decay == "linear" else "stays the same"
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
                f"Pearson (protocol official) at every {step:,} examples and at the end of every epoch, "
                f"{_mean_of([len(runs)])}. Unknown words are left out. The first point is before training: {start}. "
                f"The learning rate {rate}.",
                _panels(view, xs, ys, "epochs", ticks if len(ticks) < MANY_TICKS else None),
                records,
            )
        )
    return Section("figure2", "Figure 2: performance over the epochs", (), (), tuple(figures))


def averaged(points: Sequence[Run]) -> Run:
    """One point of several trainings: the mean of each figure, None where one is undefined."""
    figures = {
        protocol: [
            None if None in column else float(np.mean(column))
            for column in zip(*(point["pearsons"][protocol] for point in points), strict=True)
        ]
        for protocol in points[0]["pearsons"]
    }
    return {**points[0], "pearsons": figures}


def _mean_of(counts: Sequence[int]) -> str:
    """Of how many trainings each point is the mean: `_mean_of([3, 3, 2])` -> "mean of 2 to 3 trainings"."""
    fewest, most = min(counts), max(counts)
    if most == 1:
        return "one training"
    return f"mean of {most} trainings" if fewest == most else f"mean of {fewest} to {most} trainings"


def figure3(view: View) -> Section:
    """Performance by the number of negatives."""
    note = "The contrastive recipe is not here: all other sentences of a batch are its negatives."
    return Section(
        "figure3",
        "Figure 3: number of negative examples",
        (note,),
        (),
        _by_setting(view, "figure3", "negative examples", view.results.negatives),
    )


def figure4(view: View) -> Section:
    """Performance by the number of dimensions."""
    return Section(
        "figure4",
        "Figure 4: number of dimensions",
        (),
        (),
        _by_setting(view, "figure4", "dimensions", view.results.dims),
    )


def _by_setting(view: View, key: str, name: str, recipes: dict[str, dict[int, list[Run]]]) -> tuple[Figure, ...]:
    """A figure for each recipe, whose points are trainings that differ in one setting."""
    figures = []
    for recipe, trainings in recipes.items():
        values = sorted(trainings)
        points = {value: averaged(trainings[value]) for value in values}
        told = _mean_of([len(trainings[value]) for value in values])
        others = "All other settings are those of the recipe; unknown words are left out."
        caption = f"Pearson (protocol official), {told}. {others}"
        ys = [points[value]["pearsons"]["official"] for value in values]
        ticks = tuple((float(value), str(value)) for value in values)
        records = tuple(_record(view, {name.replace(" ", "_"): value}, points[value]) for value in values)
        panels = _panels(view, values, ys, name, ticks, log_x=True)
        figures.append(Figure(f"{key}-{recipe}", f"Numbers of {name}, {RECIPES[recipe]}", caption, panels, records))
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
    """A chart with the means, then one for each year with a line for each set."""
    groups: dict[str, list[int]] = {}
    for place, one in enumerate(view.sets):
        groups.setdefault(one.group, []).append(place)
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
