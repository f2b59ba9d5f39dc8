"""Randomness as a function of where it is used: no generator, no state, nothing to save in a checkpoint.

    key(seed, epoch, purpose)     one 64-bit key for all draws of a kind in an epoch (plain Python)
    bits(key, position)           64 random bits for that position (SplitMix64's mixing of key + position)
    fraction / below              the same bits as a number in [0, 1), or as an integer below a limit
    permuted(key, n, position)    where `position` goes in a random order of 0..n-1, without storing the order
    draw(table, key, position)    a random word, by the words' counts
    draw_normals(key, first, end) normal numbers, from the random words first <= word < end

`means_reference.random_bits` is the same in NumPy, which a test checks. Not for secrets.
"""

from __future__ import annotations

import math
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts, Ids
from siamese_cbow.machine.compiling import INLINE, LEAN, inner
from siamese_cbow.machine.intrinsics import high_product

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1

# In Numba, uint64 with int64 makes a float64: every constant must be uint64.
_STEP = np.uint64(_GOLDEN)
_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)
_TO_FRACTION = 2.0**-53
_ROUNDS = 4

POWER = 0.75  # of a word's count, as in word2vec


class Purpose(IntEnum):
    """What the draws are for; each purpose has its own draws."""

    ORDER = 1
    SHIFT = 2
    SUBSAMPLE = 3
    NEGATIVES = 4
    POSITIVES = 5
    VECTORS = 6


def key(seed: int, epoch: int, purpose: Purpose) -> np.uint64:
    """The key of an epoch's draws for one purpose: `key(1, 0, Purpose.ORDER)` -> a uint64."""
    state = 0
    for part in (seed, epoch, int(purpose)):
        state = _mix_integer((state + part + _GOLDEN) & _MASK)
    return np.uint64(state)


def _mix_integer(x: int) -> int:
    x = ((x ^ (x >> 30)) * int(_M1)) & _MASK
    x = ((x ^ (x >> 27)) * int(_M2)) & _MASK
    return x ^ (x >> 31)


@inner(**INLINE)
def bits(key: np.uint64, position: np.uint64) -> np.uint64:
    """64 random bits for one position."""
    x = key + (position + np.uint64(1)) * _STEP
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@inner(**INLINE)
def fraction(key: np.uint64, position: np.uint64) -> float:
    """A random number in [0, 1) for one position."""
    return (bits(key, position) >> _S11) * _TO_FRACTION


@inner(**LEAN)
def below(key: np.uint64, position: np.uint64, limit: int) -> np.int64:
    """A random integer in 0..limit-1 for one position; all are equally likely, up to limit / 2**53."""
    return np.int64(fraction(key, position) * limit)


