"""Post-processing applied alike to every system, so that only the objectives differ.

    learnt    rows as the algorithm leaves them; unknown words are ignored
    finished  words weighted by their information, lengths replaced by their square root, two common directions removed
    full      in addition, words with the same stem share a component, rare words move towards the vectors of their
              n-grams, and unknown words get vectors from their n-grams: everything the contrastive recipe adds to its
              objective, applied to trained rows

Systems without a table of word vectors (skip-thought) have only the first, and so does the contrastive recipe, whose
training does all of this. The second half of this module inspects a trained system beyond its scores: its words, and
whether it has learnt which sentence comes next. Nothing is trained here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.evaluation.evaluate import System, unit_vectors
from siamese_cbow.evaluation.verdicts import NEAR
from siamese_cbow.model.geometry import lengths
from siamese_cbow.model.model import Model
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.recipe import Recipe
from siamese_cbow.training.stems import group
from siamese_cbow.transform.postprocessing import drawn_to_letters, folded
from siamese_cbow.words.stemmers import word_stems
from siamese_cbow.words.vocabulary import Vocabulary

Treatment: TypeAlias = Literal["learnt", "finished", "full"]
TREATMENTS: tuple[Treatment, ...] = get_args(Treatment)
LABELS: dict[Treatment, str] = {
    "learnt": "as learnt",
    "finished": "the same finishing for all",
    "full": "stems, finishing and n-grams for all",
}
FINISHING, SPELLING = Recipe().end, Recipe().spelling


def treated(system: Any, stream: Stream, wanted: Collection[Treatment] = TREATMENTS) -> dict[Treatment, Any]:
    """The system in each wanted treatment that it supports."""
    treatments: dict[Treatment, Any] = {"learnt": system}
    if isinstance(system, Model) and "finished" in wanted:
        treatments["finished"] = _finished(system, system.vectors)
    if isinstance(system, Model) and "full" in wanted:
        rows = with_stems(system.vectors, system.vocabulary, stream.language)
        treatments["full"] = _spelled(_finished(system, rows)).with_fallback("ngrams")
    return treatments


def _finished(model: Model, vectors: Vectors) -> Model:
    rows, _ = folded(vectors, model.vocabulary, FINISHING)
    return Model(model.vocabulary, rows, model.tokenizer, {"corpus": model.info.corpus})


def _spelled(model: Model) -> Model:
    rows = model.vectors.copy()
    ngrams = drawn_to_letters(model.vocabulary, rows, SPELLING)
    return Model(model.vocabulary, rows, model.tokenizer, model.info, ngrams=ngrams)


def with_stems(vectors: Vectors, vocabulary: Vocabulary, language: str) -> Vectors:
    """Each row plus the mean of the rows of its stem: rows [[4], [6]] of play and plays -> [[9], [11]]."""
    stems = group(list(word_stems(vocabulary.words, language, vocabulary.languages)))
    rows = np.array(vectors, np.float32)
    if not stems.n_shared:
        return rows
    shares = np.flatnonzero(stems.rows >= 0)
    stem_of = stems.rows[shares] - len(rows)
    sums = np.zeros((stems.n_shared, rows.shape[1]), np.float64)
    np.add.at(sums, stem_of, rows[shares])
    means = sums / np.bincount(stem_of, minlength=stems.n_shared)[:, None]
    rows[shares] += means[stem_of].astype(np.float32)
    return rows


N_SHOWN = 10  # words
FREQUENT = 1000  # words; rare ones have hardly moved from their initialisation, so their norms say nothing
OF_THE_PAPER = ("her", "me")
PRONOUNS = frozenset(
    [
        *("i", "you", "he", "she", "it", "we", "they", "me", "him", "her", "us", "them", "my", "your", "his", "its"),
        *("our", "their", "mine", "yours", "hers", "ours", "theirs"),
    ]
)
N_QUERIES = 8
N_NEXT, N_AMONG = 300, 100  # number of sentences whose successor is ranked, and among how many


def look_at_words(model: Model) -> dict[str, Any]:
    """Which words have short and long vectors, and which are close to pronouns, as JSON values.

    -> {"norms": {"all": {"lowest": [["of", 0.1], ...], "highest": ...}, "frequent": ...},
        "related": {"her": {"n_near": 3, "near": [["she", 0.8], ...], "nearest": ["she", 0.8]}}}
    """
    norms = lengths(model.vectors)
    return {
        "norms": {"all": _extremes(model, norms), "frequent": _extremes(model, norms[:FREQUENT])},
        "related": {word: _related(model, word) for word in _queries(model.vocabulary)},
    }


def _queries(vocabulary: Vocabulary) -> list[str]:
    """The words to look up: the paper's `her` and `me`, then the most frequent pronouns of the vocabulary."""
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
    """For a sample of sentences, the rank of the next one among 100 by cosine: 0 is first, 1 last, chance .5.

    The sentences come from the training text: this tests whether anything was learnt, not how well it generalises.
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
    rows = unit_vectors(system, texts)
    asked, right, wrong = (rows[np.searchsorted(places, chosen)] for chosen in (first, first + 1, others))
    cosines = np.einsum("nd,nd->n", asked, right)
    among = np.einsum("nd,nkd->nk", asked, wrong)
    before = (among > cosines[:, None]).sum(axis=1) + 0.5 * (among == cosines[:, None]).sum(axis=1)
    return [round(float(share), 5) for share in before / (N_AMONG - 1)]
