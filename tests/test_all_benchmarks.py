"""`python -m benchmarks` knows every benchmark and its inputs."""

from __future__ import annotations

import lzma
from pathlib import Path

import benchmarks.__main__ as every
from benchmarks.__main__ import BUILT, COMMANDS, ELSEWHERE, INPUTS, MADE, Places, named

SCRIPTS = Path(every.__file__).parent
NOT_MEASURED = {"__main__", "build_pretrained", "summary"}  # `summary` always runs


def test_no_benchmark_is_forgotten() -> None:
    runnable = {path.stem for path in SCRIPTS.glob("*.py") if "def main(" in path.read_text("utf-8")}
    listed = {command.split()[0] for command in COMMANDS}
    assert listed | {ELSEWHERE.split(",")[0]} == runnable - NOT_MEASURED


def test_everything_that_commands_name_can_be_found_or_made() -> None:
    sources = [*map(named, COMMANDS), *map(named, MADE.values()), *(sources for sources, _ in BUILT.values())]
    assert {name for names in sources for name in names} <= {*INPUTS, *MADE, *BUILT, "work"}


def test_missing_files_are_named_for_derived_inputs(tmp_path: Path) -> None:
    places = Places(tmp_path / "data", tmp_path / "work")
    assert places.lacking(["reproduced/wikipedia"]) == {INPUTS["wikipedia"]}
    assert places.lacking(["streams/captions", "sts"]) == {INPUTS["flickr"], INPUTS["coco"], "sts"}
    (tmp_path / "data" / "sts").mkdir(parents=True)
    assert places.lacking(["sts", "work"]) == set()


def test_inputs_are_made_once_in_the_work_folder(tmp_path: Path) -> None:
    data, work = tmp_path / "some data", tmp_path / "work"  # a space in a path doesn't end an argument
    (data / "corpora").mkdir(parents=True)
    (data / INPUTS["wikipedia"]).write_bytes(lzma.compress(b"The cat sat. The dog ran away.\n\n" * 20))
    half = Path(Places(data, work)["half/wikipedia.txt"])
    assert half.read_text("utf-8") == "The cat sat. The dog ran away.\n\n" * 10
    half.write_text("kept", "utf-8")
    assert Path(Places(data, work)["half/wikipedia.txt"]).read_text("utf-8") == "kept"
    assert Places(data, work).words("adapt {sts}") == ["adapt", str(data / "sts")]


def test_the_folder_of_tasks_is_linked(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for folder in ("transfer", "retrieval/cranfield", "corpora"):
        (data / folder).mkdir(parents=True)
    (data / INPUTS["modern"]).write_text("text", "utf-8")
    tasks = Path(Places(data, tmp_path / "work")["tasks"])
    assert (tasks / "documents" / "modern-en.txt.xz").read_text("utf-8") == "text"
    assert (tasks / "transfer").is_dir()
    assert (tasks / "retrieval" / "cranfield").is_dir()
