"""Runs the sessions in README.md and writes their output; `tests/test_readme.py` fails when it is out of date.

python tools/readme_session.py

A session is a `console` block. Its commands run in the order of the page, in one empty folder; each is followed by what
it prints to standard output and standard error, as in a terminal. The caller makes the environment and does the `pip
install`: `install` is called with the extras, and only the rest of the command runs here.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

TARGET = Path(__file__).parents[1] / "README.md"
SETUP = re.compile(r"python3 -m venv \.venv && \. \.venv/bin/activate && ")
INSTALL = re.compile(r"pip install --quiet (?:\.|'\.(?P<extras>\[.*?\])')(?: && |$)")
SESSION = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)


def page(programs: Path = Path(sys.executable).parent, install: Callable[[str], object] = lambda extras: None) -> str:
    """README.md with the current output of its commands.

    programs  the folder of siamese-cbow and python
    install   called with what follows the dot in an install command, such as "[demo]", before the rest of the command
    """
    with tempfile.TemporaryDirectory() as folder:
        text = TARGET.read_text("utf-8")
        return SESSION.sub(lambda block: session(block[1], Path(folder), programs, install), text)


def session(block: str, folder: Path, programs: Path, install: Callable[[str], object]) -> str:
    """One block with the output that its commands have now."""
    shown = []
    for command in (line for line in block.splitlines() if line.startswith("$ ")):
        to_run = SETUP.sub("", command[2:])
        if installing := INSTALL.match(to_run):
            install(installing["extras"] or "")
            to_run = INSTALL.sub("", to_run)
        shown.append(f"{command}\n{output(to_run, folder, programs) if to_run else ''}")
    return "".join(shown)


def output(command: str, folder: Path, programs: Path) -> str:
    """The output of a command; a command that fails is an error here, too."""
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "120"}
    run = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, text=True, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if run.returncode:
        raise RuntimeError(f"{command!r} of README.md ended with {run.returncode}:\n{run.stdout}")
    return run.stdout if run.stdout.endswith("\n") or not run.stdout else f"{run.stdout}\n"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
