"""BM25 (Robertson et al. 1994): scores of rows by the query words they contain. No numba.

score of a row = sum over words of idf(word) * count * (k1 + 1) / (count + k1 (1 - b + b length / mean length))
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats

# The usual values; on Cranfield and on passages of Wikipedia, k1 from 1.2 to 2 and b from .5 to .9 score within .004.
K1, B = 1.5, 0.75
MOST = 255  # occurrences of a word in a row that count; an index stores no more


def idf(n_with: NDArray[np.int64], n_rows: int) -> Floats:
    """The weight of words that occur in this many of all rows, as in Lucene: 1 of 1 -> ln 1.33, never below 0."""
    weights: Floats = np.log1p((n_rows - n_with + 0.5) / (n_with + 0.5))
    return weights


def norms(relative: Floats, k1: float = K1) -> Floats:
    """Length normalisation of rows, from lengths divided by their mean: `norms(np.array([1, 2]))` -> [1.5, 2.625]."""
    asked: Floats = k1 * (1 - B + B * relative)
    return asked


def saturated(counts: NDArray[np.integer] | Floats, norms: Floats, k1: float = K1) -> Floats:
    """The term-frequency factor, to be multiplied by idf: a word that occurs once in a row of mean length -> 1."""
    counted: Floats = counts * (k1 + 1) / (counts + norms)
    return counted
