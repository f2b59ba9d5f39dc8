"""A report as plain records: sections of text, tables, figures and claims. How they look is the writers' business."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from siamese_cbow.evaluation.score_tables import UNDEFINED, signed
from siamese_cbow.evaluation.verdicts import Decision, Verdict


@dataclass(frozen=True)
class Cell:
    """`.4379† (.4311)`, bold, with the paper's figure below in small letters."""

    text: str
    bold: bool = False
    small: str = ""


@dataclass(frozen=True)
class Row:
    """A line of a table; a `head` line is a heading inside it, a `total` line sums up what is above."""

    cells: tuple[Cell, ...]
    kind: Literal["body", "head", "total"] = "body"


@dataclass(frozen=True)
class Table:
    """A table for people (`columns`, `rows`) and for machines (`records`: a CSV line each)."""

    key: str  # also the name of its CSV file
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    records: tuple[dict[str, Any], ...]
    folded: bool = False  # a page shows it only when asked


@dataclass(frozen=True)
class Series:
    """A line of a chart; None is a gap."""

    label: str
    xs: tuple[float, ...]
    ys: tuple[float | None, ...]
    emphasis: bool = False


@dataclass(frozen=True)
class Panel:
    """A chart."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    ticks: tuple[tuple[float, str], ...] | None = None  # of the x axis, where they are given
    log_x: bool = False


@dataclass(frozen=True)
class Figure:
    """Some charts that belong together; `key` is also the name of its files."""

    key: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    records: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Claim:
    """Something the paper (or we) say, held against this run in one setting; the verdict is decided by a test."""

    key: str
    claim: str
    here: str
    verdict: Verdict
    setting: str = ""  # "as published", "updates matched, the same finishing for all"; "": there is just one
    by: Literal["paper", "us"] = "paper"


@dataclass(frozen=True)
class Section:
    """A heading with text, tables and figures below it."""

    key: str
    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Report:
    """All of it."""

    title: str
    summary: tuple[str, ...]
    claims: tuple[Claim, ...]
    sections: tuple[Section, ...]
    data: dict[str, Any] = field(default_factory=dict)  # for report.json

    @property
    def claims_by_text(self) -> dict[str, list[Claim]]:
        """What is claimed once, with what came out in each setting."""
        grouped: dict[str, list[Claim]] = {}
        for claim in self.claims:
            grouped.setdefault(claim.claim, []).append(claim)
        return grouped

    @property
    def tables(self) -> list[Table]:
        """The tables of all sections."""
        return [table for section in self.sections for table in section.tables]

    @property
    def figures(self) -> list[Figure]:
        """The figures of all sections."""
        return [figure for section in self.sections for figure in section.figures]


def told(decision: Decision, shown: Callable[[float | None], str] = signed, of: str = "") -> str:
    """`+.0096, 95% interval -.0052 to +.0237`, and what kept it from being decided."""
    bounds, value = decision.interval, decision.value
    interval = f", 95% interval {shown(bounds.low)} to {shown(bounds.high)}" if bounds else ""
    return f"{shown(value)}{of}{interval}{because(decision)}"


def counted(decision: Decision, n_sets: int) -> str:
    """`15.3 of 19 sets, 95% interval 13 to 17`: the same of a count, which is a mean over trainings."""
    return told(decision, lambda count: UNDEFINED if count is None else f"{round(count, 1):g}", f" of {n_sets} sets")


def because(decision: Decision) -> str:
    """` (2 trainings, 3 needed)`: what kept it from being decided; nothing where it was."""
    return f" ({decision.why})" if decision.why else ""


def listed(names: Iterable[object]) -> str:
    """`listed([100, 200, 300])` -> "100, 200 and 300"."""
    *most, last = map(str, names)
    return f"{', '.join(most)} and {last}" if most else last


def text_row(*texts: str, kind: Literal["body", "head", "total"] = "body") -> Row:
    """A line of plain cells: `text_row("a", "b")`."""
    return Row(tuple(Cell(text) for text in texts), kind)
