"""From a report to files: index.html, report.md, report.json, tables/*.csv, figures/*.svg and *.png.

The page is one file with everything inside, for a screen, a phone and paper. The Markdown, for a repository or a chat,
has the same text, tables as pipes and figures as links.
"""

from __future__ import annotations

import csv
import importlib.metadata
import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from siamese_cbow.base.disk import UNWRITABLE
from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import InputError
from siamese_cbow.paper.document import Report
from siamese_cbow.paper.drawing import FIGURE_ENDINGS, inline_svg, write_figure

COMMAND, DATA = "siamese-cbow reproduce", "report.json"
FILES = ("index.html", "report.md", DATA)
FOLDERS = ("tables", "figures")
OURS = re.compile(r"tables/[a-z0-9-]+\.csv|figures/[a-z0-9-]+\.(svg|png)")
TEMPLATES = ("page.html.j2", "report.md.j2")
CHIPS = {"holds": "holds", "does not hold": "fails", "cannot be told": "unknown"}
PROSE = ("norms", "related", "systems", "overview")  # tables of words rather than numbers
SIGNS = {"holds": "✔ holds", "does not hold": "✘ does not hold", "cannot be told": "? cannot be told"}


def write_report(report: Report, folder: Path) -> list[Path]:
    """Writes all files of a report; those of an older report are replaced, other files are never touched.

    report.json goes first: it tells which files are ours.
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
    """Whether the folder holds this very report already, whole."""
    older = _older_report(folder) or {}
    listed = older.get("files") or []
    is_same = older.get("rests_on") is not None and older["rests_on"] == report.data.get("rests_on")
    return is_same and all(isinstance(name, str) and (folder / name).is_file() for name in listed)


def check_report(folder: Path, names: Sequence[str] = FILES) -> None:
    """Raises an error if files that no older report has written are in the way of a new one.

    names  of the new one's files, as far as they are known
    """
    older = _older_report(folder)
    strange = [name for name in names if os.path.lexists(folder / name)]
    if older is None:  # what the tables and figures will be called is not known yet
        strange += [name for name in FOLDERS if os.path.lexists(folder / name)]
    else:  # the first versions did not list their files
        strange = [name for name in strange if "files" in older and name not in _listed(older) | set(FILES)]
    if strange:
        raise InputError(
            f"{folder} holds {strange[0]}, which `reproduce` has not written and would replace; "
            "choose another output, or move it away"
        )


def _older_report(folder: Path) -> dict[str, Any] | None:
    """The report.json of a folder, if it is one of ours."""
    try:
        content = json.loads((folder / DATA).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and content.get("command") == COMMAND else None


def _listed(content: dict[str, Any]) -> set[str]:
    """The tables and figures that a report has written, by its own word; nothing outside their two folders."""
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
        chips=CHIPS,
        prose=PROSE,
        version=importlib.metadata.version("siamese-cbow"),
        command=report.data.get("command", COMMAND),
    )


def markdown(report: Report) -> str:
    """The report as Markdown."""
    return _rendered("report.md.j2", report=report, signs=SIGNS).rstrip() + "\n"


def _rendered(template: str, **values: Any) -> str:
    from jinja2 import Environment, StrictUndefined

    options: Any = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    environment = Environment(autoescape=".html." in template, **options)
    environment.filters |= {"plain": _plain, "prose": _prose}
    return environment.from_string((files(__package__) / template).read_text("utf-8")).render(values)


def _plain(text: str) -> str:
    """Text that can't end a cell of Markdown or start markup: `a|b*` -> `a\\|b\\*`."""
    return re.sub(r"([\\|*_<`])", r"\\\1", text)


def _prose(text: str) -> str:
    """Sentences of ours, which may have names of somebody else's in them: `a <b> p < .05` -> `a \\<b> p < .05`."""
    return re.sub(r"<(?=[A-Za-z/!])", r"\\<", text)
