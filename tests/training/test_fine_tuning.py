"""Continuing a model on other text: no word is lost, and its rows are never finished twice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from siamese_cbow.cli import group
from siamese_cbow.errors import InputError
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import load
from siamese_cbow.stream.preparation import prepare
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text.records import TextSettings
from siamese_cbow.training.loop import train
from siamese_cbow.training.plan import plan_of
from siamese_cbow.training.saved_run import train_into
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from siamese_cbow.training.state import first_state
from siamese_cbow.training.stems import Stems
from siamese_cbow.transform.postprocessing import folded, learnt_rows
from siamese_cbow.transform.settings import Postprocess
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

RECIPE = SiameseCBOW(dim=16, batch_size=16, epochs=2, subsample=0.01)
STILL = {"learning_rate": 1e-12}


def world(topics: str, seed: int = 0) -> Stream:
    rng = np.random.default_rng(seed)
    documents = []
    for _ in range(120):
        topic = topics[rng.integers(len(topics))]
        words = [f"{topic}{i}{end}" for i in range(5) for end in ("walk", "walks")]
        documents.append([["the", *rng.choice(words, 5)] for _ in range(rng.integers(2, 7))])
    return Stream.of_words(documents)


OLD, NEW = world("abc"), world("bcd", seed=1)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "old"
    train_into(folder, RECIPE, OLD)
    return folder


def cosines(model: Model, words: list[str]) -> np.ndarray:
    rows = model.vectors[[model.vocabulary.index[word] for word in words]]
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(units @ units.T)


class Heard:
    def __init__(self) -> None:
        self.messages: list[str] = []

    def say(self, message: str) -> None:
        self.messages.append(message)

    def advance(self, amount: int, message: str = "") -> None:
        pass


def test_words_that_the_tokenizers_cut_otherwise_start_from_their_pieces(tmp_path: Path) -> None:
    """Rule 1 turns C++ into c; under rule 2, used by new streams, it is one word and must not start at random."""
    words = ["c", "net", "the", "v2", "19.0"]
    rows = np.random.default_rng(1).standard_normal((len(words), 16)).astype(np.float32)
    Model(Vocabulary.of_words(words), rows, Tokenizer(punctuation=False, rule=1)).save(tmp_path / "old")
    text = "the C++ of .NET 😀 zebra\nthe C++ of v2.19.0\n" * 4
    (tmp_path / "text.txt").write_text(text, "utf-8")
    stream = prepare(tmp_path / "text.txt", min_count=1, text=TextSettings(layout="sentences", language="en"))
    assert {"c++", ".net", "v2.19.0", "😀"} <= set(stream.vocabulary.words)
    recipe, heard = replace(RECIPE, init=str(tmp_path / "old")), Heard()
    plan = plan_of(recipe, stream)
    state = first_state(plan.recipe, plan.vocabulary, heard)
    index, old_rows = plan.vocabulary.index, learnt_rows(load(tmp_path / "old"))
    for word, pieces in {"c++": [0], ".net": [1], "v2.19.0": [3, 4]}.items():
        assert np.allclose(state.vectors[index[word]], old_rows[pieces].mean(axis=0), atol=1e-6), word
    assert any("splits 3 words of the text into pieces (" in message for message in heard.messages)
    assert not any(word in message for word in ("zebra", "😀") for message in heard.messages)


def test_the_words_of_both_are_in_the_result(old: Path) -> None:
    recipe = replace(RECIPE, init=str(old), share_stems=False)
    before, after = load(old), recipe.train(NEW)
    assert set(after.vocabulary.words) == {*OLD.vocabulary.words, *NEW.vocabulary.words}
    counts = {
        stream: dict(zip(stream.vocabulary.words, stream.vocabulary.counts, strict=True)) for stream in (OLD, NEW)
    }
    for word, n in zip(after.vocabulary.words, after.vocabulary.counts, strict=True):
        assert n == counts[OLD].get(word, 0) + counts[NEW].get(word, 0)
    absent = [word for word in before.vocabulary.words if word not in NEW.vocabulary.index]
    assert len(absent) == 10
    np.testing.assert_allclose(cosines(after, absent), cosines(before, absent), atol=1e-5)
    met = [word for word in before.vocabulary.words if word in NEW.vocabulary.index]
    assert np.abs(cosines(after, met) - cosines(before, met)).max() > 0.01


def test_a_lower_rate_forgets_less(old: Path) -> None:
    before, words = load(old), list(OLD.vocabulary.words)
    moved = [
        np.abs(cosines(replace(RECIPE, init=str(old), learning_rate=rate).train(NEW), words) - cosines(before, words))
        for rate in (0.001, 0.01, 0.1)
    ]
    assert moved[0].mean() < moved[1].mean() < moved[2].mean()


def test_going_on_without_moving_gives_the_model_back(old: Path) -> None:
    before, after = load(old), replace(RECIPE, init=str(old), **STILL).train(OLD)
    assert after.vocabulary == before.vocabulary, "the same text: its words aren't counted twice"
    np.testing.assert_allclose(after.vectors, before.vectors, rtol=1e-3, atol=1e-4)


def test_lengths_as_they_were_learnt():
    rng = np.random.default_rng(0)
    learnt = rng.normal(size=(20, 8)).astype(np.float32)
    vocabulary = Vocabulary([f"w{i}" for i in range(20)], rng.integers(1, 1000, 20))

    def finished(rows: Any, **changes: Any) -> Model:
        recipe = SiameseCBOW(**changes)
        return Model(vocabulary, folded(rows, vocabulary, recipe.end)[0], info={"recipe": recipe.settings()})

    for changes in ({}, {"idf_power": 0.0}, {"length_power": 1.0}, {"idf_power": 0.5, "length_power": 0.25}):
        back = learnt_rows(finished(learnt, dim=8, common_directions=0, **changes))
        np.testing.assert_allclose(back, learnt, rtol=1e-4)
    of_others = Model(vocabulary, learnt)
    np.testing.assert_array_equal(learnt_rows(of_others), learnt), "of no recipe of ours: as they are"
    assert np.isfinite(learnt_rows(finished(learnt, dim=8, length_power=0.0))).all()
    assert not learnt_rows(finished(np.zeros((20, 8), np.float32), dim=8, length_power=0.0)).any()


def test_common_directions_are_taken_out_once(old: Path) -> None:
    assert plan_of(replace(RECIPE, init=str(old)), NEW).taken_out == 2
    assert plan_of(RECIPE, NEW).taken_out == 0
    for n, left in ((1, 0), (2, 0), (3, 1)):
        assert plan_of(replace(RECIPE, init=str(old), common_directions=n), NEW).end.common_directions == left
    rows, words = np.eye(4, dtype=np.float32), Vocabulary(list("abcd"), np.ones(4, np.int64))
    np.testing.assert_array_equal(folded(rows, words, Postprocess())[0], rows)
    assert np.linalg.matrix_rank(folded(rows, words, Postprocess(common_directions=1))[0], tol=1e-6) == 3


def test_words_of_a_stem_start_from_what_they_have_in_common():
    vectors = np.full((4, 2), 9, np.float32)  # words 0 1 2, and their shared row
    stems = Stems(np.array([3, 3, 3], np.int32), 1)
    vectors[2] = 0
    stems.unfold([0, 1], np.array([[4, 0], [6, 2]], np.float32), vectors)
    np.testing.assert_array_equal(vectors, [[-1, -1], [1, 1], [0, 0], [5, 1]])
    np.testing.assert_array_equal(stems.fold(vectors), [[4, 0], [6, 2], [5, 1]])


def test_a_new_form_of_a_known_word_starts_near_it(tmp_path: Path) -> None:
    words = Vocabulary.of_counts({"walk": 9, "walks": 5, "house": 3})
    rows = np.random.default_rng(0).normal(size=(3, 16)).astype(np.float32)
    Model(words, rows).save(tmp_path / "start")
    stream = Stream.of_words([[["walking", "house"], ["walking", "dog"]]])
    recipe = replace(RECIPE, init=str(tmp_path / "start"))
    plan = plan_of(recipe, stream)
    learnt = plan.stems.fold(first_state(recipe, plan.vocabulary, stems=plan.stems).vectors)
    index = plan.vocabulary.index
    np.testing.assert_allclose(learnt[index["walking"]], rows[:2].mean(0), atol=0.1)
    for word, row in zip(words.words, rows, strict=True):
        np.testing.assert_allclose(learnt[index[word]], row, rtol=1e-5)
    assert np.abs(learnt[index["dog"]]).max() < 0.1


def test_the_same_bytes_on_any_number_of_threads(old: Path) -> None:
    recipe = replace(RECIPE, init=str(old))
    first, second = (
        train(plan_of(recipe, [NEW, OLD]), threads=threads).model().vectors.tobytes() for threads in (1, 3)
    )
    assert first == second


@pytest.mark.slow
def test_the_model_of_the_package():
    stream = Stream.of_words([[["dog", "blorfs"], ["dog", "sleeps"]]] * 3)
    packaged = load()
    model = SiameseCBOW(init="pretrained", dim=packaged.dim, **STILL).train(stream)
    assert {"blorfs", "guitar"} <= set(model.vocabulary.words)
    assert model.info["start"]["licence"] == packaged.info["licence"], "where it comes from is not lost"
    assert model.info["unknown_words"] == packaged.info["unknown_words"]
    words = ["guitar", "violin", "river"]
    np.testing.assert_allclose(cosines(model, words), cosines(packaged, words), atol=1e-3)


def test_a_model_of_other_languages_is_refused(tmp_path: Path) -> None:
    vocabulary = Vocabulary.joint({"en": Vocabulary.of_counts({"house": 1}), "de": Vocabulary.of_counts({"haus": 1})})
    Model(vocabulary, np.ones((2, 16), np.float32), info={"languages": ["en", "de"]}).save(tmp_path / "both")
    with pytest.raises(InputError, match="has the languages en,de, but the stream has none"):
        replace(RECIPE, init=str(tmp_path / "both")).train(NEW)


def test_the_command_takes_the_dimensions_of_the_model(old: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("the dog sleeps\nthe dog walks\n", "utf-8")
    prepare(tmp_path / "new.txt", output=tmp_path / "new", min_count=1, text=TextSettings(layout="sentences"))
    given = ["train", str(tmp_path / "new"), "--init", str(old), "--dry-run"]
    assert "dim = 16\n" in CliRunner().invoke(group, given).output
    wrong = CliRunner().invoke(group, [*given[:-1], "--dim", "8", "-o", str(tmp_path / "model")])
    assert isinstance(wrong.exception, InputError)
    assert "--dim 16" in str(wrong.exception)
