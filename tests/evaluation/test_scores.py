"""Helpers behind every number: means, marks and displayed figures."""

from __future__ import annotations

import json

import numpy as np
import pytest

from siamese_cbow.evaluation.correlation import Interval
from siamese_cbow.evaluation.pair_sets import PairSet, counting
from siamese_cbow.evaluation.score_tables import best_of, both_numbers
from siamese_cbow.evaluation.scores import SetScore, headline, mean


def pair_set(collection: str = "STS", gold: tuple[float, ...] = (4, np.nan, 2, 1)) -> PairSet:
    return PairSet(2014, "x", (("a", "b"),) * len(gold), np.array(gold), collection)  # type: ignore[arg-type]


def test_a_mean_leaves_out_what_is_undefined() -> None:
    assert mean([0.4, None, 0.8]) == pytest.approx(0.6)
    assert mean([None]) is None
    assert mean([]) is None


def test_the_headline_is_semevals_where_there_is_any() -> None:
    assert headline([pair_set("SICK"), pair_set(), pair_set("STS-Benchmark"), pair_set()]) == [1, 3]
    assert headline([pair_set("SICK"), pair_set("STS-Benchmark")]) == [0, 1]


def test_which_pairs_count() -> None:
    assert counting(pair_set(), "official").tolist() == [True, False, True, True]
    assert counting(pair_set(), "paper").all()
    assert [pair_set().group, pair_set("SICK").group] == ["2014", "SICK"]


def test_figures_as_they_are_shown() -> None:
    assert both_numbers(0.4379, 0.4311, "†") == ".4379† (.4311)"
    assert both_numbers(None, None) == "undefined"
    assert best_of([0.61234, 0.61231, 0.6]) == [True, True, False]
    assert best_of([None, -0.1]) == [False, True]
    assert best_of([None, None]) == [False, False]
    assert json.dumps(Interval(0.61, 0.68)) == "[0.61, 0.68]"


def test_a_score_is_made_from_finished_cosines() -> None:
    three = pair_set(gold=(4, 2, 1))
    score = SetScore(three, np.array([0.9, 0.4, 0.2]), np.array([False, True, False]))
    assert (score.name, score.n_pairs, score.n_empty, score.n_unknown) == ("2014 x", 3, 1, None)
    assert score.spearman == pytest.approx(1)
    assert score.note == ""
    flat = SetScore(pair_set(gold=(3, 3, 3)), score.predictions, score.is_empty)
    assert (flat.pearson, flat.note) == (None, "undefined: every pair has the same gold score, 3")
