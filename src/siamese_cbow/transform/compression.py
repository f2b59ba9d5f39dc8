"""Smaller models: fewer words, fewer dimensions, fewer bits, in this order.

    163,771 words x 300 x float32   197 MB
    163,771 words x 200 x int4       17 MB     what that costs: results/compress.md

Rejected: product quantisation, cutting without a rotation, other weights for the rotation. `benchmarks/compress.py`
measures them beside what is done here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts, Vectors
from siamese_cbow.base.option_fields import checked_value
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.model.geometry import blocks, gram_of, one_thread, strongest, with_signs
from siamese_cbow.model.model import Model
from siamese_cbow.model.packed_rows import Dtype, PackedRows, as_array, packed
from siamese_cbow.model.storage import check_is_model
from siamese_cbow.words.vocabulary import Vocabulary, most_frequent


def compress(model: Model, dtype: Dtype | None = None, *, dim: int | None = None, words: int | None = None) -> Model:
    """A new, smaller model, with the options of `Model.compress`; its info records the original size.

    The record that undoes a post-processing is dropped: it belongs to the whole model.
    """
    check_is_model(model)
    if dtype is not None and dtype not in get_args(Dtype):
        raise SettingsError(f"dtype is {dtype!r}; expected one of {', '.join(get_args(Dtype))}")
    for name, value, most in (("dim", dim, model.dim), ("words", words, len(model.vocabulary))):
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and not (is_number and 1 <= value <= most):
            raise SettingsError(f"{name} is {value!r}; expected 1 to {most:,}, the size of the model")
    vocabulary, rows = model.vocabulary, model.rows
    if words is not None:
        ids = most_frequent(vocabulary.counts, words)
        rows = rows[ids]
        vocabulary = Vocabulary(
            [vocabulary.words[i] for i in ids.tolist()], vocabulary.counts[ids], vocabulary.languages
        )
    if dim is not None and dim < model.dim:
        rows = rotated(as_array(rows), dim)  # estimated on the words that stay: the others no longer matter
    if dtype not in (None, model.dtype) or not isinstance(rows, PackedRows):
        rows = packed(as_array(rows), dtype or model.dtype)
    first = {"from_dtype": model.dtype, "from_dim": model.dim, "from_words": len(model.vocabulary)}
    before = {name: (model.info.compression or {}).get(name, value) for name, value in first.items()}
    info = replace(model.info, scores=None, compression=before)
    ngrams = model.given_ngrams if rows.shape[1] == model.dim else None  # else fitted anew, to the new rows
    return Model(vocabulary, rows, model.tokenizer, info, ngrams=ngrams)


def rotated(vectors: Vectors, dim: int, counts: Counts | None = None) -> Vectors:
    """The rows, rotated so that the first dimensions carry most, and cut to `dim` of them.

    counts  how much each word matters. By default all matter the same, which suits `compress`: results/compress.md
    """
    directions = with_signs(strongest(gram_of(vectors, counts), dim)[0]).T
    turned = np.empty((len(vectors), dim), np.float32)
    with one_thread():
        for part in blocks(len(vectors)):
            turned[part] = vectors[part].astype(np.float64) @ directions
    return turned


# Several models of one vocabulary -> one: rows side by side, the strongest dimensions of them kept.
#
#     seeds 1, 2, 3 of a recipe, 300 dimensions each  ->  900  ->  the strongest 300
#
# What differs from seed to seed is chance, and evens out; what they agree on stays, in a model that is not larger than
# its parts. Parts of different recipes work too. What it is worth: results/pretrained.md.
#
# Seeds agree less on rare words, so these lose more with the dropped dimensions. But a length is a weight: each row
# gets its old length back. (Measured with five and with ten seeds on STS 2012-2013: .001 and .004 better.)


def combine(
    models: Sequence[Model], *, dim: int | None = None, weights: Sequence[float] | None = None, whiten: float = 0.0
) -> Model:
    """Merges several models with the same words into one of `dim` dimensions, by default as in the first.

    weights  how much each part counts, by default 1. All are brought to the same lengths first; cosines follow the
             squares, so a part of weight 2 counts as much as four of weight 1
    whiten   how far the new dimensions are made equally strong: 0 not at all, 1 fully. The first ones are what all
             parts agree on, and may outweigh the rest

    The record that undoes a post-processing is dropped: it belongs to the parts.
    """
    if not isinstance(models, list | tuple) or not models:
        raise InputError(f"combine got {models!r:.60}; expected a list of one or more models")
    for model in models:
        check_is_model(model)
    first = models[0]
    for number, model in enumerate(models[1:], start=2):
        _check_alike(first, model, number)
    most = sum(model.dim for model in models)
    dim = first.dim if dim is None else dim
    if not isinstance(dim, int | np.integer) or isinstance(dim, bool) or not 1 <= dim <= most:
        raise SettingsError(f"dim is {dim!r}; expected 1 to {most}, the dimensions of all models together")
    checked_value("whiten", whiten, float, at_least=0, at_most=1)
    counts, weights = first.vocabulary.counts, _checked_weights(weights, len(models))
    evened = (
        np.float32(weight) * _evened(model.vectors, counts) for model, weight in zip(models, weights, strict=True)
    )
    side_by_side = np.concatenate(list(evened), axis=1)
    rows = _whitened(rotated(side_by_side, dim, counts), counts, whiten)
    rows = _lengthened(rows, np.linalg.norm(side_by_side, axis=1))
    common, apart = _split([model.info for model in models])
    for key in ("scores", "compression"):  # of the rows of the parts, not of the new ones
        shared = common.pop(key, None)
        for own in apart if shared else ():
            own[key] = {**shared, **own.get(key, {})}
    for own, weight in zip(apart, weights, strict=True):
        if weight != 1:
            own["weight"] = weight
    parts = {f"model {number}": info for number, info in enumerate(apart, start=1)}
    return Model(first.vocabulary, rows, first.tokenizer, {**common, "combined": parts})


def _checked_weights(weights: Sequence[float] | None, n_models: int) -> list[float]:
    """One number above 0 per model; ones where none are given."""
    if weights is None:
        return [1.0] * n_models
    listed = list(weights) if isinstance(weights, list | tuple | np.ndarray) else []
    numbers = [each for each in listed if isinstance(each, int | float | np.number) and 0 < each < math.inf]
    if len(listed) != n_models or len(numbers) < n_models:
        raise SettingsError(f"weights are {weights!r:.60} for {n_models} models; expected one number above 0 for each")
    return [float(weight) for weight in numbers]


def _check_alike(first: Model, other: Model, number: int) -> None:
    if other.tokenizer != first.tokenizer:
        raise InputError(
            f"model {number} tokenises differently from model 1 ({other.tokenizer} and "
            f"{first.tokenizer}); combine models of the same stream"
        )
    if other.vocabulary != first.vocabulary:
        raise InputError(
            f"model {number} has other words or counts than model 1 ({len(other.vocabulary):,} and "
            f"{len(first.vocabulary):,} words); train them on the same stream"
        )


def _evened(vectors: Vectors, counts: Counts) -> Vectors:
    """The rows, scaled so that the words of a text have a mean square of 1: rows [1], [0], counts 1, 3 -> [2], [0]."""
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    mean = float(squares @ counts) / max(1.0, float(counts.sum()))
    scaled: Vectors = vectors * np.float32(mean**-0.5 if mean > 0 else 1)
    return scaled


def _whitened(rows: Vectors, counts: Counts, share: float) -> Vectors:
    """The rows with each dimension divided by a power of its strength in the words of a text."""
    if share == 0:
        return rows
    strengths = np.sqrt(np.einsum("ij,ij,i->j", rows, rows, counts, dtype=np.float64) / max(1, counts.sum()))
    scaled: Vectors = rows * np.where(strengths > 0, strengths, 1.0).astype(np.float32) ** -np.float32(share)
    return scaled


def _lengthened(rows: Vectors, lengths: NDArray[np.float32]) -> Vectors:
    """Rows with new lengths: rows [3, 4], length 10 -> [6, 8]. Zeros stay."""
    now = np.linalg.norm(rows, axis=1)
    now[now == 0] = 1
    scaled: Vectors = rows * (lengths / now)[:, None]
    return scaled


def _split(infos: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What all have in common, and what each has alone, also inside nested tables.

    {"recipe": {"dim": 3, "seed": 1}}, {"recipe": {"dim": 3, "seed": 2}}
    -> {"recipe": {"dim": 3}}, [{"recipe": {"seed": 1}}, {"recipe": {"seed": 2}}]
    """
    common: dict[str, Any] = {}
    apart: list[dict[str, Any]] = [{} for _ in infos]
    for key in dict.fromkeys(key for info in infos for key in info):
        values = [info.get(key) for info in infos]
        if all(value == values[0] for value in values):
            common[key] = values[0]
        elif all(isinstance(value, Mapping) for value in values):
            inner, rests = _split([value or {} for value in values])
            if inner:
                common[key] = inner
            for own, rest in zip(apart, rests, strict=True):
                if rest:
                    own[key] = rest
        else:
            for own, info in zip(apart, infos, strict=True):
                if key in info:
                    own[key] = info[key]
    return common, apart
