"""Compact vectors, and the files of a fit: how an index compares a query with millions of rows in milliseconds.

A vector is rotated to the principal directions of the sample, and its first CODES components are stored in one byte
each. Their dot products with a query approximate the cosines, well enough to select the rows to score exactly. Every
row is compared, so none is unreachable, as may happen in a graph.

    weights.npy  matrix.npy  sample.npy  lengths.npy    the fit, see `fitting`
    basis.npy    (dim, codes) float32: the main directions, each divided by the step between two codes
    steps.npy    (codes,) float32
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors, mapped_array, save_array
from siamese_cbow.model.geometry import gram_of, one_thread, strongest
from siamese_cbow.model.model import Model
from siamese_cbow.retrieval.fitting import Fit

CODES = 96  # three registers of 32 bytes per row: 112 take half as long again and find no more of the ten best rows
RANGE = 4.0  # standard deviations that fit into a byte
FILES = ("weights.npy", "matrix.npy", "sample.npy", "lengths.npy", "basis.npy", "steps.npy")


@dataclass(frozen=True, eq=False)
class Coding:
    """A fit, and how its vectors are coded."""

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
        """Write FILES."""
        fit = self.fit
        arrays: list[NDArray[Any]] = [fit.weights, fit.matrix, fit.sample, fit.lengths, self.basis, self.steps]
        for name, array in zip(FILES, arrays, strict=True):
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
