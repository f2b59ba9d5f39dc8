"""The fast kernels against the definitions: one batch, one step of plain SGD at rate 1, so the move is the gradient."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from kernel_world import DIM, MARGIN, N_WORDS, STRIPS, WHOLE, corpus, keys, matrices, objective_of, rule, shape_of
from siamese_cbow.kernels.batch.batch_records import Matrices, Rule
from siamese_cbow.kernels.batch.updates import update
from siamese_cbow.kernels.objectives import in_batch, reference
from siamese_cbow.kernels.tables import OBJECTIVES, OPTIMIZERS, ObjectiveKind, ObjectiveName
from siamese_cbow.machine.intrinsics import aligned, padded_width
from siamese_cbow.machine.threads import ThreadTeam
from siamese_cbow.training.engine import Engine
from siamese_cbow.training.strips import joined


def one_batch(text, shape, objective, how, left, right, *, threads=1, rate=1.0, batch=0, layout=WHOLE):
    """Trains on one batch; returns what the kernels picked, for the reference."""
    with ThreadTeam(threads) as team:
        engine = Engine(text, shape, objective, how, layout, team)
        report = engine.run(keys(shape), batch, np.full(1, rate, np.float32), 1, left, right)
        return report, engine.picker.pick(keys(shape), batch, 1)


def masks(picked, shape):
    """What was picked, in the form the reference takes: sentences, positive and negative counts."""
    n, n_near = int(picked.n_sentences[0]), int(picked.n_candidates[0])
    runs = [int(run) if k < n_near else -1 - k for k, run in enumerate(picked.runs[0, :n])]
    anchors = picked.anchors[0, :n].astype(np.int64)
    positive = reference.adjacent(runs, groups=shape.groups) * anchors[:, None]
    if shape.negatives == 0:
        return positive, reference.other_runs(runs)
    negative = np.zeros((n, n), np.int64)
    for anchor in range(n_near):
        for j in picked.negatives[0, anchor]:
            if j >= 0:
                negative[anchor, j] += 1
    return positive, negative


VALUES = {"temperature": 0.05, "gamma": 5.0, "margin": MARGIN}  # settings of the objectives


class Case(NamedTuple):
    objective: ObjectiveName
    options: dict[str, Any] = {}  # noqa: RUF012
    values: dict[str, float] = VALUES

    @property
    def kind(self) -> ObjectiveKind:
        return OBJECTIVES[self.objective]

    @property
    def definition(self) -> reference.ScoreLoss:
        settings = {self.kind.setting: self.values[self.kind.setting]} if self.kind.setting else {}
        return partial(getattr(reference, self.kind.reference), **settings)

    @property
    def sharpness(self) -> float:
        if self.kind.setting == "temperature":
            return 1 / self.values["temperature"]
        return self.values["gamma"] if self.kind.setting == "gamma" else 1.0


OF_CORPUS = {"negatives": 2, "negatives_from_batch": False, "halo": True}
CASES = {
    **{name: Case(name, OF_CORPUS if OBJECTIVES[name].sampled else {}) for name in OBJECTIVES},
    "paper": Case("softmax", OF_CORPUS, {"temperature": 1.0}),
    "paper-program": Case("softmax", OF_CORPUS | {"triples": True, "any_negative": True}, {"temperature": 1.0}),
    "paper, negatives of the batch": Case("softmax", {"negatives": 3}, {"temperature": 1.0}),
    "paper, temperature": Case("softmax", OF_CORPUS | {"halo": False}, {"temperature": 0.1}),
    "logistic, negatives of the batch": Case("logistic", {"negatives": 2}),
}


@pytest.mark.parametrize("empty", [False, True], ids=["full", "with empty sentences"])
@pytest.mark.parametrize("groups", [False, True], ids=["text", "groups"])
@pytest.mark.parametrize("shared", [True, False], ids=["one matrix", "two matrices"])
@pytest.mark.parametrize(
    ("case", "layout"),
    [
        *(pytest.param(case, WHOLE, id=case) for case in CASES),
        *(
            pytest.param(case, STRIPS, id=f"{case}, two strips")
            for case in CASES
            if OBJECTIVES[CASES[case].objective].sampled
        ),
    ],
)
def test_a_step_is_the_gradient_of_the_definition(case, layout, shared, groups, empty):
    name, sharpness = CASES[case].objective, CASES[case].sharpness
    text = corpus(seed=3, empty=empty)
    options = CASES[case].options
    options = options | {"groups": groups, "halo": options.get("halo", False) and not groups}
    shape = shape_of(text, 12, 3, **options)
    rng = np.random.default_rng(8)
    left = matrices(rng, rule(), layout)
    right = left if shared else matrices(rng, rule(), layout)
    before = [joined(side.vectors, layout, DIM).astype(np.float64) for side in (left, right)]
    objective = objective_of(name, shared=shared, sharpness=sharpness)
    report, picked = one_batch(text, shape, objective, rule(), left, right, layout=layout)

    positive, negative = masks(picked, shape)
    words = [text.ids[text.sentences[s] : text.sentences[s + 1]] for s in picked.sentences[0, : picked.n_sentences[0]]]
    loss, on_left, on_right = reference.loss_and_gradients(
        *before, words, positive, negative, CASES[case].definition,
        score=CASES[case].kind.score, needs_negative=shape.negatives > 0,
    )  # fmt: skip
    assert report.examples[0] > 0
    assert report.loss[0] / report.examples[0] == pytest.approx(loss, rel=1e-4)
    moves = [rows - joined(side.vectors, layout, DIM) for rows, side in zip(before, (left, right), strict=True)]
    if shared:
        np.testing.assert_allclose(moves[0], on_left + on_right, atol=3e-6 * sharpness)
    else:
        np.testing.assert_allclose(moves[0], on_left, atol=3e-6 * sharpness)
        np.testing.assert_allclose(moves[1], on_right, atol=3e-6 * sharpness)
    assert np.count_nonzero(left.vectors) == N_WORDS * DIM  # the padding of the rows stays zero


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("shared", [True, False], ids=["one matrix", "two matrices"])
def test_words_with_weights_learn_by_the_definition(name, shared):
    weights = np.linspace(0.5, 2, N_WORDS).astype(np.float32)
    text = corpus(seed=3)._replace(weights=weights)
    shape = shape_of(text, 12, 3, **CASES[name].options)
    rng = np.random.default_rng(8)
    left = matrices(rng, rule())
    right = left if shared else matrices(rng, rule())
    before = [side.vectors[:, :DIM].astype(np.float64) for side in (left, right)]
    objective = objective_of(name, shared=shared, sharpness=CASES[name].sharpness)
    report, picked = one_batch(text, shape, objective, rule(), left, right)
    words = [text.ids[text.sentences[s] : text.sentences[s + 1]] for s in picked.sentences[0, : picked.n_sentences[0]]]
    loss, on_left, on_right = reference.loss_and_gradients(
        *before, words, *masks(picked, shape), CASES[name].definition,
        score=CASES[name].kind.score, needs_negative=shape.negatives > 0, weights=weights.astype(np.float64),
    )  # fmt: skip
    assert report.loss[0] / report.examples[0] == pytest.approx(loss, rel=1e-4)
    moved = before[0] - left.vectors[:, :DIM]
    np.testing.assert_allclose(moved, on_left + on_right if shared else on_left, atol=2e-5 * CASES[name].sharpness)


def test_batches_larger_than_a_tile_of_scores():
    text = corpus(seed=1, n_documents=60)
    shape = shape_of(text, 2 * in_batch.TILE + 36, 4)
    left = matrices(np.random.default_rng(0), rule())
    before = left.vectors[:, :DIM].astype(np.float64)
    report, picked = one_batch(text, shape, objective_of("contrastive", sharpness=20), rule(), left, left)
    words = [text.ids[text.sentences[s] : text.sentences[s + 1]] for s in picked.sentences[0, : picked.n_sentences[0]]]
    assert len(words) > 2 * in_batch.TILE
    loss, on_left, on_right = reference.loss_and_gradients(
        before, before, words, *masks(picked, shape), partial(reference.softmax, temperature=0.05)
    )
    assert report.loss[0] / report.examples[0] == pytest.approx(loss, rel=1e-4)
    np.testing.assert_allclose(before - left.vectors[:, :DIM], on_left + on_right, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_a_matrix_of_zeros_stays_zero(case):
    name, options, sharpness = CASES[case].objective, CASES[case].options, CASES[case].sharpness
    text = corpus()
    zeros = aligned((N_WORDS, padded_width(DIM)))
    side = Matrices(zeros, aligned((N_WORDS, 1)), aligned((N_WORDS, 1)), aligned((1, 1)))
    report, _ = one_batch(
        text, shape_of(text, 12, 3, **options), objective_of(name, sharpness=sharpness), rule("adagrad"), side, side
    )
    assert report.examples[0] == 0
    assert report.loss[0] == 0
    assert not zeros.any()


@pytest.mark.parametrize("case", CASES)
def test_nan_shows_in_the_loss(case):
    name, options, sharpness = CASES[case].objective, CASES[case].options, CASES[case].sharpness
    text = corpus()
    shape = shape_of(text, 3 * (len(text.sentences) // 3 + 2), 3, **options)
    side = matrices(np.random.default_rng(0), rule())
    side.vectors[0] = np.nan
    report, _ = one_batch(text, shape, objective_of(name, sharpness=sharpness), rule(), side, side)
    assert np.isnan(report.loss[0])


def expected_moves(name: str, how: Rule, gradients: list[np.ndarray], row: np.ndarray, rate: float) -> np.ndarray:
    """The update rules in plain NumPy, element by element (Adagrad: one number per row)."""
    m = v = np.zeros_like(row)
    a, start = 0.0, row if how.to_start else np.zeros_like(row)
    beta, decay, epsilon = float(how.momentum), float(how.decay), float(how.epsilon)
    for step, gradient in enumerate(gradients, start=1):
        g = gradient + float(how.l2) * (row - start)
        if how.clip > 0:
            g = g * min(1.0, float(how.clip) / np.linalg.norm(g))
        if name == "sgd":
            row = row - rate * g
        elif name == "nesterov":
            m = beta * m - rate * g
            row = row + beta * m - rate * g
        elif name == "adagrad":
            a += (g**2).mean()
            row = row - rate * g / (np.sqrt(a) + epsilon)
        elif name == "adadelta":
            v = beta * v + (1 - beta) * g**2
            x = g * np.sqrt(m + epsilon) / np.sqrt(v + epsilon)
            m = beta * m + (1 - beta) * x**2
            row = row - rate * x
        elif name == "adam":
            m, v = beta * m + (1 - beta) * g, decay * v + (1 - decay) * g**2
            row = row - rate * (m / (1 - beta**step)) / (np.sqrt(v / (1 - decay**step)) + epsilon)
        else:
            assert name == "adamax"
            m, v = beta * m + (1 - beta) * g, np.maximum(decay * v, abs(g))
            row = row - rate / (1 - beta**step) * m / (v + epsilon)
    return row


@pytest.mark.parametrize(
    "numbers", [{}, {"clip": 0.5}, {"l2": 0.1}, {"clip": 0.5, "l2": 0.1}, {"l2": 0.1, "to_start": True}], ids=str
)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rules_move_rows_as_written(name, numbers):
    rng = np.random.default_rng(2)
    how = rule(name, **numbers)
    side = matrices(rng, how)
    before, gradients = side.vectors[7, :DIM].astype(np.float64), [rng.normal(size=DIM) for _ in range(4)]
    for step, gradient in enumerate(gradients, start=1):
        padded = aligned((1, padded_width(DIM)))
        padded[0, :DIM] = gradient
        update(how, np.float32(0.1), step, side, 7, padded, 0)
    expected = expected_moves(name, how, gradients, before, 0.1)
    np.testing.assert_allclose(side.vectors[7, :DIM], expected, rtol=2e-5, atol=1e-5)
