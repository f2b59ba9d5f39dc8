"""From a report to files: index.html, report.md, report.json, tables/*.csv, figures/*.svg and *.png.

The page is one file with everything inside, for a screen, a phone and paper. The Markdown, for a repository or a chat,
has the same text, tables as pipes and figures as links.
"""

from __future__ import annotations

import csv
import importlib.metadata
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import MissingExtra
from siamese_cbow.paper.document import Report
from siamese_cbow.paper.drawing import inline_svg, write_figure

FILES = ("index.html", "report.md", "report.json")
FOLDERS = ("tables", "figures")
CHIPS = {"holds": "holds", "holds in part": "in-part", "does not hold": "fails", "can't be told": "unknown"}
PROSE = ("norms", "related", "systems")  # tables of words rather than numbers
SIGNS = {
    "holds": "✔ holds",
    "holds in part": "◐ holds in part",
    "does not hold": "✘ does not hold",
    "can't be told": "can't be told",
}


def write_report(report: Report, folder: Path) -> list[Path]:
    """Writes all files of a report; older tables and figures are replaced."""
    for name in FOLDERS:
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    written = [_text(folder / "index.html", page(report)), _text(folder / "report.md", markdown(report))]
    content = {**report.data, "claims": [asdict(claim) for claim in report.claims]}
    written.append(_text(folder / "report.json", json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)))
    for table in report.tables:
        written.append(_csv(folder / "tables" / f"{table.key}.csv", table.records))
    for figure in report.figures:
        written += write_figure(figure, folder / "figures")
        if figure.records:
            written.append(_csv(folder / "tables" / f"{figure.key}.csv", figure.records))
    return written


def _text(path: Path, content: str) -> Path:
    with atomic_file(path) as file:
        file.write_text(content, encoding="utf-8")
    return path


def _csv(path: Path, records: Sequence[dict[str, Any]]) -> Path:
    names = list(dict.fromkeys(name for record in records for name in record))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows(records)
    return path


def needs_jinja() -> None:
    """Raises an error that says what to type where Jinja is missing."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise MissingExtra("jinja2", "report") from None


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
        chips=CHIPS,
        prose=PROSE,
        version=importlib.metadata.version("siamese-cbow"),
        command=report.data.get("command", "siamese-cbow reproduce"),
    )


def markdown(report: Report) -> str:
    """The report as Markdown."""
    return _rendered("report.md.j2", report=report, signs=SIGNS).rstrip() + "\n"


def _rendered(template: str, **values: Any) -> str:
    needs_jinja()
    from jinja2 import Environment, StrictUndefined

    options: Any = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    environment = Environment(autoescape=".html." in template, **options)
    environment.filters["plain"] = _plain
    return environment.from_string((files(__package__) / template).read_text("utf-8")).render(values)


def _plain(text: str) -> str:
    """Text that can't end a cell of Markdown or start markup: `a|b*` -> `a\\|b\\*`."""
    return re.sub(r"([\\|*_<`])", r"\\\1", text)
