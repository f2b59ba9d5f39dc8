"""Post-processing done to the rows of a model, and undone again.

    row' = (weight x row - mean) A        A = the identity, but for some directions u that are scaled by a factor f

A direction with factor 0 is removed, and then a row's part along it can't be computed back: it is kept beside the
model, a number a word and direction. All else is undone by arithmetic, exact up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.transform.moments import Moments, components_of, count_moments, sentence_moments
from siamese_cbow.transform.settings import Postprocess
from siamese_cbow.transform.weights import Floats, idf, sentence_counts, sif, usif

if TYPE_CHECKING:
    from siamese_cbow.stream.stream import Stream
    from siamese_cbow.words.vocabulary import Vocabulary

ROWS_AT_A_TIME = 8_192
MEAN_LENGTH = 20.0  # words of a sentence, where no stream says it


@dataclass(frozen=True, eq=False)
class Undo:
    """What was done to the rows of a model, so that it can be undone.

    weights     (n_words,)
    mean        (dim,) taken off the weighted rows
    directions  (k, dim) of length 1, orthogonal
    factors     (k,) what each direction was scaled by; those with factor 0 stand first
    removed     (n_words, number of zeros among the factors) the rows' parts along these
    """

    weights: NDArray[np.float32]
    mean: NDArray[np.float64]
    directions: NDArray[np.float64]
    factors: NDArray[np.float64]
    removed: NDArray[np.float32]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as a file holds them."""
        names = ("weights", "mean", "directions", "factors", "removed")
        return {name: np.ascontiguousarray(getattr(self, name)) for name in names}

    def fits(self, n_words: int, dim: int) -> bool:
        """Whether the arrays belong to a model of this size."""
        k, zeros = len(self.factors), int((self.factors == 0).sum())
        shapes = [(n_words,), (dim,), (k, dim), (k,), (n_words, zeros)]
        return [array.shape for array in self.arrays().values()] == shapes

    def rows(self, vectors: Vectors) -> Vectors:
        """The rows as they were before."""
        zeros = self.removed.shape[1]
        scaled = self.directions[zeros:]
        before = np.empty(vectors.shape, np.float32)
        for part in _parts(len(vectors)):
            rows = vectors[part].astype(np.float64)
            rows += ((rows @ scaled.T) * (1 / self.factors[zeros:] - 1)) @ scaled
            rows += self.removed[part] @ self.directions[:zeros]
            rows += self.mean
            before[part] = rows / self.weights[part, np.newaxis]
        return before


def folded(
    vectors: Vectors, vocabulary: Vocabulary, settings: Postprocess, stream: Stream | None
) -> tuple[Vectors, Undo]:
    """The rows of a model (n_words, dim) with the settings folded into them, and how to undo it.

    stream  where mean and directions of sentences are looked at; without it they are drawn from the words' counts
    """
    dim = vectors.shape[1]
    if settings.components >= dim:
        raise SettingsError(f"components is {settings.components}; expected 0 to {dim - 1}, less than dim")
    weights = word_weights(vocabulary, settings, stream).astype(np.float32)
    rows: Vectors = vectors * weights[:, None]
    mean, directions, factors = np.zeros(dim), np.zeros((0, dim)), np.zeros(0)
    if settings.looks_at_sentences:
        moments = _moments(rows, vocabulary, settings, stream)
        if settings.center:
            mean, moments = moments.mean, moments.centered()
        directions, factors = _scaling(moments, settings)
    removed = np.empty((len(rows), int((factors == 0).sum())), np.float32)
    for part in _parts(len(rows)):
        wide = rows[part].astype(np.float64) - mean
        along = wide @ directions.T
        rows[part] = wide + (along * (factors - 1)) @ directions
        removed[part] = along[:, : removed.shape[1]]
    return rows, Undo(weights, mean, directions, factors, removed)


def _parts(n: int) -> list[slice]:
    """Some rows at a time: float64 of all of them would take twice the memory of the model."""
    return [slice(start, start + ROWS_AT_A_TIME) for start in range(0, n, ROWS_AT_A_TIME)]


def word_weights(vocabulary: Vocabulary, settings: Postprocess, stream: Stream | None) -> Floats:
    """The weight of each word of a model, (n_words,)."""
    if settings.weights == "none":
        return np.ones(len(vocabulary))
    if settings.weights == "idf":
        if stream is None:
            raise InputError("weights are idf, which counts sentences; expected a stream (or use sif)")
        return idf(sentence_counts(stream), stream.n_sentences)[ids_in(vocabulary, stream)]
    ids = slice(None) if stream is None else ids_in(vocabulary, stream)
    counts = vocabulary.counts if stream is None else stream.vocabulary.counts
    if not counts.any():
        raise InputError(f"weights are {settings.weights} and the model's words have no counts; give a stream")
    if settings.weights == "sif":
        return sif(counts, settings.a)[ids]
    return usif(counts, MEAN_LENGTH if stream is None else stream.n_tokens / stream.n_sentences)[ids]


def ids_in(vocabulary: Vocabulary, stream: Stream) -> NDArray[np.int64]:
    """The stream's id of each word of the model."""
    index = stream.vocabulary.index
    try:
        return np.array([index[word] for word in vocabulary.words], dtype=np.int64)
    except KeyError as error:
        raise InputError(f"the word {error} of the model is not in the stream; weights need its count") from None


def _moments(rows: Vectors, vocabulary: Vocabulary, settings: Postprocess, stream: Stream | None) -> Moments:
    if stream is not None:
        index = stream.vocabulary.index
        ids = np.array([index.get(word, -1) for word in vocabulary.words], dtype=np.int64)
        if not (ids >= 0).any():
            raise InputError("the stream has none of the model's words; expected the text it was trained on, or alike")
        return sentence_moments(rows, ids, stream, seed=settings.seed)
    if not vocabulary.counts.any():
        raise InputError("the model's words have no counts to estimate a mean or directions from; give a stream")
    return count_moments(rows, vocabulary.counts, MEAN_LENGTH)


def _scaling(moments: Moments, settings: Postprocess) -> tuple[Floats, Floats]:
    """Directions (k, dim) and what to scale each by, (k,); zeros first."""
    n = settings.components
    if not settings.whiten:
        found = components_of(moments, n)
        return found.directions, _left(found.shares, settings)
    found = components_of(moments)
    factors = np.ones(len(found.strengths))
    shares = found.strengths[:n] / max(float(found.strengths[:n].sum()), np.finfo(np.float64).tiny)
    factors[:n] = _left(shares, settings)
    # Directions in which sentences hardly differ would be blown up beyond all bounds: at most a thousandfold.
    strengths = np.maximum(found.strengths, 1e-6 * found.strengths.max(initial=0) + np.finfo(np.float64).tiny)
    # Relative to the strongest one that is left, so that lengths stay what they were, about.
    return found.directions, factors * (strengths / strengths[min(n, len(strengths) - 1)]) ** (-settings.whiten / 2)


def _left(shares: Floats, settings: Postprocess) -> Floats:
    """What is left of directions that are removed: nothing, or by share [.7, .3] -> [.3, .7]; next to nothing is 0."""
    left = 1 - shares if settings.by_share else np.zeros_like(shares)
    return np.where(left < 1e-6, 0, left)
