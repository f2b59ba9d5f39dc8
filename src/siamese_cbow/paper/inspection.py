"""A look at a finished system beside its scores: its words, and whether it has learnt which sentence comes next."""

from __future__ import annotations

from typing import Any

import numpy as np

from siamese_cbow.evaluation.evaluate import System
from siamese_cbow.evaluation.verdicts import NEAR
from siamese_cbow.model.geometry import lengths, units
from siamese_cbow.model.model import Model
from siamese_cbow.stream.stream import Stream
from siamese_cbow.words.vocabulary import Vocabulary

N_SHOWN = 10  # words
FREQUENT = 1000  # the rarest words have hardly left their start: their norms say nothing
OF_THE_PAPER = ("her", "me")
PRONOUNS = frozenset(
    [
        *("i", "you", "he", "she", "it", "we", "they", "me", "him", "her", "us", "them", "my", "your", "his", "its"),
        *("our", "their", "mine", "yours", "hers", "ours", "theirs"),
    ]
)
N_QUERIES = 8
N_NEXT, N_AMONG = 300, 100  # sentences whose next one is looked for, among so many


def look_at_words(model: Model) -> dict[str, Any]:
    """Which words are short and long, and which are near to pronouns, for JSON.

    -> {"norms": {"all": {"lowest": [["of", 0.1], ...], "highest": ...}, "frequent": ...},
        "related": {"her": {"n_near": 3, "near": [["she", 0.8], ...], "nearest": ["she", 0.8]}}}
    """
    norms = lengths(model.vectors)
    return {
        "norms": {"all": _extremes(model, norms), "frequent": _extremes(model, norms[:FREQUENT])},
        "related": {word: _related(model, word) for word in _queries(model.vocabulary)},
    }


def _queries(vocabulary: Vocabulary) -> list[str]:
    """The words to look up: the paper's `her` and `me`, then the most frequent pronouns there are."""
    there = [word for word in OF_THE_PAPER if word in vocabulary]
    frequent = [word for word in vocabulary.words[:5000] if word.lower() in PRONOUNS and word not in there]
    return (there + frequent)[:N_QUERIES]


def _extremes(model: Model, norms: Any) -> dict[str, list[tuple[str, float]]]:
    order = np.argsort(norms, kind="stable")

    def named(ids: Any) -> list[tuple[str, float]]:
        return [(model.vocabulary.words[i], round(float(norms[i]), 6)) for i in ids]

    return {"lowest": named(order[:N_SHOWN]), "highest": named(order[::-1][:N_SHOWN])}


def _related(model: Model, word: str) -> dict[str, Any]:
    neighbours = model.neighbours(word, k=max(1, len(model.vocabulary) - 1))
    near = [(other, round(cosine, 4)) for other, cosine in neighbours if cosine > NEAR]
    nearest = (neighbours[0][0], round(neighbours[0][1], 4)) if neighbours else None
    top = [(other, round(cosine, 4)) for other, cosine in neighbours[:N_SHOWN]]
    return {"n_near": len(near), "near": near[:N_SHOWN], "nearest": nearest, "top": top}


def next_sentence_ranks(system: System, stream: Stream) -> list[float]:
    """Of some sentences the place of the next one among 100 by cosine, from 0 (first) to 1 (last); chance is .5.

    The sentences are of the text that was learnt from: this asks whether anything was learnt, not how well.
    """
    rng = np.random.default_rng(1)
    has_next = np.setdiff1d(np.arange(stream.n_sentences - 1), stream.documents[1:] - 1)
    if not len(has_next):
        return []
    first = rng.choice(has_next, min(N_NEXT, len(has_next)), replace=False)
    others = rng.integers(stream.n_sentences, size=(len(first), N_AMONG - 1))
    places = np.unique(np.concatenate([first, first + 1, others.ravel()]))
    words, bounds = stream.vocabulary.words, stream.sentences
    texts = [" ".join(words[i] for i in stream.ids[bounds[place] : bounds[place + 1]]) for place in places.tolist()]
    rows = units(np.asarray(system.encode(texts), np.float32))
    asked, right, wrong = (rows[np.searchsorted(places, chosen)] for chosen in (first, first + 1, others))
    cosines = np.einsum("nd,nd->n", asked, right)
    among = np.einsum("nd,nkd->nk", asked, wrong)
    before = (among > cosines[:, None]).sum(axis=1) + 0.5 * (among == cosines[:, None]).sum(axis=1)
    return [round(float(share), 5) for share in before / (N_AMONG - 1)]
