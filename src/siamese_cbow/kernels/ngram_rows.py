"""Rows of words outside the vocabulary, composed of the vectors of their character n-grams, and the fit of these.

    row = X S        a row of X has 1 / sqrt(n) at the bucket of each of the n n-grams of a word
    fit   the S that minimises |X S - V|^2 + penalty |S|^2, with the model's own rows V: conjugate gradients, each
          column by itself, so that any split of the columns among threads gives the same bits

The rows are bit-identical to those of `means_reference.compose`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Floats, Ids, Offsets, Vectors
from siamese_cbow.kernels.batch.random import bits
from siamese_cbow.machine.compiling import INLINE, LEAN, inner
from siamese_cbow.machine.simd import MOST_HALVES, add_halves, write_signs
from siamese_cbow.words.unknown_words import UnknownWords, no_unknown_words

BLOCK = 64  # columns: a cache line of codes
ZERO = 8  # how a code of 0 is stored
LATEST = 128  # rows kept while texts are processed: they stay in the second-level cache


def padded(codes: NDArray[np.int8]) -> Bytes:
    """Codes (n, dim) of -8 to 7, with 8 added to each, two per byte, in rows of whole cache lines.

    Byte d of a row has columns d and d + half of the width. After the last bucket comes a row of zeros, for n-grams
    that don't count. Rejected: one code per byte, so that a row spans twice as many lines of the outer caches, is a
    sixth slower.
    """
    n, half = len(codes), -(-codes.shape[1] // (2 * BLOCK)) * BLOCK
    whole = np.full((n + 1, 2 * half), ZERO, np.uint8)
    whole[:n, : codes.shape[1]] += codes.view(np.uint8)  # modulo 256
    memory = np.empty((n + 1) * half + BLOCK, np.uint8)
    start = -memory.ctypes.data % BLOCK
    lines: Bytes = memory[start : start + (n + 1) * half].reshape(n + 1, half)
    return np.bitwise_or(whole[:, :half], whole[:, half:] << 4, out=lines)


class UnknownRows(NamedTuple):
    """Rows of unknown words: all of them, or the memory in which they are composed on demand.

    `total_blocks` and `sign_blocks` exist because the compiler vectorises only loops over a whole block of constant
    length.
    """

    words: UnknownWords
    rows: Vectors  # (n_words, dim or more); or (LATEST, dim rounded up to 128), the last ones composed
    latest: Ids  # () if `rows` has all words; or (LATEST,) the word in each of its rows, -1 for none
    codes: Bytes  # (n_buckets + 1, half of dim rounded up to 128) see `padded`
    dim: int
    numbers: Floats  # (3,) scale, own, length
    totals: NDArray[np.int16]  # (dim rounded up to 128,) sums of codes, which stay below 2^15
    total_blocks: NDArray[np.int16]  # (n, 64) the same memory
    signs: NDArray[np.int16]
    sign_blocks: NDArray[np.int16]


def made_rows(rows: Vectors, offsets: Offsets) -> UnknownRows:
    """Rows (n_words, dim or more) that already exist: text i has those from offsets[i] to offsets[i + 1]."""
    words = no_unknown_words(0)._replace(offsets=offsets)
    nothing, blocks = np.zeros(0, np.int16), np.zeros((0, BLOCK), np.int16)
    composed = np.zeros(0, np.int32), np.zeros((0, BLOCK), np.uint8), rows.shape[1], np.zeros(3)
    return UnknownRows(words, np.require(rows, np.float32, ["C", "W"]), *composed, nothing, blocks, nothing, blocks)


def rows_as_asked_for(unknown: UnknownWords, codes: Bytes, dim: int, numbers: Floats) -> UnknownRows:
    """Rows that are composed when a text needs them. For one thread, and one call of `means`."""
    width = 2 * codes.shape[1]
    totals, signs = np.zeros((2, width // BLOCK, BLOCK), np.int16)
    rows, latest = np.empty((LATEST, width), np.float32), np.full(LATEST, -1, np.int32)
    flat = totals.reshape(-1), signs.reshape(-1)
    return UnknownRows(unknown, rows, latest, codes, dim, numbers, flat[0], totals, flat[1], signs)


def compose_rows(unknown: UnknownWords, codes: Bytes, dim: int, numbers: Floats, out: Vectors) -> None:
    """out[k, :dim] becomes the row of unknown word k; columns beyond `dim`, which `codes` also have, are undefined."""
    _compose(rows_as_asked_for(unknown, codes, dim, numbers), out)


@njit(**LEAN)
def _compose(unknown: UnknownRows, out: Vectors) -> None:
    for k in range(len(out)):
        place = row_of(unknown, k)
        for d in range(out.shape[1]):
            out[k, d] = unknown.rows[place, d]


@inner(**INLINE)
def row_of(unknown: UnknownRows, k: int) -> Any:
    """The place of word k's row in `unknown.rows`. A word that recurs soon is composed only once."""
    latest, keys = unknown.latest, unknown.words.keys
    if len(latest) == 0:
        return k
    place = np.int64((keys[k] ^ (keys[k] >> np.uint64(29))) & np.uint64(len(latest) - 1))
    if latest[place] < 0 or not _same_word(unknown.words, np.int64(latest[place]), k):
        latest[place] = np.int32(k)
        _compose_row(unknown, k, place)
    return place


