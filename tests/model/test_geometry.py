"""Gram matrices and directions: against their definitions, and the same bytes on any number of threads."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from siamese_cbow import Model, Vocabulary, combine
from siamese_cbow.model import geometry
from siamese_cbow.model.geometry import blocks, eigenvectors, gram_of, pca, strength_shares, strongest, with_signs

RNG = np.random.default_rng(1)
ROWS = (RNG.standard_normal((700, 5)) * np.arange(1, 6)).astype(np.float32)


def test_blocks() -> None:
    assert list(blocks(5, 2)) == [slice(0, 2), slice(2, 4), slice(4, 6)]
    assert list(blocks(0)) == []


def test_gram(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = RNG.integers(0, 9, 700)
    np.testing.assert_allclose(gram_of(np.float32([[1, 0], [1, 2]])), [[2, 2], [2, 4]])
    np.testing.assert_allclose(gram_of(ROWS, weights, block=64), (ROWS.T.astype(float) * weights) @ ROWS)
    assert not gram_of(np.zeros((0, 3), np.float32)).any()


def test_directions() -> None:
    strengths, directions = eigenvectors(np.array([[1.0, 0], [0, 4]]))
    np.testing.assert_allclose(strengths, [1, 4])
    np.testing.assert_allclose(np.abs(directions), [[1, 0], [0, 1]])
    found, strengths = strongest(gram_of(ROWS), 2)
    _, values, expected = np.linalg.svd(ROWS.astype(np.float64), full_matrices=False)
    np.testing.assert_allclose(np.abs(np.sum(found * expected[:2], axis=1)), 1)
    np.testing.assert_allclose(strengths, values[:2] ** 2)
    signed = with_signs(-np.abs(found) * [[1], [-1]])
    assert (signed[np.arange(2), np.abs(signed).argmax(axis=1)] > 0).all()
    np.testing.assert_allclose(strength_shares(np.array([3.0, 1])), [0.75, 0.25])
    assert not strength_shares(np.zeros(2)).any()


def test_pca() -> None:
    places, shares = pca(np.float32([[1, 0], [3, 0]]))
    np.testing.assert_allclose(places, [[-1, 0], [1, 0]])
    assert shares == [1.0, 0.0]
    assert pca(np.ones((3, 1), np.float32))[0].shape == (3, 2)


CHANGES: dict[str, Callable[[Model], Model]] = {
    "fewer dimensions": lambda model: model.compress(dim=40),
    "combined": lambda model: combine([model, Model(model.vocabulary, model.vectors[:, ::-1])], dim=70),
    "post-processed": lambda model: model.postprocess(weights="sif", center=True, components=2, whiten=0.5),
    "as at the end of a training": lambda model: model.postprocess(idf_power=1, length_power=0.5, common_directions=2),
    "undone": lambda model: model.postprocess(components=3).without_postprocessing(),
    "adapted": lambda model: model.adapt([f"w{i} w{i * i % 3000} w{i % 7}" for i in range(3000)]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_same_bytes_on_any_number_of_threads(name: str) -> None:
    rows = np.random.default_rng(2).standard_normal((3000, 72)).astype(np.float32)
    model = Model(Vocabulary([f"w{i}" for i in range(3000)], np.arange(3000, 0, -1) ** 2), rows)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            found.append(CHANGES[name](model).vectors.tobytes())
    assert found[0] == found[1]


def test_there_is_no_other_eigh() -> None:
    home = Path(geometry.__file__)
    assert [path for path in home.parents[1].rglob("*.py") if "linalg.eigh" in path.read_text("utf-8")] == [home]


def test_undo_travels_in_pickles() -> None:
    model = Model(Vocabulary.of_counts({"a": 3, "b": 1, "c": 1}), RNG.standard_normal((3, 2)).astype(np.float32))
    done = pickle.loads(pickle.dumps(model.postprocess(components=1)))
    np.testing.assert_allclose(done.without_postprocessing().vectors, model.vectors, atol=1e-6)
