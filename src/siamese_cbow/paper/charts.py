"""Figures 2, 3 and 4: Pearson of every set during training, by negatives, by dimensions. One chart a year."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siamese_cbow.evaluation.scores import mean
from siamese_cbow.paper.document import Figure, Panel, Section, Series
from siamese_cbow.paper.recipes import FULL, RECIPES, SYSTEMS
from siamese_cbow.paper.view import View

Y_LABEL = "Pearson's r"


def figure2(view: View) -> Section:
    """Performance over the epochs."""
    figures = []
    for key, curve in view.results.curves.items():
        points = curve["points"]
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
                f"Pearson (protocol official) at every {_step(points):,} examples and at the end of every epoch. The "
                f"first point is before any training: {_about_start(key)}. {_about_rate(key)}",
                _panels(view, xs, ys, "epochs", ticks),
                records,
            )
        )
    return Section("figure2", "Figure 2: performance over the epochs", (), (), tuple(figures))


def _about_start(key: str) -> str:
    """What the first point is of: weights and stems don't have to be learnt, and are worth much."""
    weighted = SYSTEMS[key].make(FULL, 1).idf_power > 0
    return "random vectors, with the stems and weights that the recipe gives to all" if weighted else "random vectors"


def _about_rate(key: str) -> str:
    """How the learning rate goes, in words: a falling one calms any curve."""
    falls = SYSTEMS[key].make(FULL, 1).decay == "linear"
    return "The learning rate falls to nothing over all epochs." if falls else "The learning rate stays the same."


def figure3(view: View) -> Section:
    """Performance by the number of negatives."""
    figures = tuple(
        _by_setting(
            view, f"figure3-{key}", "negative examples", f"Numbers of negative examples, {RECIPES[key]}", points
        )
        for key, points in view.results.negatives.items()
    )
    note = "The contrastive recipe is not here: all other sentences of a batch are its negatives."
    return Section("figure3", "Figure 3: number of negative examples", (note,), (), figures)


def figure4(view: View) -> Section:
    """Performance by the number of dimensions."""
    figures = tuple(
        _by_setting(view, f"figure4-{key}", "dimensions", f"Numbers of dimensions, {RECIPES[key]}", points)
        for key, points in view.results.dims.items()
    )
    return Section("figure4", "Figure 4: number of dimensions", (), (), figures)


def _by_setting(view: View, key: str, name: str, title: str, points: dict[int, dict[str, Any]]) -> Figure:
    values = sorted(points)
    ys = [points[value]["pearsons"]["official"] for value in values]
    ticks = tuple((float(value), str(value)) for value in values)
    records = tuple(_record(view, {name.replace(" ", "_"): value}, points[value]) for value in values)
    caption = "Pearson (protocol official). All other settings are those of the recipe."
    return Figure(key, title, caption, _panels(view, values, ys, name, ticks, log_x=True), records)


def _panels(
    view: View,
    xs: Sequence[float],
    ys: Sequence[Sequence[float | None]],
    x_label: str,
    ticks: tuple[tuple[float, str], ...],
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


def _step(points: Sequence[dict[str, Any]]) -> int:
    """Examples between two regular points, rounded to what is worth reading."""
    return int(points[1]["examples"] - points[0]["examples"]) if len(points) > 1 else 0
