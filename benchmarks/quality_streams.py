"""Streams cut in other ways, for the quality search: a half of the documents, pieces of sentences, views of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.stream import Stream


def first_half(stream: Stream) -> Stream:
    """The first half of the documents, with the whole vocabulary."""
    n_documents = stream.n_documents // 2
    n_sentences = int(stream.documents[n_documents])
    return replace(
        stream,
        ids=stream.ids[: int(stream.sentences[n_sentences])],
        sentences=stream.sentences[: n_sentences + 1],
        documents=stream.documents[: n_documents + 1],
    )


def halves(stream: Stream, shortest: int = 8) -> Stream:
    """Sentences of 2 x `shortest` words or more become two that stand side by side."""
    return _cut(stream, np.where(np.diff(stream.sentences) >= 2 * shortest, 2, 1))


def pieces(stream: Stream, length: int) -> Stream:
    """Sentences become pieces of about `length` words that stand side by side."""
    return _cut(stream, np.maximum(1, np.round(np.diff(stream.sentences) / length)).astype(np.int64))


def dealt(stream: Stream, shortest: int = 8) -> Stream:
    """As `halves`, but every second word goes to the first part and the others to the second."""
    lengths = np.diff(stream.sentences)
    first = np.repeat(np.asarray(stream.sentences[:-1]), lengths)
    place, length = np.arange(len(stream.ids)) - first, np.repeat(lengths, lengths)
    spot = np.where(place % 2 == 1, place // 2, length // 2 + place // 2)
    ids = np.empty(len(stream.ids), np.int32)
    ids[first + np.where(length >= 2 * shortest, spot, place)] = stream.ids
    return halves(replace(stream, ids=ids), shortest)


def _cut(stream: Stream, parts: NDArray[np.int64]) -> Stream:
    """Sentence i in parts[i] equal parts: 5 words in 2 parts -> 2 and 3."""
    lengths = np.diff(stream.sentences)
    before = np.concatenate([[0], np.cumsum(parts)])
    number = np.arange(before[-1]) - np.repeat(before[:-1], parts)
    starts = np.repeat(stream.sentences[:-1], parts) + np.repeat(lengths, parts) * number // np.repeat(parts, parts)
    sentences = np.concatenate([starts, stream.sentences[-1:]]).astype(np.int64)
    return replace(stream, sentences=sentences, documents=before[np.asarray(stream.documents)].astype(np.int64))
