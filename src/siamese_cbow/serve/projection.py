"""Vectors on a plane: by principal components in NumPy, or by UMAP where that is installed."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.errors import InputError, MissingExtra, counted
from siamese_cbow.model.geometry import pca

Plane = NDArray[np.float64]  # (n, 2)
FEWEST_FOR_UMAP = 5


def project(vectors: Vectors, method: Literal["pca", "umap"]) -> tuple[Plane, list[float] | None]:
    """Rows (n, dim) on a plane, between -1 and 1, and the shares of the variance that the two axes hold (PCA only)."""
    if not len(vectors):
        return np.zeros((0, 2)), None
    plane, shares = (umap(vectors), None) if method == "umap" else pca(vectors)
    reach = np.abs(plane).max(initial=0.0)
    return (plane / reach if reach > 0 else plane), shares


def umap(vectors: Vectors) -> Plane:
    """Rows on a plane such that those that are near stay near; the same each time."""
    try:
        from umap import UMAP
    except ImportError:
        raise MissingExtra("umap-learn", "umap") from None
    if len(vectors) < FEWEST_FOR_UMAP:
        few = counted(len(vectors), "point")
        raise InputError(f"{few}; UMAP needs at least {FEWEST_FOR_UMAP}, principal components any number")
    reducer = UMAP(n_neighbors=min(15, len(vectors) - 1), metric="cosine", random_state=1, n_jobs=1, init="pca")
    plane = np.asarray(reducer.fit_transform(vectors), np.float64)
    centred: Plane = plane - (plane.max(axis=0) + plane.min(axis=0)) / 2
    return centred
