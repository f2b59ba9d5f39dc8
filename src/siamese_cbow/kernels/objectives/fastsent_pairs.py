"""Which words each sentence of a batch has to guess, and which words are drawn against them.

Legend: b batch of the chunk, k place in the batch, j place of a sentence to be guessed, p pair, u different word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids
from siamese_cbow.kernels.batch.phases import neighbours
from siamese_cbow.kernels.batch.records import Keys, Picked, Shape, Text
from siamese_cbow.kernels.batch.tokens import Words
from siamese_cbow.kernels.objectives.fastsent_negatives import Table, draw

_BEFORE, _AFTER, _OWN = 0, 1, 2  # where the guessing sentence stands, seen from the guessed one; group members: from 3


class Pairs(NamedTuple):
    """The pairs of a chunk of batches, by sentence and by word."""

    negatives: int  # for each word to guess
    autoencode: bool  # sentences guess their own words too
    words: Ids  # by sentence; -1: a negative that is the very word to guess is left out, as in word2vec
    wanted: NDArray[np.uint8]  # by sentence: 1 to be guessed, 0 drawn at random
    anchors: NDArray[np.int32]  # by sentence: its place in the batch
    slopes: NDArray[np.float32]  # by sentence: dL/dscore
    starts: NDArray[np.int64]  # (n_batches, capacity + 1) into words
    order: NDArray[np.int64]  # by word: where each pair stands in words
    unique: Ids  # by word: the different words, at the batch's part of the array
    unique_starts: NDArray[np.int64]  # by word: where the pairs of each begin in order, with one more at the end
    n_unique: NDArray[np.int64]  # (n_batches,)
    sorting: NDArray[np.uint64]  # (n_threads, 2, most pairs of a batch) memory for sorting


@njit(nogil=True, cache=True)
def fill_pairs(
    text: Text,
    shape: Shape,
    keys: Keys,
    picked: Picked,
    words: Words,
    table: Table,
    pairs: Pairs,
    first: int,
    thread: int,
    b: int,
) -> None:
    """Draw the pairs of batch b and sort them by word. Its part of the arrays begins at `first`."""
    end = first
    for k in range(picked.n_sentences[b]):
        pairs.starts[b, k] = end
        if picked.anchors[b, k] == 0 or words.starts[b, k] == words.starts[b, k + 1]:
            continue
        near, stop = neighbours(shape, picked, b, k)
        for j in range(near, stop):
            if j != k or pairs.autoencode:
                end = _guess(shape, keys, picked, words, table, pairs, end, b, k, j)
    pairs.starts[b, picked.n_sentences[b]] = end
    _sort(text.n_rows, pairs, thread, b, first, end)


@njit(nogil=True, cache=True)
def _guess(
    shape: Shape, keys: Keys, picked: Picked, words: Words, table: Table, pairs: Pairs, end: int, b: int, k: int, j: int
) -> int:
    """Sentence k has to guess the words of sentence j."""
    if j == k:
        role = _OWN
    elif shape.groups:
        role = 3 + k
    else:
        role = _BEFORE if k < j else _AFTER
    # A draw is a function of the guessed sentence, who guesses, and the place of the word. Only in sentences of
    # hundreds of thousands of words could two of these meet, and two guesses with the same negatives do no harm.
    position = np.uint64(picked.sentences[b, j]) << np.uint64(34)
    position += np.uint64(role) << np.uint64(20)
    for t in range(words.starts[b, j], words.starts[b, j + 1]):
        word = words.words[t]
        place = np.uint64((t - words.starts[b, j]) * pairs.negatives)
        for i in range(1 + pairs.negatives):
            drawn = draw(table, keys.negatives, position + place + np.uint64(i - 1)) if i > 0 else word
            pairs.words[end] = -1 if i > 0 and drawn == word else drawn
            pairs.wanted[end] = 1 if i == 0 else 0
            pairs.anchors[end] = k
            end += 1
    return end


@njit(nogil=True, cache=True)
def _sort(n_words: int, pairs: Pairs, thread: int, b: int, first: int, end: int) -> None:
    """Pairs by word, and in order of sentences within a word: a radix sort, ten bits at a time.

    words 7 2 -1 7 -> unique 2 7, order 1 0 3
    """
    source, target = pairs.sorting[thread, 0], pairs.sorting[thread, 1]
    n = 0
    for p in range(first, end):
        if pairs.words[p] >= 0:
            source[n] = (np.uint64(pairs.words[p]) << np.uint64(32)) | np.uint64(p - first)
            n += 1
    counts = np.empty(1024, np.int64)
    shift = 32
    while (n_words - 1) >> (shift - 32) > 0:
        counts[:] = 0
        for i in range(n):
            counts[(source[i] >> np.uint64(shift)) & np.uint64(1023)] += 1
        total = 0
        for digit in range(1024):
            counts[digit], total = total, total + counts[digit]
        for i in range(n):
            digit = (source[i] >> np.uint64(shift)) & np.uint64(1023)
            target[counts[digit]] = source[i]
            counts[digit] += 1
        source, target = target, source
        shift += 10
    u, last = first - 1, np.int64(-1)
    for i in range(n):
        w = np.int64(source[i] >> np.uint64(32))
        if w != last:
            u += 1
            pairs.unique[u] = w
            pairs.unique_starts[u] = first + i
            last = w
        pairs.order[first + i] = first + np.int64(source[i] & np.uint64(0xFFFFFFFF))
    pairs.unique_starts[u + 1] = first + n
    pairs.n_unique[b] = u + 1 - first
