"""How the rows of several workers become one: after a round, everybody goes on from the same rows.

    rows 0 1 2 3 4, two workers        worker 0 owns rows 0 2 4, worker 1 owns rows 1 3
    a round: 0 moves rows 0 1, 1 moves rows 1 2
    shares   0 -> {0}, {1}             what each has made of the rows of each owner
             1 -> {2}, {1}
    merged   owner 0: {0 2}, owner 1: {1}; then both workers have all three

Only rows that were touched travel, and an owner keeps its own rows as they were when the round began (1/n of the
matrix), so that nobody needs a second matrix. All sums run in the order of the workers: same shares, same bytes.

What becomes of a row: each worker has moved it from x0 to x0 + d_i. The moves are added up, as if one worker had made
them one after the other. A row that only one worker has seen moves as it would alone; a mean over all workers would
leave rare words where they were. Adagrad's steps shorten with the squared gradients a that a row has had, and a worker
knew only of its own, a_i: its move is scaled to what it would have been in the sight of all,

    d_i sqrt((a0 + a_i / 2) / (a0 + sum(a) / 2))      and      a0 + sum(a_i) is remembered

Optimisers that remember a direction (Nesterov, Adam, ...) remember the mean of those who moved the row. Measured
against the mean of rows and against plain sums in results/cluster.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Vectors
from siamese_cbow.training.state import TrainingState


class Share(NamedTuple):
    """Some rows, and what there is of each."""

    rows: NDArray[np.int64]  # (n,) rising
    arrays: Mapping[str, Vectors]  # each (n_strips, n, width)


def row_arrays(state: TrainingState) -> dict[str, Vectors]:
    """Those arrays of a state that have something for each row, as (n_strips, n_rows, width). Views."""
    arrays = {name: array for name, array in state.arrays().items() if array.size > 1}
    return {name: array.reshape(state.layout.n_strips, -1, array.shape[1]) for name, array in arrays.items()}


def shares_of(state: TrainingState, touched: Bytes, owner: int, n_owners: int) -> Share:
    """What a worker has made of the rows of one owner that it touched."""
    rows = np.flatnonzero(touched[owner::n_owners]) * n_owners + owner
    return Share(rows, {name: array[:, rows] for name, array in row_arrays(state).items()})


def take(state: TrainingState, merged: Sequence[Share]) -> None:
    """A worker goes on from the merged rows."""
    arrays = row_arrays(state)
    for share in merged:
        for name, array in arrays.items():
            array[:, share.rows] = share.arrays[name]


class Owner:
    """Rows `number`, `number + n_owners`, ... as they were when the round began."""

    def __init__(self, state: TrainingState, number: int, n_owners: int) -> None:
        self._n_owners = n_owners
        self._rows = {name: array[:, number::n_owners].copy() for name, array in row_arrays(state).items()}

    def merge(self, shares: Sequence[Share]) -> Share:
        """The rows that all workers go on from."""
        rows = np.unique(np.concatenate([share.rows for share in shares]))
        places = [np.searchsorted(rows, share.rows) for share in shares]
        own = rows // self._n_owners
        before = {name: array[:, own] for name, array in self._rows.items()}
        merged = {name: _merged(name, before, shares, places) for name in before}
        for name, array in self._rows.items():
            array[:, own] = merged[name]
        return Share(rows, merged)


def _merged(
    name: str, before: Mapping[str, Vectors], shares: Sequence[Share], places: Sequence[NDArray[np.int64]]
) -> Vectors:
    """One array of the merged rows; places[i] says where the rows of share i stand among them."""
    base = before[name]
    total = np.zeros_like(base)
    if name.endswith((".first", ".second")) and base.shape[2] > 1:  # a direction: the mean of those who have one
        n = np.zeros((base.shape[1], 1), np.float32)
        for share, place in zip(shares, places, strict=True):
            total[:, place] += share.arrays[name]
            n[place] += 1
        return total / n
    scales = _scales(f"{name}.first", before, shares, places)
    for share, place, scale in zip(shares, places, scales, strict=True):
        total[:, place] += (share.arrays[name] - base[:, place]) * scale
    total += base
    return total


def _scales(
    seen: str, before: Mapping[str, Vectors], shares: Sequence[Share], places: Sequence[NDArray[np.int64]]
) -> Sequence[Vectors | np.float32]:
    """What the moves of each share are multiplied by; 1 unless Adagrad has made them.

    a0 = 0, both workers have seen 2 -> sqrt(1 / 2) for both
    """
    if seen not in before or before[seen].shape[2] > 1:
        return [np.float32(1)] * len(shares)
    base = before[seen]
    gained = [share.arrays[seen] - base[:, place] for share, place in zip(shares, places, strict=True)]
    middle = base.copy()
    for gain, place in zip(gained, places, strict=True):
        middle[:, place] += gain / 2
    return [
        np.sqrt((base[:, place] + gain / 2) / np.maximum(middle[:, place], np.float32(1e-30)))
        for gain, place in zip(gained, places, strict=True)
    ]
