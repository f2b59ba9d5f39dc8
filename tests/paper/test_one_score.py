"""A set has one score, whoever computes it: `evaluate`, the significance tests, the report, the benchmarks."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siamese_cbow.evaluation.evaluate import evaluate
from siamese_cbow.evaluation.pair_sets import PROTOCOLS, PairSet, Protocol
from siamese_cbow.evaluation.scores import Scores
from siamese_cbow.evaluation.significance import compare
from siamese_cbow.model.model import Model
from siamese_cbow.paper.pieces import cosines_to_json, pearsons, scores_from_json
from siamese_cbow.paper.view import View
from siamese_cbow.paper.work_plan import Results
from siamese_cbow.words.vocabulary import Vocabulary

WORDS = [f"w{i}" for i in range(30)]
RNG = np.random.default_rng(3)


def sentence() -> str:
    return " ".join(RNG.choice([*WORDS, "unknown"], 4))


def pair_set(dataset: str, gold: Any, pairs: Any = None) -> PairSet:
    return PairSet(2015, dataset, tuple(pairs or [(sentence(), sentence()) for _ in gold]), np.array(gold, float))


# Reordered words: the cosine is 1 up to its last digits. Ranks depend on these, so all must keep them, or none.
TURNED = [
    ("w1 w2 w3", "w3 w1 w2"),
    ("w4 w5", "w5 w4"),
    ("w6 w7 w8", "w8 w7 w6"),
    ("w1 w9 w8", "w8 w9 w1"),
    ("w1", "w2"),
]
SETS = [
    pair_set("unscored", [5, np.nan, 3, 2, np.nan, 1, 0, 4], [("unknown", "w1"), ("w2 unknown", "w3 zzz")] * 4),
    pair_set("turned", [1, 4, 3, np.nan, 2], TURNED),
    pair_set("constant gold", [2, 2, 2, 2]),
    pair_set("constant but for the unscored", [3, np.nan, 3, 3]),
    pair_set("constant cosines", [1, 2, np.nan, 4], [("w1", "w1")] * 4),
    replace(pair_set("test", list(RNG.uniform(0, 5, 40))), collection="STS-Benchmark"),
]


def model(seed: int) -> Model:
    rows = np.random.default_rng(seed).normal(size=(len(WORDS), 7)).astype(np.float32)
    return Model(Vocabulary.of_words(WORDS), rows)


def as_reported(system: Model, protocol: Protocol) -> Scores:
    """The scores in a report, after a round trip through its cache."""
    rows = json.loads(json.dumps(cosines_to_json(system, SETS, "model"), allow_nan=False))
    results = Results(systems={"siamese": [{"cosines": {"learnt": rows}}]})
    return View(results, SETS, ("table1",)).scores("siamese", protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_report_says_what_an_evaluation_says(protocol: Protocol) -> None:
    evaluated = evaluate(model(1), SETS, protocol=protocol).to_dict()
    reported = as_reported(model(1), protocol).to_dict()
    assert {**evaluated, "model": ""} == {**reported, "model": ""}
    notes = {row["dataset"]: row.get("note", "") for row in reported["sets"]}
    assert "every pair has the same gold score, 2" in notes["constant gold"]
    assert ("gold score, 3" in notes["constant but for the unscored"]) == (protocol == "official")
    assert "every pair has the same cosine, 1.0000" in notes["constant cosines"]
    counts = {row["dataset"]: (row["n_pairs"], row["n_unknown"], row["n_empty"]) for row in reported["sets"]}
    assert counts["unscored"] == ((6, 9, 3) if protocol == "official" else (8, 12, 4))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tests_points_and_benchmarks_have_the_same_figures(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    mean_pearson = importlib.import_module("benchmarks.scoring").mean_pearson
    scores = evaluate(model(1), SETS, protocol=protocol)
    rows = cosines_to_json(model(1), SETS, "model")
    assert pearsons(rows, SETS)[protocol] == [score.pearson for score in scores.sets]
    again = scores_from_json(rows, SETS, protocol, "model")
    comparison = compare(again, evaluate(model(2), SETS, protocol=protocol), bootstrap=5)
    others = evaluate(model(2), SETS, protocol=protocol).sets
    for row, first, second in zip(comparison.sets, scores.sets, others, strict=True):
        if first.pearson is not None and second.pearson is not None:
            assert row.difference == first.pearson - second.pearson
    semeval = [score for score in scores.sets if score.pair_set.collection == "STS"]
    assert mean_pearson(semeval, 2015) == scores.mean_pearson
    with pytest.raises(ValueError, match="no set of"):
        mean_pearson(scores.sets, 1999)
