"""Write a report to files: index.html, report.md, report.json, tables/*.csv, figures/*.svg and *.png.

The page is a single self-contained file for a screen, a phone or paper. The Markdown file, for a repository or a chat,
has the same text, pipe tables and linked figures. Charts are drawn with matplotlib but without pyplot, which would keep
every figure in memory: one per panel for the page, which may be narrow, and all panels together for a file. Lines are
labelled at their right end, so that readers need not match colours with a legend.
"""

from __future__ import annotations

import csv
import importlib.metadata
import io
import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from siamese_cbow.base.disk import UNWRITABLE
from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import InputError
from siamese_cbow.evaluation.verdicts import FAILS, HOLDS, UNDECIDED, Verdict
from siamese_cbow.paper.document import Figure, Panel, Report

INK, PALE = "#0b0c0d", "#8a8b8c"  # on the page INK becomes the text colour, so charts stay readable in dark mode
COLOURS = ("#2a86c8", "#e08e0b", "#0f9d76", "#c0609a", "#d5552b", "#7a6ad8", "#6f8f1e", "#8d6e63")
MARKS = "os^DvPX*"
MANY = 15  # points of a line; with more, markers would hide it
FIGURE_ENDINGS: dict[str, dict[str, Any]] = {".svg": {"metadata": {"Date": None}}, ".png": {"dpi": 130}}
WIDTH, HEIGHT = 5.4, 3.5  # inches of one chart
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: smaller files, and searchable
    "svg.hashsalt": "siamese-cbow",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": PALE,
    "xtick.color": INK,
    "ytick.color": INK,
}


def write_figure(figure: Figure, folder: Path) -> list[Path]:
    """Write all charts of a figure to one SVG and one PNG file."""
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
    """One chart as inline SVG, without background, in the page's colour and font. `prefix` keeps ids unique."""
    with _style():
        drawn = _figure(0.85, 0.92)  # smaller than in a file, so that its text stays legible on a phone
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
    """The share of the width that the line labels need."""
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
    """Label positions at least `gap` apart, as close as possible to the given ones: [.5, .5], gap .1 -> [.45, .55]."""
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
    """Alternative text for screen readers: "2014: Pearson's r by epochs. headlines from 0.31 to 0.64; images ..."."""
    parts = []
    for series in panel.series:
        known = [y for y in series.ys if y is not None]
        if known:
            parts.append(f"{series.label} from {known[0]:.2f} to {known[-1]:.2f}")
    return f"{panel.title}: {panel.y_label} by {panel.x_label}. " + "; ".join(parts)


