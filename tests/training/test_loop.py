"""End-to-end training on small worlds: it learns, gives the same bytes, stops and resumes, and reports its progress."""

from __future__ import annotations

import doctest
import hashlib
from dataclasses import asdict, replace

import numpy as np
import pytest

from siamese_cbow.errors import FormatError, InputError, SettingsError
from siamese_cbow.formats.vector_files import write_word_vectors
from siamese_cbow.kernels.tables import OPTIMIZERS
from siamese_cbow.model.model import Model
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training import loop
from siamese_cbow.training.loop import Callback, Run, train
from siamese_cbow.training.optimizers import learning_rates
from siamese_cbow.training.plan import plan_of
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from siamese_cbow.training.state import first_state
from siamese_cbow.transform.estimates import information
from siamese_cbow.words.vocabulary import Vocabulary

N_TOPICS, WORDS_OF_TOPIC = 6, 12


def topics(kind: str = "text", n_documents: int = 150, seed: int = 0) -> Stream:
    """Documents on one topic each: words of one topic should end up near each other."""
    rng = np.random.default_rng(seed)
    documents = []
    for _ in range(n_documents):
        topic = rng.integers(N_TOPICS)
        n_sentences = 2 if kind == "groups" else rng.integers(2, 8)
        documents.append(
            [
                [f"t{topic}w{w}" for w in rng.integers(WORDS_OF_TOPIC, size=rng.integers(3, 9))] + ["the", "of"]
                for _ in range(n_sentences)
            ]
        )
    return Stream.of_words(documents, kind=kind)


STREAM = topics()
# The letters of these words mean nothing, so spelling is off.
SMALL = {"dim": 16, "batch_size": 24, "subsample": 0.01, "epochs": 3, "spelling": 0.0}
RECIPES = {
    "contrastive": SiameseCBOW(**SMALL),
    "contrastive, two matrices": SiameseCBOW(separate_matrices=True, **SMALL),
    "margin": SiameseCBOW(objective="margin", **SMALL),
    "paper": SiameseCBOW.paper(**SMALL | {"learning_rate": 0.2}),
    "paper, negatives of the batch": SiameseCBOW.paper(
        **SMALL | {"learning_rate": 0.2, "negatives_from": "batch", "run_length": 4}
    ),
    "paper, two strips": SiameseCBOW.paper(**SMALL | {"learning_rate": 0.2, "dim": 200}),
    "sigmoid": SiameseCBOW(objective="sigmoid", **SMALL),
    "sigmoid, two strips and matrices": SiameseCBOW(
        objective="sigmoid", separate_matrices=True, **SMALL | {"optimizer": "adam", "learning_rate": 0.01, "dim": 200}
    ),
    "paper-program": SiameseCBOW.preset("paper-program", decay_epochs=8, **SMALL | {"learning_rate": 0.2}),
    "logistic": SiameseCBOW(objective="logistic", **SMALL),
    "logistic, weighted words": SiameseCBOW(
        objective="logistic", word_weights="information", share_stems=False, **SMALL
    ),
    "hinge": SiameseCBOW(objective="hinge", **SMALL),
}


def digest(run: Run) -> str:
    return hashlib.blake2b(b"".join(array.tobytes() for array in run.state.arrays().values())).hexdigest()


def separation(vectors: np.ndarray, stream: Stream) -> float:
    """Mean cosine within topics minus mean cosine between topics."""
    words = [word for word in stream.vocabulary.words if word.startswith("t") and "w" in word]
    rows = vectors[[stream.vocabulary.index[word] for word in words]]
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines, topic = rows @ rows.T, np.array([word.split("w")[0] for word in words])
    same = topic[:, None] == topic
    return float(cosines[same & ~np.eye(len(words), dtype=bool)].mean() - cosines[~same].mean())


@pytest.mark.parametrize("name", RECIPES)
def test_words_of_a_topic_end_up_near_each_other(name):
    recipe = RECIPES[name]
    rate = 30.0 if name.startswith("paper") else recipe.learning_rate
    model = replace(recipe, epochs=8, learning_rate=rate).train(STREAM, threads=1)
    assert separation(model.vectors, STREAM) > 0.3
    assert model.vectors.shape == (len(STREAM.vocabulary), recipe.dim)


def test_weights_of_words_are_folded_into_the_rows():
    """The plain mean of a saved model is the weighted mean that it was trained with."""
    plain = {"idf_power": 0.0, "length_power": 1.0, "common_directions": 0}
    run = train(plan_of(replace(RECIPES["logistic, weighted words"], **plain), STREAM), threads=1)
    weights = information(STREAM.vocabulary.counts).astype(np.float32)
    np.testing.assert_allclose(run.model().vectors, run.state.vectors[:, :16] * weights[:, None], rtol=1e-6)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_learns(optimizer):
    rates = {"sgd": 2.0, "nesterov": 0.3, "adagrad": 0.05, "adadelta": 5.0, "adam": 0.005, "adamax": 0.005}
    recipe = SiameseCBOW(**SMALL | {"epochs": 8, "optimizer": optimizer, "learning_rate": rates[optimizer]})
    assert separation(recipe.train(STREAM, threads=1).vectors, STREAM) > 0.3


