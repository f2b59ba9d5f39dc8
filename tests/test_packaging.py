"""What ships: the wheel, the source distribution, the container and the forms of the repository."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from packaging_world import PROJECT, ROOT, built, supported_pythons
from siamese_cbow.cli import COMMANDS, group


def tracked(*folders: str) -> set[str]:
    """The files of the repository below some folders, including new ones that are not committed yet."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *folders]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    return {name for name in done.stdout.splitlines() if (ROOT / name).is_file()}


@pytest.mark.slow
def test_the_wheel_has_the_package_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling is in the extra test")
    wheel = zipfile.ZipFile(built("build_wheel", tmp_path))
    info = f"siamese_cbow-{PROJECT['version']}.dist-info/"
    package = {name for name in wheel.namelist() if not name.startswith(info)}
    assert package == {name.removeprefix("src/") for name in tracked("src")}
    assert {"siamese_cbow/py.typed", "siamese_cbow/serve/page/index.html"} <= package
    assert {"siamese_cbow/pretrained/model.safetensors", "siamese_cbow/retrieval/negations.txt"} <= package
    assert f"{info}licenses/LICENSE" in wheel.namelist()
    assert "siamese-cbow = siamese_cbow.cli:main" in wheel.read(f"{info}entry_points.txt").decode()


@pytest.mark.slow
def test_no_link_of_the_description_is_relative(tmp_path: Path) -> None:
    """PyPI shows the README apart from the repository, where `docs/install.md` leads nowhere."""
    pytest.importorskip("hatch_fancy_pypi_readme", reason="hatch-fancy-pypi-readme is in the extra test")
    wheel = zipfile.ZipFile(built("build_wheel", tmp_path))
    metadata = wheel.read(f"siamese_cbow-{PROJECT['version']}.dist-info/METADATA").decode()
    description = metadata.partition("\n\n")[2]
    links = re.findall(r"\]\(([^)]*)\)", description)
    assert "https://aclanthology.org/P16-1089/" in links
    assert [link for link in links if not link.startswith("https://")] == []
    assert 'model.neighbours("guitar", k=5)' in description  # code stays as it is


@pytest.mark.slow
def test_the_source_distribution_can_be_tested(tmp_path: Path) -> None:
    """Tests read the docs, the results and the tools; a distribution without them would fail its own tests."""
    pytest.importorskip("hatchling", reason="hatchling is in the extra test")
    archive = built("build_sdist", tmp_path)
    top = f"siamese_cbow-{PROJECT['version']}/"
    with tarfile.open(archive) as sdist:
        names = {name.removeprefix(top) for name in sdist.getnames() if not name.endswith("/")}
    assert names >= tracked("src", "tests", "docs", "results", "benchmarks", "tools")
    assert names >= {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "Makefile", "Dockerfile", "pyproject.toml"}
    assert archive.stat().st_size < 60e6


def instructions() -> list[tuple[str, str]]:
    """The lines of the Dockerfile: ("FROM", "python:3.12-slim AS build"), ..."""
    lines = [line for line in (ROOT / "Dockerfile").read_text("utf-8").splitlines() if line and line[0] != "#"]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def of(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def test_the_container_gets_what_it_copies() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert ignored[0] == "*"
    copied = [name for line in of("COPY") if not line.startswith("--from") for name in line.split()[:-1]]
    for name in copied:
        assert (ROOT / name).exists()
        assert f"!{name}" in ignored
    needed = {"pyproject.toml", "README.md", *PROJECT["license-files"], "src"}
    assert needed <= set(copied)


def test_the_container_installs_and_starts_the_server() -> None:
    installed = next(line for line in of("RUN") if "pip install" in line)
    extras = re.search(r"'\.\[(.*)\]'", installed)
    assert extras
    assert set(extras[1].split(",")) <= set(PROJECT["optional-dependencies"])
    assert "serve" in extras[1].split(",")
    (version,) = {match for line in of("FROM") for match in re.findall(r"python:([\d.]+)", line)}
    assert version in supported_pythons()
    (program,) = json.loads(of("ENTRYPOINT")[0])
    assert program in PROJECT["scripts"]
    name, *arguments = json.loads(of("CMD")[0])
    context = group.make_context(program, [next(iter(COMMANDS))])
    command = group.get_command(context, name)
    assert command is not None
    settings = command.make_context(name, arguments, parent=context).params
    assert settings["host"] == "0.0.0.0"
    assert of("EXPOSE") == [str(settings["port"])]
    assert f"127.0.0.1:{settings['port']}/health" in of("HEALTHCHECK")[0]


def test_the_container_does_not_run_as_root() -> None:
    order = [instruction for instruction, _ in instructions()]
    assert order.index("USER") < order.index("ENTRYPOINT")
    user, cache = of("USER")[0], next(line.split("=")[1] for line in of("ENV") if line.startswith("NUMBA_CACHE_DIR"))
    assert any(f"useradd --create-home {user}" in line and f"chown {user} {cache}" in line for line in of("RUN"))


def test_the_docs_start_the_container_as_it_is_built() -> None:
    page = (ROOT / "docs" / "serve.md").read_text("utf-8")
    shown = [line for line in page.splitlines() if line.startswith("docker ")]
    assert [shlex.split(line)[1] for line in shown] == ["build", "run"]
    assert f"-p {of('EXPOSE')[0]}:{of('EXPOSE')[0]}" in shown[1]


@pytest.mark.parametrize("form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md")), ids=lambda path: path.stem)
def test_forms_say_what_they_are_for(form: Path) -> None:
    _, head, body = form.read_text("utf-8").split("---\n", 2)
    assert {line.split(":")[0] for line in head.splitlines()} == {"name", "about", "labels"}
    for command in re.findall(r"`siamese-cbow (\w+)", body):
        assert command in COMMANDS
