"""What a model thinks of words: which are short and long, and which are near to pronouns."""

from __future__ import annotations

from typing import Any

import numpy as np

from siamese_cbow.model.geometry import lengths
from siamese_cbow.model.model import Model
from siamese_cbow.words.vocabulary import Vocabulary

NEAR = 0.6  # the paper's bound for a related word
SHOWN = 10
FREQUENT = 1000  # the rarest words have hardly left their start: their norms say nothing
OF_THE_PAPER = ("her", "me")
PRONOUNS = frozenset(
    [
        *("i", "you", "he", "she", "it", "we", "they", "me", "him", "her", "us", "them", "my", "your", "his", "its"),
        *("our", "their", "mine", "yours", "hers", "ours", "theirs"),
    ]
)
N_QUERIES = 8


def queries(vocabulary: Vocabulary) -> list[str]:
    """The words to look up: the paper's `her` and `me`, then the most frequent pronouns there are."""
    there = [word for word in OF_THE_PAPER if word in vocabulary]
    frequent = [word for word in vocabulary.words[:5000] if word.lower() in PRONOUNS and word not in there]
    return (there + frequent)[:N_QUERIES]


def look_at_words(model: Model) -> dict[str, Any]:
    """Norms and neighbours, for JSON.

    -> {"norms": {"all": {"lowest": [["of", 0.1], ...], "highest": ...}, "frequent": ...},
        "related": {"her": {"n_near": 3, "near": [["she", 0.8], ...], "nearest": ["she", 0.8]}}}
    """
    norms = lengths(model.vectors)
    return {
        "norms": {"all": _extremes(model, norms), "frequent": _extremes(model, norms[:FREQUENT])},
        "related": {word: _related(model, word) for word in queries(model.vocabulary)},
    }


def _extremes(model: Model, norms: Any) -> dict[str, list[tuple[str, float]]]:
    order = np.argsort(norms, kind="stable")

    def shown(ids: Any) -> list[tuple[str, float]]:
        return [(model.vocabulary.words[i], round(float(norms[i]), 6)) for i in ids]

    return {"lowest": shown(order[:SHOWN]), "highest": shown(order[::-1][:SHOWN])}


def _related(model: Model, word: str) -> dict[str, Any]:
    found = model.neighbours(word, k=max(1, len(model.vocabulary) - 1))
    near = [(other, round(cosine, 4)) for other, cosine in found if cosine > NEAR]
    first = (found[0][0], round(found[0][1], 4)) if found else None
    return {"n_near": len(near), "near": near[:SHOWN], "nearest": first}
