"""Transformed streams for the benchmarks: as text, a part of the documents, half sentences, two views of a sentence.

In a stream of groups, all members of a group are positives of one another. So groups of three consecutive sentences
have positives up to two sentences away, and adjacent sentences meet twice as often as those two apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from siamese_cbow.stream.stream import Stream
from siamese_cbow.words.vocabulary import Vocabulary

SHORTEST = 8  # fewest words of half a sentence


def sentence_words(stream: Stream, chosen: Iterable[int] | None = None) -> Iterator[list[str]]:
    """The words of the chosen sentences, or of all."""
    words, ids, bounds = stream.vocabulary.words, np.asarray(stream.ids), np.asarray(stream.sentences)
    for i in range(stream.n_sentences) if chosen is None else chosen:
        yield [words[word] for word in ids[bounds[i] : bounds[i + 1]].tolist()]


def documents(stream: Stream, first: int, last: int) -> Stream:
    """Documents `first` to `last` (exclusive) of a stream, with its whole vocabulary."""
    return stream.part(range(int(stream.documents[first]), int(stream.documents[last])))


def beginning(stream: Stream, share: float) -> Stream:
    """The first documents, as many as make up a share of all."""
    return documents(stream, 0, int(stream.n_documents * share))


def with_own_words(stream: Stream) -> Stream:
    """As if only this stream had been read: its own counts, without words that occur fewer than five times."""
    counts = np.bincount(stream.ids, minlength=len(stream.vocabulary))
    vocabulary = Vocabulary.of_counts(dict(zip(stream.vocabulary.words, counts.tolist(), strict=True)), min_count=5)
    numbers = np.array([vocabulary.index.get(word, -1) for word in stream.vocabulary.words], np.int32)
    ids = numbers[stream.ids]
    kept_before = np.concatenate([[0], np.cumsum(ids >= 0)])
    return replace(stream, ids=ids[ids >= 0], sentences=kept_before[stream.sentences], vocabulary=vocabulary)


def groups(stream: Stream, size: int) -> Stream:
    """Documents cut into groups of `size` sentences; all sentences of a group are positives of one another."""
    return replace(blocks(stream, size), kind="groups")


def blocks(stream: Stream, size: int) -> Stream:
    """Documents cut after every `size` sentences: 5 sentences by 2 -> 2, 2 and 1."""
    lengths = np.diff(stream.documents)
    parts = -(-lengths // size)
    number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    starts = np.repeat(np.asarray(stream.documents[:-1]), parts) + size * number
    return replace(stream, documents=np.concatenate([starts, stream.documents[-1:]]))


def shuffled(stream: Stream) -> Stream:
    """The sentences of each document in random order, so that a group is a random sample of its document."""
    document = np.repeat(np.arange(stream.n_documents), np.diff(stream.documents))
    order = np.lexsort((np.random.default_rng(1).random(stream.n_sentences), document))
    starts, lengths = np.asarray(stream.sentences[:-1])[order], np.diff(stream.sentences)[order]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.asarray(stream.ids)[np.repeat(starts - ends[:-1], lengths) + np.arange(ends[-1])]
    return replace(stream, ids=ids, sentences=ends)


def paragraphs(stream: Stream, bounded: Path) -> Stream:
    """The same sentences with the documents of another stream, made by `prepare --boundary paragraph`."""
    bounds = Stream.load(bounded).documents
    return replace(stream, documents=np.asarray(bounds[bounds <= stream.n_sentences]))


def halves(stream: Stream) -> Stream:
    """Sentences of 2 x SHORTEST words or more become two adjacent sentences: 17 words -> 8 and 9."""
    lengths = np.diff(stream.sentences)
    parts = np.where(lengths >= 2 * SHORTEST, 2, 1)
    before = np.concatenate([[0], np.cumsum(parts)])
    is_second = np.arange(before[-1]) - np.repeat(before[:-1], parts)
    starts = np.repeat(stream.sentences[:-1], parts) + np.repeat(lengths, parts) * is_second // 2
    sentences = np.concatenate([starts, stream.sentences[-1:]]).astype(np.int64)
    return replace(stream, sentences=sentences, documents=before[np.asarray(stream.documents)].astype(np.int64))


def dealt(stream: Stream) -> Stream:
    """Like `halves`, but every second word goes to the first part and the others to the second."""
    lengths = np.diff(stream.sentences)
    first = np.repeat(np.asarray(stream.sentences[:-1]), lengths)
    place, length = np.arange(len(stream.ids)) - first, np.repeat(lengths, lengths)
    spot = np.where(place % 2 == 1, place // 2, length // 2 + place // 2)
    ids = np.empty(len(stream.ids), np.int32)
    ids[first + np.where(length >= 2 * SHORTEST, spot, place)] = stream.ids
    return halves(replace(stream, ids=ids))
