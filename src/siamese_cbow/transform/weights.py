"""How much each word counts: weights from the counts of words.

sif   a / (a + p), where p is the share of the word in the corpus                       (Arora, Liang and Ma 2017)
usif  a / (a/2 + p), where `a` follows from the vocabulary and the length of sentences  (Ethayarajh 2018)
idf   ln((1 + sentences) / (1 + sentences with the word)) + 1, as scikit-learn has it

information   ln(1 + 1 / p): the factor that every training ends with, for words of few or no counts, too
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts, Floats
from siamese_cbow.stream.stream import Stream

BLOCK = 1 << 20  # tokens counted at a time; bounds the memory


def sif(counts: NDArray[np.int64], a: float) -> Floats:
    """counts [8, 2], a 0.2 -> [.2 / (.2 + .8), .2 / (.2 + .2)] = [.2, .5]."""
    weights: Floats = a / (a + counts / counts.sum())
    return weights


def usif(counts: NDArray[np.int64], mean_length: float) -> Floats:
    """The weights of uSIF. Where no word is frequent enough to stand apart, `a` is infinite and all weights are 2."""
    p = counts / counts.sum()
    n_words = len(counts)
    # alpha: the share of words that are likelier than a random word is to come up in a sentence at all
    alpha = float((p > 1 - (1 - 1 / n_words) ** mean_length).mean())
    if alpha == 0:
        return np.full(n_words, 2.0)
    a = (1 - alpha) / (alpha * n_words / 2)
    weights: Floats = a / (a / 2 + p)
    return weights


def idf(sentence_counts: NDArray[np.int64], n_sentences: int) -> Floats:
    """2 sentences, words that stand in [2, 1] of them -> [ln(3/3) + 1, ln(3/2) + 1] = [1, 1.41]."""
    weights: Floats = np.log((1 + n_sentences) / (1 + sentence_counts)) + 1
    return weights


def information(counts: Counts) -> Floats:
    """log(1 + all / count): counts [3, 1] -> [0.85, 1.61]. Never 0, so that no word is lost."""
    return np.asarray(np.log1p(max(1, int(counts.sum())) / np.maximum(1, counts)))


def sentence_counts(stream: Stream) -> NDArray[np.int64]:
    """In how many sentences each word stands, (n_words,): [[a, a, b], [a]] -> [2, 1]."""
    n_words = len(stream.vocabulary)
    counts = np.zeros(n_words, dtype=np.int64)
    first = 0
    while first < stream.n_sentences:
        last = int(np.searchsorted(stream.sentences, stream.sentences[first] + BLOCK, side="right")) - 1
        last = max(first + 1, last)
        offsets = np.asarray(stream.sentences[first : last + 1])
        ids = np.asarray(stream.ids[offsets[0] : offsets[-1]], dtype=np.int64)
        keys = np.repeat(np.arange(last - first), np.diff(offsets)) * n_words + ids
        keys.sort()  # np.unique hashes since NumPy 2.3, which is several times slower for so many different keys
        counts += np.bincount(keys[np.r_[True, keys[1:] != keys[:-1]]] % n_words, minlength=n_words)
        first = last
    return counts
