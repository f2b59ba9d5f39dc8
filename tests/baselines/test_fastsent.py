"""FastSent: the definition against finite differences, the kernel against the definition, and the recipe's promises."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_world import DIM, N_WORDS, WHOLE, corpus, keys, matrices, rule, shape_of
from siamese_cbow.baselines.fastsent import FastSent, FastSentEngine, Guesses
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.kernels.batch.random import POWER, alias_table
from siamese_cbow.kernels.means_reference import random_bits
from siamese_cbow.kernels.objectives import reference
from siamese_cbow.kernels.objectives.reference import Guess
from siamese_cbow.machine.threads import ThreadTeam
from siamese_cbow.stream.stream import Stream

COUNTS = np.arange(N_WORDS, 0, -1) ** 2


def test_gradients_of_the_definition_are_those_of_finite_differences():
    rng = np.random.default_rng(5)
    sentences = [[0, 1, 1], [2], [], [3, 4, 0]]
    guesses = [Guess(0, 2, [4, 4]), Guess(0, 0, [1]), Guess(1, 1, []), Guess(3, 2, [5])]
    source, target = rng.normal(size=(6, 4)), rng.normal(size=(6, 4))
    _, *gradients = reference.fastsent_loss_and_gradients(source, target, sentences, guesses)
    for matrix, gradient in zip((source, target), gradients, strict=True):
        numeric = np.zeros_like(matrix)
        for place in np.ndindex(matrix.shape):
            before, losses = matrix[place], []
            for step in (1e-6, -1e-6):
                matrix[place] = before + step
                losses.append(reference.fastsent_loss_and_gradients(source, target, sentences, guesses)[0])
            matrix[place] = before
            numeric[place] = (losses[0] - losses[1]) / 2e-6
        np.testing.assert_allclose(gradient, numeric, atol=2e-8)


def test_small_cases_by_hand():
    zeros = np.zeros((3, 2))
    loss, _, _ = reference.fastsent_loss_and_gradients(zeros, zeros, [[0]], [Guess(0, 1, [2, 2])])
    assert loss == pytest.approx(3 * np.log(2))
    near = reference.adjacent([0, 0, 1])
    assert reference.fastsent_guesses([[7], [8, 9], [5]], near, autoencode=False) == [(0, 1, 0), (0, 1, 1), (1, 0, 0)]
    assert (2, 2, 0) in reference.fastsent_guesses([[7], [8, 9], [5]], near, autoencode=True)


def draws(table, key, positions):
    """The result of `draw`, in NumPy."""
    x = (random_bits(key, positions) >> np.uint64(11)) * 2.0**-53 * len(table.keep)
    places = x.astype(np.int64)
    return np.where(x - places < table.keep[places], places, table.alias[places])


def expected_guesses(text, shape, picked, recipe, table, key):
    """The guesses of batch 0, each with its negatives."""
    n = int(picked.n_sentences[0])
    numbers = picked.sentences[0, :n]
    words = [text.ids[text.sentences[s] : text.sentences[s + 1]] for s in numbers]
    near = reference.adjacent(picked.runs[0, :n], groups=shape.groups)
    found = []
    for anchor, other, place in reference.fastsent_guesses(words, near, autoencode=recipe.autoencode):
        if picked.anchors[0, anchor] == 0:
            continue
        role = 2 if anchor == other else 3 + anchor if shape.groups else int(anchor > other)
        first = (int(numbers[other]) << 34) + (role << 20) + place * recipe.negatives
        drawn = draws(table, key, np.arange(first, first + recipe.negatives, dtype=np.uint64))
        word = words[other][place]
        found.append(Guess(anchor, word, [w for w in drawn if w != word]))
    return words, found


@pytest.mark.parametrize("empty", [False, True], ids=["full", "with empty sentences"])
@pytest.mark.parametrize("groups", [False, True], ids=["text", "groups"])
@pytest.mark.parametrize("autoencode", [False, True], ids=["FastSent", "FastSent+AE"])
def test_a_step_is_the_gradient_of_the_definition(autoencode, groups, empty):
    text = corpus(seed=3, empty=empty)
    shape = shape_of(text, 12, 3, groups=groups, halo=not groups)
    recipe = FastSent(autoencode, dim=DIM, negatives=3, batch_size=12, run_length=3)
    rng = np.random.default_rng(8)
    source, target = matrices(rng, rule()), matrices(rng, rule())
    for side in (source, target):
        side.vectors[:] /= 4
    before = [side.vectors[:, :DIM].astype(np.float64) for side in (source, target)]
    with ThreadTeam(1) as team:
        engine = FastSentEngine(text, shape, Guesses(3, autoencode, COUNTS), rule(), WHOLE, team)
        report = engine.run(keys(shape), 0, np.ones(1, np.float32), 1, source, target)
        picked = engine.picker.pick(keys(shape), 0, 1)
    table = alias_table(COUNTS)
    words, guesses = expected_guesses(text, shape, picked, recipe, table, keys(shape).negatives)
    loss, on_source, on_target = reference.fastsent_loss_and_gradients(*before, words, guesses)
    assert report.examples[0] == len({guess.anchor for guess in guesses}) > 0
    assert report.loss[0] / report.examples[0] == pytest.approx(loss, rel=1e-5)
    np.testing.assert_allclose(before[0] - source.vectors[:, :DIM], on_source, atol=3e-6)
    np.testing.assert_allclose(before[1] - target.vectors[:, :DIM], on_target, atol=3e-6)
    assert not source.vectors[:, DIM:].any()


def test_words_are_drawn_by_their_count_to_the_power_of_three_quarters():
    table = alias_table(COUNTS)
    chances = np.bincount(table.alias, weights=1 - table.keep, minlength=N_WORDS) + table.keep
    np.testing.assert_allclose(chances / N_WORDS, COUNTS**POWER / (COUNTS**POWER).sum(), rtol=1e-9)
    drawn = draws(table, 7, np.arange(200_000, dtype=np.uint64))
    np.testing.assert_allclose(
        np.bincount(drawn, minlength=N_WORDS)[:10] / len(drawn), chances[:10] / N_WORDS, atol=2e-3
    )
    assert alias_table(np.array([5])).alias.tolist() == [0]


@pytest.fixture(scope="module")
def small_stream() -> Stream:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(50)]
    return Stream.of_words(
        [[[*rng.choice(words, rng.integers(1, 9))] for _ in range(rng.integers(1, 6))] for _ in range(60)]
    )


@pytest.mark.parametrize("autoencode", [False, True])
def test_any_number_of_threads_gives_the_same_bytes(small_stream, autoencode):
    recipe = FastSent(autoencode, dim=20, batch_size=16, epochs=2, subsample=0.05)
    one, three = (recipe.train(small_stream, threads=threads) for threads in (1, 3))
    assert one.vectors.tobytes() == three.vectors.tobytes()
    assert np.isfinite(one.vectors).all()
    assert one.info["recipe"]["name"] == ("fastsent+ae" if autoencode else "fastsent")


def test_a_stream_of_groups(small_stream):
    groups = Stream.of_words([[["a", "b"], ["c"], ["d", "e"]], [["f"], ["g", "a"]]] * 20, kind="groups")
    assert np.isfinite(FastSent(dim=8, batch_size=8).train(groups, threads=2).vectors).all()


def test_settings_and_streams_that_make_no_sense():
    for options in ({"dim": 0}, {"negatives": 0}, {"negatives": 2.5}, {"batch_size": 2}, {"learning_rate": -1}):
        with pytest.raises(SettingsError, match=next(iter(options))):
            FastSent(**options)
    with pytest.raises(InputError, match="only one sentence"):
        FastSent().train(Stream.of_words([[["a", "b"]], [["c"]]]))
    with pytest.raises(SettingsError, match=r"the loss is not a number.*learning rate 1e\+30"):
        FastSent(dim=4, learning_rate=1e30, subsample=0, epochs=5).train(
            Stream.of_words([[["a", "b"], ["c"], ["a"]]] * 30)
        )
