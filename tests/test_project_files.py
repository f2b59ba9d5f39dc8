"""Files outside the package agree with the package."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import siamese_cbow
from siamese_cbow.evaluation.sts import TUNING

ROOT = Path(__file__).parents[1]
CITATION = (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_citation_is_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    cited = re.search(r'^version: (.*)\ndate-released: "(.*)"$', CITATION, re.MULTILINE)
    assert cited is not None
    assert cited[1] == project["version"]
    assert f"\n## [{cited[1]}] - {cited[2]}\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_citation_has_kinds_that_the_format_knows() -> None:
    """The format has no `dataset`: a file with one kind too many is valid nowhere."""
    assert set(re.findall(r"^[ -]*type: (.*)$", CITATION, re.MULTILINE)) <= {"conference-paper", "data", "software"}


def test_every_commit_is_checked_as_make_check_does() -> None:
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\ncheck: install\n")[2].partition("\n\n")[0]
    hooks = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    for tool in re.findall(r"\$\(BIN\)/(\w+(?: format| check)?)", recipe):
        assert f".venv/bin/{tool}" in hooks


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"^ +- .*: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    results = [page for page in listed if page.startswith("results/")]
    assert sorted(set(listed) - set(results)) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))
    assert len(listed) == len(set(listed))
    assert [page for page in results if not (ROOT / page).is_file()] == []


def test_the_reference_has_every_public_name() -> None:
    described = re.findall(r"^::: siamese_cbow\.(\S+)\.(\w+)$", (ROOT / "docs/api.md").read_text("utf-8"), re.MULTILINE)
    assert {name: home for home, name in described} == siamese_cbow._HOMES


@pytest.mark.parametrize(
    "page", ["README.md", "docs/how-it-works.md", "docs/training.md", "results/pretrained.md",
             "results/quality_search.md", "results/reproduce-novels/report.md"],
)  # fmt: skip
def test_pages_say_in_one_way_what_settings_were_chosen_on(page: str) -> None:
    assert TUNING.rstrip(".") in " ".join((ROOT / page).read_text("utf-8").split())


@pytest.mark.parametrize("script", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_our_modules_have_what_benchmarks_import(script: Path) -> None:
    """Benchmarks rarely run, so a renamed import would go unnoticed for months."""
    for node in ast.walk(ast.parse(script.read_text("utf-8"))):
        module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
        if module.startswith("benchmarks."):  # not imported: it may need libraries that only benchmarks use
            text = (ROOT / f"{module.replace('.', '/')}.py").read_text("utf-8")
            assert all(re.search(rf"^(class |def |[\w, ]+, )?{name}\b", text, re.M) for name in names), module
        elif module.startswith("siamese_cbow"):
            room = importlib.import_module(module)
            assert all(hasattr(room, name) or importlib.util.find_spec(f"{module}.{name}") for name in names), module
