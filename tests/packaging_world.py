"""The contents of a release, built as a release builds them, and the Pythons in which it is tried."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CONFIGURED: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = CONFIGURED["project"]
BUILD = "from hatchling.build import {0} as build; print(build({1!r}))"
VERSION = "import sys; print('{}.{}'.format(*sys.version_info))"


def built(kind: str, folder: Path) -> Path:
    """What hatchling builds: `built("build_sdist", folder)`; the last line it prints is the file's name."""
    command = [sys.executable, "-c", BUILD.format(kind, str(folder))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return folder / done.stdout.split()[-1]


def install(programs: Path, what: str) -> None:
    """Installs into the environment with these programs: `install(venv / "bin", "siamese_cbow.whl[demo]")`."""
    constraints = ("--constraint", ROOT / "constraints.txt")
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", *constraints, what], check=True)


# Pythons


def supported_pythons() -> list[str]:
    """The versions that the classifiers promise, ["3.11", ...]: everything else that names versions follows them."""
    named = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in PROJECT["classifiers"])
    return sorted((match[1] for match in named if match), key=numbers)


def numbers(version: str) -> tuple[int, ...]:
    """`numbers("3.11")` -> (3, 11), which compare as versions do."""
    return tuple(map(int, version.split(".")))


def python_of(version: str) -> Path | None:
    """An interpreter of this version: on the PATH, or installed by pyenv; None if there is none that starts."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    of_pyenv = sorted(pyenv.glob(f"{version}.*/bin/python"), key=lambda path: _patch(path.parts[-3]))
    candidates = [shutil.which(f"python{version}"), *reversed(of_pyenv)]
    return next((Path(path) for path in candidates if path and _is_version(path, version)), None)


def _patch(name: str) -> int:
    """`_patch("3.13.0")` -> 0; -1 for what is not a release, such as 3.14.0a1 or 3.13.1t."""
    match = re.fullmatch(r"\d+\.\d+\.(\d+)", name)
    return int(match[1]) if match else -1


def _is_version(path: str | Path, version: str) -> bool:
    """Whether it starts and is what its name says: a shim of pyenv may do neither."""
    done = subprocess.run([path, "-c", VERSION], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == version
