"""The shortest version of `load.py`; `make soak` runs it for minutes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the server needs the extra serve")
pytest.importorskip("fcntl", reason="processes are forked, which this system can't")


@pytest.mark.slow
def test_much_at_once() -> None:
    script = Path(__file__).with_name("load.py")
    run = subprocess.run([sys.executable, script, "0"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert len(json.loads(run.stdout)["rows"]) == 4
