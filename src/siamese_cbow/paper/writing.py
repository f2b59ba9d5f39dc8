"""From a report to files: index.html, report.md, report.json, tables/*.csv, figures/*.svg and *.png."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from siamese_cbow.base.files import atomic_file
from siamese_cbow.paper.document import Report
from siamese_cbow.paper.drawing import write_figure
from siamese_cbow.paper.html import page
from siamese_cbow.paper.markdown import markdown

FILES = ("index.html", "report.md", "report.json")
FOLDERS = ("tables", "figures")


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
