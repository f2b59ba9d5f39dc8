"""The figures of the paper's own tables and its lists of words, from `paper_figures.json`."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def paper() -> dict[str, Any]:
    """All of the paper's figures: `paper()["lowest_norm"][0]` -> "to"."""
    content: dict[str, Any] = json.loads((files(__package__) / "paper_figures.json").read_text("utf-8"))
    return content


def paper_row(year: int, dataset: str, table: str = "table1") -> dict[str, Any]:
    """A set's row in Table 1 or 2; empty if the table lacks it: `paper_row(2014, "images")["cbow"]`."""
    return next((row for row in paper()[table] if (row["year"], row["dataset"]) == (year, dataset)), {})


def paper_figure(year: int, dataset: str, system: str, table: str = "table1") -> tuple[float, float] | None:
    """Pearson and Spearman in the paper: `paper_figure(2014, "images", "cbow")` -> (0.5056, 0.5213)."""
    figures = paper_row(year, dataset, table).get(system)
    return (figures[0], figures[1]) if figures else None


def paper_sets() -> list[tuple[int, str]]:
    """Year and name of the 20 sets, in the order of the paper."""
    return [(row["year"], row["dataset"]) for row in paper()["table1"]]
