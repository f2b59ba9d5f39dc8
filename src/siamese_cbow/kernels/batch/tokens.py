"""The words of a batch, in the two orders that training needs: by sentence (for means) and by word (for updates).

Legend: b batch of the chunk, k place in the batch, s sentence and t token of the corpus, w word, u different word.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from siamese_cbow.kernels.batch.random import fraction
from siamese_cbow.kernels.batch.records import Chunk, Keys, Picked, Shape, Text, Tokens
from siamese_cbow.machine.compiling import LEAN


@njit(**LEAN)
def fill(chunk: Chunk, thread: int, b: int) -> None:
    """Copy the words of batch b, leave some out by subsampling, and group their occurrences by word.

    Its part of the arrays has one place more than it has tokens.
    """
    end = _copy(chunk.text, chunk.shape, chunk.keys, chunk.picked, chunk.tokens, b)
    _group(chunk.tokens, thread, b, end, chunk.picked.n_sentences[b])


@njit(**LEAN)
def _copy(text: Text, shape: Shape, keys: Keys, picked: Picked, tokens: Tokens, b: int) -> int:
    end, raw, cut = tokens.first[b], 0, 0
    keep_all, has_stems = len(text.keep) == 0, len(text.stems) > 0
    for k in range(picked.n_sentences[b]):
        tokens.starts[b, k] = end
        s = picked.sentences[b, k]
        begin, stop = text.sentences[s], text.sentences[s + 1]
        if picked.anchors[b, k] == 1:
            raw += stop - begin
            cut += max(0, stop - begin - shape.max_tokens)
        for t in range(begin, min(stop, begin + shape.max_tokens)):
            w = text.ids[t]
            # Written in any case and counted if kept: a branch on chance is often guessed wrong, which costs more.
            stays = keep_all or fraction(keys.subsample, np.uint64(t)) < text.keep[w]
            tokens.rows[end] = w
            end += stays
            if has_stems:  # the sum of both rows: the cosine doesn't mind the count
                tokens.rows[end] = text.stems[w]
                end += stays & (text.stems[w] >= 0)
    tokens.starts[b, picked.n_sentences[b]] = end
    tokens.raw[b] = raw
    tokens.cut[b] = cut
    return end


@njit(**LEAN)
def _group(tokens: Tokens, thread: int, b: int, end: int, n_sentences: int) -> None:
    """Occurrences by word, words in the order in which they come, occurrences of a word by place.

    words 7 2 7 in sentence 0, 2 in sentence 1 -> unique 7 2, starts 0 2 4, places 0 0 0 1

    Threads share out both the sentences and the words of a batch by halves, quarters and so on, so many of the rows
    that a thread moves are those that it has read before.
    """
    first = tokens.first[b]
    n = _number(tokens, thread, first, end)
    filled, total = tokens.filled[thread], first
    for u in range(n):
        tokens.unique_starts[first + u] = total
        filled[u], total = total, total + filled[u]
    tokens.unique_starts[first + n] = end
    tokens.n_unique[b] = n
    for k in range(n_sentences):
        for t in range(tokens.starts[b, k], tokens.starts[b, k + 1]):
            u = tokens.order[thread, t - first]
            tokens.places[filled[u]] = k
            filled[u] += 1


@njit(**LEAN)
def _number(tokens: Tokens, thread: int, first: int, end: int) -> int:
    """Number the different words from 0 on, and count their occurrences; how many there are."""
    numbers, filled, n = tokens.numbers[thread], tokens.filled[thread], 0
    for t in range(first, end):
        w = tokens.rows[t]
        is_new = numbers[w] < 0
        u = n if is_new else numbers[w]  # no branch here either: whether a word is new is as hard to guess
        numbers[w] = u
        tokens.unique[first + n] = w
        filled[n] = 0
        filled[u] += 1
        tokens.order[thread, t - first] = u
        n += is_new
    for u in range(first, first + n):
        numbers[tokens.unique[u]] = -1  # as it was, for the next batch
    return n
