"""Words of one stem share a row during training; the finished model has one row per word, and words have weights."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel_world import DIM, N_WORDS, WHOLE, corpus, keys, matrices, objective_of, rule, shape_of
from siamese_cbow.kernels.batch.batch_records import Matrices
from siamese_cbow.kernels.objectives import reference
from siamese_cbow.machine.intrinsics import aligned, padded_width
from siamese_cbow.machine.threads import ThreadTeam
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.engine import Engine
from siamese_cbow.training.loop import Callback, Run, train
from siamese_cbow.training.plan import plan_of
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from siamese_cbow.training.state import first_state
from siamese_cbow.training.stems import NO_STEMS, Stems, group, stems_of
from siamese_cbow.transform.estimates import information
from siamese_cbow.transform.postprocessing import common_directions, folded
from siamese_cbow.words.stemmers import word_stems
from siamese_cbow.words.vocabulary import Vocabulary


def test_a_stem_of_two_words_or_more_has_a_row():
    stems = group(["play", "cat", "play", None, None, "run", "run"])
    assert stems.rows.tolist() == [7, -1, 7, -1, -1, 8, 8]
    assert stems.n_shared == 2
    assert group(["a", "b", None]) is NO_STEMS


def test_folding_adds_the_shared_row_and_copies():
    rows = np.array([[1.0], [2.0], [5.0]], np.float32)
    assert Stems(np.array([2, 2], np.int32), 1).fold(rows).tolist() == [[6], [7]]
    assert Stems(np.array([2, -1], np.int32), 1).fold(rows).tolist() == [[6], [2]]
    alone = NO_STEMS.fold(rows)
    alone[0] = 9
    assert rows[0] == 1


def test_stems_follow_the_language():
    english = ["plays", "Playing", "houses"]
    assert list(word_stems(english, "en")) == ["play", "play", "hous"]
    assert list(word_stems(english, "zh")) == [None, None, None]
    mixed = ["en:plays", "de:häuser", "zh:x"]
    assert list(word_stems(mixed, "en", ("en", "de", "zh"))) == ["en:play", "de:haus", None]


def test_the_published_recipe_and_dot_products_share_nothing():
    stream = world()
    assert stems_of(SiameseCBOW(), stream.vocabulary).n_shared > 0
    assert stems_of(SiameseCBOW.paper(), stream.vocabulary) is NO_STEMS
    assert stems_of(SiameseCBOW(objective="sigmoid"), stream.vocabulary) is NO_STEMS


def test_a_step_moves_own_and_shared_rows_by_the_gradient_of_the_definition():
    text, n_shared = corpus(seed=3, n_documents=9), 20
    rng = np.random.default_rng(0)
    shared = np.where(rng.random(N_WORDS) < 0.6, N_WORDS + rng.integers(n_shared, size=N_WORDS), -1).astype(np.int32)
    text = text._replace(stems=shared, n_rows=N_WORDS + n_shared)
    side = matrices(rng, rule())
    more = matrices(rng, rule())
    vectors = aligned((N_WORDS + n_shared, padded_width(DIM)))
    vectors[:N_WORDS], vectors[N_WORDS:] = side.vectors, more.vectors[:n_shared]
    side = Matrices(vectors, aligned((len(vectors), 1)), aligned((len(vectors), 1)), aligned((1, 1)))
    before, shape = vectors[:, :DIM].astype(np.float64), shape_of(text, 24, 3)
    with ThreadTeam(2) as team:
        engine = Engine(text, shape, objective_of("contrastive", sharpness=20), rule(), WHOLE, team)
        report = engine.run(keys(shape), 0, np.ones(1, np.float32), 1, side, side)
        picked = engine.picker.pick(keys(shape), 0, 1)
    n = int(picked.n_sentences[0])
    words = [text.ids[text.sentences[s] : text.sentences[s + 1]] for s in picked.sentences[0, :n]]
    both = [[*sentence, *(shared[w] for w in sentence if shared[w] >= 0)] for sentence in words]
    runs = picked.runs[0, :n].tolist()
    loss, left, right = reference.loss_and_gradients(
        before, before, both, reference.adjacent(runs), reference.other_runs(runs),
        partial(reference.softmax, temperature=0.05),
    )  # fmt: skip
    assert report.loss[0] / report.examples[0] == pytest.approx(loss, rel=1e-4)
    np.testing.assert_allclose(before - vectors[:, :DIM], left + right, atol=1e-5)
    # The kernels see the model that comes out: cosines of means of folded rows.
    folded = Stems(shared, n_shared).fold(before)
    for sentence, rows in zip(words, both, strict=True):
        np.testing.assert_allclose(folded[sentence].sum(axis=0), before[rows].sum(axis=0))


FORMS = ("{}", "{}s", "{}ed", "{}ing")
STEMS = ("walk", "jump", "paint", "climb", "print", "plant", "guard", "count")


def world(n_documents: int = 60) -> Stream:
    """Documents about one verb each, in all its forms."""
    rng = np.random.default_rng(1)
    documents = []
    for _ in range(n_documents):
        stem = STEMS[rng.integers(len(STEMS))]
        sentence = lambda: [FORMS[rng.integers(4)].format(stem), f"thing{rng.integers(30)}", "the"]  # noqa: E731,B023
        documents.append([sentence() for _ in range(rng.integers(2, 7))])
    return Stream.of_words(documents)


RECIPE = SiameseCBOW(dim=16, batch_size=24, subsample=0.01, epochs=2)


@pytest.mark.parametrize("recipe", [RECIPE, replace(RECIPE, separate_matrices=True)], ids=["one", "two matrices"])
def test_the_same_bytes_on_any_number_of_threads(recipe):
    models = [recipe.train(world(), threads=threads) for threads in (1, 2, 5)]
    assert len({model.vectors.tobytes() for model in models}) == 1
    assert models[0].vectors.shape == (len(world().vocabulary), 16)


class StopAt(Callback):
    every = 1

    def on_batch(self, run: Run) -> None:
        if run.state.counters.step == 7:
            self.arrays = {name: array.copy() for name, array in run.state.arrays().items()}
            self.counters = asdict(run.state.counters)
            raise KeyboardInterrupt


def test_stopping_and_going_on_changes_no_bit():
    stream, stop = world(), StopAt()
    with pytest.raises(KeyboardInterrupt):
        train(plan_of(RECIPE, stream), callbacks=[stop])
    state = first_state(RECIPE, stream.vocabulary, stems=stems_of(RECIPE, stream.vocabulary))
    state.restore(stop.arrays, stop.counters)
    gone_on = train(plan_of(RECIPE, stream), state=state).model()
    assert gone_on.vectors.tobytes() == RECIPE.train(stream).vectors.tobytes()


def test_forms_of_a_word_are_nearer_though_they_never_meet():
    documents = [[["walk", f"a{i}"], ["walk", f"a{i}"]] for i in range(8)] * 3
    documents += [[["walking", f"b{i}"], ["walking", f"b{i}"]] for i in range(8)] * 3
    stream = Stream.of_words(documents)

    def cosine(recipe: SiameseCBOW) -> float:
        model = recipe.train(stream)
        a, b = (model.vectors[stream.vocabulary.index[word]] for word in ("walk", "walking"))
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    with_stems = replace(RECIPE, common_directions=0)
    assert cosine(with_stems) > cosine(replace(with_stems, share_stems=False)) + 0.1


def finished(recipe: SiameseCBOW, vectors, counts):
    words = Vocabulary([f"w{i}" for i in range(len(counts))], counts)
    return folded(vectors, words, recipe.end)[0]


def test_information_of_words():
    np.testing.assert_allclose(information(np.array([3, 1])), [np.log(1 + 4 / 3), np.log(5)])
    assert (information(np.array([7])) > 0).all()
    assert np.isfinite(information(np.array([0, 5]))).all()


@given(idf=st.sampled_from([0.0, 0.5, 1.0, 2.0]), power=st.sampled_from([0.0, 0.5, 1.0]), seed=st.integers(0, 99))
def test_weights_change_lengths_only(idf, power, seed):
    rng = np.random.default_rng(seed)
    vectors, counts = rng.normal(size=(6, 4)).astype(np.float32), rng.integers(1, 1000, 6)
    vectors[2] = 0
    recipe = SiameseCBOW(idf_power=idf, length_power=power, common_directions=0)
    after = finished(recipe, vectors.copy(), counts)
    lengths = np.linalg.norm(vectors, axis=1)
    there = lengths > 0
    expected = np.where(there, np.where(there, lengths, 1) ** power, 0) * information(counts) ** idf
    np.testing.assert_allclose(np.linalg.norm(after, axis=1), expected, rtol=1e-4)
    cosines = (after * vectors).sum(axis=1)[there] / (np.linalg.norm(after, axis=1) * lengths)[there]
    np.testing.assert_allclose(cosines, 1, atol=1e-5)


def test_the_published_recipe_leaves_vectors_as_they_are():
    vectors = np.ones((3, 2), np.float32)
    assert finished(SiameseCBOW.paper(), vectors.copy(), np.array([5, 3, 1])).tobytes() == vectors.tobytes()


def test_common_directions_are_those_of_the_running_words():
    rows = np.array([[2.0, 0.0], [0.0, 1.0]], np.float32)
    np.testing.assert_allclose(abs(common_directions(rows, np.array([1, 1]), 1)), [[1, 0]])
    np.testing.assert_allclose(abs(common_directions(rows, np.array([1, 9]), 1)), [[0, 1]])


@given(n=st.integers(0, 9), seed=st.integers(0, 99))
def test_common_directions_are_gone_and_all_else_stays(n, seed):
    rng = np.random.default_rng(seed)
    vectors, counts = rng.normal(size=(30, 6)).astype(np.float32), rng.integers(1, 1000, 30)
    recipe = SiameseCBOW(idf_power=0, length_power=1, common_directions=n)
    after = finished(recipe, vectors.copy(), counts)
    taken = common_directions(vectors, counts, min(n, 5))  # one direction always remains
    np.testing.assert_allclose(after @ taken.T, 0, atol=1e-5)
    np.testing.assert_allclose(after, vectors - vectors @ taken.T @ taken, atol=1e-5)
