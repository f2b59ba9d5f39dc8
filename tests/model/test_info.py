"""What a model says about itself: types are checked on entry, and all other fields survive saving and loading."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siamese_cbow import FormatError, InputError, Model, ModelInfo, Vocabulary, load
from siamese_cbow.model.storage import CONFIG

SAID: dict[str, Any] = {
    "recipe": {"name": "mine", "dim": 2},
    "corpus": {"fingerprint": "f00", "n_tokens": 12},
    "scores": {"all": 0.7},
    "unknown_words": "prefix",
    "colour": ["red", None, {"deep": 1.5}],
    "extra": "a key of my own",
}


def toy(info: Any = None) -> Model:
    return Model(Vocabulary.of_words(["a", "b"]), np.eye(2, dtype=np.float32), info=info)


def test_fields_and_whatever_else_there_is() -> None:
    info = toy(SAID).info
    assert isinstance(info, ModelInfo)
    assert info.recipe == {"name": "mine", "dim": 2}
    assert (info.recipe_name, info.fingerprint, info.unknown_words, info.language) == ("mine", "f00", "prefix", None)
    assert info.extra == {"colour": ["red", None, {"deep": 1.5}], "extra": "a key of my own"}
    assert ModelInfo(corpus="f00").fingerprint == "f00"  # as baselines write it
    assert (ModelInfo().fingerprint, ModelInfo().recipe_name, len(ModelInfo())) == (None, None, 0)


def test_it_reads_like_the_table_in_the_file() -> None:
    info = toy(SAID).info
    assert info == SAID == dict(info)
    assert info["recipe"]["name"] == "mine"
    assert "scores" in info
    assert "licence" not in info
    assert info.get("licence", "none") == "none"
    assert {**info, "scores": None}["colour"] == SAID["colour"]
    assert repr(ModelInfo(language="de")) == "ModelInfo({'language': 'de'})"


def test_it_is_a_frozen_copy() -> None:
    said = json.loads(json.dumps(SAID))
    info = toy(said).info
    said["recipe"]["name"] = "changed"
    assert info == SAID
    with pytest.raises(FrozenInstanceError):
        info.recipe = None  # type: ignore[misc]
    assert replace(info, scores=None) == {key: value for key, value in SAID.items() if key != "scores"}
    assert ModelInfo.of(info) is info


def test_it_comes_back_from_a_file(tmp_path: Path) -> None:
    toy(SAID).save(tmp_path / "m")
    assert json.loads((tmp_path / "m" / CONFIG).read_text("utf-8"))["info"] == SAID
    assert load(tmp_path / "m").info == SAID


WRONG = {
    "recipe": ("mine", 'expected a table, such as {"recipe": {"name": "mine"}}'),
    "corpus": (3, "expected a string or a table"),
    "unknown_words": ("suffix", "expected one of none, prefix"),
    "languages": (["en", 1], "expected a list of strings"),
    "language": (["en"], "expected a string"),
    "postprocessing": ("components=1", "expected a table"),
    "compression": (8, "expected a table"),
    "start": ([], "expected a table"),
}


@pytest.mark.parametrize("key", WRONG)
def test_wrong_types_are_refused_when_a_model_is_made_or_loaded(key: str, tmp_path: Path) -> None:
    value, expected = WRONG[key]
    with pytest.raises(InputError) as error:
        toy({key: value})
    assert f"{value!r} for {key!r}; {expected}" in str(error.value)
    toy(SAID).save(tmp_path / "m")
    config = json.loads((tmp_path / "m" / CONFIG).read_text("utf-8"))
    config["info"][key] = value
    (tmp_path / "m" / CONFIG).write_text(json.dumps(config), "utf-8")
    with pytest.raises(FormatError) as refused:
        load(tmp_path / "m")
    assert f"{tmp_path / 'm' / CONFIG}: the model's info has {value!r} for {key!r}; {expected}" in str(refused.value)
