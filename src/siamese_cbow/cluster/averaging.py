"""How the rows of several workers become one: after a round, everybody goes on from the same rows.

    rows 0 1 2 3 4, two workers        worker 0 owns rows 0 2 4, worker 1 owns rows 1 3
    a round: 0 moves rows 0 1, 1 moves rows 1 2
    first    1 -> 0: row 2             what each has made of the rows of each owner
             0 -> 1: row 1
    then     0 -> 1: rows 0 2          the owner merges, and sends the result to all
             1 -> 0: row 1

Only rows that were touched travel; who touched what is exchanged before, one bit a row. An owner keeps its own rows as
they were when the round began (1/n of the matrix), so that nobody needs a second matrix, and rows go in blocks, so that
buffers stay small. All sums run in the order of the workers: same rows, same bytes.

What becomes of a row: each worker has moved it from x0 to x0 + d_i. The moves are added up, as if one worker had made
them one after the other. A row that only one worker has seen moves as it would alone; a mean over all workers would
leave rare words where they were. Adagrad's steps shorten with the squared gradients a that a row has had, and a worker
knew only of its own, a_i: its move is scaled to what it would have been in the sight of all,

    d_i sqrt((a0 + a_i / 2) / (a0 + sum(a) / 2))      and      a0 + sum(a_i) is remembered

Optimisers that remember a direction (Nesterov, Adam, ...) remember the mean of those who moved the row. Measured
against the mean of rows and against plain sums in results/cluster.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from siamese_cbow.base.arrays import Bytes, Ids, Offsets, Vectors
from siamese_cbow.cluster.exchange import Exchange
from siamese_cbow.kernels.merging import NOBODY, merge_means, merge_moves, put_rows, take_rows
from siamese_cbow.machine.memory import Scratch
from siamese_cbow.training.state import TrainingState

BLOCK = 1 << 15  # rows that are exchanged at a time; a multiple of 8


class RowArray(NamedTuple):
    """Something that a state has for each row."""

    values: Vectors  # (n_rows, width), a view
    seen: int | None  # the array with Adagrad's sums of squares that belongs to it, by its number
    is_direction: bool  # what an optimiser remembers, of which the mean is taken


def row_arrays(state: TrainingState) -> list[RowArray]:
    """The arrays of a state; rows that are cut into strips are as many arrays."""
    arrays: list[RowArray] = []
    named = {name: array for name, array in state.arrays().items() if array.size > 1}
    for name, array in named.items():
        strips = array.reshape(state.layout.n_strips, -1, array.shape[1])
        is_direction = name.endswith((".first", ".second")) and array.shape[1] > 1
        squares = named.get(f"{name}.first")
        has_squares = squares is not None and squares.shape[1] == 1
        seen = len(arrays) + len(strips) if has_squares else None
        arrays += [RowArray(strip, None if seen is None else seen + i, is_direction) for i, strip in enumerate(strips)]
    return arrays


class Averager:
    """Makes the rows of all workers one, round after round; each worker has one."""

    def __init__(self, state: TrainingState, exchange: Exchange) -> None:
        self._arrays, self._exchange, self._scratch = row_arrays(state), exchange, Scratch()
        number, n = exchange.number, exchange.n
        self._before = [array.values[number::n].copy() for array in self._arrays]  # of its own rows, by row // n

    def average(self, touched: Bytes) -> tuple[int, int]:
        """The rows that anybody touched become the same for all; how many bytes a worker sends and gets.

        touched  (n_rows,) 1 where this worker has moved a row; all 0 afterwards
        """
        everyone = self._exchange.gather(np.packbits(touched))
        sent = received = everyone.size // len(everyone)
        for first in range(0, len(touched), BLOCK):
            size = min(BLOCK, len(touched) - first)
            bits = everyone[:, first // 8 : (first + BLOCK) // 8]
            n_sent, n_received = self._average_block(first, np.unpackbits(bits, axis=1, count=size))
            sent, received = sent + n_sent, received + n_received
        touched[:] = 0
        return sent, received

    def _average_block(self, first: int, touched: Bytes) -> tuple[int, int]:
        """The rows from the first-th on; touched is (n_workers, n_rows of the block)."""
        number, n = self._exchange.number, self._exchange.n
        starts = [(owner - first) % n for owner in range(n)]  # of each owner's rows in the block
        to_send = [first + start + n * np.flatnonzero(touched[number, start::n]) for start in starts]
        all_touched = np.bitwise_or.reduce(touched, axis=0)
        merged = [first + start + n * np.flatnonzero(all_touched[start::n]) for start in starts]
        own = touched[:, starts[number] :: n]
        places, ends = _places(own)

        outgoing = [self._taken(f"send{i}", [] if i == number else rows) for i, rows in enumerate(to_send)]
        shares = [self._scratch.array(f"shares{a}", (ends[-1], w), np.float32) for a, w in self._widths]
        incoming = [[share[ends[i] : ends[i + 1]] for share in shares] for i in range(n)]
        for array, target in zip(self._arrays, incoming[number], strict=True):
            take_rows(array.values, to_send[number], target)
        self._exchange.swap(outgoing, incoming)

        results = self._merge(merged[number], shares, places)
        arriving = [
            [self._scratch.array(f"got{i}.{a}", (len(rows), w), np.float32) for a, w in self._widths]
            for i, rows in enumerate(merged)
        ]
        self._exchange.swap([results] * n, arriving)
        arriving[number] = results
        for rows, values in zip(merged, arriving, strict=True):
            for array, value in zip(self._arrays, values, strict=True):
                put_rows(rows, value, array.values)
        row_bytes = 4 * sum(width for _, width in self._widths)
        sent = sum(map(len, to_send)) - len(to_send[number]) + (n - 1) * len(merged[number])
        received = ends[-1] - len(to_send[number]) + sum(map(len, merged)) - len(merged[number])
        return row_bytes * sent, row_bytes * int(received)

    @property
    def _widths(self) -> list[tuple[int, int]]:
        return [(i, array.values.shape[1]) for i, array in enumerate(self._arrays)]

    def _taken(self, name: str, rows: Offsets | Sequence[int]) -> list[Vectors]:
        """Some rows of all arrays, in memory that is used again."""
        rows = np.asarray(rows, np.int64)
        taken = [self._scratch.array(f"{name}.{a}", (len(rows), width), np.float32) for a, width in self._widths]
        for array, target in zip(self._arrays, taken, strict=True):
            take_rows(array.values, rows, target)
        return taken

    def _merge(self, rows: Offsets, shares: Sequence[Vectors], places: Ids) -> list[Vectors]:
        """Its own rows, from what all workers have made of them; they are remembered for the next round."""
        places_before, results = rows // self._exchange.n, list[Vectors]()
        plain = np.ones(places.shape, np.float32)
        for i, (array, share) in enumerate(zip(self._arrays, shares, strict=True)):
            result = self._scratch.array(f"merged{i}", (len(rows), share.shape[1]), np.float32)
            if array.is_direction:
                merge_means(share, places, result)
            else:
                scales = plain
                if array.seen is not None:
                    scales = adagrad_scales(self._before[array.seen][places_before, 0], shares[array.seen], places)
                merge_moves(self._before[i], places_before, share, places, scales, result)
            results.append(result)
        for before, result in zip(self._before, results, strict=True):
            put_rows(places_before, result, before)
        return results


def _places(touched: Bytes) -> tuple[Ids, Offsets]:
    """Where the rows of each worker stand among those received, one worker after the other.

    touched, of 2 workers and 3 rows, [[1, 0, 1], [0, 0, 1]] -> places [[0, NOBODY], [1, 2]], ends [0, 2, 3]
    """
    n_workers, kept = len(touched), np.flatnonzero(touched.any(axis=0))
    places = np.full((len(kept), n_workers), NOBODY, np.int32)
    ends = np.concatenate([[0], np.cumsum(touched.sum(axis=1))]).astype(np.int64)
    for i in range(n_workers):
        k = np.flatnonzero(touched[i, kept])
        places[k, i] = np.arange(ends[i], ends[i + 1])
    return places, ends


def adagrad_scales(before: Vectors, shares: Vectors, places: Ids) -> Vectors:
    """What the moves of each worker are multiplied by.

    before  (n,) the sums of squares when the round began; shares (n_received, 1) what workers made of them
    before 0, both workers have come to 2 -> sqrt(1 / 2) for both
    """
    gained = np.where(places >= 0, shares[np.maximum(places, 0), 0] - before[:, None], np.float32(0))
    middle = before.copy()
    for i in range(places.shape[1]):
        middle += gained[:, i] / 2
    scales: Vectors = np.sqrt((before[:, None] + gained / 2) / np.maximum(middle, np.float32(1e-30))[:, None])
    return scales