@pytest.mark.parametrize("name", RECIPES)
def test_any_number_of_threads_gives_the_same_bytes(name):
    recipe = replace(RECIPES[name], epochs=1)
    runs = {threads: train(plan_of(recipe, STREAM), threads=threads) for threads in (1, 2, 3, 8)}
    assert len({digest(run) for run in runs.values()}) == 1
    assert len({str(run.state.counters) for run in runs.values()}) == 1


def test_seeds_matter_and_are_repeatable():
    first, again, other = (
        digest(train(plan_of(replace(RECIPES["contrastive"], seed=s), STREAM), threads=2)) for s in (1, 1, 2)
    )
    assert first == again != other


class StopAt(Callback):
    """Stops after some batches, and keeps what a checkpoint would keep."""

    every = 1

    def __init__(self, step: int) -> None:
        self.step = step

    def on_batch(self, run: Run) -> None:
        if run.state.counters.step == self.step:
            self.arrays = {name: array.copy() for name, array in run.state.arrays().items()}
            self.counters = asdict(run.state.counters)
            raise KeyboardInterrupt


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("step", [1, 17, 30])
@pytest.mark.parametrize("name", ["contrastive, two matrices", "sigmoid, two strips and matrices"])
def test_stopping_and_going_on_changes_no_bit(name, step, optimizer):
    recipe = replace(RECIPES[name], epochs=2, optimizer=optimizer)
    whole = train(plan_of(recipe, STREAM), threads=2)
    assert whole.n_steps > 30
    stop = StopAt(step)
    with pytest.raises(KeyboardInterrupt):
        train(plan_of(recipe, STREAM), threads=2, callbacks=[stop])
    state = first_state(recipe, STREAM.vocabulary)
    state.restore(stop.arrays, stop.counters)
    resumed = train(plan_of(recipe, STREAM), threads=1, state=state)
    assert digest(resumed) == digest(whole)
    assert resumed.state.counters == whole.state.counters


def test_a_state_that_lacks_a_counter_is_refused():
    state = first_state(RECIPES["contrastive"], STREAM.vocabulary)
    counters = {name: value for name, value in asdict(state.counters).items() if name != "words_cut"}
    with pytest.raises(FormatError, match=r"lacks words_cut; .* add --restart"):
        state.restore(state.arrays(), counters)


def test_a_state_of_another_recipe_is_refused():
    arrays = first_state(RECIPES["contrastive"], STREAM.vocabulary).arrays()
    counters = asdict(first_state(RECIPES["contrastive"], STREAM.vocabulary).counters)
    for recipe in (replace(RECIPES["contrastive"], dim=40), RECIPES["contrastive, two matrices"]):
        with pytest.raises(FormatError, match="belongs to another recipe or vocabulary"):
            first_state(recipe, STREAM.vocabulary).restore(arrays, counters)


def test_callbacks_are_called_exactly_when_they_want():
    class Watch(Callback):
        every = 7

        def __init__(self) -> None:
            self.steps, self.epochs, self.events = [], [], []

        def on_start(self, run: Run) -> None:
            self.events.append("start")

        def on_batch(self, run: Run) -> None:
            self.steps.append(run.state.counters.step)
            assert run.model().vectors.shape[1] == 16

        def on_epoch(self, run: Run) -> None:
            self.epochs.append(run.state.counters.epoch)

        def on_end(self, run: Run) -> None:
            self.events.append("end")

    watch, plain = Watch(), Callback()
    run = train(plan_of(RECIPES["contrastive"], STREAM), callbacks=[watch, plain])
    ends = range(run.n_batches, run.n_steps + 1, run.n_batches)
    assert watch.steps == sorted({*range(7, run.n_steps + 1, 7), *ends})
    assert watch.epochs == [1, 2, 3]
    assert watch.events == ["start", "end"]
    assert digest(run) == digest(train(plan_of(RECIPES["contrastive"], STREAM)))


def test_the_examples_of_the_docstrings():
    names = {"stream": Stream.of_words([[["a", "cat", "sat"], ["it", "slept"], ["dogs", "ran"]]] * 50)}
    result = doctest.testmod(loop, extraglobs={"SiameseCBOW": SiameseCBOW, **names})
    assert result.attempted == 2
    assert result.failed == 0


