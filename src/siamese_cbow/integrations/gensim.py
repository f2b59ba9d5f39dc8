"""Conversion to and from gensim's KeyedVectors, in memory. For gensim's files, see `formats`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from siamese_cbow.errors import InputError, needs
from siamese_cbow.formats.resolver import open_model
from siamese_cbow.formats.vector_files import has_capitals
from siamese_cbow.model.model import Model
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary


def to_keyed_vectors(model: Model | str | os.PathLike[str] | None) -> Any:
    """The words, counts and vectors of a model as gensim's `KeyedVectors`: `to_keyed_vectors("models/books")["cat"]`.

    For the vector of a sentence, call `get_mean_vector(model.tokenizer.words(text), pre_normalize=False)`: by default,
    gensim first scales all words to the same length and so loses what training has learnt about their weight.
    """
    with needs("gensim", "baselines"):
        from gensim.models import KeyedVectors
    model = open_model(model)
    vectors = KeyedVectors(model.dim)
    vectors.add_vectors(list(model.vocabulary.words), np.array(model.vectors))
    for word, count in zip(model.vocabulary.words, model.vocabulary.counts.tolist(), strict=True):
        vectors.set_vecattr(word, "count", count)
    return vectors


def from_keyed_vectors(vectors: Any, *, tokenizer: Tokenizer | None = None) -> Model:
    """A model with the words and vectors of gensim's `KeyedVectors`, or of the `wv` of a `Word2Vec`.

    The default tokenizer is ours; it lowercases text unless the words have capitals.
    """
    vectors = getattr(vectors, "wv", vectors)
    words = list(getattr(vectors, "index_to_key", ()))
    if not words or not all(isinstance(word, str) for word in words):
        raise InputError(f"{type(vectors).__name__} has no words; expected gensim's KeyedVectors with strings as keys")
    counts = getattr(vectors, "expandos", {}).get("count", np.zeros(len(words)))
    return Model(
        Vocabulary(words, np.asarray(counts, np.int64)),
        np.array(vectors.vectors, np.float32),
        tokenizer or Tokenizer(lowercase=not has_capitals(words)),
        {"recipe": {"name": f"gensim {type(vectors).__name__}"}},
    )
