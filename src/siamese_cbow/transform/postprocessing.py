"""Fold post-processing steps into trained rows, and undo them.

    row' = (weight x row - mean) A        A = the identity, except for directions u scaled by a factor f

The steps are applied to the rows once, so a plain mean of the rows, in any library, includes them. There are two uses.
Every training run ends with the word steps of its recipe: rare words have moved little and stayed short, so lengths are
evened out and multiplied by the information of the word, log(1 + 1 / its share of the text); then directions that
separate frequent words from rare ones, rather than meanings, are removed. And `postprocess` applies any steps to any
model, with a record that undoes them.

Training needs no such record: its weights follow from the recipe and the counts. Directions it has removed stay removed
when training continues: all rows lack them, and cosines do not change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts, Floats, Vectors
from siamese_cbow.base.option_fields import checked_value
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.model.geometry import (
    Undo,
    blocks,
    float32_lengths,
    gram_of,
    one_thread,
    side_by_side,
    strength_shares,
    strongest,
)
from siamese_cbow.model.info import ModelInfo
from siamese_cbow.model.model import Model
from siamese_cbow.model.ngram_vectors import NGramVectors, fitted
from siamese_cbow.model.storage import check_is_model
from siamese_cbow.transform.estimates import (
    Moments,
    count_moments,
    idf,
    information,
    sentence_counts,
    sentence_moments,
    sif,
    usif,
)
from siamese_cbow.transform.settings import Postprocess

if TYPE_CHECKING:
    from siamese_cbow.stream.stream import Stream
    from siamese_cbow.words.vocabulary import Vocabulary

MEAN_LENGTH = 20.0  # words per sentence, if there is no stream to count them
TINY = float(np.finfo(np.float32).tiny)
OF_RECIPES = ("idf_power", "length_power", "common_directions")  # the settings that every training run ends with


def postprocess(
    model: Model, stream: Stream | None = None, settings: Postprocess | None = None, **changes: Any
) -> Model:
    """A new model with the settings folded into its rows: `postprocess(model, stream, components=1)`.

    stream  source of sentences; without it, mean and directions are estimated from the word counts
    """
    if stream is not None and not hasattr(stream, "fingerprint"):
        expected = "expected what siamese_cbow.prepare returns, or siamese_cbow.Stream.load(folder)"
        raise InputError(f"stream is {stream!r:.60}; {expected}")
    check_is_model(model)
    checked_value("settings", settings, Postprocess, optional=True)
    settings = replace(settings or Postprocess(), **changes)
    check_not_postprocessed(model)
    rows, undo = folded(model.vectors, model.vocabulary, settings, stream)
    done = {**settings.settings(), "estimated_on": "counts" if stream is None else stream.fingerprint}
    info = replace(model.info, scores=None, postprocessing=done)
    return Model(model.vocabulary, rows, model.tokenizer, info, undo=undo)


def without_postprocessing(model: Model) -> Model:
    """The model as it was before `postprocess` or `adapt`, up to rounding; unchanged if it had neither."""
    check_is_model(model)
    if model.info.postprocessing is None:
        return model
    if model.undo is None:
        raise InputError(
            "this model's post-processing can't be undone because the model was compressed; use the original"
        )
    info, undo, ngrams = replace(model.info, postprocessing=None), model.undo, model.given_ngrams
    if ngrams is not None and undo.directions.shape == (model.dim, model.dim) and undo.factors.all():
        ngrams = ngrams.along(undo.directions, 1 / undo.factors)  # `adapt` scaled the n-gram vectors as well
    else:
        ngrams = None  # fitted to the rows again on first use, as after `postprocess`
    return Model(model.vocabulary, undo.rows(model.vectors), model.tokenizer, info, ngrams=ngrams)


def check_not_postprocessed(model: Model) -> None:
    """Refuse a second post-processing: it would be estimated on what the first one has left."""
    if model.info.postprocessing is not None:
        raise InputError(
            "this model is already post-processed, and steps do not add up; start from without_postprocessing()"
        )


def learnt_rows(model: Model) -> Vectors:
    """A copy of a model's rows with the lengths they had in training. Removed directions are not restored."""
    model = without_postprocessing(model)
    steps, counts = end_of_training(model.info), np.asarray(model.vocabulary.counts)
    if steps.idf_power == 0 and steps.length_power in (0, 1):
        return model.vectors.copy()
    plain = model.vectors / (information(counts) ** steps.idf_power).astype(np.float32)[:, None]
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return np.asarray(plain * lengths ** (1 / (steps.length_power or 1) - 1), np.float32)


