"""Charts drawn with matplotlib: one by one for a page, which may be narrow, and together for a file.

Lines carry their names at their right end instead of a legend that has to be looked up. Does not use pyplot, which
would keep every figure alive.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from siamese_cbow.base.files import atomic_file
from siamese_cbow.paper.document import Figure, Panel

INK, PALE = "#0b0c0d", "#8a8b8c"  # on a page INK becomes the colour of the text, so that dark pages stay readable
COLOURS = ("#2a86c8", "#e08e0b", "#0f9d76", "#c0609a", "#d5552b", "#7a6ad8", "#6f8f1e", "#8d6e63")
MARKS = "os^DvPX*"
MANY = 15  # points of a line: more marks would hide it
FIGURE_ENDINGS: dict[str, dict[str, Any]] = {".svg": {"metadata": {"Date": None}}, ".png": {"dpi": 130}}
WIDTH, HEIGHT = 5.4, 3.5  # inches of one chart
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: smaller files, and it can be searched
    "svg.hashsalt": "siamese-cbow",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": PALE,
    "xtick.color": INK,
    "ytick.color": INK,
}


def write_figure(figure: Figure, folder: Path) -> list[Path]:
    """All charts of a figure as one SVG and one PNG file."""
    rows = -(-len(figure.panels) // 2)
    columns = min(2, len(figure.panels))
    written = []
    with _style():
        drawn = _figure(columns, rows)
        drawn.suptitle(figure.title, fontsize=11)
        for i, panel in enumerate(figure.panels):
            _draw(panel, drawn.add_subplot(rows, columns, i + 1))
        height, labels = drawn.get_figheight(), max(map(_label_share, figure.panels))
        drawn.subplots_adjust(top=1 - 0.68 / height, bottom=0.5 / height, hspace=0.38, left=0.13 / columns,
                              right=1 - labels / columns, wspace=(labels + 0.13) / (0.87 - labels))  # fmt: skip
        for ending, options in FIGURE_ENDINGS.items():
            written.append(folder / f"{figure.key}{ending}")
            with atomic_file(written[-1]) as unfinished:
                drawn.savefig(unfinished, facecolor="white", **options)
    return written


def inline_svg(panel: Panel, *, prefix: str) -> str:
    """One chart as SVG to stand inside a page: no background, the page's colour and font. `prefix` keeps ids apart."""
    with _style():
        drawn = _figure(0.85, 0.92)  # smaller than in a file: on a phone its letters must still be read
        _draw(panel, drawn.add_subplot(1, 1, 1))
        drawn.subplots_adjust(left=0.13, right=1 - 1.18 * _label_share(panel), top=0.9, bottom=0.16)
        file = io.StringIO()
        drawn.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return _for_page(file.getvalue(), prefix, _described(panel))


def _style() -> Any:
    import matplotlib as mpl

    return mpl.rc_context(STYLE)


def _figure(columns: float, rows: float) -> Any:
    from matplotlib.figure import Figure as Drawing

    return Drawing(figsize=(columns * WIDTH * 1.05, rows * HEIGHT + (0.5 if rows * columns > 1 else 0)))


def _label_share(panel: Panel) -> float:
    """The part of the width that the names of the lines need."""
    return min(0.42, 0.04 + 0.0135 * max((len(series.label) for series in panel.series), default=0))


def _draw(panel: Panel, axes: Any) -> None:
    if panel.log_x:
        axes.set_xscale("log")
        axes.xaxis.minorticks_off()
    ends = []
    for i, series in enumerate(panel.series):
        colour = INK if series.emphasis else COLOURS[i % len(COLOURS)]
        ys = [float("nan") if y is None else y for y in series.ys]
        width = 2.2 if series.emphasis else 1.4
        mark = MARKS[i % len(MARKS)] if len(ys) <= MANY else ""
        axes.plot(series.xs, ys, color=colour, marker=mark, markersize=3.2, linewidth=width)
        known = [y for y in series.ys if y is not None]
        if known:
            ends.append((known[-1], series.label, colour, "bold" if series.emphasis else "normal"))
    if panel.ticks:
        axes.set_xticks([x for x, _ in panel.ticks], [label for _, label in panel.ticks])
    axes.set_title(panel.title, fontsize=10, fontweight="bold", loc="left")
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.grid(axis="y", color=PALE, alpha=0.3, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    _name_lines(axes, ends)


def _name_lines(axes: Any, ends: Sequence[tuple[float, str, str, str]]) -> None:
    low, high = axes.get_ylim()
    places = spread([(y - low) / (high - low) for y, *_ in ends], gap=0.066)
    for place, (_, label, colour, weight) in zip(places, ends, strict=True):
        axes.text(1.02, place, label, transform=axes.transAxes, color=colour, va="center", fontsize=8.5,
                  fontweight=weight)  # fmt: skip


def spread(places: Sequence[float], *, gap: float) -> list[float]:
    """Places for names, as near to the wanted ones as a gap between any two allows: [.5, .5], gap .1 -> [.45, .55]."""
    from scipy.optimize import isotonic_regression

    if not places:
        return []
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    spread_out = np.empty(len(places))
    spread_out[order] = isotonic_regression(np.asarray(places)[order] - steps).x + steps
    return [float(place) for place in spread_out]


def _for_page(svg: str, prefix: str, description: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace(INK, "currentColor")
    svg = re.sub(r"font: ((?:bold |700 )?[\d.]+px)[^;\"]*", r"font: \1 system-ui, sans-serif", svg)
    for name in set(re.findall(r'\bid="([^"]+)"', svg)):
        svg = svg.replace(f'id="{name}"', f'id="{prefix}-{name}"')
        svg = svg.replace(f"#{name})", f"#{prefix}-{name})").replace(f'"#{name}"', f'"#{prefix}-{name}"')
    for size in ("width", "height"):
        svg = re.sub(rf'(<svg[^>]*?) {size}="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)


def _described(panel: Panel) -> str:
    """A sentence for those who can't see the chart: "2014. headlines from .31 to .64; images ..."."""
    parts = []
    for series in panel.series:
        known = [y for y in series.ys if y is not None]
        if known:
            parts.append(f"{series.label} from {known[0]:.2f} to {known[-1]:.2f}")
    return f"{panel.title}: {panel.y_label} by {panel.x_label}. " + "; ".join(parts)
