"""What a release consists of, built as a release builds it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = "from hatchling.build import {0} as build; print(build({1!r}))"


def built(kind: str, folder: Path) -> Path:
    """What hatchling builds: `built("build_sdist", folder)`; its name is the last line that it prints."""
    command = [sys.executable, "-c", BUILD.format(kind, str(folder))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return folder / done.stdout.split()[-1]
