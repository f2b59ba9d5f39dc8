"""The shortest version of `commands.py`: each kind of fault on each piece of work; `make soak` injects many more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fcntl", reason="processes are forked, which this system can't")
if not sys.platform.startswith("linux"):
    pytest.skip("limits and forks are those of Linux", allow_module_level=True)


@pytest.mark.slow
def test_whole_commands_under_attack() -> None:
    script = Path(__file__).with_name("commands.py")
    run = subprocess.run([sys.executable, script, "0"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    found = json.loads(run.stdout)
    assert not found["losses"], "\n".join(found["losses"])
    assert len({row["what"] for row in found["rows"]}) == 10
    assert sum(row["n"] for row in found["rows"]) > 100
