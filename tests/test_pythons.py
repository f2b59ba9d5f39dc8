"""The wheel in an empty environment of each supported Python but the one that runs the tests (see `test_readme`)."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packaging_world import CONFIGURED, PROJECT, ROOT, built, install, numbers, python_of, supported_pythons

README: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "readme_session.py"))
TRAIN = "siamese-cbow train docs/ -o models/docs --dim 16 --epochs 1 --batch-size 64"
IN_PYTHON = """
import numpy, sys, siamese_cbow as sc
assert "site-packages" in sc.__file__, sc.__file__
assert sc.__version__ == {version!r}
model = sc.load("models/docs")
vectors = model.encode(["train a model", "a model is trained"])
assert vectors.shape == (2, 16) and vectors.any(axis=1).all()
assert numpy.load("vectors.npy").shape[1] == 16
assert model.neighbours("model", k=3)
print("{{}}.{{}}".format(*sys.version_info))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if not os.environ.get("INSTALL_TESTS"):
        pytest.skip("not asked for: INSTALL_TESTS is not set")
    pytest.importorskip("hatchling", reason="hatchling is in the extra test")
    return built("build_wheel", tmp_path_factory.mktemp("wheel"))


@pytest.mark.slow
@pytest.mark.parametrize("version", [each for each in supported_pythons() if numbers(each) != sys.version_info[:2]])
def test_the_wheel_works_in_every_supported_python(
    version: str, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """README's first command, then training, encoding and searching a small text, and the command line on its own."""
    python = python_of(version)
    if python is None:
        pytest.skip(
            f"Python {version} is supported, but not found here: neither on the PATH nor among pyenv's versions"
        )
    for name in ("PYTHONPATH", "SIAMESE_CBOW_MODEL"):
        monkeypatch.delenv(name, raising=False)
    programs = tmp_path / "venv" / "bin"
    subprocess.run([python, "-m", "venv", programs.parent], check=True)
    first = README["SESSION"].search((ROOT / "README.md").read_text("utf-8"))[1]
    assert README["session"](first, tmp_path, programs, lambda extras: install(programs, f"{wheel}{extras}")) == first

    (tmp_path / "docs").symlink_to(ROOT / "docs")

    def run(command: str) -> str:
        shown: str = README["output"](command, tmp_path, programs)
        return shown

    assert run(TRAIN).splitlines()[-1] == "models/docs"
    run("siamese-cbow encode --model models/docs docs/install.md -o vectors.npy")
    assert "\tdocs/" in run("siamese-cbow search 'exact words and meaning' docs/ -k 1")
    assert run("siamese-cbow --help") == run("python -m siamese_cbow --help")
    (tmp_path / "try.py").write_text(IN_PYTHON.format(version=PROJECT["version"]))
    assert run("python try.py").strip() == version


def test_all_that_names_a_python_follows_the_classifiers() -> None:
    lowest = supported_pythons()[0]
    assert PROJECT["requires-python"] == f">={lowest}"
    assert CONFIGURED["tool"]["ruff"]["target-version"] == f"py{lowest.replace('.', '')}"
    assert CONFIGURED["tool"]["mypy"]["python_version"] == lowest
    assert f"Python {lowest} or newer" in (ROOT / "README.md").read_text("utf-8")
