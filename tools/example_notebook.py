"""Runs `docs/examples/tour.ipynb` from top to bottom and saves its outputs; `tests/model/test_notebook.py` runs it too.

python tools/example_notebook.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

TARGET = Path(__file__).parents[1] / "docs" / "examples" / "tour.ipynb"
WIDGET = "application/vnd.jupyter.widget-view+json"


def run(folder: Path) -> Any:
    """The notebook with its outputs, run in `folder`; a cell that fails raises nbclient's CellExecutionError."""
    notebook = nbformat.read(TARGET, as_version=4)
    return NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()


def tidy(notebook: Any) -> Any:
    """Removes what changes from run to run and shows nothing in a file: progress bars, times, versions."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata = {}
        if "outputs" in cell:
            cell.outputs = [one for one in cell.outputs if _shows_something(one)]
    return notebook


def _shows_something(output: Any) -> bool:
    data = output.get("data", {})
    return WIDGET not in data and data.get("text/plain") != ""


if __name__ == "__main__":
    nbformat.write(tidy(run(TARGET.parent)), TARGET)
