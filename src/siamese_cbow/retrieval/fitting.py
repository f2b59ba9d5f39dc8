"""The meaning half of a search: vectors fitted to a collection, cosines of its rows, and compact codes for an index.

A sample of the rows shows which words are common and which directions most rows share; both are down-weighted
(`transform.adaptation`). The sample is the SAMPLE rows with the lowest hashes: whatever the order of the rows, and
however often the collection has grown, the same rows give the same sample and so the same scores. A model that `adapt`
has already fitted to some texts is used as it is.

    Fit.of(model, words, sample, n_rows)   ->   the adaptation to the collection
    fit.units(words.means(...))            ->   vectors of length 1, comparable by their dot product
    QueryDirection.of(fit, vector)         ->   a query, with the standard deviation of its cosines over the sample
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors, mapped_array, save_array
from siamese_cbow.model.geometry import gram_of, one_thread, strongest
from siamese_cbow.model.model import Model
from siamese_cbow.retrieval.row_words import RowWords, Words
from siamese_cbow.transform.adaptation import evened, shares_of, word_weights

SAMPLE = 4_096  # rows
ENOUGH = 100  # rows for a reliable standard deviation
USUAL_SPREAD = 0.09  # of cosines: the median over queries is .084 on passages of Wikipedia, .092 on Cranfield
SAMPLE_CHARACTERS = 1 << 16  # of each sampled row: thousands of pieces of an endless line would fill the memory
TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Fit:
    """The adaptation of vectors to a collection.

    weights  (n_words,) the weight of each word of the vocabulary
    matrix   (dim, dim) that vectors are multiplied by
    sample   (n, dim) the vectors of the sample, of length 1 or 0
    lengths  (n,) the number of words of each row of the sample
    """

    weights: Vectors
    matrix: Vectors
    sample: Vectors
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, model: Model, words: Words, sample: RowWords, n_rows: int) -> Fit:
        """The fit of a collection of `n_rows` rows, by the words of its sample."""
        weights, matrix = np.ones(len(model.vocabulary), np.float32), np.eye(model.dim, dtype=np.float32)
        is_adapted = "adapted_to" in (model.info.postprocessing or {})
        if not is_adapted:
            shares = shares_of(model.vocabulary.counts)
            if shares is not None:
                counts = np.bincount(sample.vector_ids, minlength=len(shares))
                weights = word_weights(shares, counts).astype(np.float32)
        means = words.means(sample, weights)
        if not is_adapted:
            with one_thread():
                directions, factors = evened(gram_of(means, np.asarray(means.any(axis=1))), n_rows)
                matrix = ((directions.T * factors) @ directions).astype(np.float32)
        return cls(weights, matrix, _of_length_1(means @ matrix), sample.lengths)

    def units(self, means: Vectors) -> Vectors:
        """Means of rows, (n, dim), fitted and of length 1; zeros stay zeros."""
        return _of_length_1(means @ self.matrix)

    def units_one_by_one(self, means: Vectors) -> Vectors:
        """The same, bit-reproducible for each row: in a matrix product, bits depend on the surrounding rows."""
        fitted = np.empty_like(means)
        for mean, row in zip(means, fitted, strict=True):
            np.matmul(mean, self.matrix, out=row)  # as a vector: a matrix of one row would take four times as long
        return _of_length_1(fitted)


def _of_length_1(rows: Vectors) -> Vectors:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, np.newaxis]
    units: Vectors = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > TINY)
    return units


class QueryDirection(NamedTuple):
    """The direction of a query, (dim,) of length 1, and the spread of the cosines of rows with it."""

    vector: Vectors
    spread: float

    @classmethod
    def of(cls, fit: Fit, vector: Vectors) -> QueryDirection:
        """The direction of a vector of length 1; for a zero vector, everything is 0."""
        scores = np.einsum("ij,j->i", fit.sample, vector) * shortened(fit.lengths)
        spread = float(scores.std(dtype=np.float64)) if len(scores) else 0.0
        return cls(vector, steadied(spread, USUAL_SPREAD, len(scores)))

    def scores(self, units: Vectors, lengths: NDArray[np.int64]) -> Vectors:
        """The meaning half of the scores of rows: cosines, reduced for very short rows, in units of their spread."""
        return in_spreads(np.einsum("ij,j->i", units, self.vector) * shortened(lengths), self.spread)


def shortened(lengths: NDArray[np.int64]) -> Vectors:
    """The weight of a row's cosine by its number of words: 1 -> .5, 2 -> .67, 20 -> .95.

    A row of one or two words is too short to be a reliable hit, even if its vector equals the query's.
    """
    factors: Vectors = (lengths / (lengths + 1)).astype(np.float32)
    return factors


def steadied(spread: float, usual: float, n_rows: int) -> float:
    """Shrink a standard deviation over few rows towards the usual one; from ENOUGH rows on it stays as it is.

    `steadied(0.01, 0.09, 2)` -> 0.089; `steadied(0.01, 0.09, 100)` -> 0.01
    """
    if n_rows >= ENOUGH:
        return spread
    share = n_rows / ENOUGH
    return float((share * spread**2 + (1 - share) * usual**2) ** 0.5)


def in_spreads(scores: Vectors, spread: float) -> Vectors:
    """Scores in units of their standard deviation; 0 if that is 0."""
    return scores / np.float32(spread) if spread > TINY else np.zeros_like(scores)


def sample_rows(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The rows of the sample, chosen from all rows by their hashes, (n_rows,); of equal rows, the first."""
    if len(hashes) <= SAMPLE:
        return np.arange(len(hashes))
    low = np.partition(hashes, min(4 * SAMPLE, len(hashes) - 1))[: 4 * SAMPLE].max()
    for chosen in (np.flatnonzero(hashes <= low), np.arange(len(hashes))):  # all rows if many are equal
        values, first = np.unique(hashes[chosen], return_index=True)
        if len(values) >= SAMPLE:
            break
    return chosen[first[:SAMPLE]]


