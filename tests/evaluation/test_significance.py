"""Significance tests between two systems, against published worked examples and simulations."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.evaluation.evaluate import evaluate
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.score_tables import comparison_table, number, probability, signed
from siamese_cbow.evaluation.significance import compare, paired_bootstrap, two_sided, wilcoxon, williams


@pytest.mark.parametrize(
    ("r_a", "r_b", "r_ab", "n", "t", "p"),
    [
        # Howell, Statistical Methods for Psychology, 6th edition, p. 262
        (0.80, 0.72, 0.89, 26, 1.361, 0.187),
        # Silver, Hittner and May 2006 (the program DEPCOR), as checked by the R package cocor
        (0.3, 0.4, 0.5, 100, -1.0767, 0.2843),
    ],
)
def test_williams_against_published_examples(r_a: float, r_b: float, r_ab: float, n: int, t: float, p: float) -> None:
    found_t, found_p = williams(r_a, r_b, r_ab, n)
    assert found_t == pytest.approx(t, abs=5e-4)
    assert found_p == pytest.approx(p, abs=5e-4)


def test_williams_at_the_edges() -> None:
    assert williams(0.5, 0.5, 1.0, 100) == (0.0, 1.0)
    assert williams(0.5, 0.4, 0.3, 3) == (0.0, 1.0)  # no degrees of freedom
    t, p = williams(1.0, 0.1, 0.1, 50)
    assert t > 5
    assert p < 0.001


def test_williams_and_bootstrap_hold_their_level_where_nothing_differs() -> None:
    rng = np.random.default_rng(1)
    rejected = np.zeros(2)
    for _ in range(200):
        gold = rng.normal(size=150)
        a, b = (0.6 * gold + 0.8 * rng.normal(size=150) for _ in range(2))
        r = np.corrcoef([gold, a, b])
        rejected[0] += williams(r[0, 1], r[0, 2], r[1, 2], 150)[1] < 0.05
        p = two_sided(paired_bootstrap(a, b, gold, n=200, rng=rng))
        rejected[1] += p is not None and p < 0.05
    assert (rejected <= 22).all()  # 10 expected of 200
    assert (rejected >= 2).all()


def test_the_tests_agree_where_something_differs() -> None:
    rng = np.random.default_rng(2)
    gold = rng.normal(size=300)
    a, b = gold + rng.normal(size=300), gold + 1.3 * rng.normal(size=300)
    r = np.corrcoef([gold, a, b])
    _, p = williams(r[0, 1], r[0, 2], r[1, 2], 300)
    differences = paired_bootstrap(a, b, gold, n=2000, rng=rng)
    again = two_sided(differences)
    assert again is not None
    assert again == pytest.approx(p, abs=0.03)
    assert differences.mean() == pytest.approx(r[0, 1] - r[0, 2], abs=0.01)


def test_wilcoxon_is_scipys_and_knows_nothing_of_quality() -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=100)
    b = a + rng.normal(size=100)
    assert wilcoxon(a, b) == stats.wilcoxon(a, b).pvalue
    assert wilcoxon(a, a) == 1.0
    assert wilcoxon(a, a + 0.1) < 0.0001  # the same ranking, the same correlation


def test_p_of_a_bootstrap() -> None:
    assert two_sided(np.full(999, 0.2)) == pytest.approx(0.002)
    assert two_sided(np.array([-1.0, 1.0, -1.0, 1.0])) == 1.0
    assert two_sided(np.full(3, np.nan)) is None


# comparing evaluated systems


class Noise:
    """Gives a pair (number, number) a cosine near its gold score."""

    def __init__(self, size: float, seed: int) -> None:
        self._size, self._rng = size, np.random.default_rng(seed)

    def encode(self, sentences: list[str]) -> Any:
        angles = np.array([0.0 if text == "x" else np.arccos(float(text)) for text in sentences])
        angles = angles + self._size * self._rng.normal(size=len(angles)) * (np.array(sentences) != "x")
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def number_set(dataset: str, seed: int, **more: Any) -> PairSet:
    gold = np.random.default_rng(seed).uniform(0, 5, size=120)
    return PairSet(2014, dataset, tuple(("x", f"{score / 5:.6f}") for score in gold), gold, **more)


@pytest.fixture
def sets() -> list[PairSet]:
    return [number_set("a", 1), number_set("b", 2), number_set("test", 3, collection="STS-Benchmark")]


def test_a_better_system_is_found_better(sets: list[PairSet]) -> None:
    good, bad = evaluate(Noise(0.1, 1), sets, name="good"), evaluate(Noise(0.9, 2), sets, name="bad")
    comparison = compare(good, bad, bootstrap=500)
    assert comparison.n_better == 3
    for row, a, b in zip(comparison.sets, good.sets, bad.sets, strict=True):
        assert a.pearson is not None
        assert b.pearson is not None
        assert row.difference == pytest.approx(a.pearson - b.pearson)
        assert row.williams_p is not None
        assert row.williams_p < 0.001
        assert row.bootstrap_p == pytest.approx(2 / 501)
        assert row.interval is not None
        assert 0 < row.interval.low < row.difference < row.interval.high
    # the mean leaves STS-Benchmark out, as the headline number does
    assert comparison.difference == pytest.approx((comparison.sets[0].difference + comparison.sets[1].difference) / 2)  # type: ignore[operator]
    json.dumps(comparison.to_dict(), allow_nan=False)
    assert comparison_table(comparison).row_count == 4
    backwards = compare(bad, good, bootstrap=500)
    assert backwards.difference == pytest.approx(-comparison.difference)  # type: ignore[operator]


def test_a_system_against_itself(sets: list[PairSet]) -> None:
    one = evaluate(Noise(0.3, 1), sets)
    comparison = compare(one, one, bootstrap=50)
    assert comparison.difference == 0
    assert comparison.bootstrap_p == 1
    assert all(row.wilcoxon_p == row.williams_p == 1 and not row.dagger for row in comparison.sets)


def test_the_same_seed_gives_the_same_figures(sets: list[PairSet]) -> None:
    a, b = evaluate(Noise(0.3, 1), sets), evaluate(Noise(0.4, 2), sets)
    assert compare(a, b, bootstrap=50) == compare(a, b, bootstrap=50)
    assert compare(a, b, bootstrap=50, seed=2) != compare(a, b, bootstrap=50)


class Same:
    def encode(self, sentences: list[str]) -> Any:
        return np.ones((len(sentences), 2))


def test_undefined_sets_are_left_out(sets: list[PairSet]) -> None:
    comparison = compare(evaluate(Noise(0.3, 1), sets), evaluate(Same(), sets), bootstrap=20)
    assert comparison.difference is None
    assert all(row.difference is None and row.williams_p is None for row in comparison.sets)
    json.dumps(comparison.to_dict(), allow_nan=False)


def test_other_pairs_are_refused(sets: list[PairSet]) -> None:
    one = evaluate(Noise(0.3, 1), sets)
    with pytest.raises(InputError, match="were evaluated differently"):
        compare(one, evaluate(Noise(0.3, 1), sets[:2]))
    with pytest.raises(InputError, match="protocol official, 3 sets; protocol paper, 3 sets"):
        compare(one, evaluate(Noise(0.3, 1), sets, protocol="paper"))
    with pytest.raises(SettingsError, match="bootstrap is 0"):
        compare(one, one, bootstrap=0)


def test_numbers_read_as_in_the_paper() -> None:
    assert (number(0.65341), number(-0.05), number(None), number(1.0)) == (".6534", "-.0500", "undefined", "1.0000")
    assert (signed(0.12), signed(-0.12)) == ("+.1200", "-.1200")
    assert (probability(1e-9), probability(0.0321), probability(None)) == ("< .0001", ".0321", "")