def end_of_training(info: ModelInfo) -> Postprocess:
    """The steps that a model's recipe applied at the end of training; none if it has no recipe of ours."""
    return Postprocess(**{name: value for name, value in (info.recipe or {}).items() if name in OF_RECIPES})


def folded(
    vectors: Vectors,
    vocabulary: Vocabulary,
    settings: Postprocess,
    stream: Stream | None = None,
    *,
    overwrite: bool = False,
) -> tuple[Vectors, Undo]:
    """The rows of a model (n_words, dim) with the settings folded into them, and how to undo it.

    overwrite  allow changing the rows in place, which saves the memory of a copy
    """
    dim = vectors.shape[1]
    if settings.components >= dim:
        raise SettingsError(f"components is {settings.components}; expected 0 to {dim - 1}, less than dim")
    if (settings.idf_power or settings.common_directions) and not vocabulary.counts.any():
        raise InputError("idf_power and common_directions need word counts, which this model lacks; drop them")
    wide_weights = _word_weights(vocabulary, settings, stream) * _length_weights(vectors, vocabulary, settings)
    weights = wide_weights.astype(np.float32)
    rows: Vectors = np.multiply(vectors, weights[:, None], out=vectors if overwrite else None)
    mean, directions, factors = np.zeros(dim), np.zeros((0, dim)), np.zeros(0)
    if settings.common_directions and dim > 1:
        n = min(settings.common_directions, dim - 1, len(rows) - 1)  # with so few words, more would leave nothing
        directions = common_directions(rows, np.asarray(vocabulary.counts), n)
        return rows, Undo(weights, mean, directions, np.zeros(len(directions)), _take_out(rows, directions))
    if settings.looks_at_sentences:
        moments = _moments(rows, vocabulary, settings, stream)
        if settings.center:
            mean, moments = moments.mean, moments.centered()
        directions, factors = _scaling(moments, settings)
    removed = np.empty((len(rows), int((factors == 0).sum())), np.float32)
    with one_thread():
        for part in blocks(len(rows)):
            wide = rows[part].astype(np.float64) - mean
            along = wide @ directions.T
            rows[part] = wide + (along * (factors - 1)) @ directions
            removed[part] = along[:, : removed.shape[1]]
    return rows, Undo(weights, mean, directions, factors, removed)


# weights of words


def _word_weights(vocabulary: Vocabulary, settings: Postprocess, stream: Stream | None) -> Floats:
    """The weight of each word of a model, (n_words,)."""
    if settings.weights == "none":
        return np.ones(len(vocabulary))
    if settings.weights == "idf":
        if stream is None:
            raise InputError("weights are idf, which needs sentence counts; pass a stream, or use sif")
        return idf(sentence_counts(stream), stream.n_sentences)[ids_in(vocabulary, stream)]
    ids = slice(None) if stream is None else ids_in(vocabulary, stream)
    counts = vocabulary.counts if stream is None else stream.vocabulary.counts
    if not counts.any():
        raise InputError(f"weights are {settings.weights}, but the model's words have no counts; pass a stream")
    if settings.weights == "sif":
        return sif(counts, settings.a)[ids]
    return usif(counts, MEAN_LENGTH if stream is None else stream.n_tokens / stream.n_sentences)[ids]


def _length_weights(vectors: Vectors, vocabulary: Vocabulary, settings: Postprocess) -> Floats | float:
    """Factors that turn each length into length^length_power x information^idf_power."""
    if settings.idf_power == 0 and settings.length_power == 1:
        return 1.0
    lengths = float32_lengths(vectors)
    lengths[lengths == 0] = 1
    weights: Floats = information(vocabulary.counts) ** settings.idf_power * lengths ** (settings.length_power - 1)
    return weights


def ids_in(vocabulary: Vocabulary, stream: Stream) -> NDArray[np.int64]:
    """The stream's id of each word of the model."""
    index = stream.vocabulary.index
    try:
        return np.array([index[word] for word in vocabulary.words], dtype=np.int64)
    except KeyError as error:
        raise InputError(f"the word {error} of the model is not in the stream; weights need its count") from None


# directions


