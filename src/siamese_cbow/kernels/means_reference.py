"""Means of rows in plain NumPy: the definition, which also answers small calls without waiting for numba.

    ids 0, 2, 2  ->  (vectors[0] + vectors[2] + vectors[2]) / 3

Rows are added one after another in float32, GROUP at a time; the sums of the groups are added in float64, so that a
text of a million words loses no precision. Words outside the vocabulary come last, wherever they occur: their rows are
built here (`compose`). `kernels.means` does the same in the same order, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids, Vectors

GROUP = 256
COLUMNS = 16  # of the rows in `means.bounds`: one cache line; defined here for callers that load no numba
NO_WORDS = np.float32(-2)  # the bound of a text without words


class Composed(Protocol):
    """Rows (n, dim) that are computed when a slice is requested: all those of a long text would fill the memory."""

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, rows: slice, /) -> Vectors:
        """Some of them, as an array."""


class Takes(Protocol):
    """Rows of float32: an array, or compressed rows that are expanded when taken."""

    def take(self, ids: Any, axis: Any = ..., /) -> Vectors:
        """`vectors[ids]`."""


def mean_of_rows(
    vectors: Takes,
    ids: Sequence[int] | Ids,
    dim: int,
    *,
    normalize: bool = False,
    unknown: Vectors | Composed | None = None,
) -> Vectors:
    """The mean of the first `dim` numbers of the rows `ids`, float32; zeros if there are no rows.

    vectors [[1, 0], [3, 4]]: `mean_of_rows(vectors, [0, 1], 2)` -> [2, 2]; with `normalize` [0.71, 0.71]

    unknown  (n_unknown, at least dim) the rows of out-of-vocabulary words, which come after the others
    """
    n_known, n_unknown = len(ids), 0 if unknown is None else len(unknown)
    n = n_known + n_unknown
    if n == 0:
        return np.zeros(dim, np.float32)
    if n > GROUP:
        total = np.zeros(dim, np.float64)
        for start in range(0, n_known, GROUP):
            total += _sum(vectors.take(ids[start : start + GROUP], 0), dim)
        for start in range(0, n_unknown, GROUP):
            total += _sum(unknown[start : start + GROUP], dim)  # type: ignore[index]
        mean: Vectors = (total / n).astype(np.float32)
        return unit(mean) if normalize else mean
    rows = vectors.take(ids, 0)  # before slicing: `take` would copy a sliced matrix in full
    mean = _sum(rows if unknown is None or not n_unknown else np.concatenate([rows, unknown[:]]), dim)
    if normalize:
        return unit(mean)  # the direction of a sum is that of a mean
    mean /= n
    return mean


def _sum(rows: Vectors, dim: int) -> Vectors:
    if dim < rows.shape[1]:
        rows = rows[:, :dim]
    if dim == 1:  # NumPy adds row by row, except here: it would add in pairs
        rows = np.add.accumulate(rows, 0)[-1:]
    total: Vectors = np.add.reduce(rows, 0)
    return total


def unit(row: Vectors) -> Vectors:
    """`row` (dim,) at length 1; zeros stay zeros. `unit(np.array([3, 4]))` -> [0.6, 0.8].

    In float64, where the squares of float32 numbers neither vanish nor overflow.
    """
    wide = row.astype(np.float64)
    squares = float(wide.dot(wide))
    return (wide * (1.0 / squares**0.5)).astype(np.float32) if squares > 0 else row


def compose(codes: NDArray[np.integer[Any]], n: int, key: int, scale: float, own: float, length: float) -> Vectors:
    """The row of an out-of-vocabulary word, (dim,), of the given length:

        scale x the sum of the codes / sqrt(n)  +  own x a direction that only this word has

    If none of its n-grams is known, only the second part remains. Sums of integers are exact in any order, so every
    implementation gets the same bits.

    codes  (at most n, dim) small integers, those of the known n-grams
    n      number of n-grams of the word, known or not
    key    seed of the signs of its own direction
    """
    dim, totals = codes.shape[1], codes.sum(axis=0, dtype=np.int64)
    direction = signs(key, dim)
    squares, along = int(totals @ totals), int(totals @ direction)
    of_ngrams, of_word = scale / max(1, n) ** 0.5, own / dim**0.5
    square = of_ngrams * of_ngrams * squares + 2 * of_ngrams * of_word * along + of_word * of_word * dim
    factor = length / square**0.5 if square > 0 else 0.0
    row: Vectors = totals.astype(np.float32) * np.float32(of_ngrams * factor)
    row += direction.astype(np.float32) * np.float32(of_word * factor)
    return row


def signs(key: int | NDArray[np.uint64], dim: int) -> NDArray[np.int64]:
    """A random sign for each number of a row: `signs(1, 4)` -> [1, -1, -1, -1]; for n keys, (n, dim)."""
    bits = random_bits(np.asarray(key, np.uint64)[..., None], np.arange(-(-dim // 64), dtype=np.uint64))
    listed = np.unpackbits(bits.astype("<u8").view(np.uint8), axis=-1, bitorder="little")[..., :dim]
    return 2 * listed.astype(np.int64) - 1


def random_bits(keys: int | NDArray[np.uint64], positions: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """64 random bits for each position: SplitMix64's mixing of key + position, which `batch.random.bits` compiles."""
    bits: NDArray[np.uint64] = np.asarray(keys, np.uint64) + (positions + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
