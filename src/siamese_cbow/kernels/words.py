"""The words of a batch, in the two orders that training needs: by sentence (for means) and by word (for updates).

Legend: b batch of the chunk, k place in the batch, s sentence and t token of the corpus, w word, u different word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.arrays import Ids
from siamese_cbow.kernels.plans import Keys, Picked, Shape, Text
from siamese_cbow.kernels.random import fraction
from siamese_cbow.numba_options import LEAN


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
    sorting: NDArray[np.uint64]  # (n_threads, 3, most tokens of a batch, at least 1024) memory for sorting


@njit(**LEAN)
def fill(
    text: Text, shape: Shape, keys: Keys, picked: Picked, words: Words, first_token: int, thread: int, b: int
) -> None:
    """Copy the words of batch b, leave some out by subsampling, and sort their occurrences by word.

    Its part of the arrays begins at `first_token` and has one place more than it has tokens.
    """
    end = _copy(text, shape, keys, picked, words, b, first_token)
    _sort(text, words, thread, b, first_token, end, picked.n_sentences[b])


@njit(**LEAN)
def _copy(text: Text, shape: Shape, keys: Keys, picked: Picked, words: Words, b: int, first: int) -> int:
    end, raw, cut = first, 0, 0
    for k in range(picked.n_sentences[b]):
        words.starts[b, k] = end
        s = picked.sentences[b, k]
        begin, stop = text.sentences[s], text.sentences[s + 1]
        if picked.anchors[b, k] == 1:
            raw += stop - begin
            cut += max(0, stop - begin - shape.max_tokens)
        for t in range(begin, min(stop, begin + shape.max_tokens)):
            w = text.ids[t]
            if text.keep[w] >= 1.0 or fraction(keys.subsample, np.uint64(t)) < text.keep[w]:
                words.words[end] = w
                end += 1
                if len(text.kin) > 0 and text.kin[w] >= 0:  # the sum of both rows: the cosine doesn't mind the count
                    words.words[end] = text.kin[w]
                    end += 1
    words.starts[b, picked.n_sentences[b]] = end
    words.raw[b] = raw
    words.cut[b] = cut
    return end


@njit(**LEAN)
def _sort(text: Text, words: Words, thread: int, b: int, first: int, end: int, n_sentences: int) -> None:
    """Occurrences by word, and by place within a word: a radix sort, ten bits at a time.

    words 7 2 7 in sentence 0, 2 in sentence 1 -> unique 2 7, starts 0 2 4, places 0 1 0 0
    """
    n = end - first
    source, target = words.sorting[thread, 0], words.sorting[thread, 1]
    i = 0
    for k in range(n_sentences):
        for t in range(words.starts[b, k], words.starts[b, k + 1]):
            source[i] = (np.uint64(words.words[t]) << np.uint64(32)) | np.uint64(k)
            i += 1
    counts = words.sorting[thread, 2]
    shift = 32
    while (text.n_rows - 1) >> (shift - 32) > 0:
        for digit in range(1024):
            counts[digit] = 0
        for i in range(n):
            counts[(source[i] >> np.uint64(shift)) & np.uint64(1023)] += np.uint64(1)
        total = np.uint64(0)
        for digit in range(1024):
            counts[digit], total = total, total + counts[digit]
        for i in range(n):
            digit = (source[i] >> np.uint64(shift)) & np.uint64(1023)
            target[counts[digit]] = source[i]
            counts[digit] += np.uint64(1)
        source, target = target, source
        shift += 10
    u, last = first - 1, np.int64(-1)
    for i in range(n):
        w = np.int64(source[i] >> np.uint64(32))
        if w != last:
            u += 1
            words.unique[u] = w
            words.unique_starts[u] = first + i
            last = w
        words.places[first + i] = np.int32(source[i] & np.uint64(0xFFFFFFFF))
    words.unique_starts[u + 1] = end
    words.n_unique[b] = u + 1 - first
