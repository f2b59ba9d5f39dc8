"""L2 towards the start: rows without updates stay where they were, as in Wieting et al."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import siamese_cbow as sc
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.plan import plan_of
from siamese_cbow.training.state import first_state

WORDS = [f"w{i}" for i in range(12)]
DOCUMENTS = [[[WORDS[(i + j + k) % 12] for k in range(4)] for j in range(5)] for i in range(40)]
RECIPE = sc.SiameseCBOW.paper(objective="margin", dim=8, learning_rate=0.05, batch_size=20, run_length=4)


def moved(stream: Stream, **changes: object) -> float:
    """How far rows are from where they started, and how long they are."""
    recipe = sc.SiameseCBOW(**{**RECIPE.settings(), **changes})  # type: ignore[arg-type]
    start = first_state(recipe, stream.vocabulary).vectors
    return float(np.linalg.norm(recipe.train(stream, threads=1).vectors - start[:, : recipe.dim]))


def test_the_start_pulls() -> None:
    stream = Stream.of_words(DOCUMENTS)
    free, near = moved(stream), moved(stream, l2=5.0, l2_towards="start")
    assert 0 < near < 0.5 * free
    assert moved(stream, l2=5.0) > near  # zero lies elsewhere
    assert moved(stream, l2=0.0, l2_towards="start") == free


def test_a_resumed_run_knows_its_start(tmp_path: Path) -> None:
    stream = Stream.of_words(DOCUMENTS)
    recipe = sc.SiameseCBOW(**{**RECIPE.settings(), "l2": 1.0, "l2_towards": "start", "epochs": 3})  # type: ignore[arg-type]
    plan = plan_of(recipe, stream)
    state = first_state(recipe, plan.vocabulary)
    np.testing.assert_array_equal(state.left.start, state.left.vectors)
    assert state.left.start is not state.left.vectors
    assert "vectors.start" not in state.arrays()
