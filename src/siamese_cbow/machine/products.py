"""Products of the small matrices of a batch: cosines of all pairs of sentences, and sums of means.

BLAS would first copy both matrices into its own layout, which on 64 rows costs a third of its time. Here everything is
already in the cache: both products keep a block of results in registers and read their inputs in place. Each number is
summed in the same order in any block, so nothing depends on tiles or threads.

Also computes the exp of a whole row of cosines, and the highest of them; Numba would go number by number, many times
slower. exp follows Cephes: x = n ln 2 + r, exp(r) by a polynomial, 2^n by writing n into the exponent; relative error
below 1e-7.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.machine.compiling import FASTMATH, INLINE, LEAN, PLAIN, inner, intrinsic_or
from siamese_cbow.machine.intrinsics import LINE

_LOG2E = np.float32(1.44269504)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_C0, _C1, _C2 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
_C3, _C4, _C5 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)
_ONE, _HALF = np.float32(1), np.float32(0.5)
_LOWEST = np.float32(-87)  # exp(-87) = 1.6e-38, the end of normal numbers; below it the result is 0
_HEIGHT = 16  # rows of results in a block of `_combine`
if not PLAIN:
    from siamese_cbow.machine.simd import LARGE_REGISTERS, PLACE, SimdCode

    # Rows in a block, pieces of a row, numbers in a piece: the sums take sixteen of thirty-two registers if the
    # processor has large ones, otherwise twelve of sixteen.
    _HEIGHT, _PIECES, _LANES = (16, 1, 16) if LARGE_REGISTERS else (6, 2, 8)


@inner(**INLINE, fastmath=FASTMATH)
def dot(left: Vectors, a: int, right: Vectors, b: int) -> np.float32:
    """left[a] . right[b]"""
    total = np.float32(0)
    for j in range(left.shape[1]):
        total += left[a, j] * right[b, j]
    return total


@inner(**LEAN)
def dots(left: Vectors, i: int, i_end: int, right: Vectors, j: int, j_end: int, scores: Vectors, mirror: bool) -> None:
    """scores[i:i_end, j:j_end] = left[i:i_end] x right[j:j_end]'.

    With `mirror`, left and right are the same matrix: scores are written on both sides of the diagonal, and the part
    below it is not computed.
    """
    for column in range(j, j_end, 4):
        for row in range(i, min(i_end, column + 4) if mirror else i_end, 3):
            _block_of_dots(left, row, i_end - 1, right, column, j_end - 1, scores, mirror)


@inner(**INLINE, fastmath=FASTMATH)
def _block_of_dots(
    left: Vectors, i: int, last_i: int, right: Vectors, j: int, last_j: int, scores: Vectors, mirror: bool
) -> None:
    """Three rows by four columns; beyond the end, the last row or column is repeated."""
    i1, i2 = min(i + 1, last_i), min(i + 2, last_i)
    j1, j2, j3 = min(j + 1, last_j), min(j + 2, last_j), min(j + 3, last_j)
    a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = np.float32(0)
    for k in range(left.shape[1]):
        x, y, z = left[i, k], left[i1, k], left[i2, k]
        a, b, c, d = right[j, k], right[j1, k], right[j2, k], right[j3, k]
        a0, a1, a2 = a0 + x * a, a1 + y * a, a2 + z * a
        b0, b1, b2 = b0 + x * b, b1 + y * b, b2 + z * b
        c0, c1, c2 = c0 + x * c, c1 + y * c, c2 + z * c
        d0, d1, d2 = d0 + x * d, d1 + y * d, d2 + z * d
    scores[i, j], scores[i, j1], scores[i, j2], scores[i, j3] = a0, b0, c0, d0
    scores[i1, j], scores[i1, j1], scores[i1, j2], scores[i1, j3] = a1, b1, c1, d1
    scores[i2, j], scores[i2, j1], scores[i2, j2], scores[i2, j3] = a2, b2, c2, d2
    if mirror:
        scores[j, i], scores[j1, i], scores[j2, i], scores[j3, i] = a0, b0, c0, d0
        scores[j, i1], scores[j1, i1], scores[j2, i1], scores[j3, i1] = a1, b1, c1, d1
        scores[j, i2], scores[j1, i2], scores[j2, i2], scores[j3, i2] = a2, b2, c2, d2


@inner(**LEAN)
def combine(panels: Vectors, thread: int, height: int, rows: Vectors, n: int, out: Vectors, first: int) -> None:
    """out[first + i] = the sum of panels[thread, i, k] * rows[k] over k < n, for i < height.

    rows, out  (any, width) with a width of whole cache lines
    """
    for column in range(0, out.shape[1], LINE):  # this strip of `rows` stays in the first-level cache
        for i in range(0, height, _HEIGHT):
            _combine(panels, thread, i, height - 1, rows, column, n, out, first)


def _combine_plain(
    panels: Vectors, thread: int, i: int, last: int, rows: Vectors, column: int, n: int, out: Vectors, first: int
) -> None:
    for r in range(i, min(i + _HEIGHT, last + 1)):
        for j in range(column, column + LINE):
            total = np.float32(0)
            for k in range(n):
                total += panels[thread, r, k] * rows[k, j]
            out[first + r, j] = total


@intrinsic_or(_combine_plain)
def _combine(
    typingctx: Any, panels: Any, thread: Any, i: Any, last: Any, rows: Any, column: Any, n: Any, out: Any, first: Any
) -> Any:
    """`combine` for `LINE` columns and `_HEIGHT` rows, starting at row i; beyond the end, the last row is repeated."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = SimdCode(context, builder, signature, args, _LANES)
        _, thread, i, last, _, column, n, _, first = args
        panels, rows, out = code.array(0), code.array(4), code.array(7)
        places = []
        for r in range(_HEIGHT):
            row = builder.add(i, PLACE(r))
            places.append(builder.select(builder.icmp_signed("<", row, last), row, last))
        weights = [code.item(panels, thread, place, PLACE(0)) for place in places]

        before = builder.block
        loop, after = builder.append_basic_block("combine"), builder.append_basic_block("combined")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(PLACE)
        k.add_incoming(PLACE(0), before)
        sums = [[builder.phi(code.vector) for _ in range(_PIECES)] for _ in range(_HEIGHT)]
        pieces = [code.load(address) for address in code.vectors(code.item(rows, k, column), _PIECES)]
        results = []
        for totals, weight in zip(sums, weights, strict=True):
            more = code.multiply_add(code.spread(builder.load(builder.gep(weight, [k]))), pieces, totals)
            for total, new in zip(totals, more, strict=True):
                total.add_incoming(code.zeros(), before)
                total.add_incoming(new, loop)
            results.append(more)
        next_k = builder.add(k, PLACE(1))
        k.add_incoming(next_k, loop)
        builder.cbranch(builder.icmp_signed("<", next_k, n), loop, after)
        builder.position_at_end(after)
        for more, place in zip(results, places, strict=True):
            code.store(more, code.vectors(code.item(out, builder.add(first, place), column), _PIECES))
        return context.get_dummy_value()

    place = types.int64
    return types.void(panels, place, place, place, rows, place, place, out, place), codegen


