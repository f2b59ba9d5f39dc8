"""Chooses the sentences of a batch, and draws the negatives for its anchors. Does not copy their words: see `tokens`.

Training shuffles *units*: `run_length` consecutive sentences, or a group of paraphrases. A batch consists of some units
in corpus order. Its sentences fall into *runs*: consecutive sentences of one document (two neighbouring units of a
batch make one run). Two sentences of a batch are adjacent if, and only if, they are next to each other in it and belong
to one run; in a group, all members of a run are adjacent to one another.

    sentences of the corpus  0 1 2 3 4 | 5 6 7 8 9      (two documents)
    units of length 4        [0 1 2 3] [4 5 6 7] [8 9]
    batch of units 0 and 1   0 1 2 3 4 5 6 7
    runs                     0 0 0 0 0 1 1 1

A negative is a sentence drawn from the corpus or from the batch, but not the anchor itself or a sentence adjacent to
it, unless the recipe follows the paper's program (`any_negative`).

Legend: b batch of the chunk, k place in the batch, s sentence of the corpus.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.kernels.batch.batch_records import Keys, Picked, Shape, Text, starts_document
from siamese_cbow.kernels.batch.random import below, permuted
from siamese_cbow.machine.compiling import LEAN, inner
from siamese_cbow.machine.intrinsics import prefetch_item
from siamese_cbow.machine.threads import Team, next_item

_AHEAD = 8  # negatives are prefetched this many anchors before they are checked
_TRIES = 64  # draws for one negative before giving up; only a tiny corpus needs more than a few


@njit(**LEAN)
def pick(team: Team, text: Text, shape: Shape, keys: Keys, first_batch: int, picked: Picked) -> None:
    """Choose the sentences of the batches `first_batch, first_batch + 1, ...`."""
    while True:
        b = next_item(team)
        if b >= len(picked.n_sentences):
            return
        units = picked.user_starts[b]  # free until negatives are drawn
        n_units = _choose_units(shape, keys, first_batch + b, units)
        if shape.groups:
            _pick_groups(text, shape, keys, units, n_units, b, picked)
        else:
            _pick_runs(text, shape, keys, units, n_units, b, picked)
        picked.n_candidates[b] = picked.n_sentences[b]
        if shape.negatives > 0:
            _pick_negatives(text, shape, keys, first_batch + b, b, picked)
        n = 0
        for k in range(picked.n_sentences[b]):
            s = picked.sentences[b, k]
            n += min(text.sentences[s + 1] - text.sentences[s], shape.max_tokens)
            prefetch_item(text.ids, text.sentences[s])  # for `fill`; sampled sentences are scattered over the corpus
        picked.n_tokens[b] = 2 * n if len(text.stems) > 0 else n


@inner(**LEAN)
def _choose_units(shape: Shape, keys: Keys, batch: int, units: NDArray[np.int64]) -> int:
    """Write the units of a batch in corpus order; returns their number."""
    first = batch * shape.units_per_batch
    n = max(0, min(shape.units_per_batch, shape.n_units - first))
    for i in range(n):
        unit = permuted(keys.order, shape.n_units, keys.half_bits, first + i)
        j = i
        while j > 0 and units[j - 1] > unit:
            units[j] = units[j - 1]
            j -= 1
        units[j] = unit
    return n


@inner(**LEAN)
def _pick_runs(
    text: Text, shape: Shape, keys: Keys, units: NDArray[np.int64], n_units: int, b: int, picked: Picked
) -> None:
    n_corpus = len(text.sentences) - 1
    k, run, last = 0, -1, -2
    for i in range(n_units):
        begin = max(0, units[i] * shape.run_length - keys.shift)
        end = min(n_corpus, (units[i] + 1) * shape.run_length - keys.shift)
        if end <= begin:
            continue
        goes_on = i + 1 < n_units and units[i + 1] == units[i] + 1
        left = 1 if shape.halo and begin > 0 and not starts_document(text.starts, begin) else 0
        right = 1 if shape.halo and not goes_on and end < n_corpus and not starts_document(text.starts, end) else 0
        for s in range(begin - left, end + right):
            if s <= last:
                continue  # already there: the unit before ends here, or its halo does
            if s != last + 1 or starts_document(text.starts, s):
                run += 1
            picked.sentences[b, k] = s
            picked.runs[b, k] = run
            picked.anchors[b, k] = 1 if begin <= s < end and (not shape.triples or _is_inside(text, s)) else 0
            last = s
            k += 1
    picked.n_sentences[b] = k


@inner(**LEAN)
def _is_inside(text: Text, s: int) -> bool:
    """Whether sentence `s` is neither the first nor the last of its document."""
    n_corpus = len(text.sentences) - 1
    return s + 1 < n_corpus and not starts_document(text.starts, s) and not starts_document(text.starts, s + 1)


@inner(**LEAN)
def _pick_groups(
    text: Text, shape: Shape, keys: Keys, units: NDArray[np.int64], n_units: int, b: int, picked: Picked
) -> None:
    """The members of a group; for a large group, `run_length` of them, starting at a random one."""
    k = 0
    for run in range(n_units):
        begin, end = text.documents[units[run]], text.documents[units[run] + 1]
        size = end - begin
        if size == 0:
            continue
        first = below(keys.positives, np.uint64(units[run]), size) if size > shape.run_length else 0
        for i in range(min(size, shape.run_length)):
            picked.sentences[b, k] = begin + (first + i) % size
            picked.runs[b, k] = run
            picked.anchors[b, k] = 1
            k += 1
    picked.n_sentences[b] = k


@inner(**LEAN)
def _pick_negatives(text: Text, shape: Shape, keys: Keys, batch: int, b: int, picked: Picked) -> None:
    """For each anchor, sentences drawn uniformly from all that are neither itself nor adjacent to it nor empty."""
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
                if _may_oppose(text, shape, picked.sentences[b, k], s):
                    if not shape.negatives_from_batch:
                        picked.sentences[b, end], picked.runs[b, end], picked.anchors[b, end] = s, -1, 0
                        drawn = end
                        end += 1
                    picked.negatives[b, k, i] = drawn
                    break
    picked.n_sentences[b] = end
    _turn_round(picked.negatives[b], n_batch, end, picked.users[b], picked.user_starts[b])


@inner(**LEAN)
def _turn_round(
    negatives: NDArray[np.int32], n_anchors: int, n_sentences: int, users: NDArray[np.int32], starts: NDArray[np.int64]
) -> None:
    """Lists which anchors use each sentence as a negative.

    negatives [[2], [2], [0]] -> users [[2, 0], [0, 0], [1, 0]], starts [0, 1, 1, 3]: 2 is used by anchors 0 and 1
    """
    starts[: n_sentences + 2] = 0
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


@inner(**LEAN)
def _may_oppose(text: Text, shape: Shape, anchor: int, s: int) -> bool:
    """Whether sentence `s` may be a negative of the anchor."""
    if text.sentences[s + 1] == text.sentences[s]:
        return False
    if shape.any_negative:
        return True
    if shape.groups:
        return np.searchsorted(text.documents, s, "right") != np.searchsorted(text.documents, anchor, "right")
    low, high = min(anchor, s), max(anchor, s)
    return high > low + 1 or (high == low + 1 and starts_document(text.starts, high))