def test_a_loss_that_is_no_number_stops_with_the_batch_named():
    recipe = SiameseCBOW(objective="sigmoid", optimizer="sgd", learning_rate=1e30, **SMALL)
    with pytest.raises(SettingsError, match=r"in batch \d+ of epoch 0.*--learning-rate"):
        recipe.train(STREAM)


class Notes:
    def __init__(self) -> None:
        self.amount, self.lines = 0.0, []

    def advance(self, amount: float, note: str = "") -> None:
        self.amount += amount
        assert "loss" in note

    def say(self, message: str) -> None:
        self.lines.append(message)


def test_progress_counts_words_and_long_sentences_are_reported():
    notes = Notes()
    run = train(plan_of(replace(RECIPES["contrastive"], max_tokens=4), STREAM), progress=notes)
    assert notes.amount == run.state.counters.words == 3 * STREAM.n_tokens
    lengths = np.diff(STREAM.sentences)
    assert run.state.counters.words_cut == 3 * np.maximum(0, lengths - 4).sum()
    assert any("words beyond word 4 of their sentences" in line for line in notes.lines)
    assert sum(line.startswith("epoch ") for line in notes.lines) == 3


def test_groups_are_learnt_from():
    stream = topics("groups", n_documents=300)
    for recipe in (SiameseCBOW(**SMALL), SiameseCBOW(objective="margin", **SMALL)):
        assert separation(replace(recipe, epochs=8).train(stream, threads=1).vectors, stream) > 0.3


def test_vectors_can_start_from_a_file(tmp_path):
    words = [*STREAM.vocabulary.words[:5], "elsewhere"]
    rows = np.random.default_rng(0).normal(size=(6, 16)).astype(np.float32)
    write_word_vectors(tmp_path / "start.bin", words, rows, binary=True)
    recipe = replace(RECIPES["contrastive"], init=str(tmp_path / "start.bin"))
    notes = Notes()
    state = first_state(recipe, STREAM.vocabulary, notes)
    np.testing.assert_array_equal(state.vectors[:5], rows[:5])
    assert state.vectors[5].any()
    assert any(line.startswith("5 of ") for line in notes.lines)
    with pytest.raises(InputError, match="16 dimensions but the recipe has 20; set dim to 16"):
        replace(recipe, dim=20).train(STREAM)
    write_word_vectors(tmp_path / "other.txt", ["elsewhere"], rows[:1])
    with pytest.raises(InputError, match="none of the words in the vocabulary"):
        replace(recipe, init=str(tmp_path / "other.txt")).train(STREAM)


def test_vectors_can_start_from_a_model(tmp_path):
    words = Vocabulary.of_words([*STREAM.vocabulary.words[2:7], "elsewhere"])
    rows = np.random.default_rng(0).normal(size=(6, 16)).astype(np.float32)
    model = Model(words, rows)
    model.save(tmp_path / "start")
    recipe = replace(RECIPES["contrastive"], init=str(tmp_path / "start"))
    np.testing.assert_array_equal(first_state(recipe, STREAM.vocabulary).vectors[2:7], rows[:5])
    model.compress("int8").save(tmp_path / "start")
    state = first_state(recipe, STREAM.vocabulary)
    np.testing.assert_array_equal(state.vectors[2:7], model.compress("int8").vectors[:5])
    with pytest.raises(InputError, match="set dim to 16"):
        replace(recipe, dim=20).train(STREAM)


def test_the_rate_falls_linearly_to_its_floor():
    recipe = SiameseCBOW(learning_rate=1.0, min_learning_rate_ratio=0.3, decay="linear")
    np.testing.assert_allclose(learning_rates(recipe, 0, 4, 4), [1, 0.75, 0.5, 0.3])
    np.testing.assert_allclose(learning_rates(recipe, 2, 2, 4), [0.5, 0.3])
    np.testing.assert_allclose(learning_rates(replace(recipe, decay="constant"), 0, 2, 4), [1, 1])


def test_info_tells_where_a_model_comes_from():
    model = RECIPES["paper"].train(STREAM)
    assert model.info["recipe"]["name"] == "paper"
    assert model.info["recipe"]["negatives"] == 2
    assert model.info["corpus"]["fingerprint"] == STREAM.fingerprint
    assert model.info["trained"] == {"epochs": 3, "examples": 3 * STREAM.n_sentences, "words": 3 * STREAM.n_tokens}


def test_a_tiny_stream_without_anything_to_compare_is_refused():
    stream = Stream.of_words([[["a"], ["b"], ["c"]]])
    with pytest.raises(SettingsError, match="no training example in epoch 0"):
        SiameseCBOW.paper(negatives=2, dim=4, negatives_from="batch", run_length=2, batch_size=2).train(stream)
