"""Verdicts: decided by an interval over pairs and training runs, in the same way for every claim."""

from __future__ import annotations

import numpy as np
import pytest

from siamese_cbow.evaluation.correlation import Interval
from siamese_cbow.evaluation.evaluate import evaluate
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.verdicts import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Decision,
    Resampled,
    crowding,
    decide,
    decide_by_runs,
    decide_statistic,
    every,
    is_collapsed,
    item_replicates,
    one_run_each,
    resampled_pearsons,
)

RNG = np.random.default_rng(1)


@pytest.mark.parametrize(("shift", "verdict"), [(5.0, HOLDS), (-5.0, FAILS), (0.0, UNDECIDED)])
def test_an_interval_decides(shift: float, verdict: str) -> None:
    replicates = RNG.normal(size=500) + shift
    assert decide(shift, replicates, above=0, n_runs=3).verdict == verdict
    assert decide(shift, replicates, above=0, n_runs=2).verdict == UNDECIDED
    assert "2 training runs, 3 needed" in decide(shift, replicates, above=0, n_runs=2).why
    assert decide(None, replicates, above=0, n_runs=3).verdict == UNDECIDED


def test_a_count_that_equals_its_bound_does_not_hold() -> None:
    assert decide(3, np.full(9, 3.0), above=3, n_runs=3).verdict == FAILS
    assert decide(3, np.full(9, 3.0), above=2.5, n_runs=3).verdict == HOLDS


def test_every_training_must_agree() -> None:
    assert decide_by_runs([7, 8, 6], above=5.5).verdict == HOLDS
    assert decide_by_runs([7, 8, 5], above=5.5).verdict == UNDECIDED
    assert decide_by_runs([1, 2, 0], above=5.5).verdict == FAILS
    assert decide_by_runs([7, 8], above=5.5).verdict == UNDECIDED
    assert decide_by_runs([], above=0).verdict == UNDECIDED


def test_what_would_hold_is_held_back_and_what_fails_is_not() -> None:
    assert Decision(HOLDS).but("collapsed").verdict == UNDECIDED
    assert Decision(HOLDS).but("collapsed").why == "collapsed"
    assert Decision(HOLDS).but("").verdict == HOLDS
    assert Decision(FAILS).but("collapsed").verdict == FAILS


def test_several_parts_hold_together() -> None:
    assert every([Decision(HOLDS), Decision(HOLDS)]) == HOLDS
    assert every([Decision(HOLDS), Decision(UNDECIDED)]) == UNDECIDED
    assert every([Decision(UNDECIDED), Decision(FAILS)]) == FAILS
    assert every([]) == UNDECIDED


class Shared:
    """Cosines with a chosen amount of noise: the first number of a sentence is its meaning."""

    def __init__(self, noise: float, seed: int) -> None:
        self._noise, self._rng = noise, np.random.default_rng(seed)

    def encode(self, sentences: list[str], /) -> np.ndarray:
        angles = np.array([float(sentence.split()[0]) for sentence in sentences])
        angles = angles + self._noise * self._rng.normal(size=len(angles))
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def pair_set(name: str, n: int = 60) -> PairSet:
    gold = np.random.default_rng(len(name)).uniform(0, 5, n)
    return PairSet(2014, name, tuple((f"{i} a", f"{i + (5 - g) / 5:.5f} b") for i, g in enumerate(gold)), gold)


def test_resamples_are_paired_and_trainings_are_drawn() -> None:
    sets = [pair_set("one"), pair_set("other")]
    runs = [evaluate(Shared(0.05, seed), sets) for seed in (1, 2, 3)]
    again = resampled_pearsons([runs[0], runs[0], runs[1]], n=50)
    assert again.shape == (3, 50, 2)
    np.testing.assert_array_equal(again[0], again[1])  # the same pairs for all systems
    figures = np.array([[score.pearson for score in run.sets] for run in runs], np.float64)
    every_run = resampled_pearsons(runs, n=400)
    np.testing.assert_allclose(every_run.mean(axis=1), figures, atol=0.02)
    drawn = one_run_each("x", every_run)
    assert drawn.shape == (400, 2)
    shares = [(drawn[:, 0] == run[:, 0]).mean() for run in every_run]
    assert all(0.2 < share < 0.5 for share in shares)


def test_better_is_distinguished_from_worse() -> None:
    sets = [pair_set("one"), pair_set("other")]

    def system(noise: float, name: str) -> Resampled:
        runs = [evaluate(Shared(noise, seed), sets) for seed in (1, 2, 3)]
        figures = np.array([[score.pearson for score in run.sets] for run in runs], np.float64)
        return Resampled(figures, one_run_each(name, resampled_pearsons(runs)))

    good, bad = system(0.02, "good"), system(0.5, "bad")
    for first, second, verdict in ((good, bad, HOLDS), (bad, good, FAILS), (good, good, UNDECIDED)):
        decision = decide_statistic(lambda a, b: (a - b).mean(axis=-1), first, second, above=0)
        assert decision.verdict == (verdict if first is not second else FAILS)
        assert isinstance(decision.interval, Interval)


def test_collapse_is_seen() -> None:
    healthy = RNG.normal(size=(300, 50)).astype(np.float32)
    assert crowding(healthy) == 0
    together = healthy * 0.1 + 1
    assert crowding(together.astype(np.float32)) > 0.99
    assert is_collapsed(crowding(together.astype(np.float32)))
    assert not is_collapsed(0.0)
    assert not is_collapsed(None)
    assert crowding(np.zeros((3, 4), np.float32)) == 1


def test_items_are_drawn_like_pairs() -> None:
    items = np.stack([np.arange(200) % 2, np.ones(200)]).astype(np.float64)
    means = item_replicates("x", items, n=300)
    assert means.shape == (300,)
    assert set(np.round(means[means > 0.9], 12)) == {1.0}
    assert abs(means[means < 0.9].mean() - 0.5) < 0.02