COMMAND, DATA = "siamese-cbow reproduce", "report.json"
FILES = ("index.html", "report.md", DATA)
FOLDERS = ("tables", "figures")
OURS = re.compile(r"tables/[a-z0-9-]+\.csv|figures/[a-z0-9-]+\.(svg|png)")
TEMPLATES = ("page.html.j2", "report.md.j2")
PROSE = ("norms", "related", "systems", "overview")  # tables of words rather than numbers
VERDICTS: dict[Verdict, dict[str, str]] = {  # as a reader sees them; `style` is a class of the page
    HOLDS: {"label": "holds", "sign": "✔", "style": "holds"},
    FAILS: {"label": "does not hold", "sign": "✘", "style": "fails"},
    UNDECIDED: {"label": "undecided", "sign": "?", "style": "unknown"},
}


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write all files of a report, replacing those of an older report; other files are never touched.

    report.json is written first, because it lists the files that are ours.
    """
    records = {f"{table.key}.csv": table.records for table in report.tables}
    records |= {f"{figure.key}.csv": figure.records for figure in report.figures if figure.records}
    figures = [f"figures/{figure.key}{ending}" for figure in report.figures for ending in FIGURE_ENDINGS]
    names = [*FILES, *(f"tables/{name}" for name in records), *figures]
    check_report(folder, names)
    older = _listed(_older_report(folder) or {})
    content = {**report.data, "claims": [asdict(claim) for claim in report.claims], "files": names}
    _text(folder / DATA, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))
    for name in older - set(names):
        (folder / name).unlink(missing_ok=True)
    _text(folder / "index.html", page(report))
    _text(folder / "report.md", markdown(report))
    for name, lines in records.items():
        _csv(folder / "tables" / name, lines)
    for figure in report.figures:
        write_figure(figure, folder / "figures")
    return [folder / name for name in names]


def is_written(report: Report, folder: Path) -> bool:
    """Whether the folder already holds exactly this report and all its files."""
    older = _older_report(folder) or {}
    listed = older.get("files") or []
    is_same = older.get("rests_on") is not None and older["rests_on"] == report.data.get("rests_on")
    return is_same and all(isinstance(name, str) and (folder / name).is_file() for name in listed)


def check_report(folder: Path, names: Sequence[str] = FILES) -> None:
    """Raise an error if the new report would replace files that no older report has written.

    names  the files of the new report that are already known
    """
    older = _older_report(folder)
    strange = [name for name in names if os.path.lexists(folder / name)]
    if older is None:  # the names of tables and figures are not known yet
        strange += [name for name in FOLDERS if os.path.lexists(folder / name)]
    else:  # the first versions did not list their files
        strange = [name for name in strange if "files" in older and name not in _listed(older) | set(FILES)]
    if strange:
        raise InputError(
            f"{folder} holds {strange[0]}, which `reproduce` did not write and would replace; "
            "choose another output, or move the file away"
        )


def _older_report(folder: Path) -> dict[str, Any] | None:
    """The report.json of a folder, if it is one of ours."""
    try:
        content = json.loads((folder / DATA).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and content.get("command") == COMMAND else None


def _listed(content: dict[str, Any]) -> set[str]:
    """The tables and figures that a report lists as its files; none outside their two folders."""
    names = content.get("files")
    listed = names if isinstance(names, list) else ()
    return {name for name in listed if isinstance(name, str) and OURS.fullmatch(name)}


def _text(path: Path, content: str) -> None:
    with atomic_file(path) as file:
        file.write_text(content, "utf-8", UNWRITABLE)


def _csv(path: Path, records: Sequence[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(name for record in records for name in record))
    with atomic_file(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows(records)


def page(report: Report) -> str:
    """The report as HTML, with its charts inside."""
    from markupsafe import Markup

    drawings = {
        figure.key: [Markup(inline_svg(panel, prefix=f"{figure.key}-{i}")) for i, panel in enumerate(figure.panels)]
        for figure in report.figures
    }
    return _rendered(
        "page.html.j2",
        report=report,
        drawings=drawings,
        verdicts=VERDICTS,
        prose=PROSE,
        version=importlib.metadata.version("siamese-cbow"),
        command=report.data.get("command", COMMAND),
    )


def markdown(report: Report) -> str:
    """The report as Markdown."""
    return _rendered("report.md.j2", report=report, verdicts=VERDICTS).rstrip() + "\n"


def _rendered(template: str, **values: Any) -> str:
    from jinja2 import Environment, StrictUndefined

    options: Any = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    environment = Environment(autoescape=".html." in template, **options)
    environment.filters |= {"plain": _plain, "prose": _prose}
    return environment.from_string((files(__package__) / template).read_text("utf-8")).render(values)


def _plain(text: str) -> str:
    """Escaped for a Markdown cell, so that nothing ends the cell or starts markup: `a|b*` -> `a\\|b\\*`."""
    return re.sub(r"([\\|*_<`])", r"\\\1", text)


def _prose(text: str) -> str:
    """Our own sentences for Markdown, with HTML in quoted names escaped: `a <b> p < .05` -> `a \\<b> p < .05`."""
    return re.sub(r"<(?=[A-Za-z/!])", r"\\<", text)
