"""Random words for negative sampling, with word2vec's chances: each word by its count to the power of 3/4.

word2vec fills a table of 100 million entries; an alias table (Walker 1977, Vose 1991) has two numbers a word, gives the
chances exactly, and is read in one step too.

    counts [16, 1]  ->  chances 8/9 and 1/9  ->  keep [1, 2/9], alias [0, 0]: half of the draws look at word 1,
                                                  and 7/9 of those give word 0 instead
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids
from siamese_cbow.kernels.batch.random import fraction

POWER = 0.75


class Table(NamedTuple):
    """Word i is drawn as often as any other, and then kept with chance keep[i]; otherwise alias[i] is taken."""

    keep: NDArray[np.float64]  # (n_words,)
    alias: Ids  # (n_words,)


def alias_table(counts: NDArray[np.int64]) -> Table:
    """The table for words with these counts, (n_words,)."""
    chances = np.maximum(1, counts).astype(np.float64) ** POWER
    chances *= len(counts) / chances.sum()
    alias = np.arange(len(counts), dtype=np.int32)
    _pour(chances, alias)
    return Table(chances, alias)


@njit(nogil=True, cache=True)
def _pour(chances: NDArray[np.float64], alias: Ids) -> None:
    """Fill every word's place up to 1 with what others have too much of. `chances` (mean 1) becomes `keep`."""
    n = len(chances)
    small, large = np.empty(n, np.int32), np.empty(n, np.int32)
    n_small, n_large = 0, 0
    for i in range(n):
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
    for i in range(n_small):  # rounding has left them a hair below 1
        chances[small[i]] = 1


@njit(nogil=True, cache=True, forceinline=True)
def draw(table: Table, key: np.uint64, position: np.uint64) -> np.int32:
    """The word drawn at one position: the fraction says where to look, what is left of it whether to keep."""
    x = fraction(key, position) * len(table.keep)
    i = np.int64(x)
    return np.int32(i) if x - i < table.keep[i] else table.alias[i]
