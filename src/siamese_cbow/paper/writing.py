"""From a report to files: index.html, report.md, report.json, tables/*.csv, figures/*.svg and *.png.

The page is one file with everything inside, for a screen, a phone and paper. The Markdown, for a repository or a chat,
has the same text, tables as pipes and figures as links.
"""

from __future__ import annotations

import csv
import importlib.metadata
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import MissingExtra
from siamese_cbow.paper.document import Cell, Report, Row, Section, Table
from siamese_cbow.paper.drawing import inline_svg, write_figure

FILES = ("index.html", "report.md", "report.json")
FOLDERS = ("tables", "figures")
CHIPS = {"holds": "holds", "holds in part": "in-part", "does not hold": "fails", "can't be told": "unknown"}
PROSE = ("norms", "related", "systems")  # tables of words rather than numbers
SIGNS = {"holds": "✔ holds", "holds in part": "◐ holds in part", "does not hold": "✘ does not hold"}


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
    """The report as HTML."""
    needs_jinja()
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    drawings = {
        figure.key: [Markup(inline_svg(panel, prefix=f"{figure.key}-{i}")) for i, panel in enumerate(figure.panels)]
        for figure in report.figures
    }
    template = (files(__package__) / "page.html.j2").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(
        report=report,
        drawings=drawings,
        chips=CHIPS,
        prose=PROSE,
        version=importlib.metadata.version("siamese-cbow"),
        command=report.data.get("command", "siamese-cbow reproduce"),
    )


def markdown(report: Report) -> str:
    """The whole report."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# {report.title}\n"
    for text in report.summary:
        yield f"{text}\n"
    if report.claims:
        yield "## What holds in this run, and what does not\n"
        yield "| | claim | here |\n|---|---|---|"
        for claim in report.claims:
            who = "" if claim.by == "paper" else " (ours)"
            yield f"| {SIGNS.get(claim.verdict, claim.verdict)} | {_safe(claim.claim)}{who} | {_safe(claim.here)} |"
        yield ""
    for section in report.sections:
        yield from _section(section)


def _section(section: Section) -> Iterator[str]:
    yield f"## {section.title}\n"
    for text in section.paragraphs:
        yield f"{text}\n"
    for table in section.tables:
        yield f"### {table.title}\n"
        yield f"{table.caption}\n"
        yield table_lines(table) + "\n"
    for figure in section.figures:
        yield f"### {figure.title}\n"
        yield f"{figure.caption}\n"
        yield f"![{figure.title}](figures/{figure.key}.svg)\n"


def table_lines(table: Table) -> str:
    """A table with pipes: `| set | cbow |` and so on."""
    lines = [f"| {' | '.join(map(_safe, table.columns))} |", "|" + "---|" * len(table.columns)]
    return "\n".join([*lines, *(_row(row) for row in table.rows)])


def _row(row: Row) -> str:
    return f"| {' | '.join(_cell(cell, row.kind) for cell in row.cells)} |"


def _cell(cell: Cell, kind: str) -> str:
    text = _safe(cell.text)
    if text and (cell.bold or kind == "head"):
        text = f"**{text}**"
    return f"{text}<br><sub>{_safe(cell.small)}</sub>" if cell.small else text


def _safe(text: str) -> str:
    """Text that can't end a cell or start markup: `a|b*` -> `a\\|b\\*`."""
    for mark in "\\|*_<`":
        text = text.replace(mark, "\\" + mark)
    return text
