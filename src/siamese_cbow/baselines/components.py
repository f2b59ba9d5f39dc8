"""What all sentences have in common: the leading directions of the sentence vectors of a corpus, and their removal.

Uncentred, as in SIF: the first direction is close to the mean sentence. Removal is linear, so it is done to the words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.arrays import Vectors
from siamese_cbow.stream import Stream

SAMPLE = 100_000  # sentences; of 521,000 of novels, so many give the first five directions within .7 degrees
BLOCK = 4096  # sentences worked on at a time


@dataclass(frozen=True, eq=False)
class Components:
    """Directions (n, dim) of length 1, orthogonal, the strongest first, and each one's share of their variance (n,)."""

    directions: NDArray[np.float64]
    shares: NDArray[np.float64]


def common_components(
    vectors: Vectors, word_ids: NDArray[np.int64], stream: Stream, *, n: int, seed: int
) -> Components:
    """The `n` strongest directions of the means of up to 100,000 sentences.

    word_ids  (n_words,) the stream's id of each row of `vectors`; other words of the stream have no vector
    """
    rng = np.random.default_rng(seed)
    chosen = np.arange(stream.n_sentences)
    if stream.n_sentences > SAMPLE:
        chosen = np.sort(rng.choice(stream.n_sentences, size=SAMPLE, replace=False))
    row_of = np.full(len(stream.vocabulary), -1, dtype=np.int32)
    row_of[word_ids] = np.arange(len(word_ids))
    gram = np.zeros((vectors.shape[1], vectors.shape[1]))
    for start in range(0, len(chosen), BLOCK):
        means = _means(vectors, row_of, stream, chosen[start : start + BLOCK])
        gram += means.T @ means
    strength, directions = np.linalg.eigh(gram)  # in rising order
    strength, directions = strength[::-1][:n], directions[:, ::-1][:, :n].T
    # The sign of a direction is arbitrary and drops out of the removal.
    return Components(directions, strength / max(float(strength.sum()), np.finfo(np.float64).tiny))


def without_components(vectors: Vectors, components: Components, *, by_share: bool = False) -> Vectors:
    """Rows less their part along the directions, all of it or (uSIF) each direction's share of it."""
    along = vectors @ components.directions.T
    if by_share:
        along = along * components.shares
    return (vectors - along @ components.directions).astype(np.float32)


def _means(
    vectors: Vectors, row_of: NDArray[np.int32], stream: Stream, sentences: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The sentence vectors (n_sentences, dim) of some sentences, zero where no word has a vector."""
    from siamese_cbow.kernels.means import means

    starts, ends = stream.sentences[sentences], stream.sentences[sentences + 1]
    rows = row_of[np.concatenate([stream.ids[start:end] for start, end in zip(starts, ends, strict=True)])]
    is_known = rows >= 0
    known_before = np.r_[0, np.cumsum(is_known)]  # how many of the first i words have a vector
    offsets = known_before[np.r_[0, np.cumsum(ends - starts)]]
    found = np.empty((len(sentences), vectors.shape[1]), dtype=np.float32)
    means(vectors, rows[is_known], offsets, False, found)
    return found.astype(np.float64)
