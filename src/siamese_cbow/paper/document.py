"""A report as plain records: sections of text, tables, figures and claims. `writing` decides how they look."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from siamese_cbow.evaluation.correlation import Interval
from siamese_cbow.evaluation.score_tables import UNDEFINED, signed
from siamese_cbow.evaluation.verdicts import Decision, Verdict


@dataclass(frozen=True)
class Cell:
    """`.4379† (.4311)`, perhaps bold, perhaps with the paper's figure below in small print."""

    text: str
    bold: bool = False
    small: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table; a `head` row is a heading inside the table, a `total` row sums up the rows above."""

    cells: tuple[Cell, ...]
    kind: Literal["body", "head", "total"] = "body"


@dataclass(frozen=True)
class Table:
    """A table for people (`columns`, `rows`) and for machines (`records`: one CSV line each)."""

    key: str  # also the name of its CSV file
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    records: tuple[dict[str, Any], ...]
    folded: bool = False  # collapsed on the page until opened


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
    ticks: tuple[tuple[float, str], ...] | None = None  # of the x axis; None: chosen by matplotlib
    log_x: bool = False


@dataclass(frozen=True)
class Figure:
    """Charts that belong together; `key` is also the name of its files."""

    key: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    records: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claim of the paper (or of ours), tested on this run in one setting; a statistical test decides the verdict."""

    key: str
    claim: str
    here: str
    verdict: Verdict
    setting: str = ""  # "as published", "updates matched, the same finishing for all"; "": there is only one
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
    """The whole report."""

    title: str
    summary: tuple[str, ...]
    claims: tuple[Claim, ...]
    sections: tuple[Section, ...]
    data: dict[str, Any] = field(default_factory=dict)  # for report.json

    @property
    def claims_by_text(self) -> dict[str, list[Claim]]:
        """Each claim's text with its outcome in every setting."""
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


def value_of(decision: Decision, shown: Callable[[float | None], str] = signed, of: str = "") -> str:
    """`+.0096, 95% interval -.0052 to +.0237`, and the reason if it is undecided."""
    bounds, value = decision.interval, decision.value
    interval = f", 95% interval {shown(bounds.low)} to {shown(bounds.high)}" if bounds else ""
    return f"{shown(value)}{of}{interval}{because(decision)}"


def count_of(decision: Decision, n_sets: int) -> str:
    """`15.3 of 19 sets, 95% interval 13 to 17`: the value of a count, averaged over runs."""
    return value_of(
        decision, lambda count: UNDEFINED if count is None else f"{round(count, 1):g}", f" of {n_sets} sets"
    )


def used(decision: Decision, allowance: float) -> Decision:
    """A decision on what is left of an allowance, as one on what is used of it: .04 left of .05 -> .01 used."""
    bounds, value = decision.interval, decision.value
    return replace(
        decision,
        value=None if value is None else allowance - value,
        interval=bounds and Interval(allowance - bounds.high, allowance - bounds.low),
    )


def because(decision: Decision) -> str:
    """` (2 training runs, 3 needed)`: why it is undecided; empty if it is decided."""
    return f" ({decision.why})" if decision.why else ""


def listed(names: Iterable[object]) -> str:
    """`listed([100, 200, 300])` -> "100, 200 and 300"."""
    *most, last = map(str, names)
    return f"{', '.join(most)} and {last}" if most else last


def text_row(*texts: str, kind: Literal["body", "head", "total"] = "body") -> Row:
    """A row of plain cells: `text_row("a", "b")`."""
    return Row(tuple(Cell(text) for text in texts), kind)
