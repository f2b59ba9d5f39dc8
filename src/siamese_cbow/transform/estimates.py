"""Estimates from text: the weight of each word, and what all sentences have in common.

sif   a / (a + p), where p is the share of the word in the corpus                       (Arora, Liang and Ma 2017)
usif  a / (a/2 + p), where `a` follows from the vocabulary and the length of sentences  (Ethayarajh 2018)
idf   ln((1 + sentences) / (1 + sentences with the word)) + 1, as in scikit-learn

information   ln(1 + 1 / p): the factor applied at the end of every training run, also to words with few or no counts

Estimates only: `postprocessing` and `adaptation` change the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts, Floats, Vectors
from siamese_cbow.model.geometry import gram_of, one_thread
from siamese_cbow.stream.stream import Stream

SAMPLE = 100_000  # sentences; enough to get the first five directions of 521,000 sentences of novels within .7 degrees
BLOCK = 4096  # sentences processed at a time
TOKENS = 1 << 20  # tokens counted at a time; bounds the memory

# weights of words


def sif(counts: NDArray[np.int64], a: float) -> Floats:
    """counts [8, 2], a 0.2 -> [.2 / (.2 + .8), .2 / (.2 + .2)] = [.2, .5]."""
    weights: Floats = a / (a + counts / counts.sum())
    return weights


def usif(counts: NDArray[np.int64], mean_length: float) -> Floats:
    """The weights of uSIF. If no word is frequent enough to stand out, `a` is infinite and all weights are 2."""
    p = counts / counts.sum()
    n_words = len(counts)
    # alpha: the share of words that are more likely than a random word to occur in a sentence at all
    alpha = float((p > 1 - (1 - 1 / n_words) ** mean_length).mean())
    if alpha == 0:
        return np.full(n_words, 2.0)
    a = (1 - alpha) / (alpha * n_words / 2)
    weights: Floats = a / (a / 2 + p)
    return weights


def idf(sentence_counts: NDArray[np.int64], n_sentences: int) -> Floats:
    """2 sentences, words that occur in [2, 1] of them -> [ln(3/3) + 1, ln(3/2) + 1] = [1, 1.41]."""
    weights: Floats = np.log((1 + n_sentences) / (1 + sentence_counts)) + 1
    return weights


def information(counts: Counts) -> Floats:
    """log(1 + all / count): counts [3, 1] -> [0.85, 1.61]. Never 0, so that no word is lost."""
    return np.asarray(np.log1p(max(1, int(counts.sum())) / np.maximum(1, counts)))


def sentence_counts(stream: Stream) -> NDArray[np.int64]:
    """The number of sentences each word occurs in, (n_words,): [[a, a, b], [a]] -> [2, 1]."""
    n_words = len(stream.vocabulary)
    counts = np.zeros(n_words, dtype=np.int64)
    first = 0
    while first < stream.n_sentences:
        last = int(np.searchsorted(stream.sentences, stream.sentences[first] + TOKENS, side="right")) - 1
        last = max(first + 1, last)
        offsets = np.asarray(stream.sentences[first : last + 1])
        ids = np.asarray(stream.ids[offsets[0] : offsets[-1]], dtype=np.int64)
        keys = np.repeat(np.arange(last - first), np.diff(offsets)) * n_words + ids
        keys.sort()  # np.unique hashes since NumPy 2.3, which is several times slower for this many distinct keys
        counts += np.bincount(keys[np.r_[True, keys[1:] != keys[:-1]]] % n_words, minlength=n_words)
        first = last
    return counts


# mean and directions of sentences


@dataclass(frozen=True, eq=False)
class Moments:
    """The mean of sentence vectors (dim,), and the mean of their outer products with themselves (dim, dim)."""

    mean: Floats
    gram: Floats

    def centered(self) -> Moments:
        """The same after subtracting the mean: the gram is then the covariance."""
        return Moments(np.zeros_like(self.mean), self.gram - np.outer(self.mean, self.mean))


def sentence_moments(vectors: Vectors, word_ids: NDArray[np.int64], stream: Stream, *, seed: int) -> Moments:
    """The moments of the means of up to 100,000 sentences of a stream.

    word_ids  (n_words,) the stream's id of each row of `vectors`, -1 for none; the stream's other words have no vector
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
    """The moments of sentences of `mean_length` words, each drawn independently by the counts; needs no stream.

    The mean of such sentences is that of the words, and the gram lies between the words' own and that of their mean.
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
    ids = np.asarray(stream.ids)  # slicing a memmap takes ten times longer
    rows = row_of[np.concatenate([ids[start:end] for start, end in zip(starts, ends, strict=True)])]
    is_known = rows >= 0
    known_before = np.r_[0, np.cumsum(is_known)]  # how many of the first i words have a vector
    offsets = known_before[np.r_[0, np.cumsum(ends - starts)]]
    out = np.empty((len(sentences), vectors.shape[1]), dtype=np.float32)
    means(vectors, rows[is_known], offsets, False, out)
    return out
