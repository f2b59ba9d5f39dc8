"""Vectors for words that the encoder never saw: a linear map from another program's word vectors to its own.

encoder has  cat, dog                    word2vec has  cat, dog, lion
least squares: cat and dog of word2vec -> cat and dog of the encoder; the encoder's lion is the map of word2vec's
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.baselines.skip_thought.encoder import Part, SkipThoughtEncoder
from siamese_cbow.errors import InputError
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.words.vocabulary import Vocabulary

BLOCK = 1 << 16  # words mapped at a time


def expand(
    encoder: SkipThoughtEncoder, words: Sequence[str], vectors: Vectors, *, progress: Progress = SILENT
) -> SkipThoughtEncoder:
    """An encoder that also knows `words`, from their vectors (n_words, any dim), such as `read_word_vectors` gives.

    Words that it was trained with keep their own vectors; those of an earlier expansion are replaced.
    """
    if len(words) != len(vectors) or vectors.ndim != 2:
        raise InputError(f"{len(words):,} words and vectors of shape {vectors.shape}; expected one row for each word")
    n_trained, index = encoder.n_trained, encoder.vocabulary.index
    theirs: dict[str, int] = {}
    for place, word in enumerate(words):
        theirs.setdefault(word, place)
    shared = [word for word in encoder.vocabulary.words[:n_trained] if word in theirs]
    if not shared:
        raise InputError(
            f"none of the {n_trained:,} words of the encoder is among the {len(words):,} given; "
            "expected vectors of the same language and case"
        )
    if len(shared) <= vectors.shape[1]:
        progress.say(
            f"only {len(shared):,} words in common for a map from {vectors.shape[1]} dimensions: it will be poor"
        )
    known = vectors[[theirs[word] for word in shared]]
    rows = np.array([index[word] for word in shared])
    new = [word for word in theirs if index.get(word, n_trained) >= n_trained]
    places = np.array([theirs[word] for word in new], np.int64)
    vocabulary = Vocabulary(
        [*encoder.vocabulary.words[:n_trained], *new],
        np.concatenate([encoder.vocabulary.counts[:n_trained], np.zeros(len(new), np.int64)]),
    )
    parts = tuple(_expanded(part, n_trained, rows, known, vectors, places) for part in encoder.parts)
    progress.say(f"{len(new):,} words more, mapped by {len(shared):,} words in common")
    info = {**encoder.info, "expansion": {"n_words": len(new), "n_shared": len(shared)}}
    return replace(encoder, vocabulary=vocabulary, parts=parts, info=info)


def _expanded(
    part: Part, n_trained: int, rows: NDArray[np.int64], known: Vectors, vectors: Vectors, places: NDArray[np.int64]
) -> Part:
    matrix = linear_map(known, part.table[rows])
    table = np.empty((n_trained + len(places), part.table.shape[1]), np.float32)
    table[:n_trained] = part.table[:n_trained]
    for start in range(0, len(places), BLOCK):
        block = vectors[places[start : start + BLOCK]]
        table[n_trained + start : n_trained + start + len(block)] = _with_one(block) @ matrix
    return replace(part, table=table)


def linear_map(given: Vectors, wanted: Vectors) -> NDArray[np.float64]:
    """The matrix (dim_given + 1, dim_wanted) that takes given vectors, each with a 1 behind it, nearest to the wanted.

    [[0], [1]] -> [[1], [3]] is times 2 plus 1: [[2], [1]]
    """
    return np.linalg.lstsq(_with_one(given), wanted.astype(np.float64), rcond=None)[0].astype(np.float64)


def _with_one(vectors: Vectors) -> NDArray[np.float64]:
    return np.hstack([vectors, np.ones((len(vectors), 1))]).astype(np.float64)
