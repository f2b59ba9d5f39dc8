"""How a row moves, given its gradient of this batch: one rule for each optimiser.

The occurrences of a batch are grouped by word, so each row is read, updated once and written, and its additions always
come in the same order. This gives Adagrad and similar rules their exact gradient, and the same bytes on any number of
threads. Does not compute the gradients: see `objectives`. Rejected: taking a row as a view (`vectors[w]`), because each
view costs two atomic updates of a reference count that all threads share, as much as the arithmetic.

All rules are *lazy*: a batch touches only the rows of its words, and only their momentum decays. (A dense step would go
through the whole matrix for every batch.) Clipping and L2 work per row, too, for the same reason.

    sgd       row -= rate g
    nesterov  v = m v - rate g;  row += m v - rate g
    adagrad   a += mean(g^2);  row -= rate g / sqrt(a)          one number per row, which keeps it light
    adadelta  a = r a + (1-r) g^2;  x = g sqrt(d + e) / sqrt(a + e);  d = r d + (1-r) x^2;  row -= rate x
    adam      m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;  row -= rate m' / (sqrt(v') + e)   with bias corrected m', v'
    adamax    m = b1 m + (1-b1) g;  u = max(b2 u, |g|);  row -= rate / (1 - b1^step) m / (u + e)

Legend: w row, u distinct word of the batch, g[t] the gradient of a row, in the memory of thread t. The state of row w
is in side.first[w] and side.second[w]: a row, a number, or nothing (`tables.OPTIMIZERS`).
"""

from __future__ import annotations

import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.kernels.batch.batch_records import Matrices, Rule, Steps, Tokens
from siamese_cbow.kernels.tables import OPTIMIZERS
from siamese_cbow.machine.compiling import FASTMATH, INLINE, LEAN, inner
from siamese_cbow.machine.intrinsics import prefetch_to_move
from siamese_cbow.machine.products import dot
from siamese_cbow.machine.simd import gather, gather_move
from siamese_cbow.machine.threads import Tile

SGD, NESTEROV, ADAGRAD = (OPTIMIZERS[name].number for name in ("sgd", "nesterov", "adagrad"))
ADADELTA, ADAM, ADAMAX = (OPTIMIZERS[name].number for name in ("adadelta", "adam", "adamax"))


@inner(**LEAN)
def move_rows(
    tokens: Tokens, tile: Tile, gradients: Vectors, steps: Steps, side: Matrices, shared: bool, totals: Vectors
) -> None:
    """Move the rows of some distinct words of a batch, once each.

    gradients  (capacity, width) the gradient for every word of a sentence
    shared     there is only one matrix; with two, Adagrad uses the general code, which rounds differently
    """
    rule, rate, step, thread = steps.rule, steps.rates[tile.batch], steps.first + tile.batch, tile.thread
    unique, starts, places, first = tokens.unique, tokens.unique_starts, tokens.places, tokens.first[tile.batch]
    weights = tokens.weights
    as_it_is = rule.clip == 0 and rule.l2 == 0 and len(weights) == 0
    for u in range(first + tile.begin, first + tile.end):
        if u + 2 < first + tile.end:
            prefetch_to_move(side.vectors, unique[u + 2])
        if as_it_is and rule.kind == SGD:
            gather_move(gradients, places, starts[u], starts[u + 1], rate, side.vectors, unique[u])
        elif as_it_is and rule.kind == ADAGRAD and shared:
            _gather_adagrad(rule, rate, tokens, u, gradients, side, totals, thread)
        else:
            gather(gradients, places, starts[u], starts[u + 1], totals, thread)
            if len(weights) > 0:
                for j in range(totals.shape[1]):
                    totals[thread, j] *= weights[unique[u]]
            update(rule, rate, step, side, unique[u], totals, thread)


@inner(**INLINE, fastmath=FASTMATH)
def update(rule: Rule, rate: np.float32, step: int, side: Matrices, w: int, g: Vectors, t: int) -> None:
    """Move row w by the gradient g[t], which is modified."""
    vectors = side.vectors
    if rule.l2 > 0:
        if rule.to_start:
            for j in range(g.shape[1]):
                g[t, j] += rule.l2 * (vectors[w, j] - side.start[w, j])
        else:
            for j in range(g.shape[1]):
                g[t, j] += rule.l2 * vectors[w, j]
    if rule.clip > 0:
        _clip(rule.clip, g, t)
    if rule.kind == SGD:
        for j in range(g.shape[1]):
            vectors[w, j] -= rate * g[t, j]
    elif rule.kind == ADAGRAD:
        scale = _adagrad(rule, rate, side, w, dot(g, t, g, t))
        for j in range(g.shape[1]):
            vectors[w, j] -= scale * g[t, j]
    elif rule.kind == NESTEROV:
        velocity = side.first
        for j in range(g.shape[1]):
            velocity[w, j] = rule.momentum * velocity[w, j] - rate * g[t, j]
            vectors[w, j] += rule.momentum * velocity[w, j] - rate * g[t, j]
    elif rule.kind == ADADELTA:
        _adadelta(rule, rate, side, w, g, t)
    elif rule.kind == ADAM:
        _adam(rule, rate, step, side, w, g, t)
    elif rule.kind == ADAMAX:
        _adamax(rule, rate, step, side, w, g, t)
    else:
        raise ValueError("this optimiser has no rule in kernels.batch.updates")


