"""From the slopes of a batch of the sampled objectives to the gradient of each sentence (see `sampled`)."""

from __future__ import annotations

import numpy as np
from numba import njit

from siamese_cbow.kernels.batch.candidates import n_slots_of_positives, slot
from siamese_cbow.kernels.batch.phases import Objective, Tally, count_examples, neighbours
from siamese_cbow.kernels.batch.records import Picked, Shape
from siamese_cbow.kernels.objectives.sampled_work import SampledWork, other_side
from siamese_cbow.machine.compiling import INLINE
from siamese_cbow.machine.gathering import gather_scaled


@njit(**INLINE)
def gradients_tile(
    shape: Shape,
    picked: Picked,
    objective: Objective,
    work: SampledWork,
    tally: Tally,
    thread: int,
    strip: int,
    b: int,
    begin: int,
    end: int,
) -> None:
    """Each sentence lists the pairs it is in (partner, weight) and sums them in one go."""
    n_examples = count_examples(work, picked.n_candidates[b], tally, b, begin + strip)
    share, other = np.float32(1.0 / max(1, n_examples)), other_side(objective, work)
    for k in range(begin, end):
        pairs, along = _as_anchor(picked, work, other, b, k, thread)
        if other > 0:
            _gather(objective, work, thread, strip, k, pairs, along, share)
            pairs, along = 0, np.float32(0)
        pairs, along = _as_candidate(shape, picked, work, other, b, k, thread, pairs, along)
        _gather(objective, work, thread, strip, other + k, pairs, along, share)


@njit(**INLINE)
def _as_anchor(picked: Picked, work: SampledWork, other: int, b: int, k: int, thread: int) -> tuple[int, np.float32]:
    """List the pairs in which k is the anchor: how many, and the sum of slope x score."""
    pairs, along = 0, np.float32(0)
    if k < picked.n_candidates[b] and work.is_example[k] == 1:
        for i in range(work.places.shape[1]):
            if work.places[k, i] >= 0:
                partner = other + work.places[k, i]
                pairs, along = _list(work, thread, pairs, along, partner, k, i)
    return pairs, along


@njit(**INLINE)
def _as_candidate(
    shape: Shape,
    picked: Picked,
    work: SampledWork,
    other: int,
    b: int,
    k: int,
    thread: int,
    pairs: int,
    along: np.float32,
) -> tuple[int, np.float32]:
    """List the pairs in which k is a candidate, after those that are listed already."""
    if work.scales[other + k] == 0:
        return pairs, along
    first, end = neighbours(shape, picked, b, k)
    for j in range(first, end):
        if j != k and work.is_example[j] == 1:
            pairs, along = _list(work, thread, pairs, along, j, j, slot(shape, first, j, k))
    for i in range(picked.user_starts[b, k], picked.user_starts[b, k + 1]):
        anchor = picked.users[b, i, 0]
        if work.is_example[anchor] == 1:
            i_slot = n_slots_of_positives(shape) + picked.users[b, i, 1]
            pairs, along = _list(work, thread, pairs, along, anchor, anchor, i_slot)
    return pairs, along


@njit(**INLINE)
def _list(
    work: SampledWork, thread: int, pairs: int, along: np.float32, partner: int, anchor: int, i: int
) -> tuple[int, np.float32]:
    """One more pair: the anchor's i-th."""
    work.partners[thread, pairs] = partner
    work.weights[thread, pairs] = work.slopes[anchor, i] * work.scales[partner]
    return pairs + 1, along + work.slopes[anchor, i] * work.scores[anchor, i]


@njit(**INLINE)
def _gather(
    objective: Objective,
    work: SampledWork,
    thread: int,
    strip: int,
    k: int,
    pairs: int,
    along: np.float32,
    share: np.float32,
) -> None:
    """The gradient of sentence k's words, from the pairs on the list.

    For u = s / |s|: dL/ds = (g - (g.u) u) / |s|, and g.u is the sum of slope x score. For u = s / n it is g / n.
    """
    if objective.unit:
        work.partners[thread, pairs] = k
        work.weights[thread, pairs] = -along * work.scales[k]
        pairs += 1
    for i in range(pairs):
        work.weights[thread, i] *= work.scales[k] * share
    gather_scaled(work.sums[strip], work.partners[thread], work.weights[thread], pairs, work.gradients[strip], k)
