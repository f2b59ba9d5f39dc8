"""The promise of compatibility: whatever a release has written stays readable, and every file records its version.

Golden files were written by the release in their name: models in model/data, a stream in stream/data, an unfinished run
with its checkpoint in training/run_of_0_1_0, and here, in `golden`, an index and a recipe.
"""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import siamese_cbow as sc
from siamese_cbow.base.disk import what_reads
from siamese_cbow.errors import FormatError, SettingsError
from siamese_cbow.paper.work_plan import Cache
from siamese_cbow.training import saved_run
from siamese_cbow.training.checkpoint import Checkpoint, Checkpoints
from siamese_cbow.training.siamese_cbow import write_recipe

GOLDEN = Path(__file__).with_name("golden")
TESTS = Path(__file__).parents[1]


def model() -> sc.Model:
    words = ["the", "cat", "sat", "dog"]
    return sc.Model(sc.Vocabulary.of_words(words), np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32))


def versioned(folder: Path) -> dict[str, Path]:
    """One of each of our files that record a version."""
    sc.prepare([["the cat sat", "a dog ran", "the dog sat"]] * 4, output=folder / "stream", min_count=1)
    (folder / "notes.txt").write_text("the cat\na dog\n")
    sc.Index.update(folder / "index", folder / "notes.txt", model=model())
    model().save(folder / "model")
    write_recipe(sc.SiameseCBOW(dim=4), folder / "recipe.toml")
    Checkpoints(folder / "training").save(Checkpoint(1, {"vectors": np.ones((1, 1), np.float32)}, {}))
    (folder / "cache").mkdir()
    Cache(folder / "cache").put("piece", {"a": 1}, {"b": 2})
    saved_run.open_run(folder / "run", {"format_version": 1, "recipe": sc.SiameseCBOW().settings(), "corpus": "x"})
    return {
        "stream": folder / "stream" / "stream.json",
        "index": folder / "index" / "index.json",
        "model": folder / "model" / "config.json",
        "recipe": folder / "recipe.toml",
        "checkpoint": next((folder / "training").rglob("state.json")),
        "cache": next((folder / "cache").iterdir()),
        "run": folder / "run" / "training" / "run.json",
    }


def content_of(path: Path) -> dict[str, object]:
    text = path.read_text("utf-8")
    content: dict[str, object] = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    return content


def read(kind: str, folder: Path) -> object:
    """Reads each of them."""
    reads: dict[str, Callable[[], object]] = {
        "stream": lambda: sc.Stream.load(folder / "stream"),
        "index": lambda: sc.Index(folder / "index", model=model()),
        "model": lambda: sc.load(folder / "model"),
        "recipe": lambda: sc.read_recipe(folder / "recipe.toml"),
        "checkpoint": lambda: Checkpoints(folder / "training").newest(),
        "run": lambda: saved_run._read_about(folder / "run" / "training" / "run.json"),
    }
    return reads[kind]()


def test_every_file_says_its_version_and_newer_ones_name_what_to_install(tmp_path: Path) -> None:
    for kind, path in versioned(tmp_path).items():
        content = content_of(path)
        version = content["format_version"]
        assert isinstance(version, int), kind
        assert content["written_by"]["siamese-cbow"] == importlib.metadata.version("siamese-cbow"), kind  # type: ignore[index]
        newer = path.read_text("utf-8").replace('"siamese-cbow": "', '"siamese-cbow": "9')
        newer = newer.replace('siamese-cbow = "', 'siamese-cbow = "9')
        for sign in (": ", " = "):
            newer = newer.replace(f'format_version"{sign}{version}', f'format_version"{sign}99')
            newer = newer.replace(f"format_version{sign}{version}", f"format_version{sign}99")
        path.write_text(newer, "utf-8")
        if kind == "cache":  # unusable entries are computed again
            assert Cache(tmp_path / "cache").get("piece", {"a": 1}) is None
            continue
        with pytest.raises((FormatError, SettingsError), match=r"99.* type pip install 'siamese-cbow>=9"):
            read(kind, tmp_path)


def test_an_index_of_0_1_0(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "index-0.1.0", tmp_path / "index")
    theirs = sc.Model(model().vocabulary, np.asarray(model().vectors), sc.Tokenizer(rule=1))
    with pytest.raises(FormatError, match=r"format version 2.*siamese-cbow index -o .* --rebuild"):
        sc.Index(tmp_path / "index", model=theirs)


def test_a_recipe_of_0_1_0() -> None:
    recipe = sc.read_recipe(GOLDEN / "recipe-0.1.0.toml")
    assert recipe.dim == 7
    assert recipe == sc.SiameseCBOW(dim=7, epochs=1, learning_rate=0.05)  # the defaults of that release


def test_a_cached_piece_of_0_1_0_has_no_version(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("piece", {"a": 1}, {"b": 2})
    (path,) = tmp_path.iterdir()
    path.write_text(json.dumps({"about": {"a": 1}, "result": {"b": 3}}))
    assert cache.get("piece", {"a": 1}) == {"b": 3}


def test_golden_files_of_the_other_rooms_are_there() -> None:
    for place in ("model/data/postprocessed-0.1.0", "model/data/int4-0.1.0", "stream/data/stream-0.1.0",
                  "training/run_of_0_1_0"):  # fmt: skip
        assert (TESTS / place).is_dir()


def test_what_reads_a_newer_file() -> None:
    assert what_reads({"written_by": {"siamese-cbow": "3.1"}}).endswith("type pip install 'siamese-cbow>=3.1'")
    for writer in (3, None, "3' evil; rm -r '", "3\x1b[2K"):  # a user may type it
        assert what_reads({"written_by": {"siamese-cbow": writer}}) == "type pip install -U siamese-cbow"
    for content in ({}, {"written_by": 3}, None, []):
        assert what_reads(content) == "type pip install -U siamese-cbow"
