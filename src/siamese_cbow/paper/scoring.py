"""Scores that survive in JSON: cosines of all released pairs, from which any protocol and any test can be redone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from siamese_cbow.evaluation.correlation import Floats, is_constant, pearson, spearman
from siamese_cbow.evaluation.evaluate import System, evaluate
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.protocol import PROTOCOLS, Protocol, counted
from siamese_cbow.evaluation.scores import Scores, SetScore


def predict(system: System, sets: Sequence[PairSet], name: str) -> Scores:
    """The cosines of all released pairs: the protocol `paper`, which has them all."""
    return evaluate(system, sets, protocol="paper", name=name)


def cosines_to_json(scores: Scores) -> list[dict[str, Any]]:
    """What a cache keeps of a system: for each set its cosines, and what was unknown."""
    return [
        {
            "set": one.name,
            "n_unknown": one.n_unknown,
            "n_empty": one.n_empty,
            "cosines": [round(float(x), 8) for x in one.predictions],
        }
        for one in scores.sets
    ]


def scores_from_json(rows: Sequence[dict[str, Any]], sets: Sequence[PairSet], protocol: Protocol, name: str) -> Scores:
    """The scores under a protocol, from what `cosines_to_json` gave for the same sets."""
    found = []
    for row, pair_set in zip(rows, sets, strict=True):
        cosines = np.array(row["cosines"], dtype=np.float64)
        if protocol == "official":
            cosines = cosines[pair_set.scored]
        found.append(_set_score(counted(pair_set, protocol), cosines, row["n_unknown"], row["n_empty"]))
    return Scores(name, protocol, tuple(found))


def _set_score(pair_set: PairSet, cosines: Floats, n_unknown: int | None, n_empty: int) -> SetScore:
    return SetScore(
        year=pair_set.year,
        dataset=pair_set.dataset,
        collection=pair_set.collection,
        name=pair_set.name,
        predictions=cosines,
        gold=pair_set.gold,
        text=pair_set.text(),
        n_unknown=n_unknown,
        n_empty=n_empty,
        pearson=pearson(cosines, pair_set.gold),
        spearman=spearman(cosines, pair_set.gold),
        note="undefined: every pair has the same cosine" if is_constant(cosines) else "",
    )


def pearsons(scores: Scores, sets: Sequence[PairSet]) -> dict[str, list[float | None]]:
    """Pearson of each set under both protocols, and no more: {"official": [.66, ...], "paper": [.62, ...]}."""
    rows = cosines_to_json(scores)
    return {
        protocol: [one.pearson for one in scores_from_json(rows, sets, protocol, scores.system).sets]
        for protocol in PROTOCOLS
    }