def common_directions(vectors: Vectors, counts: Counts, n: int) -> Floats:
    """The n strongest directions (n, dim) of the rows, weighted by how often each word occurs in the text.

    rows [[2, 0], [0, 1]], counts [1, 1] -> [[1, 0]]; counts [1, 9] -> [[0, 1]]
    """
    return strongest(gram_of(vectors, counts), n)[0]


def _take_out(rows: Vectors, directions: Floats) -> NDArray[np.float32]:
    """Remove directions (k, dim) from the rows in place; return their components along them, (n, k)."""
    removed = np.empty((len(rows), len(directions)), np.float32)

    def take_out(part: slice) -> None:
        wide = rows[part].astype(np.float64)
        for k, direction in enumerate(directions):
            along = wide @ direction
            wide -= np.outer(along, direction)
            removed[part, k] = along
        rows[part] = wide

    with one_thread():
        for _ in side_by_side(take_out, blocks(len(rows))):
            pass
    return removed


def _moments(rows: Vectors, vocabulary: Vocabulary, settings: Postprocess, stream: Stream | None) -> Moments:
    if stream is not None:
        index = stream.vocabulary.index
        ids = np.array([index.get(word, -1) for word in vocabulary.words], dtype=np.int64)
        if not (ids >= 0).any():
            raise InputError(
                "the stream contains none of the model's words; expected its training text or similar text"
            )
        return sentence_moments(rows, ids, stream, seed=settings.seed)
    if not vocabulary.counts.any():
        raise InputError("the model's words have no counts to estimate a mean or directions from; pass a stream")
    return count_moments(rows, vocabulary.counts, MEAN_LENGTH)


def _scaling(moments: Moments, settings: Postprocess) -> tuple[Floats, Floats]:
    """Directions (k, dim) and their scale factors, (k,); zeros first."""
    n = settings.components
    directions, strengths = strongest(moments.gram, None if settings.whiten else n)
    left = 1 - strength_shares(strengths[:n]) if settings.by_share else np.zeros(n)
    factors = np.ones(len(strengths))
    factors[:n] = np.where(left < 1e-6, 0, left)  # a negligible rest is 0: the direction is removed
    if settings.whiten:
        # At most a thousandfold: directions in which sentences hardly differ would be magnified without bound.
        strengths = np.maximum(strengths, 1e-6 * strengths.max(initial=0) + np.finfo(np.float64).tiny)
        # Relative to the strongest remaining direction, so that lengths stay roughly the same.
        factors *= (strengths / strengths[min(n, len(strengths) - 1)]) ** (-settings.whiten / 2)
    return directions, factors


def drawn_to_letters(vocabulary: Vocabulary, rows: Vectors, strength: float) -> NGramVectors:
    """Move the rows (n_words, dim) of rare words towards those of their n-grams, in place; return the n-gram vectors.

        direction' = (1 - k) direction + k spelled        k = strength / (strength + sqrt(count)), lengths stay

    A word seen twice has learnt from two sentences, and most of its direction is chance. Its character n-grams
    (`model.ngram_vectors`), fitted to the rows of the frequent words, are often a better guess: for forms that no
    stemmer knows, compounds, names in several spellings. The more often a word was seen, the more of its own row it
    keeps: at a strength of 10, words seen 100 times keep half, words seen a million times almost everything. Part of
    the spelled vector belongs to each n-gram and part to the word alone, so that different words stay different.

    Chosen on German, Russian, Japanese and Chinese STS-b dev pairs and on English STS 2012-2013, where every strength
    from 3 to 30 is better than none. Without the root of the count it is slightly worse on large texts, and without the
    random parts of n-grams much worse. benchmarks/languages.py measures the effect.
    """
    ngrams = fitted(vocabulary, rows)
    lengths, counts = float32_lengths(rows), np.asarray(vocabulary.counts, np.float64)
    shares = (strength / (strength + np.sqrt(counts))).astype(np.float32) * (lengths > 0)

    def draw(part: slice) -> None:
        spelled = ngrams.rows_of_known(vocabulary, part.start, part.start + len(rows[part]))
        length, share = lengths[part, None], shares[part, None]
        drawn = (1 - share) * rows[part] + share * length / max(ngrams.length, TINY) * spelled
        rows[part] = drawn * (length / np.maximum(np.linalg.norm(drawn, axis=1, keepdims=True), TINY))

    for _ in side_by_side(draw, blocks(len(rows))):
        pass
    return ngrams
