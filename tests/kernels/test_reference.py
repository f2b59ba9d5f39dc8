"""The definitions: finite differences prove their gradients, PyTorch agrees with them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from siamese_cbow.kernels.objectives import reference
from siamese_cbow.kernels.tables import OBJECTIVES

SENTENCES = [[0, 1, 2], [3, 1], [4, 4, 5], [6], [], [7, 2, 0, 8], [9, 3]]
RUNS = [0, 0, 0, 1, 1, 2, 2]
VALUES = {"temperature": 0.05, "gamma": 3.0, "margin": 0.7}
DEFINITIONS = {
    **{
        name: (partial(getattr(reference, kind.reference), **{s: VALUES[s] for s in (kind.setting,) if s}), kind.score)
        for name, kind in OBJECTIVES.items()
    },
    "softmax at temperature 1": (reference.softmax, "cosine"),
}


def world(groups: bool = False, sampled: bool = False):
    rng = np.random.default_rng(5)
    negative = reference.other_runs(RUNS)
    if sampled:  # few candidates, one of them drawn twice
        negative = negative * rng.integers(0, 2, negative.shape)
        negative[0, 5] = 2
    return rng.normal(size=(10, 4)), rng.normal(size=(10, 4)), reference.adjacent(RUNS, groups=groups), negative


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("name", DEFINITIONS)
def test_gradients_are_those_of_finite_differences(name, sampled, groups):
    objective, score = DEFINITIONS[name]
    left, right, positive, negative = world(groups, sampled)

    def loss(a, b):
        return reference.loss_and_gradients(a, b, SENTENCES, positive, negative, objective, score=score)[0]

    _, on_left, on_right = reference.loss_and_gradients(
        left, right, SENTENCES, positive, negative, objective, score=score
    )
    step = 1e-6
    for matrix, gradient in ((left, on_left), (right, on_right)):
        numeric = np.zeros_like(matrix)
        for place in np.ndindex(matrix.shape):
            before = matrix[place]
            matrix[place] = before + step
            up = loss(left, right)
            matrix[place] = before - step
            numeric[place] = (up - loss(left, right)) / (2 * step)
            matrix[place] = before
        np.testing.assert_allclose(gradient, numeric, atol=2e-7)


@pytest.mark.parametrize("temperature", [1.0, 0.05])
def test_softmax_agrees_with_autograd(temperature):
    torch = pytest.importorskip("torch")
    left, _, positive, negative = world()
    objective = partial(reference.softmax, temperature=temperature)
    loss, on_left, on_right = reference.loss_and_gradients(left, left, SENTENCES, positive, negative, objective)

    vectors = torch.tensor(left, requires_grad=True)
    means = torch.stack([vectors[s].mean(0) if s else torch.zeros(4, dtype=torch.float64) for s in SENTENCES])
    full = [i for i, s in enumerate(SENTENCES) if s]
    scores = torch.nn.functional.cosine_similarity(means[full][:, None], means[full][None], dim=-1) / temperature
    near, far = torch.tensor(positive[np.ix_(full, full)]), torch.tensor(negative[np.ix_(full, full)])
    losses = []
    for row, p, n in zip(scores, near, far, strict=True):
        if p.sum():
            logs = torch.log_softmax(row[(p + n) > 0], dim=0)
            losses.append(-(logs * p[(p + n) > 0] / p.sum()).sum())
    expected = torch.stack(losses).mean()
    expected.backward()
    assert loss == pytest.approx(expected.item())
    np.testing.assert_allclose(on_left + on_right, vectors.grad.numpy(), atol=1e-12)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 10)], ids=["plain", "weighted"])
def test_hinge_agrees_with_autograd(weights):
    torch = pytest.importorskip("torch")
    left, right, positive, negative = world(sampled=True)
    loss, on_left, on_right = reference.loss_and_gradients(
        left,
        right,
        SENTENCES,
        positive,
        negative,
        partial(reference.hinge, margin=3.0),
        score="distance",
        weights=weights,
    )
    a, b = (torch.tensor(matrix, requires_grad=True) for matrix in (left, right))
    scale = torch.ones(10, dtype=torch.float64) if weights is None else torch.tensor(weights)
    losses = []
    for anchor, sentence in enumerate(SENTENCES):
        pairs = [
            (positive[anchor, i] * negative[anchor, j], i, j)
            for i in range(len(SENTENCES))
            for j in range(len(SENTENCES))
            if sentence and SENTENCES[i] and SENTENCES[j]
        ]
        if any(positive[anchor, i] for _, i, _ in pairs):
            here = (a[sentence] * scale[sentence, None]).sum(0)
            away = [((here - (b[s] * scale[s, None]).sum(0)) ** 2).sum() for s in SENTENCES]
            losses.append(sum(n * torch.relu(3.0 + away[i] - away[j]) for n, i, j in pairs if n))
    expected = sum(losses) / len(losses)
    expected.backward()
    assert loss == pytest.approx(expected.item())
    np.testing.assert_allclose(on_left, a.grad.numpy(), atol=1e-10)
    np.testing.assert_allclose(on_right, b.grad.numpy(), atol=1e-10)


def test_a_zero_mean_gets_no_gradient_and_makes_no_nan():
    left, _, positive, negative = world()
    left[6] = 0  # the only word of sentence 3
    loss, on_left, on_right = reference.loss_and_gradients(
        left, left, SENTENCES, positive, negative, partial(reference.softmax, temperature=0.05)
    )
    assert np.isfinite(loss)
    assert np.isfinite(on_left).all()
    assert not on_left[6].any()
    assert not on_right[6].any()


def test_small_cases_by_hand():
    one = np.array([[0.0, 0.0]])
    loss, slopes = reference.softmax(one, np.array([[1, 0]]), np.array([[0, 1]]))
    assert loss == pytest.approx([np.log(2)])
    np.testing.assert_allclose(slopes, [[-0.5, 0.5]])
    loss, slopes = reference.margin(np.array([[0.9, 0.2]]), np.array([[1, 0]]), np.array([[0, 1]]), margin=0.4)
    assert loss == [0]
    assert not slopes.any()
    np.testing.assert_array_equal(reference.adjacent([0, 0, 1]), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(reference.other_runs([0, 0, 1]), [[0, 0, 1], [0, 0, 1], [1, 1, 0]])
