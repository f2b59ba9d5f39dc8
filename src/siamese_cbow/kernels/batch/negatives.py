"""Negatives: sentences drawn for an anchor from the corpus or from its batch, never itself, never adjacent to it."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.kernels.batch.random import below
from siamese_cbow.kernels.batch.records import Keys, Picked, Shape, Text, starts_document
from siamese_cbow.machine.compiling import LEAN
from siamese_cbow.machine.intrinsics import prefetch_item

_AHEAD = 8  # anchors whose negatives are asked for while those of one are looked at
_TRIES = 64  # draws for one negative before it is given up: only a corpus of next to nothing needs more than a few


@njit(**LEAN)
def pick_negatives(text: Text, shape: Shape, keys: Keys, batch: int, b: int, picked: Picked) -> None:
    """For each anchor, sentences drawn evenly from all that are neither itself nor adjacent to it nor empty."""
    n_corpus, n_batch = len(text.sentences) - 1, picked.n_candidates[b]
    most = shape.units_per_batch * (shape.run_length + 2)  # with halos: no two batches use the same draws
    end = n_batch
    for k in range(n_batch):
        for i in range(shape.negatives):
            picked.negatives[b, k, i] = -1
            if picked.anchors[b, k] == 0:
                continue
            position = np.uint64(((batch * most + k) * shape.negatives + i) * _TRIES)
            if not shape.negatives_from_batch:
                soon = position + np.uint64(_AHEAD * shape.negatives * _TRIES)
                prefetch_item(text.sentences, below(keys.negatives, soon, n_corpus))
            for turn in range(_TRIES):
                limit = n_batch if shape.negatives_from_batch else n_corpus
                drawn = below(keys.negatives, position + np.uint64(turn), limit)
                s = picked.sentences[b, drawn] if shape.negatives_from_batch else drawn
                if _may_oppose(text, shape.groups, picked.sentences[b, k], s):
                    if not shape.negatives_from_batch:
                        picked.sentences[b, end] = s
                        picked.runs[b, end] = -1
                        picked.anchors[b, end] = 0
                        drawn = end
                        end += 1
                    picked.negatives[b, k, i] = drawn
                    break
    picked.n_sentences[b] = end
    _turn_round(picked.negatives[b], n_batch, end, picked.users[b], picked.user_starts[b])


@njit(**LEAN)
def _turn_round(
    negatives: NDArray[np.int32], n_anchors: int, n_sentences: int, users: NDArray[np.int32], starts: NDArray[np.int64]
) -> None:
    """Who uses each sentence as a negative.

    negatives [[2], [2], [0]] -> users [[2, 0], [0, 0], [1, 0]], starts [0, 1, 1, 3]: 2 is used by anchors 0 and 1
    """
    for k in range(n_sentences + 2):
        starts[k] = 0
    for k in range(n_anchors):
        for i in range(negatives.shape[1]):
            if negatives[k, i] >= 0:
                starts[negatives[k, i] + 2] += 1
    for k in range(n_sentences):
        starts[k + 2] += starts[k + 1]
    for k in range(n_anchors):
        for i in range(negatives.shape[1]):
            if negatives[k, i] >= 0:
                place = starts[negatives[k, i] + 1]
                users[place, 0] = k
                users[place, 1] = i
                starts[negatives[k, i] + 1] = place + 1


@njit(**LEAN)
def _may_oppose(text: Text, groups: bool, anchor: int, s: int) -> bool:
    """Whether sentence `s` may be a negative of the anchor."""
    if text.sentences[s + 1] == text.sentences[s]:
        return False
    if groups:
        return _group(text, s) != _group(text, anchor)
    low, high = min(anchor, s), max(anchor, s)
    return high > low + 1 or (high == low + 1 and starts_document(text.starts, high))


@njit(**LEAN)
def _group(text: Text, s: int) -> int:
    """The last document that starts at or before sentence s."""
    low, high = 0, len(text.documents) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if text.documents[middle] <= s:
            low = middle
        else:
            high = middle
    return low
