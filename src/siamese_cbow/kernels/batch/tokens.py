"""The words of a batch, in the two orders that training needs: by sentence (for means) and by word (for updates).

Does not choose the sentences: see `picking`.

Legend: b batch of the chunk, k place in the batch, s sentence and t token of the corpus, w word, u distinct word.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids, Vectors
from siamese_cbow.kernels.batch.batch_records import Batches, Grouping, Keys, Picked, Shape, Text, Tokens
from siamese_cbow.kernels.batch.random import fraction
from siamese_cbow.machine.compiling import INLINE, LEAN, inner
from siamese_cbow.machine.intrinsics import prefetch
from siamese_cbow.machine.simd import gather
from siamese_cbow.machine.threads import Tile


@inner(**LEAN)
def fill(chunk: Batches, tile: Tile) -> None:
    """Copy the words of a batch, drop some by subsampling, and group their occurrences by word.

    The batch's part of the arrays is one longer than its number of tokens.
    """
    tokens, b, thread, first = chunk.tokens, tile.begin, tile.thread, chunk.tokens.first[tile.begin]
    end = _copy(chunk.text, chunk.shape, chunk.keys, chunk.picked, tokens, b)
    memory, filled = tokens.grouping, tokens.grouping.filled[thread]
    tokens.n_unique[b] = group(memory, thread, tokens.rows, first, end, tokens.unique, tokens.unique_starts)
    for k in range(chunk.picked.n_sentences[b]):
        for t in range(tokens.starts[b, k], tokens.starts[b, k + 1]):
            u = memory.order[thread, t - first]
            tokens.places[filled[u]] = k
            filled[u] += 1


@inner(**LEAN)
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
            # Always written, but counted only if kept: a random branch is often mispredicted, which costs more.
            stays = keep_all or fraction(keys.subsample, np.uint64(t)) < text.keep[w]
            tokens.rows[end] = w
            end += stays
            if has_stems:  # both rows are summed: the cosine does not depend on the number of rows
                tokens.rows[end] = text.stems[w]
                end += stays & (text.stems[w] >= 0)
    tokens.starts[b, picked.n_sentences[b]] = end
    tokens.raw[b], tokens.cut[b] = raw, cut
    return end


@inner(**INLINE)
def sum_words(tokens: Tokens, vectors: Vectors, tile: Tile, k: int, sums: Vectors, place: int) -> None:
    """sums[place] = the weighted sum of the rows of sentence k, while those of the next one are prefetched."""
    starts, b = tokens.starts, tile.batch
    if k + 1 < tile.end:
        for t in range(starts[b, k + 1], starts[b, k + 2]):
            prefetch(vectors, tokens.rows[t])
    if len(tokens.weights) == 0:
        gather(vectors, tokens.rows, starts[b, k], starts[b, k + 1], sums, place)
        return
    for j in range(sums.shape[1]):
        sums[place, j] = 0
    for t in range(starts[b, k], starts[b, k + 1]):
        row = tokens.rows[t]
        for j in range(sums.shape[1]):
            sums[place, j] += tokens.weights[row] * vectors[row, j]


@inner(**LEAN)
def group(
    memory: Grouping, thread: int, rows: Ids, first: int, end: int, unique: Ids, starts: NDArray[np.int64]
) -> int:
    """Find the distinct words of rows[first:end] in order of appearance; returns their number.

    7 2 7 2 from 0 on -> unique 7 2, starts 0 2 4; in the thread's memory, `order` is 0 1 0 1 (which of them each is)
    and `filled` 0 2 (where the next occurrence of each goes)

    Threads divide both the sentences and the words of a batch into halves, quarters and so on, so many of the rows
    that a thread updates are those it has read before.
    """
    numbers, order, filled, n = memory.numbers[thread], memory.order[thread], memory.filled[thread], 0
    for t in range(first, end):
        w = rows[t]
        is_new = numbers[w] < 0
        u = n if is_new else numbers[w]  # no branch here either: whether a word is new is as hard to predict
        numbers[w] = u
        unique[first + n] = w
        filled[n] = 0
        filled[u] += 1
        order[t - first] = u
        n += is_new
    total = first
    for u in range(n):
        numbers[unique[first + u]] = -1  # reset for the next batch
        starts[first + u] = total
        filled[u], total = total, total + filled[u]
    starts[first + n] = end
    return n