def half_bits(n: int) -> int:
    """Half the (even) number of bits that `permuted` works on: `half_bits(1000)` -> 5, as 2**10 >= 1000."""
    return max(1, ((n - 1).bit_length() + 1) // 2)


@inner(**LEAN)
def permuted(key: np.uint64, n: int, half: int, position: int) -> np.int64:
    """Where `position` goes in a random order of 0..n-1.

    A Feistel network shuffles the numbers of 2 x `half` bits; a result beyond n is shuffled again until it falls
    inside, which keeps the mapping one to one and takes fewer than 4 rounds on average. A stored shuffled index
    would need 8 bytes for every run of the corpus.
    """
    shift = np.uint64(half)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    x = np.uint64(position)
    while True:
        left, right = x >> shift, x & mask
        for turn in range(_ROUNDS):
            left, right = right, left ^ (bits(key + np.uint64(turn), right) & mask)
        x = (left << shift) | right
        if x < np.uint64(n):
            return np.int64(x)


class AliasTable(NamedTuple):
    """An alias table: word i is drawn as often as any other, and kept with probability keep[i].

    Otherwise alias[i] is taken. word2vec fills a table of 100 million entries instead; this one (Walker 1977, Vose
    1991) has two numbers per word, gives exact probabilities, and is also read in one step.

    counts [16, 1]  ->  chances 8/9 and 1/9  ->  keep [1, 2/9], alias [0, 0]: half of the draws hit word 1,
                                                  and 7/9 of those give word 0 instead
    """

    keep: NDArray[np.float64]  # (n_words,)
    alias: Ids  # (n_words,)


def alias_table(counts: Counts) -> AliasTable:
    """The table for words with these counts, (n_words,): each is drawn in proportion to its count ** 0.75."""
    chances = np.maximum(1, counts).astype(np.float64) ** POWER
    chances *= len(counts) / chances.sum()
    alias, small, large = np.arange(len(counts), dtype=np.int32), *np.empty((2, len(counts)), np.int32)
    _pour(chances, alias, small, large)
    return AliasTable(chances, alias)


@njit(**LEAN)
def _pour(chances: NDArray[np.float64], alias: Ids, small: Ids, large: Ids) -> None:
    """Fill every word's slot up to 1 from words that have more than 1. `chances` (mean 1) becomes `keep`.

    small, large  (n_words,) scratch memory
    """
    n_small, n_large = 0, 0
    for i in range(len(chances)):
        if chances[i] < 1:
            small[n_small] = i
            n_small += 1
        else:
            large[n_large] = i
            n_large += 1
    while n_small > 0 and n_large > 0:
        n_small -= 1
        poor, rich = small[n_small], large[n_large - 1]
        alias[poor] = rich
        chances[rich] -= 1 - chances[poor]
        if chances[rich] < 1:
            n_large -= 1
            small[n_small] = rich
            n_small += 1
    for i in range(n_large):
        chances[large[i]] = 1
    for i in range(n_small):  # rounding left them slightly below 1
        chances[small[i]] = 1


@inner(**INLINE)
def draw(table: AliasTable, key: np.uint64, position: np.uint64) -> np.int32:
    """The word drawn at one position: the integer part selects the slot, the fraction decides whether to keep it."""
    x = fraction(key, position) * len(table.keep)
    i = np.int64(x)
    return np.int32(i) if x - i < table.keep[i] else table.alias[i]


# normal numbers

WORDS = 8  # of 32 bits, which Philox makes of one position

# Philox 4x64 with ten rounds, of Salmon et al., 2011. Of its position and key, all numbers but the first are always 0.
_P0, _P1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_W0, _W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_PHILOX_ROUNDS = 10
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)

_EDGE = 3.6541528853610088  # where the tail of the curve begins
_LAYERS, _BITS = 256, 23
_EDGE_32, _INVERSE_EDGE_32 = np.float32(_EDGE), np.float32(1 / _EDGE)
_BEYOND_24, _OF_24 = np.uint32(8), np.float32(1 / (1 << 24))  # a shift that leaves 24 bits, and their unit


class Ziggurat(NamedTuple):
    """Layers of equal area under the bell curve, (256,) each: first the one with the tail, then from the top down."""

    inside: NDArray[np.uint32]  # the first multiple of `widths` that may be beyond the curve
    widths: NDArray[np.float32]
    heights: NDArray[np.float32]  # of the curve, where the layer ends


@cache
def ziggurat() -> Ziggurat:
    """The tables, by the rule of Marsaglia and Tsang, 2000."""
    curve = math.exp(-0.5 * _EDGE * _EDGE)
    area = _EDGE * curve + math.sqrt(math.pi / 2) * math.erfc(_EDGE / math.sqrt(2))
    edges = [_EDGE]
    while len(edges) < _LAYERS - 1:
        edges.append(math.sqrt(-2 * math.log(area / edges[-1] + math.exp(-0.5 * edges[-1] * edges[-1]))))
    inner, outer = np.array([0.0, *edges[:0:-1]]), np.array(edges[::-1])
    shares, widths = np.append(_EDGE * curve / area, inner / outer), np.append(area / curve, outer)
    heights = np.exp(-0.5 * np.append(0.0, outer) ** 2)
    inside = np.rint(shares * (1 << _BITS)).astype(np.uint32)
    return Ziggurat(inside, (widths / (1 << _BITS)).astype(np.float32), heights.astype(np.float32))


