"""How a row moves, given its gradient of this batch: one rule for each optimiser.

All are *lazy*: a batch touches only the rows of its words, and only their momentum decays. (A dense step would go
through the whole matrix for every batch.) Clipping and L2 are per row too, for the same reason.

    sgd       row -= rate g
    nesterov  v = m v - rate g;  row += m v - rate g
    adagrad   a += mean(g^2);  row -= rate g / sqrt(a)          one number for a row, which is what keeps it light
    adadelta  a = r a + (1-r) g^2;  x = g sqrt(d + e) / sqrt(a + e);  d = r d + (1-r) x^2;  row -= rate x
    adam      m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;  row -= rate m' / (sqrt(v') + e)   with bias corrected m', v'
    adamax    m = b1 m + (1-b1) g;  u = max(b2 u, |g|);  row -= rate / (1 - b1^step) m / (u + e)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.kernels.batch.rows import FASTMATH
from siamese_cbow.machine.compiling import INLINE, LEAN
from siamese_cbow.machine.gathering import gather

SGD, NESTEROV, ADAGRAD, ADADELTA, ADAM, ADAMAX = range(6)


class Rule(NamedTuple):
    """An optimiser as numbers."""

    kind: int
    dim: np.float32
    momentum: np.float32  # m, r or b1
    decay: np.float32  # b2
    epsilon: np.float32
    clip: np.float32  # longest gradient of a row; 0: no limit
    l2: np.float32  # weight of the squared norms of the rows touched


@njit(**INLINE, fastmath=FASTMATH)
def update(
    rule: Rule,
    rate: np.float32,
    step: int,
    vectors: Vectors,
    first: Vectors,
    second: Vectors,
    w: int,
    g: Vectors,
    t: int,
) -> None:
    """Move row w by the gradient g[t]. `first` and `second` hold the optimiser's memory: rows, a column, or nothing."""
    if rule.l2 > 0:
        for j in range(g.shape[1]):
            g[t, j] += rule.l2 * vectors[w, j]
    if rule.clip > 0:
        _clip(rule.clip, g, t)
    if rule.kind == SGD:
        for j in range(g.shape[1]):
            vectors[w, j] -= rate * g[t, j]
    elif rule.kind == ADAGRAD:
        scale = _adagrad(rule, rate, first, w, _square(g, t))
        for j in range(g.shape[1]):
            vectors[w, j] -= scale * g[t, j]
    elif rule.kind == NESTEROV:
        for j in range(g.shape[1]):
            first[w, j] = rule.momentum * first[w, j] - rate * g[t, j]
            vectors[w, j] += rule.momentum * first[w, j] - rate * g[t, j]
    elif rule.kind == ADADELTA:
        _adadelta(rule, rate, vectors, first, second, w, g, t)
    elif rule.kind == ADAM:
        _adam(rule, rate, step, vectors, first, second, w, g, t)
    else:
        _adamax(rule, rate, step, vectors, first, second, w, g, t)


@njit(**INLINE)
def is_light(rule: Rule) -> bool:
    """Whether `move_light` knows the rule."""
    return (rule.kind == SGD or rule.kind == ADAGRAD) and rule.clip == 0 and rule.l2 == 0


