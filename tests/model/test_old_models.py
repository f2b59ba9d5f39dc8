"""Models written by 0.1.0: they load as what they were, and saving them again keeps their content.

The folders in data/ were made by 0.1.0 with

    words = sc.Vocabulary(["the", "cat", "café", "日", "don't"], np.array([9, 5, 5, 2, 1]))
    model = sc.Model(words, np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32), info={...})
    model.postprocess(components=1, center=True).save("postprocessed-0.1.0")
    model.with_fallback("prefix").compress("int4").save("int4-0.1.0")
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from siamese_cbow import FormatError, Model, Postprocess, SiameseCBOW, Stream, load
from siamese_cbow.model.storage import CONFIG, VECTORS
from siamese_cbow.transform.postprocessing import learnt_rows

DATA = Path(__file__).with_name("data")
POSTPROCESSED, INT4 = DATA / "postprocessed-0.1.0", DATA / "int4-0.1.0"
ROWS = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)


def info(folder: Path) -> dict[str, object]:
    content: dict[str, object] = json.loads((folder / CONFIG).read_text("utf-8"))["info"]
    return content


def test_a_postprocessed_model() -> None:
    model = load(POSTPROCESSED, verify=True)
    assert list(model.vocabulary.words) == ["the", "cat", "café", "日", "don't"]
    assert model.info == info(POSTPROCESSED)
    assert model.info.extra == {"colour": ["red", None]}
    assert Postprocess.of(model.info["recipe"]["postprocess"]) == Postprocess(components=1, center=True)
    np.testing.assert_allclose(model.without_postprocessing().vectors, ROWS, atol=1e-6)
    np.testing.assert_array_equal(
        model.vectors, Model(model.vocabulary, ROWS).postprocess(components=1, center=True).vectors
    )
    assert learnt_rows(model).shape == (5, 4)


def test_a_model_of_four_bits() -> None:
    model = load(INT4, verify=True)
    assert (model.dtype, model.fallback) == ("int4", "prefix")
    assert np.abs(model.vectors - ROWS).max() <= np.abs(ROWS).max() / 14 + 1e-6
    assert model.counts_as("catty") == "cat"


@pytest.mark.parametrize("folder", [POSTPROCESSED, INT4])
def test_written_again_they_have_the_same_content(folder: Path, tmp_path: Path) -> None:
    load(folder).save(tmp_path / "m", int4=True)
    assert info(tmp_path / "m") == info(folder)
    old = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".md" and path.name != CONFIG}
    assert {name: (tmp_path / "m" / name).read_bytes() for name in old} == old
    assert load(tmp_path / "m") == load(folder)


@pytest.mark.parametrize("folder", [POSTPROCESSED, INT4])
def test_training_continues_from_one(folder: Path) -> None:
    stream = Stream.of_words([[["the", "cat"], ["the", "café"], ["日", "cat"], ["the", "日"]]] * 4)
    model = SiameseCBOW(dim=4, epochs=1, init=str(folder), batch_size=8, subsample=0).train(stream)
    assert model.info["start"] == {"data": "a text", "corpus": info(folder)["corpus"], "start": {"licence": "CC0"}}


def test_a_newer_model_names_the_version_to_install(tmp_path: Path) -> None:
    shutil.copytree(POSTPROCESSED, tmp_path / "m")
    config = json.loads((tmp_path / "m" / CONFIG).read_text("utf-8")) | {"format_version": 2}
    for writer, said in (("0.7.0", "pip install 'siamese-cbow>=0.7.0'"), (None, "pip install -U siamese-cbow")):
        config["written_by"] = {"siamese-cbow": writer} if writer else "somebody"
        (tmp_path / "m" / CONFIG).write_text(json.dumps(config), "utf-8")
        with pytest.raises(FormatError, match="format version 2, but this siamese-cbow reads 1") as error:
            load(tmp_path / "m")
        assert said in str(error.value)
    assert (tmp_path / "m" / VECTORS).exists()
