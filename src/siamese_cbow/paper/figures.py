"""The paper's own figures, from `paper_figures.json`."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

Figure = tuple[float, float]  # Pearson, Spearman


@cache
def paper() -> dict[str, Any]:
    """All of them: `paper()["lowest_norm"][0]` -> "to"."""
    content: dict[str, Any] = json.loads((files(__package__) / "paper_figures.json").read_text("utf-8"))
    return content


def paper_row(year: int, dataset: str, table: str = "table1") -> dict[str, Any]:
    """A set's row of Table 1 or 2; empty for a set that is not in it: `paper_row(2014, "images")["cbow"]`."""
    return next((row for row in paper()[table] if (row["year"], row["dataset"]) == (year, dataset)), {})


def paper_figure(year: int, dataset: str, system: str, table: str = "table1") -> Figure | None:
    """Pearson and Spearman in the paper: `paper_figure(2014, "images", "cbow")` -> (0.5056, 0.5213)."""
    found = paper_row(year, dataset, table).get(system)
    return (found[0], found[1]) if found else None


def paper_sets() -> list[tuple[int, str]]:
    """Year and name of the 20 sets, in the order of the paper."""
    return [(row["year"], row["dataset"]) for row in paper()["table1"]]
