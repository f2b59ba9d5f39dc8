"""Packed sentences, and the batches of a stream: which sentences are trained on together, and in which order.

    the cat sat        packed   the a | cat dog | sat        (longest sentence first: all first words, then all
    a dog              sizes      2      2        1           second words, ...; there is no padding)

An example is a sentence with its predecessor and successor in the document; one of the two may be missing. In a
stream of groups, neighbours are neighbours within the group.

An epoch shuffles blocks of consecutive sentences, so that a corpus larger than memory is read in pieces; the sentences
of 64 blocks are sorted by length and cut into batches, which are shuffled again. The order is a function of the seed
and the epoch alone, so a run can resume at any batch.

Plain arrays, without PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Offsets
from siamese_cbow.stream.stream import Stream

Rows: TypeAlias = NDArray[np.int64]
BLOCK = 128  # consecutive sentences
POOL = 64  # blocks


@dataclass(frozen=True)
class Packed:
    """Sentences in packed order. Sentence i here is sentence `order[i]` of the input."""

    ids: Rows  # (n_tokens,)
    sizes: list[int]  # (longest,): number of sentences that have a t-th word
    order: Rows  # (n_sentences,)
    last: Rows  # (n_sentences,): position of sentence i's last word in `ids`
    backward: Rows  # (n_tokens,): `ids[backward]` has every sentence reversed

    @property
    def before(self) -> Rows:
        """The word before each word except the first ones: for the a | cat dog | sat, the a | cat."""
        starts = np.cumsum([0, *self.sizes])
        steps = [self.ids[start : start + size] for start, size in zip(starts, self.sizes[1:], strict=False)]
        return np.concatenate([self.ids[:0], *steps])


def pack(ids: Rows, offsets: Offsets, *, at_least: int = 1) -> Packed:
    """Pack the sentences `ids[offsets[i] : offsets[i + 1]]`, none of them empty.

    With `at_least` 4, all sizes are 4 or more: the first word given pads the sentences that have ended.
    """
    lengths = np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")
    n_missing = max(0, at_least - len(order))
    starts = np.pad(offsets[:-1][order], (0, n_missing))
    filled = lengths = np.pad(lengths[order], (0, n_missing))
    filled = np.where(np.arange(len(lengths)) < at_least, lengths[0], lengths)
    steps = np.arange(lengths[0])[:, None]
    there, real = steps < filled, steps < lengths
    sizes = there.sum(axis=1)
    firsts = np.cumsum(sizes) - sizes  # where the t-th words start
    columns = np.arange(len(lengths))
    mirrored = np.where(real, firsts[np.where(real, lengths - 1 - steps, 0)] + columns, 0)[there]
    return Packed(
        ids[np.where(real, starts + steps, 0)[there]],
        sizes.tolist(),
        order,
        (firsts[lengths - 1] + columns)[: len(order)],
        mirrored,
    )


@dataclass(frozen=True)
class Neighbours:
    """The sentences before, or those after, the sentences of a batch."""

    sentences: Packed
    of: Rows  # (n,): sentence i is the neighbour of sentence `of[i]` of the batch, in packed order


@dataclass(frozen=True)
class Batch:
    """Sentences, and the neighbours to predict from them; ids are rows of the network."""

    sentences: Packed
    sides: tuple[Neighbours | None, Neighbours | None]  # previous, next
    n_cut: int  # sentences that were longer than max_length

    @property
    def n_words(self) -> int:
        """Words the encoder reads, without the end markers."""
        return len(self.sentences.ids) - len(self.sentences.order)

    @property
    def read(self) -> Rows:
        """The encoder's words and end markers, and the decoders' input before each word except the first ones."""
        return np.concatenate([self.sentences.ids, *(side.sentences.before for side in self.sides if side)])

    @property
    def targets(self) -> Rows:
        """Words and end markers to predict."""
        return np.concatenate([side.sentences.ids for side in self.sides if side])


class Examples:
    """The examples of a stream.

    n_words     rows of the most frequent words; all others share row n_words + 1, and row n_words ends a sentence
    max_length  words; longer sentences are truncated
    """

    def __init__(self, stream: Stream, *, n_words: int, max_length: int, batch_size: int, seed: int) -> None:
        self._stream, self._n_words, self._max_length = stream, n_words, max_length
        self._batch_size, self._seed = batch_size, seed

    @property
    def n_words(self) -> int:
        """Words an encoder reads in one epoch."""
        return int(np.minimum(np.diff(self._stream.sentences), self._max_length).sum())

    def epoch(self, epoch: int, *, first: int = 0) -> Iterator[Batch]:
        """The batches of an epoch, from batch number `first` on."""
        n_blocks = -(-self._stream.n_sentences // BLOCK)
        blocks = np.random.default_rng([self._seed, epoch]).permutation(n_blocks)
        number = 0
        for start in range(0, n_blocks, POOL):
            cut = self._cut(blocks[start : start + POOL], np.random.default_rng([self._seed, epoch, start]))
            for sentences in cut[max(0, first - number) :]:
                yield self._batch(sentences)
            number += len(cut)

    def _cut(self, blocks: Rows, random: np.random.Generator) -> list[Rows]:
        """The sentences of some blocks as batches of similar length."""
        sentences = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        sentences = sentences[sentences < self._stream.n_sentences]
        before, after = self._beside(sentences)
        sentences = random.permutation(sentences[before | after])
        if not len(sentences):
            return []
        lengths = self._stream.sentences[sentences + 1] - self._stream.sentences[sentences]
        sentences = sentences[np.argsort(np.minimum(lengths, self._max_length), kind="stable")]
        cut = np.array_split(sentences, range(self._batch_size, len(sentences), self._batch_size))
        return [cut[place] for place in random.permutation(len(cut))]

    def _beside(self, sentences: Rows) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each sentence has one before it, and one after it, in its document."""
        documents = self._stream.documents
        document = np.searchsorted(documents, sentences, side="right") - 1
        return sentences > documents[document], sentences + 1 < documents[document + 1]

    def _batch(self, sentences: Rows) -> Batch:
        packed, n_cut = self._packed(sentences)
        sentences = sentences[packed.order]
        before, after = self._beside(sentences)
        previous = self._side(sentences - 1, np.flatnonzero(before))
        return Batch(packed, (previous, self._side(sentences + 1, np.flatnonzero(after))), n_cut)

    def _side(self, neighbours: Rows, there: Rows) -> Neighbours | None:
        if not len(there):
            return None
        packed, _ = self._packed(neighbours[there])
        return Neighbours(packed, there[packed.order])

    def _packed(self, sentences: Rows) -> tuple[Packed, int]:
        """The words of some sentences as rows, each with an end marker unless it was truncated."""
        starts = self._stream.sentences[sentences]
        lengths = self._stream.sentences[sentences + 1] - starts
        is_cut = lengths > self._max_length
        lengths = np.minimum(lengths, self._max_length)
        offsets = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum(lengths + ~is_cut, out=offsets[1:])
        rows = np.full(offsets[-1], self._n_words, np.int64)
        for start, length, offset in zip(starts, lengths, offsets, strict=False):
            rows[offset : offset + length] = self._stream.ids[start : start + length]
        ends = offsets[1:][~is_cut] - 1
        rows[rows >= self._n_words] = self._n_words + 1
        rows[ends] = self._n_words
        return pack(rows, offsets), int(is_cut.sum())
