"""The words of a batch, in the two orders that training needs: by sentence (for means) and by word (for updates).

Legend: b batch of the chunk, k place in the batch, s sentence and t token of the corpus, w word, u different word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids
from siamese_cbow.kernels.batch.random import fraction
from siamese_cbow.kernels.batch.records import Keys, Picked, Shape, Text
from siamese_cbow.machine.compiling import LEAN


class Words(NamedTuple):
    """The words of a chunk of batches, by sentence and by word."""

    words: Ids  # by sentence
    starts: NDArray[np.int64]  # (n_batches, capacity + 1) into words
    places: NDArray[np.int32]  # by word: the sentence (place in its batch) of each occurrence
    unique: Ids  # by word: the different words, at the batch's part of the array
    unique_starts: NDArray[np.int64]  # by word: where the occurrences of each begin, with one more at the end
    n_unique: NDArray[np.int64]  # (n_batches,)
    raw: NDArray[np.int64]  # (n_batches,) tokens of the anchors before anything was left out
    cut: NDArray[np.int64]  # (n_batches,) tokens left out by max_tokens
    # Memory of each thread for grouping; the last two have room for the most tokens of a batch.
    numbers: NDArray[np.int32]  # (n_threads, n_rows) the number of each word among the different ones; -1: not seen yet
    order: NDArray[np.int32]  # (n_threads, tokens) these numbers by sentence
    filled: NDArray[np.int64]  # (n_threads, tokens) how often each occurs, then where its next occurrence goes


@njit(**LEAN)
def fill(
    text: Text, shape: Shape, keys: Keys, picked: Picked, words: Words, first_token: int, thread: int, b: int
) -> None:
    """Copy the words of batch b, leave some out by subsampling, and group their occurrences by word.

    Its part of the arrays begins at `first_token` and has one place more than it has tokens.
    """
    end = _copy(text, shape, keys, picked, words, b, first_token)
    _group(words, thread, b, first_token, end, picked.n_sentences[b])


@njit(**LEAN)
def _copy(text: Text, shape: Shape, keys: Keys, picked: Picked, words: Words, b: int, first: int) -> int:
    end, raw, cut = first, 0, 0
    keep_all, has_kin = len(text.keep) == 0, len(text.kin) > 0
    for k in range(picked.n_sentences[b]):
        words.starts[b, k] = end
        s = picked.sentences[b, k]
        begin, stop = text.sentences[s], text.sentences[s + 1]
        if picked.anchors[b, k] == 1:
            raw += stop - begin
            cut += max(0, stop - begin - shape.max_tokens)
        for t in range(begin, min(stop, begin + shape.max_tokens)):
            w = text.ids[t]
            # Written in any case and counted if kept: a branch on chance is often guessed wrong, which costs more.
            kept = keep_all or fraction(keys.subsample, np.uint64(t)) < text.keep[w]
            words.words[end] = w
            end += kept
            if has_kin:  # the sum of both rows: the cosine doesn't mind the count
                words.words[end] = text.kin[w]
                end += kept & (text.kin[w] >= 0)
    words.starts[b, picked.n_sentences[b]] = end
    words.raw[b] = raw
    words.cut[b] = cut
    return end


@njit(**LEAN)
def _group(words: Words, thread: int, b: int, first: int, end: int, n_sentences: int) -> None:
    """Occurrences by word, words in the order in which they come, occurrences of a word by place.

    words 7 2 7 in sentence 0, 2 in sentence 1 -> unique 7 2, starts 0 2 4, places 0 0 0 1

    Threads share out both the sentences and the words of a batch by halves, quarters and so on, so many of the rows
    that a thread moves are those that it has read before.
    """
    n = _number(words, thread, first, end)
    filled, total = words.filled[thread], first
    for u in range(n):
        words.unique_starts[first + u] = total
        filled[u], total = total, total + filled[u]
    words.unique_starts[first + n] = end
    words.n_unique[b] = n
    for k in range(n_sentences):
        for t in range(words.starts[b, k], words.starts[b, k + 1]):
            u = words.order[thread, t - first]
            words.places[filled[u]] = k
            filled[u] += 1


@njit(**LEAN)
def _number(words: Words, thread: int, first: int, end: int) -> int:
    """Number the different words from 0 on, and count their occurrences; how many there are."""
    numbers, filled, n = words.numbers[thread], words.filled[thread], 0
    for t in range(first, end):
        w = words.words[t]
        is_new = numbers[w] < 0
        u = n if is_new else numbers[w]  # no branch here either: whether a word is new is as hard to guess
        numbers[w] = u
        words.unique[first + n] = w
        filled[n] = 0
        filled[u] += 1
        words.order[thread, t - first] = u
        n += is_new
    for u in range(first, first + n):
        numbers[words.unique[u]] = -1  # as it was, for the next batch
    return n
