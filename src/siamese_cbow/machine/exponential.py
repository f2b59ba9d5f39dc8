"""exp of a whole row of float32 at once, and the highest of them: Numba would go number by number, many times slower.

Cephes' method: x = n ln 2 + r, exp(r) by a polynomial, 2^n by writing n into the exponent; relative error below 1e-7.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.machine.compiling import INLINE, LEAN

_LOG2E = np.float32(1.44269504)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_C0, _C1, _C2 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
_C3, _C4, _C5 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)
_ONE, _HALF = np.float32(1), np.float32(0.5)
_LOWEST = np.float32(-87)  # exp(-87) = 1.6e-38, the end of normal numbers; below it the result is 0


@njit(**INLINE)
def _ordered(bits: np.int32) -> np.int32:
    """From the bits of a float32 to integers in the same order, and back: those of negative ones are turned over."""
    return np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))


@njit(**LEAN)
def highest(scores: NDArray[np.float32]) -> np.float32:
    """The highest of one or more numbers: [-1, 2, -inf] -> 2. Where one is NaN, the result may be too.

    As integers, of which Numba compares a whole register at a time; of float32 it fears a NaN in each.
    """
    top = np.int32(-(2**31))
    for j in range(len(scores)):
        top = max(top, _ordered(np.float32(scores[j]).view(np.int32)))
    return np.int32(_ordered(top)).view(np.float32)


@njit(**INLINE, fastmath={"contract"})
def _exp(x: np.float32) -> np.float32:
    """exp(x) for x <= 0."""
    clipped = max(x, _LOWEST)
    n = np.floor(clipped * _LOG2E + _HALF)
    r = clipped - n * _LN2_HIGH - n * _LN2_LOW
    p = ((((_C0 * r + _C1) * r + _C2) * r + _C3) * r + _C4) * r + _C5
    power = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return (p * r * r + r + _ONE) * power if x >= _LOWEST else x * np.float32(0)


@njit(**LEAN, fastmath={"contract"})
def exp_all(scores: NDArray[np.float32], sharpness: np.float32, highest: np.float32) -> np.float32:
    """scores = exp(sharpness * (scores - highest)); the result is their sum.

    [0, -1e30, 0], 1, 0 -> [1, 0, 1], sum 2
    """
    for j in range(len(scores)):
        scores[j] = _exp(sharpness * (scores[j] - highest))
    return _sum(scores)


@njit(**LEAN, fastmath={"reassoc"})
def _sum(scores: NDArray[np.float32]) -> np.float32:
    total = np.float32(0)
    for j in range(len(scores)):
        total += scores[j]
    return total
