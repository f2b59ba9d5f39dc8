"""What all sentences have in common: their mean, and the Gram matrix that tells their directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats, Vectors
from siamese_cbow.model.geometry import gram_of, one_thread
from siamese_cbow.stream.stream import Stream

SAMPLE = 100_000  # sentences; of 521,000 of novels, so many give the first five directions within .7 degrees
BLOCK = 4096  # sentences worked on at a time


@dataclass(frozen=True, eq=False)
class Moments:
    """The mean of sentence vectors (dim,), and the mean of their products with themselves (dim, dim)."""

    mean: Floats
    gram: Floats

    def centered(self) -> Moments:
        """The same once the mean is taken off: the gram is then the covariance."""
        return Moments(np.zeros_like(self.mean), self.gram - np.outer(self.mean, self.mean))


def sentence_moments(vectors: Vectors, word_ids: NDArray[np.int64], stream: Stream, *, seed: int) -> Moments:
    """The moments of the means of up to 100,000 sentences of a stream.

    word_ids  (n_words,) the stream's id of each row of `vectors`, -1 for none; other words have no vector
    """
    rng = np.random.default_rng(seed)
    chosen = np.arange(stream.n_sentences)
    if stream.n_sentences > SAMPLE:
        chosen = np.sort(rng.choice(stream.n_sentences, size=SAMPLE, replace=False))
    row_of = np.full(len(stream.vocabulary), -1, dtype=np.int32)
    row_of[word_ids[word_ids >= 0]] = np.flatnonzero(word_ids >= 0)
    dim = vectors.shape[1]
    total, gram = np.zeros(dim), np.zeros((dim, dim))
    for start in range(0, len(chosen), BLOCK):
        means = _means(vectors, row_of, stream, chosen[start : start + BLOCK])
        total += means.sum(axis=0, dtype=np.float64)
        gram += gram_of(means)
    return Moments(total / max(1, len(chosen)), gram / max(1, len(chosen)))


def count_moments(vectors: Vectors, counts: NDArray[np.int64], mean_length: float) -> Moments:
    """What the moments would be if sentences of `mean_length` words were drawn word by word: no stream is needed.

    Of such a sentence the mean is that of the words, and the gram lies between the words' own and that of their mean.
    """
    shares = counts / counts.sum()
    with one_thread():
        mean = shares @ vectors
    gram = gram_of(vectors, shares, block=BLOCK)
    return Moments(mean, gram / mean_length + (1 - 1 / mean_length) * np.outer(mean, mean))


def _means(vectors: Vectors, row_of: NDArray[np.int32], stream: Stream, sentences: NDArray[np.int64]) -> Vectors:
    """The sentence vectors (n_sentences, dim) of some sentences, zero where no word has a vector."""
    from siamese_cbow.kernels.means import means

    starts, ends = stream.sentences[sentences], stream.sentences[sentences + 1]
    ids = np.asarray(stream.ids)  # cutting a piece off a memmap takes ten times longer
    rows = row_of[np.concatenate([ids[start:end] for start, end in zip(starts, ends, strict=True)])]
    is_known = rows >= 0
    known_before = np.r_[0, np.cumsum(is_known)]  # how many of the first i words have a vector
    offsets = known_before[np.r_[0, np.cumsum(ends - starts)]]
    out = np.empty((len(sentences), vectors.shape[1]), dtype=np.float32)
    means(vectors, rows[is_known], offsets, False, out)
    return out