@inner(**INLINE)
def _compose_row(unknown: UnknownRows, k: int, place: int) -> None:
    (buckets, starts, keys, _), rows, _, codes, dim, numbers, totals, total_blocks, signs, sign_blocks = unknown
    scale, own, length = numbers[0], numbers[1], numbers[2]
    of_word = own / np.float64(dim) ** 0.5
    for block in range(len(sign_blocks)):
        write_signs(bits(keys[k], np.uint64(block)), signs, block * BLOCK)
    _add_codes(buckets, starts[k], starts[k + 1], codes, totals)
    squares, along = np.int64(0), np.int64(0)
    for block in range(len(total_blocks)):
        some_squares, some_along = np.int32(0), np.int32(0)  # of 64 numbers, which 32 bits hold
        for d in range(BLOCK):
            total = np.int32(total_blocks[block, d])
            some_squares = np.int32(some_squares + np.int32(total * total))
            some_along = np.int32(some_along + np.int32(total * np.int32(sign_blocks[block, d])))
        squares += some_squares
        along += some_along
    of_ngrams = scale / np.float64(max(1, starts[k + 1] - starts[k])) ** 0.5
    square = of_ngrams * of_ngrams * squares + 2 * of_ngrams * of_word * along + of_word * of_word * dim
    factor = length / square**0.5 if square > 0 else 0.0
    one, other = np.float32(of_ngrams * factor), np.float32(of_word * factor)
    for d in range(len(totals)):
        rows[place, d] = np.float32(totals[d]) * one + np.float32(signs[d]) * other


@inner(**INLINE)
def _same_word(words: UnknownWords, a: int, b: int) -> bool:
    """Whether two words have the same row, because everything that determines it is the same."""
    buckets, starts, keys = words.buckets, words.starts, words.keys
    n = starts[a + 1] - starts[a]
    if keys[a] != keys[b] or n != starts[b + 1] - starts[b]:
        return False
    different = 0
    for j in range(n):
        different |= buckets[starts[a] + j] ^ buckets[starts[b] + j]
    return different == 0


@inner(**INLINE)
def _add_codes(buckets: Ids, j: int, end: int, codes: Bytes, totals: NDArray[np.int16]) -> None:
    """totals becomes the sum of the codes of buckets[j:end]."""
    zeros = np.int16(-ZERO * (end - j))
    for d in range(len(totals)):
        totals[d] = zeros
    for first in range(j, end, MOST_HALVES):
        add_halves(codes, buckets, first, min(first + MOST_HALVES, end), totals)


# Both products work on BLOCK columns, like the loops of `_compose_row`: six times as fast as a variable number. A
# bucket's number is read once, before its columns: reading it again for each, in case `out` overlaps it, kept the
# compiler from vectorising, and a product took seven times as long.


@njit(**LEAN)
def transposed_product(buckets: Ids, starts: Offsets, values: Vectors, out: Vectors) -> None:
    """out (n_buckets, BLOCK) becomes the transposed X times values (n_words, BLOCK)."""
    out[:] = 0
    for word in range(len(starts) - 1):
        weight = np.float32(1 / np.float64(max(1, starts[word + 1] - starts[word])) ** 0.5)
        for j in range(starts[word], starts[word + 1]):
            bucket = np.int64(buckets[j])
            if bucket >= 0:
                for d in range(BLOCK):
                    out[bucket, d] += weight * values[word, d]


@njit(**LEAN)
def normal_product(buckets: Ids, starts: Offsets, penalty: float, values: Vectors, row: Vectors, out: Vectors) -> None:
    """out becomes (transposed X times X + penalty) values, all (n_buckets, BLOCK); row (BLOCK,) to work in."""
    for k in range(len(out)):
        for d in range(BLOCK):
            out[k, d] = np.float32(penalty) * values[k, d]
    for word in range(len(starts) - 1):
        weight = np.float32(1 / np.float64(max(1, starts[word + 1] - starts[word])))
        row[:] = 0
        for j in range(starts[word], starts[word + 1]):
            bucket = np.int64(buckets[j])
            if bucket >= 0:
                for d in range(BLOCK):
                    row[d] += values[bucket, d]
        for d in range(BLOCK):
            row[d] *= weight
        for j in range(starts[word], starts[word + 1]):
            bucket = np.int64(buckets[j])
            if bucket >= 0:
                for d in range(BLOCK):
                    out[bucket, d] += row[d]