@inner(**INLINE, fastmath=FASTMATH)
def _gather_adagrad(
    rule: Rule, rate: np.float32, tokens: Tokens, u: int, gradients: Vectors, side: Matrices, totals: Vectors, t: int
) -> None:
    """Add up the gradients of a word's occurrences and move its row.

    Most words occur once or twice in a batch. Their gradients go to the row directly, not through `totals`, which
    makes this phase a third faster.
    """
    places, begin, end, w = tokens.places, tokens.unique_starts[u], tokens.unique_starts[u + 1], tokens.unique[u]
    a = places[begin]
    if end == begin + 1:
        _move(side, w, _adagrad(rule, rate, side, w, dot(gradients, a, gradients, a)), gradients, a)
    elif end == begin + 2:
        b, square = places[begin + 1], np.float32(0)
        for j in range(gradients.shape[1]):
            square += (gradients[a, j] + gradients[b, j]) * (gradients[a, j] + gradients[b, j])
        _move_by_two(side, w, _adagrad(rule, rate, side, w, square), gradients, a, b)
    else:
        gather(gradients, places, begin, end, totals, t)
        _move(side, w, _adagrad(rule, rate, side, w, dot(totals, t, totals, t)), totals, t)


# Without reassociation: the compiler would divide each number of the row by what `_adagrad` divides the rate by.
@inner(**INLINE, fastmath={"contract"})
def _move(side: Matrices, w: int, scale: np.float32, g: Vectors, t: int) -> None:
    vectors = side.vectors
    for j in range(vectors.shape[1]):
        vectors[w, j] -= scale * g[t, j]


@inner(**INLINE, fastmath={"contract"})
def _move_by_two(side: Matrices, w: int, scale: np.float32, g: Vectors, a: int, b: int) -> None:
    vectors = side.vectors
    for j in range(vectors.shape[1]):
        vectors[w, j] -= scale * (g[a, j] + g[b, j])


@inner(**INLINE, fastmath=FASTMATH)
def _adagrad(rule: Rule, rate: np.float32, side: Matrices, w: int, square: np.float32) -> np.float32:
    """Accumulate the squared length of the gradient; returns the factor of the step."""
    seen = side.first
    seen[w, 0] += square / rule.dim
    return rate / (np.sqrt(seen[w, 0]) + rule.epsilon)


@inner(**INLINE, fastmath=FASTMATH)
def _clip(limit: np.float32, g: Vectors, t: int) -> None:
    norm = np.sqrt(dot(g, t, g, t))
    if norm > limit:
        scale = limit / norm
        for j in range(g.shape[1]):
            g[t, j] *= scale


@inner(**LEAN, fastmath=FASTMATH)
def _adadelta(rule: Rule, rate: np.float32, side: Matrices, w: int, g: Vectors, t: int) -> None:
    vectors, seen, moved, rest = side.vectors, side.first, side.second, np.float32(1) - rule.momentum
    for j in range(g.shape[1]):
        seen[w, j] = rule.momentum * seen[w, j] + rest * g[t, j] * g[t, j]
        x = g[t, j] * np.sqrt(moved[w, j] + rule.epsilon) / np.sqrt(seen[w, j] + rule.epsilon)
        moved[w, j] = rule.momentum * moved[w, j] + rest * x * x
        vectors[w, j] -= rate * x


@inner(**LEAN, fastmath=FASTMATH)
def _adam(rule: Rule, rate: np.float32, step: int, side: Matrices, w: int, g: Vectors, t: int) -> None:
    vectors, m, v = side.vectors, side.first, side.second
    rest1, rest2 = np.float32(1) - rule.momentum, np.float32(1) - rule.decay
    correct1 = np.float32(1 / (1 - np.float64(rule.momentum) ** step))
    correct2 = np.float32(1 / (1 - np.float64(rule.decay) ** step))
    for j in range(g.shape[1]):
        m[w, j] = rule.momentum * m[w, j] + rest1 * g[t, j]
        v[w, j] = rule.decay * v[w, j] + rest2 * g[t, j] * g[t, j]
        vectors[w, j] -= rate * (m[w, j] * correct1) / (np.sqrt(v[w, j] * correct2) + rule.epsilon)


@inner(**LEAN, fastmath=FASTMATH)
def _adamax(rule: Rule, rate: np.float32, step: int, side: Matrices, w: int, g: Vectors, t: int) -> None:
    vectors, m, u, rest = side.vectors, side.first, side.second, np.float32(1) - rule.momentum
    scale = rate * np.float32(1 / (1 - np.float64(rule.momentum) ** step))
    for j in range(g.shape[1]):
        m[w, j] = rule.momentum * m[w, j] + rest * g[t, j]
        u[w, j] = max(rule.decay * u[w, j], abs(g[t, j]))
        vectors[w, j] -= scale * m[w, j] / (u[w, j] + rule.epsilon)