def row_hashes(text: bytes, starts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A hash of each row of a text; row i is text[starts[i] : starts[i + 1]]."""
    from siamese_cbow.words.hash_table import hash_words

    hashes = np.empty(len(starts) - 1, np.uint64)
    hash_words(np.frombuffer(text, np.uint8), starts, hashes)
    return hashes


# In an index

CODES = 96  # three registers of 32 bytes per row: 112 take half as long again and find no more of the ten best rows
RANGE = 4.0  # standard deviations that fit into a byte
FIT_FILES = ("weights.npy", "matrix.npy", "sample.npy", "lengths.npy", "basis.npy", "steps.npy")


@dataclass(frozen=True, eq=False)
class Coding:
    """A fit, and how an index codes its vectors, to compare a query with millions of rows in milliseconds.

    A vector is rotated to the principal directions of the sample, and its first CODES components are stored in one byte
    each. Their dot products with a query approximate the cosines, well enough to select the rows to score exactly.
    Every row is compared, so all rows can be found; a graph may have unreachable ones.

    basis  (dim, codes) the main directions, each divided by the step between two codes
    steps  (codes,) these steps
    """

    fit: Fit
    basis: Vectors
    steps: Vectors

    @classmethod
    def of(cls, fit: Fit) -> Coding:
        """The coding that suits the sample of a fit."""
        dim = fit.sample.shape[1]
        with one_thread():
            directions, _ = strongest(gram_of(fit.sample), min(CODES, dim))
        turned = fit.sample @ directions.T.astype(np.float32)
        spread = np.sqrt(np.square(turned, dtype=np.float64).mean(axis=0)) if len(turned) else np.ones(len(directions))
        steps = (RANGE * np.maximum(spread, 1e-6) / 127).astype(np.float32)
        return cls(fit, np.ascontiguousarray(directions.T.astype(np.float32) / steps), steps)

    def codes(self, units: Vectors) -> NDArray[np.int8]:
        """Vectors of length 1, (n, dim) -> (n, codes)."""
        codes: NDArray[np.int8] = np.clip(np.rint(units @ self.basis), -127, 127).astype(np.int8)
        return codes

    def query(self, direction: Vectors) -> Vectors:
        """The vector whose dot product with a row's codes approximates its cosine with a direction, (codes,)."""
        return ((direction @ self.basis) * self.steps * self.steps).astype(np.float32)

    def in_memory(self) -> Coding:
        """The same, loaded into memory."""
        fit = Fit(*map(np.array, (self.fit.weights, self.fit.matrix, self.fit.sample, self.fit.lengths)))
        return Coding(fit, np.array(self.basis), np.array(self.steps))

    def save(self, folder: Path) -> None:
        """Write FIT_FILES."""
        fit = self.fit
        arrays: list[NDArray[Any]] = [fit.weights, fit.matrix, fit.sample, fit.lengths, self.basis, self.steps]
        for name, array in zip(FIT_FILES, arrays, strict=True):
            save_array(folder / name, array)

    @classmethod
    def load(cls, folder: Path, model: Model, *, advice: str) -> Coding:
        """Load what `save` wrote for a model."""
        dim, n_words = model.dim, len(model.vocabulary)
        codes = min(CODES, dim)

        def read(name: str, dtype: type, *shape: int | None) -> NDArray[np.generic]:
            return mapped_array(folder / name, dtype, shape, advice=advice)

        sample = read("sample.npy", np.float32, None, dim)
        fit = Fit(
            read("weights.npy", np.float32, n_words),  # type: ignore[arg-type]
            read("matrix.npy", np.float32, dim, dim),  # type: ignore[arg-type]
            sample,  # type: ignore[arg-type]
            read("lengths.npy", np.int64, len(sample)),  # type: ignore[arg-type]
        )
        basis, steps = read("basis.npy", np.float32, dim, codes), read("steps.npy", np.float32, codes)
        return cls(fit, basis, steps)  # type: ignore[arg-type]
