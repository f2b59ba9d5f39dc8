"""Rare words drawn towards what their letters say."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_cbow import SiameseCBOW, Stream, TextSettings, prepare
from siamese_cbow.model import geometry
from siamese_cbow.model.ngram_vectors import fitted
from siamese_cbow.transform.postprocessing import drawn_to_letters
from siamese_cbow.words.lookup import written_out
from siamese_cbow.words.unknown_words import key_of, ngrams
from siamese_cbow.words.vocabulary import Vocabulary
from siamese_cbow.words.word_parts import ngrams_of

WORDS = ["play", "plays", "playing", "house", "houses", "2019", "ä", "日本"]
COUNTS = [1_000_000, 100, 1, 5_000, 2, 3, 1, 7]
VOCABULARY = Vocabulary(WORDS, np.array(COUNTS))
RECIPE = SiameseCBOW(dim=12, epochs=1, batch_size=8, subsample=0.0)


def learnt(seed: int = 1) -> np.ndarray[Any, Any]:
    rows = np.random.default_rng(seed).normal(size=(len(WORDS), 12)).astype(np.float32)
    rows[4] = 0
    return rows


def cosines(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1) + 1e-12)


def test_the_formula() -> None:
    rows, before = learnt(), learnt()
    found = drawn_to_letters(VOCABULARY, rows, 10.0)
    assert found == fitted(VOCABULARY, before)
    for i, (word, count) in enumerate(zip(WORDS, COUNTS, strict=True)):
        length, spelled, share = np.linalg.norm(before[i]), found.row(word), 10 / (10 + count**0.5)
        if length:
            expected = (1 - share) * before[i] / length + share * spelled / np.linalg.norm(spelled)
            np.testing.assert_allclose(rows[i], expected * length / np.linalg.norm(expected), atol=1e-5)
    assert not rows[4].any()  # a word without weight stays that way


def test_frequent_words_stay_their_own() -> None:
    rows = learnt()
    drawn_to_letters(VOCABULARY, rows, 10.0)
    near = cosines(rows, learnt())
    assert near[0] > 0.999 > near[1] > near[2]


def test_the_same_bytes_whatever_is_worked_on_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, in_parts = learnt(), learnt()
    drawn_to_letters(VOCABULARY, whole, 10.0)
    monkeypatch.setattr(geometry.blocks, "__defaults__", (3,))
    drawn_to_letters(VOCABULARY, in_parts, 10.0)
    np.testing.assert_array_equal(whole, in_parts)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=5))
def test_ngrams_and_keys_of_many_words(words: list[str]) -> None:
    buckets, starts, keys = ngrams_of(*written_out(words), 1024)
    assert [buckets[a:b].tolist() for a, b in pairwise(starts)] == [ngrams(word, 1024) for word in words]
    assert keys.tolist() == [key_of(word) for word in words]


DOCUMENTS = [[f"{'abc'[i % 3]}word{(i * k) % 5} other{k}".split() for k in range(4)] for i in range(30)]


def test_training_ends_with_it_unless_it_started_from_other_rows(tmp_path: Path) -> None:
    stream = Stream.of_words(DOCUMENTS)
    plain = replace(RECIPE, spelling=0.0).train(stream)
    spelled, expected = RECIPE.train(stream), plain.vectors.copy()
    found = drawn_to_letters(plain.vocabulary, expected, RECIPE.spelling)
    np.testing.assert_array_equal(spelled.vectors, expected)
    assert spelled.ngrams == found
    spelled.save(tmp_path / "model")
    going_on = replace(RECIPE, init=str(tmp_path / "model"), learning_rate=1e-9)
    near = cosines(going_on.train(stream).vectors, spelled.vectors)
    assert near == pytest.approx(1, abs=1e-3)
    assert SiameseCBOW.paper().spelling == 0


def test_words_of_several_languages_are_left_alone() -> None:
    lines = [[f"haus{i % 7} alt{i % 3}", f"house{i % 7} old{i % 3}"] for i in range(60)]
    stream = prepare(lines, text=TextSettings(kind="groups", languages=("de", "en")))
    spelled, plain = RECIPE.train(stream), replace(RECIPE, spelling=0.0).train(stream)
    np.testing.assert_array_equal(spelled.vectors, plain.vectors)
