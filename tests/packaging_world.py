"""The contents of a release, built as a release builds them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = "from hatchling.build import {0} as build; print(build({1!r}))"


def built(kind: str, folder: Path) -> Path:
    """What hatchling builds: `built("build_sdist", folder)`; the last line it prints is the file's name."""
    command = [sys.executable, "-c", BUILD.format(kind, str(folder))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return folder / done.stdout.split()[-1]