@njit(**INLINE, fastmath=FASTMATH)
def move_light(
    rule: Rule,
    rate: np.float32,
    gradients: Vectors,
    places: NDArray[np.int32],
    begin: int,
    end: int,
    vectors: Vectors,
    first: Vectors,
    w: int,
    totals: Vectors,
    t: int,
) -> None:
    """Add up the gradients of a word's occurrences and move its row, for the two rules that need no more.

    Most words occur once or twice in a batch. Their gradients go to the row without a stop in `totals`, which
    makes this phase a third faster.
    """
    a, width = places[begin], vectors.shape[1]
    if end == begin + 1:
        scale = rate if rule.kind == SGD else _adagrad(rule, rate, first, w, _square(gradients, a))
        for j in range(width):
            vectors[w, j] -= scale * gradients[a, j]
    elif end == begin + 2:
        b, square = places[begin + 1], np.float32(0)
        if rule.kind == ADAGRAD:
            for j in range(width):
                square += (gradients[a, j] + gradients[b, j]) * (gradients[a, j] + gradients[b, j])
        scale = rate if rule.kind == SGD else _adagrad(rule, rate, first, w, square)
        for j in range(width):
            vectors[w, j] -= scale * (gradients[a, j] + gradients[b, j])
    else:
        gather(gradients, places, begin, end, totals, t)
        scale = rate if rule.kind == SGD else _adagrad(rule, rate, first, w, _square(totals, t))
        for j in range(width):
            vectors[w, j] -= scale * totals[t, j]


@njit(**INLINE, fastmath=FASTMATH)
def _adagrad(rule: Rule, rate: np.float32, first: Vectors, w: int, square: np.float32) -> np.float32:
    """Remember the gradient's length, give the step."""
    first[w, 0] += square / rule.dim
    return rate / (np.sqrt(first[w, 0]) + rule.epsilon)


@njit(**INLINE, fastmath=FASTMATH)
def _square(g: Vectors, t: int) -> np.float32:
    total = np.float32(0)
    for j in range(g.shape[1]):
        total += g[t, j] * g[t, j]
    return total


@njit(**INLINE, fastmath=FASTMATH)
def _clip(limit: np.float32, g: Vectors, t: int) -> None:
    norm = np.sqrt(_square(g, t))
    if norm > limit:
        scale = limit / norm
        for j in range(g.shape[1]):
            g[t, j] *= scale


@njit(**LEAN, fastmath=FASTMATH)
def _adadelta(
    rule: Rule, rate: np.float32, vectors: Vectors, seen: Vectors, moved: Vectors, w: int, g: Vectors, t: int
) -> None:
    rest = np.float32(1) - rule.momentum
    for j in range(g.shape[1]):
        seen[w, j] = rule.momentum * seen[w, j] + rest * g[t, j] * g[t, j]
        x = g[t, j] * np.sqrt(moved[w, j] + rule.epsilon) / np.sqrt(seen[w, j] + rule.epsilon)
        moved[w, j] = rule.momentum * moved[w, j] + rest * x * x
        vectors[w, j] -= rate * x


@njit(**LEAN, fastmath=FASTMATH)
def _adam(
    rule: Rule, rate: np.float32, step: int, vectors: Vectors, m: Vectors, v: Vectors, w: int, g: Vectors, t: int
) -> None:
    rest1, rest2 = np.float32(1) - rule.momentum, np.float32(1) - rule.decay
    correct1 = np.float32(1 / (1 - np.float64(rule.momentum) ** step))
    correct2 = np.float32(1 / (1 - np.float64(rule.decay) ** step))
    for j in range(g.shape[1]):
        m[w, j] = rule.momentum * m[w, j] + rest1 * g[t, j]
        v[w, j] = rule.decay * v[w, j] + rest2 * g[t, j] * g[t, j]
        vectors[w, j] -= rate * (m[w, j] * correct1) / (np.sqrt(v[w, j] * correct2) + rule.epsilon)


@njit(**LEAN, fastmath=FASTMATH)
def _adamax(
    rule: Rule, rate: np.float32, step: int, vectors: Vectors, m: Vectors, u: Vectors, w: int, g: Vectors, t: int
) -> None:
    rest = np.float32(1) - rule.momentum
    scale = rate * np.float32(1 / (1 - np.float64(rule.momentum) ** step))
    for j in range(g.shape[1]):
        m[w, j] = rule.momentum * m[w, j] + rest * g[t, j]
        u[w, j] = max(rule.decay * u[w, j], abs(g[t, j]))
        vectors[w, j] -= scale * m[w, j] / (u[w, j] + rule.epsilon)
