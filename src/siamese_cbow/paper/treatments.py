"""The same for every system: what is done to word vectors after learning, so that only the objectives differ.

    learnt    rows as the algorithm leaves them; unknown words are left out
    finished  words weighted by their information, lengths square-rooted, two common directions taken out
    full      beside that, words of one stem share a part, rare words are drawn towards what their letters say, and
              unknown words have vectors of their n-grams: all that the contrastive recipe has beside its objective,
              given to rows that are learnt already

What is no table of word vectors (skip-thought) has the first only, and so has the contrastive recipe, which does all of
it while it learns.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.model.model import Model
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.recipe import Recipe
from siamese_cbow.training.stems import group, word_stems
from siamese_cbow.transform.postprocessing import folded
from siamese_cbow.transform.spelling import drawn_to_letters
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
    """The system in each treatment that it can have and that is wanted."""
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
    stems = group(list(word_stems(vocabulary, language)))
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
