"""The fast kernels against the definitions: one batch, one step of plain SGD at rate 1, so the move is the gradient."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from kernel_world import DIM, N_WORDS, STRIPS, WHOLE, corpus, keys, matrices, objective_of, rule, shape_of
from siamese_cbow.kernels.batch import updates as rules
from siamese_cbow.kernels.batch.phases import Matrices
from siamese_cbow.kernels.batch.picking import pick
from siamese_cbow.kernels.objectives import in_batch, reference, sampled
from siamese_cbow.machine.memory import padded_width
from siamese_cbow.machine.threads import Crew
from siamese_cbow.training.engine import Engine, aligned
from siamese_cbow.training.strips import joined


def one_batch(text, shape, objective, how, left, right, *, threads=1, rate=1.0, batch=0, layout=WHOLE):
    """Train on one batch; what the kernels picked comes back for the reference to use."""
    with Crew(threads) as crew:
        engine = Engine(text, shape, objective, how, layout, crew)
        report = engine.run(keys(shape), batch, np.full(1, rate, np.float32), 1, left, right)
        picked = engine._picked(1)
        crew.run(pick, text, shape, keys(shape), batch, picked)
    return report, picked


def masks(picked, shape):
    """What was picked, as the reference wants it: sentences, positive and negative counts."""
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


SAMPLED = (sampled.SOFTMAX, sampled.SIGMOID, sampled.LOGISTIC)
CASES = {
    "paper": (sampled.SOFTMAX, reference.softmax, {"negatives": 2, "negatives_from_batch": False, "halo": True}, 1.0),
    "paper, negatives of the batch": (sampled.SOFTMAX, reference.softmax, {"negatives": 3}, 1.0),
    "paper, temperature": (
        sampled.SOFTMAX,
        partial(reference.softmax, temperature=0.1),
        {"negatives": 2, "negatives_from_batch": False},
        10.0,
    ),
    "sigmoid": (sampled.SIGMOID, reference.sigmoid, {"negatives": 2, "negatives_from_batch": False, "halo": True}, 1.0),
    "logistic": (sampled.LOGISTIC, partial(reference.logistic, gamma=5.0), {"negatives": 2}, 5.0),
    "contrastive": (in_batch.CONTRASTIVE, partial(reference.softmax, temperature=0.05), {}, 20.0),
    "margin": (in_batch.MARGIN, partial(reference.margin, margin=0.4), {}, 1.0),
}


@pytest.mark.parametrize("empty", [False, True], ids=["full", "with empty sentences"])
@pytest.mark.parametrize("groups", [False, True], ids=["text", "groups"])
@pytest.mark.parametrize("shared", [True, False], ids=["one matrix", "two matrices"])
@pytest.mark.parametrize(
    ("case", "layout"),
    [
        *(pytest.param(case, WHOLE, id=case) for case in CASES),
        *(pytest.param(case, STRIPS, id=f"{case}, two strips") for case in CASES if CASES[case][0] in SAMPLED),
    ],
)
def test_a_step_is_the_gradient_of_the_definition(case, layout, shared, groups, empty):
    kind, definition, options, sharpness = CASES[case]
    text = corpus(seed=3, empty=empty)
    options = options | {"groups": groups, "halo": options.get("halo", False) and not groups}
    shape = shape_of(text, 12, 3, **options)
    rng = np.random.default_rng(8)
    left = matrices(rng, rule(), layout)
    right = left if shared else matrices(rng, rule(), layout)
    before = [joined(side.vectors, layout, DIM).astype(np.float64) for side in (left, right)]
    objective = objective_of(kind, shared=shared, sharpness=sharpness)
    report, picked = one_batch(text, shape, objective, rule(), left, right, layout=layout)

    positive, negative = masks(picked, shape)
    words = [text.ids[text.sentences[s] : text.sentences[s + 1]] for s in picked.sentences[0, : picked.n_sentences[0]]]
    loss, on_left, on_right = reference.loss_and_gradients(
        *before, words, positive, negative, definition,
        unit=kind != sampled.SIGMOID, needs_negative=shape.negatives > 0,
    )  # fmt: skip
    assert report.examples[0] > 0
    assert report.loss[0] / report.examples[0] == pytest.approx(loss, rel=1e-4)
    moves = [rows - joined(side.vectors, layout, DIM) for rows, side in zip(before, (left, right), strict=True)]
    if shared:
        np.testing.assert_allclose(moves[0], on_left + on_right, atol=3e-6 * sharpness)
    else:
        np.testing.assert_allclose(moves[0], on_left, atol=3e-6 * sharpness)
        np.testing.assert_allclose(moves[1], on_right, atol=3e-6 * sharpness)
    assert np.count_nonzero(left.vectors) == N_WORDS * DIM  # what pads the rows stays zero


def test_batches_larger_than_a_tile_of_scores():
    text = corpus(seed=1, n_documents=60)
    shape = shape_of(text, 2 * in_batch.TILE + 36, 4)
    left = matrices(np.random.default_rng(0), rule())
    before = left.vectors[:, :DIM].astype(np.float64)
    report, picked = one_batch(text, shape, objective_of(in_batch.CONTRASTIVE, sharpness=20), rule(), left, left)
    words = [text.ids[text.sentences[s] : text.sentences[s + 1]] for s in picked.sentences[0, : picked.n_sentences[0]]]
    assert len(words) > 2 * in_batch.TILE
    loss, on_left, on_right = reference.loss_and_gradients(
        before, before, words, *masks(picked, shape), partial(reference.softmax, temperature=0.05)
    )
    assert report.loss[0] / report.examples[0] == pytest.approx(loss, rel=1e-4)
    np.testing.assert_allclose(before - left.vectors[:, :DIM], on_left + on_right, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_a_matrix_of_zeros_stays_zero(case):
    kind, _, options, sharpness = CASES[case]
    text = corpus()
    zeros = aligned((N_WORDS, padded_width(DIM)))
    side = Matrices(zeros, aligned((N_WORDS, 1)), aligned((N_WORDS, 1)))
    report, _ = one_batch(
        text, shape_of(text, 12, 3, **options), objective_of(kind, sharpness=sharpness), rule(rules.ADAGRAD), side, side
    )
    assert report.examples[0] == 0
    assert report.loss[0] == 0
    assert not zeros.any()


@pytest.mark.parametrize("case", CASES)
def test_nan_shows_in_the_loss(case):
    kind, _, options, sharpness = CASES[case]
    text = corpus()
    shape = shape_of(text, 3 * (len(text.sentences) // 3 + 2), 3, **options)
    side = matrices(np.random.default_rng(0), rule())
    side.vectors[0] = np.nan
    report, _ = one_batch(text, shape, objective_of(kind, sharpness=sharpness), rule(), side, side)
    assert np.isnan(report.loss[0])


def expected_moves(how: rules.Rule, gradients: list[np.ndarray], row: np.ndarray, rate: float) -> np.ndarray:
    """The rules in plain NumPy, element by element (Adagrad: one number for the row)."""
    m = v = np.zeros_like(row)
    a = 0.0
    beta, decay, epsilon = float(how.momentum), float(how.decay), float(how.epsilon)
    for step, gradient in enumerate(gradients, start=1):
        g = gradient + float(how.l2) * row
        if how.clip > 0:
            g = g * min(1.0, float(how.clip) / np.linalg.norm(g))
        if how.kind == rules.SGD:
            row = row - rate * g
        elif how.kind == rules.NESTEROV:
            m = beta * m - rate * g
            row = row + beta * m - rate * g
        elif how.kind == rules.ADAGRAD:
            a += (g**2).mean()
            row = row - rate * g / (np.sqrt(a) + epsilon)
        elif how.kind == rules.ADADELTA:
            v = beta * v + (1 - beta) * g**2
            x = g * np.sqrt(m + epsilon) / np.sqrt(v + epsilon)
            m = beta * m + (1 - beta) * x**2
            row = row - rate * x
        elif how.kind == rules.ADAM:
            m, v = beta * m + (1 - beta) * g, decay * v + (1 - decay) * g**2
            row = row - rate * (m / (1 - beta**step)) / (np.sqrt(v / (1 - decay**step)) + epsilon)
        else:
            m, v = beta * m + (1 - beta) * g, np.maximum(decay * v, abs(g))
            row = row - rate / (1 - beta**step) * m / (v + epsilon)
    return row


@pytest.mark.parametrize("numbers", [{}, {"clip": 0.5}, {"l2": 0.1}, {"clip": 0.5, "l2": 0.1}], ids=str)
@pytest.mark.parametrize("kind", range(6), ids=["sgd", "nesterov", "adagrad", "adadelta", "adam", "adamax"])
def test_rules_move_rows_as_written(kind, numbers):
    rng = np.random.default_rng(2)
    how = rule(kind, **numbers)
    side = matrices(rng, how)
    before, gradients = side.vectors[7, :DIM].astype(np.float64), [rng.normal(size=DIM) for _ in range(4)]
    for step, gradient in enumerate(gradients, start=1):
        padded = aligned((1, padded_width(DIM)))
        padded[0, :DIM] = gradient
        rules.update(how, np.float32(0.1), step, side.vectors, side.first, side.second, 7, padded, 0)
    expected = expected_moves(how, gradients, before, 0.1)
    np.testing.assert_allclose(side.vectors[7, :DIM], expected, rtol=2e-5, atol=1e-5)
