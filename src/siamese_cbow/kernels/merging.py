"""Kernels that take rows out of a matrix, merge their versions from several workers, and put them back.

Legend: w a row of the matrix, k a row that is sent or merged, p a row that was received. `cluster.averaging` explains
how rows are merged; `merge_reference` is the definition, in NumPy.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids, Offsets, Vectors
from siamese_cbow.machine.compiling import LEAN

NOBODY = -1  # instead of a row number: the worker did not touch the row


@njit(**LEAN)
def take_rows(array: Vectors, rows: Offsets, out: Vectors) -> None:
    """out[k] = array[rows[k]]."""
    for k in range(len(rows)):
        for j in range(array.shape[1]):
            out[k, j] = array[rows[k], j]


@njit(**LEAN)
def put_rows(rows: Offsets, values: Vectors, array: Vectors) -> None:
    """array[rows[k]] = values[k]."""
    for k in range(len(rows)):
        for j in range(array.shape[1]):
            array[rows[k], j] = values[k, j]


@njit(**LEAN)
def merge_moves(
    rows: Offsets, received: Vectors, places: Ids, scales: Vectors, n_owners: int, before: Vectors, array: Vectors,
    out: Vectors,
) -> None:  # fmt: skip
    """out[k] = b + the sum of (received[p] - b) * scale over the workers, b = before[rows[k] // n_owners].

    rows      (n,) int64, of array; all of one owner, which keeps every n_owners-th row in `before`
    places    (n, n_workers) int32; places[k, i] is the row of `received` that worker i made of it, or NOBODY
    scales    (n, n_workers) float32; a row that only one worker has touched is taken unchanged

    before 1, received 2 and 4, scales 1 and .5 -> 3.5. The result is also written to `before` and `array`, while it is
    in the cache.
    """
    for k in range(len(rows)):
        w, n, last = rows[k] // n_owners, 0, 0
        for i in range(places.shape[1]):
            if places[k, i] >= 0:
                n, last = n + 1, places[k, i]
        if n == 1:
            for j in range(out.shape[1]):
                out[k, j] = received[last, j]
        else:
            for j in range(out.shape[1]):
                out[k, j] = 0
            for i in range(places.shape[1]):
                p, scale = places[k, i], scales[k, i]
                if p >= 0:
                    for j in range(out.shape[1]):
                        out[k, j] += (received[p, j] - before[w, j]) * scale
            for j in range(out.shape[1]):
                out[k, j] += before[w, j]
        for j in range(out.shape[1]):
            before[w, j] = out[k, j]
            array[rows[k], j] = out[k, j]


@njit(**LEAN)
def merge_means(rows: Offsets, received: Vectors, places: Ids, array: Vectors, out: Vectors) -> None:
    """out[k], and array[rows[k]], become the mean of received[p] over the workers that touched the row."""
    for k in range(len(rows)):
        n = np.float32(0)
        for j in range(out.shape[1]):
            out[k, j] = 0
        for i in range(places.shape[1]):
            p = places[k, i]
            if p >= 0:
                n += np.float32(1)
                for j in range(out.shape[1]):
                    out[k, j] += received[p, j]
        for j in range(out.shape[1]):
            out[k, j] /= n
            array[rows[k], j] = out[k, j]


def merge_reference(before: Vectors, received: Vectors, places: Ids, scales: Vectors | None) -> NDArray[np.float32]:
    """The result of `merge_moves`, or without scales of `merge_means`; `before` has only these rows, (n, width)."""
    touched = places >= 0
    total = np.zeros((len(places), received.shape[1]), np.float32)
    for i in range(places.shape[1]):
        k, values = touched[:, i], received[places[touched[:, i], i]]
        total[k] += values if scales is None else (values - before[k]) * scales[k, i : i + 1]
    n = touched.sum(axis=1)
    if scales is None:
        return (total / n[:, None]).astype(np.float32)
    alone = received[places.max(axis=1)]
    return np.where(n[:, None] == 1, alone, total + before)