# rows of scores


@inner(**INLINE)
def _ordered(bits: np.int32) -> np.int32:
    """Maps the bits of float32 numbers to integers in the same order, and back: those of negative ones are inverted."""
    return np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))


@inner(**LEAN)
def highest(scores: NDArray[np.float32]) -> np.float32:
    """The highest of one or more numbers: [-1, 2, -inf] -> 2. If one is NaN, the result may be NaN, too.

    Compared as integers, a whole register at a time; with float32, Numba would check each number for NaN.
    """
    top = np.int32(-(2**31))
    for j in range(len(scores)):
        top = max(top, _ordered(np.float32(scores[j]).view(np.int32)))
    return np.int32(_ordered(top)).view(np.float32)


@inner(**INLINE, fastmath={"contract"})
def _exp(x: np.float32) -> np.float32:
    """exp(x) for x <= 0."""
    clipped = max(x, _LOWEST)
    n = np.floor(clipped * _LOG2E + _HALF)
    r = clipped - n * _LN2_HIGH - n * _LN2_LOW
    p = ((((_C0 * r + _C1) * r + _C2) * r + _C3) * r + _C4) * r + _C5
    power = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return (p * r * r + r + _ONE) * power if x >= _LOWEST else x * np.float32(0)


@inner(**LEAN, fastmath={"contract"})
def exp_all(scores: NDArray[np.float32], sharpness: np.float32, highest: np.float32) -> np.float32:
    """scores = exp(sharpness * (scores - highest)); returns their sum.

    [0, -1e30, 0], 1, 0 -> [1, 0, 1], sum 2
    """
    for j in range(len(scores)):
        scores[j] = _exp(sharpness * (scores[j] - highest))
    return _sum(scores)


@inner(**LEAN, fastmath={"reassoc"})
def _sum(scores: NDArray[np.float32]) -> np.float32:
    total = np.float32(0)
    for j in range(len(scores)):
        total += scores[j]
    return total
