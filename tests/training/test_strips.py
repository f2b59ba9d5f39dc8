"""Rows in strips are the same rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_cbow.machine.intrinsics import aligned
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from siamese_cbow.training.state import first_state
from siamese_cbow.training.strips import StripLayout, joined, layout_of, spread
from siamese_cbow.words.vocabulary import Vocabulary

PAPER = SiameseCBOW.paper()


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (PAPER, StripLayout(2, 160)),
        (replace(PAPER, dim=100), StripLayout(1, 112)),
        (replace(PAPER, optimizer="adam"), StripLayout(2, 160)),
        (replace(PAPER, optimizer="adagrad"), StripLayout(1, 304)),
        (replace(PAPER, clip_gradient=1.0), StripLayout(1, 304)),
        (SiameseCBOW(), StripLayout(1, 304)),
    ],
)
def test_recipes_that_move_numbers_one_by_one_have_strips(recipe, expected):
    assert layout_of(recipe) == expected


@given(st.integers(1, 2), st.integers(1, 3), st.integers(1, 9), st.data())
def test_spreading_and_joining(n_strips, lines, n_rows, data):
    layout = StripLayout(n_strips, 16 * lines)
    dim = data.draw(st.integers(layout.width * (n_strips - 1) + 1, layout.width * n_strips))
    rows = np.random.default_rng(dim).standard_normal((n_rows, dim), np.float32)
    vectors = aligned((n_strips * n_rows, layout.width))
    half = n_rows // 2
    spread(rows[:half], 0, vectors, layout)
    spread(rows[half:], half, vectors, layout)
    np.testing.assert_array_equal(joined(vectors, layout, dim), rows)
    assert np.count_nonzero(vectors) == np.count_nonzero(rows)


def test_a_training_starts_from_the_same_rows_in_any_layout():
    words = Vocabulary.of_words([f"w{i}" for i in range(5000)])
    strips, whole = first_state(PAPER, words), first_state(replace(PAPER, optimizer="adagrad"), words)
    assert strips.left.vectors.shape == (10_000, 160)
    np.testing.assert_array_equal(strips.vectors, whole.vectors)
