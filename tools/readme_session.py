"""Runs the sessions of README.md and writes what they print; `tests/test_readme.py` fails when it is out of date.

python tools/readme_session.py

A session is a `console` block. Its commands run in the order of the page, in one empty folder; what they print to
standard output and standard error follows each of them, as in a terminal. Of the command that installs, only what comes
after `pip install` runs: whoever calls `page` has installed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TARGET = Path(__file__).parents[1] / "README.md"
INSTALL = re.compile(r".*pip install --quiet '\.(?P<extras>\[.*?\])' && ")
SESSION = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)


def page(programs: Path = Path(sys.executable).parent) -> str:
    """README.md with the output that its commands have now; `programs` is the folder of siamese-cbow and python."""
    with tempfile.TemporaryDirectory() as folder:
        return SESSION.sub(lambda block: _session(block[1], Path(folder), programs), TARGET.read_text("utf-8"))


def _session(block: str, folder: Path, programs: Path) -> str:
    commands = [line for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"{command}\n{_output(command[2:], folder, programs)}" for command in commands)


def _output(command: str, folder: Path, programs: Path) -> str:
    """What a command prints; one that fails is an error here, too."""
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "120"}
    run = subprocess.run(
        ["bash", "-c", INSTALL.sub("", command)], cwd=folder, env=environment, text=True, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if run.returncode:
        raise RuntimeError(f"{command!r} of README.md ended with {run.returncode}:\n{run.stdout}")
    return run.stdout if run.stdout.endswith("\n") or not run.stdout else f"{run.stdout}\n"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
