"""Extra rows for the quality search: pairs of words (as in Sent2Vec) and pieces of words (as in fastText).

A mean is a sum up to its length, and cosines ignore lengths. So a word with several rows is the same as a word followed
by extra words, and the kernels don't need to know:

    new york is big, and the pair "new york" has a row   ->   new york new_york is big
    playing, with pieces of five letters                 ->   playing <play playi layin aying ying>
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids, Offsets
from siamese_cbow.model.model import Model
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.batches import keep_chances
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from siamese_cbow.words.lookup import lookup_of
from siamese_cbow.words.vocabulary import Vocabulary

MOST_PAIRS, RAREST_PAIR, LIFT = 50_000, 20, 20.0
N_BUCKETS, LETTERS = 100_000, 5


class Pairs:
    """The word pairs that have a row, and how a text is read with them."""

    def __init__(self, keys: NDArray[np.int64], counts: NDArray[np.int64], n_words: int) -> None:
        self.keys, self.counts, self.n_words = keys, counts, n_words

    @classmethod
    def of(cls, stream: Stream) -> Pairs:
        """The most frequent pairs among those that occur together 20 times as often as by chance."""
        n_words, counts = len(stream.vocabulary), np.asarray(stream.vocabulary.counts, np.float64)
        pair_keys, seen = np.unique(_keys(np.asarray(stream.ids), stream.sentences, n_words)[0], return_counts=True)
        pair_keys, seen = pair_keys[seen >= RAREST_PAIR], seen[seen >= RAREST_PAIR]
        expected = counts[pair_keys // n_words] * counts[pair_keys % n_words] / counts.sum() ** 2 * stream.n_tokens
        lifted = np.flatnonzero(seen > LIFT * expected)
        strongest = np.sort(lifted[np.argsort(-seen[lifted], kind="stable")[:MOST_PAIRS]])
        return cls(pair_keys[strongest], seen[strongest], n_words)

    def insert(self, ids: Ids, sentences: Offsets) -> tuple[Ids, Offsets]:
        """Inserts each pair that has a row after its second word."""
        keys, places = _keys(ids, sentences, self.n_words)
        spots = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        is_pair = self.keys[spots] == keys
        after = places[is_pair] + 2
        shifted = np.asarray(sentences) + np.searchsorted(after, sentences, side="right")
        return np.insert(ids, after, (self.n_words + spots[is_pair]).astype(np.int32)), shifted


def _keys(ids: Ids, sentences: Offsets, n_words: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A number for each two adjacent words of a sentence, and the position of the first word."""
    inside = np.ones(len(ids), bool)
    inside[np.asarray(sentences[1:]) - 1] = False
    places = np.flatnonzero(inside)
    return ids[places].astype(np.int64) * n_words + ids[places + 1], places


class WithPairs:
    """A model whose last rows belong to word pairs."""

    def __init__(self, model: Model, pairs: Pairs) -> None:
        words = Vocabulary(model.vocabulary.words[: pairs.n_words], model.vocabulary.counts[: pairs.n_words])
        self._vectors, self._pairs, self._lookup = model.vectors, pairs, lookup_of(words, model.tokenizer)

    def encode(self, sentences: list[str]) -> Any:
        ids, offsets = self._lookup.ids(sentences)
        # A sentence without a known word has no last word to mark its end: it gets a dummy word and a zero vector.
        empty = np.flatnonzero(np.diff(offsets) == 0)
        ids, offsets = np.insert(ids, offsets[empty], 0), offsets + np.searchsorted(empty, np.arange(len(offsets)))
        ids, offsets = self._pairs.insert(ids, offsets)
        means = np.add.reduceat(self._vectors[ids], offsets[:-1], axis=0) / np.diff(offsets)[:, None]
        means[empty] = 0
        return means


def train_with_pairs(recipe: SiameseCBOW, stream: Stream) -> Model:
    """Trains the recipe on a text with pairs; their rows follow those of the words."""
    pairs = Pairs.of(stream)
    ids, sentences = pairs.insert(np.asarray(stream.ids), stream.sentences)
    words = [*stream.vocabulary.words, *(f"{key}" for key in pairs.keys)]
    counts = np.concatenate([stream.vocabulary.counts, pairs.counts])
    return recipe.train(replace(stream, ids=ids, sentences=sentences, vocabulary=Vocabulary(words, counts)))


def with_pairs(model: Model, stream: Stream) -> WithPairs:
    """The model with finished rows, reading texts with pairs."""
    return WithPairs(model, Pairs.of(stream))


def train_with_pieces(recipe: SiameseCBOW, stream: Stream) -> Model:
    """Trains with every word as the sum of its row and those of its pieces. One epoch: subsampling happens first."""
    vocabulary, ids = stream.vocabulary, np.asarray(stream.ids)
    counts = np.asarray(vocabulary.counts)
    sampled = np.random.default_rng(recipe.seed).random(len(ids)) < keep_chances(counts, recipe.subsample)[ids]
    sentences = np.concatenate([[0], np.cumsum(sampled)])[np.asarray(stream.sentences)]
    ids = ids[sampled]
    parts = [_pieces(word) for word in vocabulary.words]
    starts = np.concatenate([[0], np.cumsum([1 + len(pieces) for pieces in parts])])
    flat = np.concatenate([[i, *(len(counts) + piece for piece in one)] for i, one in enumerate(parts)]).astype(
        np.int32
    )
    lengths = np.diff(starts)[ids]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    expanded = flat[np.repeat(starts[ids] - ends[:-1], lengths) + np.arange(ends[-1])]
    words = Vocabulary(
        [*vocabulary.words, *(f"#{i}" for i in range(N_BUCKETS))], np.r_[counts, np.ones(N_BUCKETS, int)]
    )
    whole = replace(stream, ids=expanded, sentences=ends[sentences], vocabulary=words)
    rows = replace(recipe, subsample=0.0).train(whole).vectors
    return Model(vocabulary, np.add.reduceat(rows[flat], starts[:-1], axis=0), stream.tokenizer)


def _pieces(word: str) -> NDArray[np.int64]:
    marked = f"<{word}>"
    grams = sorted({marked[i : i + LETTERS] for i in range(len(marked) - LETTERS + 1)}) if len(word) >= LETTERS else []
    return np.array([crc32(piece.encode()) % N_BUCKETS for piece in grams], np.int64)