@njit(**LEAN)
def draw_normals(
    key: np.uint64, first: int, end: int, tables: Ziggurat, words: NDArray[np.uint32], numbers: NDArray[np.float32]
) -> tuple[int, int]:
    """Writes the normal numbers of words first <= word < end of a key; returns their number and where the next begins.

    They are bit-identical to `np.random.Generator(np.random.Philox(key=key)).standard_normal(n, np.float32)`.

    words  scratch memory for a multiple of WORDS, from the first on; words beyond it are computed on demand
    """
    for i in range(0, len(words), WORDS):
        a, b, c, d = _philox(key, np.uint64((first + i) // WORDS))
        words[i], words[i + 1], words[i + 2], words[i + 3] = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
        words[i + 4], words[i + 5], words[i + 6], words[i + 7] = c & _LOW, c >> _HALF, d & _LOW, d >> _HALF
    position, n = first, 0
    while position < end:
        word = _word(key, words, first, position)
        position += 1
        layer, multiple = word & np.uint32(_LAYERS - 1), word >> np.uint32(32 - _BITS)
        x = np.float32(multiple) * tables.widths[layer]
        x = -x if word & np.uint32(_LAYERS) else x
        stays = True
        if multiple >= tables.inside[layer]:
            if layer == 0:
                x, position = _of_tail(key, words, first, position, multiple)
            else:
                low, high = tables.heights[layer], tables.heights[layer - np.uint32(1)]
                wide = np.float64(x)
                stays = (high - low) * _fraction(key, words, first, position) + low < math.exp(-0.5 * wide * wide)
                position += 1
        numbers[n] = x
        n += stays  # a rejected number is overwritten by the next one, which is drawn from new words
    return n, position


@inner(**LEAN)
def _of_tail(
    key: np.uint64, words: NDArray[np.uint32], first: int, position: int, multiple: Any
) -> tuple[np.float32, int]:
    """A number beyond the edge, and where the next begins."""
    while True:
        x = -_INVERSE_EDGE_32 * np.float32(np.log1p(-_fraction(key, words, first, position)))
        y = -np.float32(np.log1p(-_fraction(key, words, first, position + 1)))
        position += 2
        if y + y > x * x:
            x = _EDGE_32 + x
            return (-x if (multiple >> np.uint32(8)) & np.uint32(1) else x), position


@inner(**INLINE)
def _fraction(key: np.uint64, words: NDArray[np.uint32], first: int, position: int) -> np.float32:
    """The word at a position as a number in [0, 1)."""
    return np.float32(_word(key, words, first, position) >> _BEYOND_24) * _OF_24


@inner(**INLINE)
def _word(key: np.uint64, words: NDArray[np.uint32], first: int, position: int) -> np.uint32:
    return words[position - first] if position - first < len(words) else _made(key, position)


@inner(**LEAN)
def _made(key: np.uint64, position: int) -> np.uint32:
    a, b, c, d = _philox(key, np.uint64(position // WORDS))
    place = position % WORDS
    pair = a if place < 2 else b if place < 4 else c if place < 6 else d
    return np.uint32(pair >> _HALF) if place % 2 else np.uint32(pair & _LOW)


@inner(**INLINE)
def _philox(key: np.uint64, block: np.uint64) -> Any:
    """Eight words, two in each of four numbers."""
    a, b, c, d = block + np.uint64(1), np.uint64(0), np.uint64(0), np.uint64(0)  # NumPy counts before it draws
    other = np.uint64(0)
    for _ in range(_PHILOX_ROUNDS):
        a, b, c, d = high_product(_P1, c) ^ b ^ key, _P1 * c, high_product(_P0, a) ^ d ^ other, _P0 * a
        key, other = key + _W0, other + _W1
    return a, b, c, d
