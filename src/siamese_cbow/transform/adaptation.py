"""Domain adaptation: fit a model to headlines, tickets or captions, without training and without labels.

Two properties of sample texts from the domain are folded into the rows:

    words       a word that is common in the domain says little about any one text, however rare it is elsewhere
    directions  what most texts of the domain share should not decide which of them are similar

    share of a word        .001% of all text, 3% of the headlines    ->  combined with a prior worth 10,000 words
    strength s of texts    mean 1, the strongest of headlines 20     ->  scaled by 1 / sqrt(1 + g s), g from 0 to .2

The more texts, the more weight they get. All constants were chosen on STS 2012-2013; results/adapt.md measures the
effect.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts, Floats, Ids, Offsets, Vectors
from siamese_cbow.errors import InputError
from siamese_cbow.model.encoding import Texts, as_list
from siamese_cbow.model.geometry import Undo, blocks, eigenvectors, gram_of, one_thread
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import check_is_model
from siamese_cbow.transform.estimates import BLOCK, SAMPLE
from siamese_cbow.transform.postprocessing import check_not_postprocessed, without_postprocessing

PRIOR_WORDS = 10_000  # this many words of domain text weigh as much as the prior shares
PRIOR_TEXTS = 3_000  # with this many texts, directions are evened out half as far as with unlimited texts
STRENGTH = 0.2
WEIGHT_POWER = 0.5  # how strongly word weights follow the domain: 0 not at all, 1 fully


def adapt(model: Model, texts: Texts) -> Model:
    """A new model adapted to the domain of these texts, folded into its rows: `adapt(model, headlines)`."""
    if isinstance(texts, str):
        raise InputError(f"adapt got one text, {texts[:40]!r}; expected many, such as all lines of a file")
    check_is_model(model)
    model = not_adapted(model)
    chosen = some_of(texts if isinstance(texts, Iterator) else as_list(texts))
    ids, offsets = model.ids(chosen)
    if not len(ids):
        what = f"none of {len(chosen):,} texts has a word with a vector" if chosen else "there is no text to adapt to"
        raise InputError(f"{what}; expected text in the model's language")
    change = adaptation(model.vectors, shares_of(model.vocabulary.counts), ids, offsets)
    rows = scaled_along(model.vectors * change.weights[:, None], change.directions, change.factors)
    done = {"adapted_to": {"texts": _n_with_words(offsets), "words": len(ids)}}
    info = replace(model.info, scores=None, postprocessing=done)
    ngrams = model.ngrams.along(change.directions, change.factors) if model.fallback == "ngrams" else None
    return Model(model.vocabulary, rows, model.tokenizer, info, undo=change, ngrams=ngrams)


def not_adapted(model: Model) -> Model:
    """The model before an earlier adaptation; any other post-processing is an error."""
    if "adapted_to" in (model.info.postprocessing or {}):
        model = without_postprocessing(model)
    check_not_postprocessed(model)
    return model


def adaptation(vectors: Vectors, shares: Floats | None, ids: Ids, offsets: Offsets) -> Undo:
    """The adaptation to texts, where text i has the words `ids[offsets[i]:offsets[i + 1]]`: weights, `scaled_along`.

    vectors  (n_words, dim)
    shares   (n_words,) each word's share of general text; None if unknown: weights then stay as they are
    """
    weights = np.ones(len(vectors), np.float32)
    if shares is not None:
        weights = word_weights(shares, np.bincount(ids, minlength=len(shares))).astype(np.float32)
    directions, factors = evened(_gram(vectors * weights[:, None], ids, offsets), _n_with_words(offsets))
    no_mean, nothing = np.zeros(vectors.shape[1]), np.zeros((len(vectors), 0), np.float32)
    return Undo(weights, no_mean, directions, factors, removed=nothing)


def _n_with_words(offsets: Offsets) -> int:
    """How many texts have a known word."""
    return int(np.count_nonzero(np.diff(offsets)))


def shares_of(counts: Counts) -> Floats | None:
    """Each word's share of all text, never 0: counts [3, 1] -> [.75, .25]; None where there are no counts at all."""
    return np.maximum(1, counts) / counts.sum() if counts.any() else None


def word_weights(shares: Floats, counts: NDArray[np.int64]) -> Floats:
    """Weights of words that occur `counts` times in the texts, relative to their current weights.

    No counts at all -> all 1; a share of 1 in 1,000 that becomes 1 in 10 -> sqrt(2.4 / 6.9) = .59.
    """
    together = (counts + PRIOR_WORDS * shares) / (counts.sum() + PRIOR_WORDS)
    weights: Floats = (np.log1p(1 / together) / np.log1p(1 / shares)) ** WEIGHT_POWER
    return weights


def evened(gram: Floats, n_texts: int) -> tuple[Floats, Floats]:
    """Directions (dim, dim) and their scale factors, (dim,).

    gram  (dim, dim) the sum of the outer products of the texts' vectors with themselves
    """
    strengths, directions = eigenvectors(gram)
    relative = np.maximum(strengths, 0) / max(float(strengths.mean()), np.finfo(np.float64).tiny)
    gain = STRENGTH * n_texts / (n_texts + PRIOR_TEXTS)
    return directions, (1 + gain * relative) ** -0.5


def scaled_along(vectors: Vectors, directions: Floats, factors: Floats) -> Vectors:
    """Vectors (n, dim) with each direction scaled by its factor: [[3, 4]], [[1, 0], [0, 1]], [.5, 1] -> [[1.5, 4]]."""
    scaled = np.empty_like(vectors)
    with one_thread():
        matrix = (directions.T * factors) @ directions
        for part in blocks(len(vectors), BLOCK):
            scaled[part] = vectors[part].astype(np.float64) @ matrix
    return scaled


def _gram(rows: Vectors, ids: Ids, offsets: Offsets) -> Floats:
    """The sum of the outer products of the texts' vectors with themselves, (dim, dim)."""
    from siamese_cbow.kernels.means import means

    gram = np.zeros((rows.shape[1],) * 2)
    for start in range(0, len(offsets) - 1, BLOCK):
        ends = offsets[start : start + BLOCK + 1]
        vectors = np.empty((len(ends) - 1, rows.shape[1]), np.float32)
        means(rows, ids, ends, False, vectors)
        gram += gram_of(vectors, np.diff(ends) > 0)  # the weights keep the summation order, and the bytes, of 0.1.0
    return gram


def some_of(texts: Iterable[str], most: int = SAMPLE, seed: int = 1) -> list[str]:
    """All texts, or a uniform sample of `most` of them (reservoir sampling)."""
    rng, sample = random.Random(seed), []
    for n, text in enumerate(texts):
        if n < most:
            sample.append(text)
        elif (place := rng.randrange(n + 1)) < most:
            sample[place] = text
    return sample
