"""Post-processing against the same steps applied to sentence vectors one by one, and undone again."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_cbow.cli import group
from siamese_cbow.errors import FormatError, InputError, SettingsError
from siamese_cbow.model.geometry import units
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import CONFIG, UNDO, load
from siamese_cbow.stream.preparation import prepare
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text.inputs import Texts
from siamese_cbow.training.saved_run import train_into
from siamese_cbow.training.siamese_cbow import SiameseCBOW, read_recipe, write_recipe
from siamese_cbow.transform.estimates import count_moments, sif
from siamese_cbow.transform.settings import Postprocess
from siamese_cbow.words.vocabulary import Vocabulary
from stream_world import short_documents

DIM = 8
STEPS: dict[str, dict[str, Any]] = {
    "center": {"center": True},
    "components": {"components": 2},
    "by share": {"components": 3, "by_share": True},
    "one by share": {"components": 1, "by_share": True},
    "whiten": {"whiten": 0.5},
    "all of it": {"weights": "sif", "a": 0.01, "center": True, "components": 1, "whiten": 1.0},
    "usif": {"weights": "usif", "components": 5, "by_share": True},
}


@pytest.fixture(scope="module")
def stream() -> Stream:
    return short_documents(shortest=2)


@pytest.fixture(scope="module")
def model(stream: Stream) -> Model:
    rows = np.random.default_rng(2).normal(0.3, 1, (len(stream.vocabulary), DIM)).astype(np.float32)
    return Model(stream.vocabulary, rows, stream.tokenizer, {"recipe": {"name": "toy"}})


def sentences(stream: Stream) -> list[str]:
    words = stream.vocabulary.words
    bounds = zip(stream.sentences[:-1], stream.sentences[1:], strict=True)
    return [" ".join(words[i] for i in stream.ids[a:b]) for a, b in bounds]


def test_folded_rows_are_the_steps_done_to_sentences(model: Model, stream: Stream) -> None:
    texts = sentences(stream)
    weighted = model.vectors * sif(stream.vocabulary.counts, 0.01)[:, None].astype(np.float32)
    plain = Model(model.vocabulary, weighted, model.tokenizer).encode(texts).astype(np.float64)
    centered = plain - plain.mean(axis=0)
    strengths, directions = np.linalg.eigh(centered.T @ centered / len(centered))
    strengths, directions = strengths[::-1], directions[:, ::-1]
    scale = (strengths / strengths[1]) ** -0.25
    scale[0] = 0
    expected = centered @ (directions * scale) @ directions.T
    done = model.postprocess(stream, weights="sif", a=0.01, center=True, components=1, whiten=0.5)
    np.testing.assert_allclose(done.encode(texts), expected, atol=1e-4)


def test_a_weight_is_a_weighted_mean_up_to_its_length(model: Model, stream: Stream) -> None:
    weights = sif(stream.vocabulary.counts, 1e-3)
    words = ["w0", "w1", "w30"]
    ids = [model.vocabulary.index[word] for word in words]
    expected = np.average(model.vectors[ids], axis=0, weights=weights[ids]).astype(np.float32)
    found = model.postprocess(weights="sif").encode(" ".join(words))
    np.testing.assert_allclose(units(found[None]), units(expected[None]), atol=1e-6)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("with_stream", [True, False])
def test_undone_up_to_rounding(model: Model, stream: Stream, name: str, with_stream: bool, tmp_path: Path) -> None:
    done = model.postprocess(stream if with_stream else None, **STEPS[name])
    assert not np.allclose(done.vectors, model.vectors, atol=1e-3)
    done.save(tmp_path / "m")
    loaded = load(tmp_path / "m", verify=True)
    assert loaded == done
    assert loaded.info["postprocessing"]["estimated_on"] == (stream.fingerprint if with_stream else "counts")
    for one in (done, loaded, pickle.loads(pickle.dumps(done))):
        before = one.without_postprocessing()
        np.testing.assert_allclose(before.vectors, model.vectors, atol=1e-5)
        assert before.info == model.info
        assert before.without_postprocessing() is before
    with pytest.raises(InputError, match="already post-processed"):
        done.postprocess(center=True)
    with pytest.raises(InputError, match="because the model was compressed"):
        done.compress("int8").without_postprocessing()


def test_counts_are_sentences_drawn_word_by_word() -> None:
    rng = np.random.default_rng(3)
    counts = np.array([50, 30, 15, 5])
    rows = rng.normal(0.5, 1, (4, 3)).astype(np.float32)
    drawn = rows[rng.choice(4, (200_000, 20), p=counts / 100)].mean(axis=1, dtype=np.float64)
    found = count_moments(rows, counts, 20)
    np.testing.assert_allclose(found.mean, drawn.mean(axis=0), atol=3e-3)
    np.testing.assert_allclose(found.gram, drawn.T @ drawn / len(drawn), atol=1e-2)


def test_unknown_words_and_empty_texts_stay_zero(model: Model, stream: Stream) -> None:
    done = model.postprocess(stream, center=True)
    assert not done.encode(["", "blorf"]).any()


def test_broken_undo_files(model: Model, stream: Stream, tmp_path: Path) -> None:
    model.postprocess(stream, components=1).save(tmp_path / "m")
    (tmp_path / "m" / UNDO).unlink()
    with pytest.raises(FormatError, match=UNDO):
        load(tmp_path / "m")
    with pytest.raises(InputError, match="belongs to another model"):
        Model(model.vocabulary, model.vectors, undo=Model(
            Vocabulary.of_counts({"a": 1}), np.ones((1, 2), np.float32)).postprocess(center=True).undo)  # fmt: skip


def test_settings_as_text() -> None:
    assert Postprocess.of("") == Postprocess()
    assert Postprocess.of(" components=1, weights=sif,center,by_share=no,a=0.01") == Postprocess(
        components=1, weights="sif", center=True, a=0.01
    )
    for text, said in {
        "componets=1": "unknown option 'componets'; did you mean components",
        "components=one": "'components=one'; expected components= and a whole number",
        "center=perhaps": "yes or no",
        "weights=tf": "weights is 'tf'; expected one of none, sif",
        "whiten=2": "whiten is 2",
        "a=0": "a is 0",
        "components=-1": "components is -1",
    }.items():
        with pytest.raises(SettingsError, match=said):
            Postprocess.of(text)
    with pytest.raises(SettingsError, match="fewer components than dimensions"):
        SiameseCBOW(dim=3, postprocess="components=3")


@given(
    st.builds(
        Postprocess,
        weights=st.sampled_from(["none", "sif", "usif", "idf"]),
        center=st.booleans(),
        components=st.integers(0, 9),
        whiten=st.just(0.0) | st.floats(1e-30, 1),
    )
)
def test_settings_come_back(steps: Postprocess) -> None:
    assert Postprocess.of(",".join(f"{key}={str(value).lower()}" for key, value in steps.settings().items())) == steps


def test_what_it_needs(model: Model, stream: Stream) -> None:
    uncounted = Model(Vocabulary.of_words(model.vocabulary.words), model.vectors)
    with pytest.raises(InputError, match="pass a stream"):
        uncounted.postprocess(center=True)
    with pytest.raises(InputError, match="pass a stream"):
        uncounted.postprocess(weights="sif")
    with pytest.raises(InputError, match="pass a stream"):
        model.postprocess(weights="idf")
    with pytest.raises(SettingsError, match="less than dim"):
        model.postprocess(components=DIM)
    with pytest.raises(InputError, match="none of the model's words"):
        model.postprocess(Stream.of_words([[["elsewhere"]]]), center=True)


@settings(max_examples=20)
@given(st.sampled_from(sorted(STEPS)), st.integers(0, 99))
def test_a_vector_does_not_depend_on_the_other_texts(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = Vocabulary.of_counts({f"w{i}": int(n) for i, n in enumerate(rng.integers(1, 50, 12))})
    done = Model(words, rng.normal(size=(12, DIM)).astype(np.float32)).postprocess(**STEPS[name])
    texts = [" ".join(rng.choice(words.words, 4)) for _ in range(6)]
    np.testing.assert_array_equal(done.encode(texts)[2], done.encode(texts[2]))


def test_train_does_it_in_the_end(stream: Stream) -> None:
    recipe = SiameseCBOW(dim=8, epochs=1, batch_size=16)
    plain, done = recipe.train(stream), replace(recipe, postprocess=Postprocess(components=1)).train(stream)
    np.testing.assert_array_equal(done.vectors, plain.postprocess(stream, components=1).vectors)
    assert done.info["postprocessing"]["components"] == 1
    assert done.info["recipe"]["postprocess"] == {"components": 1}


# the finishing of a training run is the same operation

END = {"idf_power": 1.0, "length_power": 0.5, "common_directions": 2}


def test_the_end_of_a_training_is_a_post_processing(stream: Stream) -> None:
    recipe = SiameseCBOW(dim=8, epochs=1, batch_size=16, spelling=0.0)
    assert recipe.end == Postprocess(**END)
    learnt = replace(recipe, idf_power=0.0, length_power=1.0, common_directions=0).train(stream)
    done = learnt.postprocess(**END)
    np.testing.assert_array_equal(done.vectors, recipe.train(stream).vectors)
    assert done.info["postprocessing"] == {**END, "estimated_on": "counts"}
    np.testing.assert_allclose(done.without_postprocessing().vectors, learnt.vectors, atol=1e-5)


def test_directions_of_words_and_of_sentences_are_not_removed_at_once(model: Model) -> None:
    for steps in ({"components": 1}, {"center": True}, {"whiten": 0.1}):
        with pytest.raises(SettingsError, match="common_directions is 1, which uses words"):
            model.postprocess(common_directions=1, **steps)
    uncounted = Model(Vocabulary.of_words(model.vocabulary.words), model.vectors)
    for steps in ({"idf_power": 1.0}, {"common_directions": 1}):
        with pytest.raises(InputError, match="need word counts"):
            uncounted.postprocess(**steps)


# settings are values


def test_settings_as_a_table() -> None:
    assert Postprocess.of({"components": 1, "whiten": 0.2}) == Postprocess(components=1, whiten=0.2)
    assert SiameseCBOW(postprocess={"components": 1}).postprocess == Postprocess(components=1)  # type: ignore[arg-type]
    for table, said in (
        ({"componets": 1}, "unknown option 'componets'; did you mean components"),
        ({"components": "one"}, "components is 'one'; expected a whole number"),
        ({"components": True}, "components is True; expected a whole number"),
        ({"whiten": "much"}, "whiten is 'much'; expected a number"),
        ({"center": 1}, "center is 1; expected true or false"),
        (["components"], "expected a table"),
    ):
        with pytest.raises(SettingsError, match=said):
            Postprocess.of(table)  # type: ignore[arg-type]


def test_settings_of_a_recipe_in_a_file(tmp_path: Path) -> None:
    recipe = SiameseCBOW(dim=8, epochs=1, postprocess=Postprocess(components=1, whiten=0.2, weights="sif"))
    write_recipe(recipe, tmp_path / "recipe.toml")
    text = (tmp_path / "recipe.toml").read_text("utf-8")
    assert 'postprocess = {weights = "sif", components = 1, whiten = 0.2}\n' in text
    assert read_recipe(tmp_path / "recipe.toml") == recipe
    for old_or_new in ('postprocess = "components=1,center"', "[postprocess]\ncomponents = 1\ncenter = true"):
        (tmp_path / "recipe.toml").write_text(f"dim = 8\n{old_or_new}\n", "utf-8")
        assert read_recipe(tmp_path / "recipe.toml").postprocess == Postprocess(components=1, center=True)


def test_settings_on_the_command_line(stream: Stream, tmp_path: Path) -> None:
    prepare(Texts(sentences(stream)), output=tmp_path / "stream", min_count=1)
    (tmp_path / "recipe.toml").write_text("dim = 8\n[postprocess]\ncomponents = 1\n", "utf-8")
    options = ["--postprocess-center", "--postprocess-whiten", "0.2", "--batch-size", "16"]
    for recipe, expected in (
        ("contrastive", Postprocess(center=True, whiten=0.2)),
        (str(tmp_path / "recipe.toml"), Postprocess(components=1, center=True, whiten=0.2)),
    ):
        command = ["train", str(tmp_path / "stream"), "--recipe", recipe, *options, "--dry-run"]
        done = CliRunner().invoke(group, [*command, "--write-recipe", str(tmp_path / "made.toml")])
        assert done.exit_code == 0, done.output
        assert read_recipe(tmp_path / "made.toml").postprocess == expected


def test_a_run_of_0_1_0_is_known_as_the_same(stream: Stream, tmp_path: Path) -> None:
    recipe = SiameseCBOW(dim=8, epochs=1, batch_size=16, postprocess=Postprocess(components=1))
    train_into(tmp_path / "m", recipe, stream)
    config = json.loads((tmp_path / "m" / CONFIG).read_text("utf-8"))
    config["info"]["recipe"]["postprocess"] = "components=1"
    (tmp_path / "m" / CONFIG).write_text(json.dumps(config), "utf-8")
    train_into(tmp_path / "m", recipe, stream)  # nothing to do
    with pytest.raises(InputError, match="other settings"):
        train_into(tmp_path / "m", replace(recipe, postprocess=Postprocess(components=2)), stream)
