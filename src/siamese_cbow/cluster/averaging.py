"""Merging the rows of several workers: after a round, all continue from the same rows.

    rows 0 1 2 3 4, two workers        worker 0 owns rows 0 2 4, worker 1 owns rows 1 3
    a round: 0 moves rows 0 1, 1 moves rows 1 2
    first    1 -> 0: row 2             each sends its version of the rows to their owners
             0 -> 1: row 1
    then     0 -> 1: rows 0 2          owners merge and send the result to all
             1 -> 0: row 1

Only touched rows are sent; the workers first exchange which rows they touched, one bit per row. Rows of rare words,
which make up most of the bytes, are averaged only in every second, fourth, eighth or sixteenth round: by then the
workers together have moved them a few hundred times at most. An owner keeps its own rows as they were at the last
averaging (1/n of the matrix), so that no worker needs a second matrix, and rows are sent in blocks, so that buffers
stay small. All sums run in the order of the workers: same rows, same bytes.

How a row is merged: each worker has moved it from x0 to x0 + d_i. The moves are added up, as if one worker had made
them one after the other. A row that only one worker has seen moves as it would alone; a mean over all workers would
leave rare words almost unchanged. Adagrad's steps shrink with a, the sum of squared gradients of a row, and a worker
knows only its own, a_i. So its move is scaled to what it would have been with the gradients of all workers,

    d_i sqrt((a0 + a_i / 2) / (a0 + sum(a) / 2))      and      a0 + sum(a_i) is kept

Optimisers with momentum (Nesterov, Adam, ...) keep the mean over the workers that moved the row.
`benchmarks.cluster_quality` compares this with the mean of rows and with plain sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Counts, Floats, Ids, Offsets, Vectors
from siamese_cbow.cluster.node import Exchange
from siamese_cbow.kernels.merging import NOBODY, merge_means, merge_moves, put_rows, take_rows
from siamese_cbow.machine.intrinsics import Scratch
from siamese_cbow.training.state import TrainingState

# Rows exchanged at a time. Smaller blocks cost time: 32,000 rows of two workers took 45 ms of CPU in blocks of 2**15,
# 49 in blocks of 2**13 and 65 in blocks of 2**12. Larger blocks cost memory: about 4 KB per row.
BLOCK = 1 << 13
# A row is averaged once all workers together have moved it about MOVES times, or after LONGEST rounds. Fewer moves send
# more bytes and score no better; with 1,024, eight workers lose .006 (`benchmarks.cluster_quality`).
MOVES, LONGEST = 256, 16

Flags = NDArray[np.bool_]


class RowArray(NamedTuple):
    """An array of the training state with one entry per row."""

    values: Vectors  # (n_rows, width), a view
    seen: int | None  # index of the array that holds its Adagrad sums of squares
    is_direction: bool  # momentum, which is averaged


def row_arrays(state: TrainingState) -> list[RowArray]:
    """The arrays of a state; rows split into strips give one array per strip."""
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


def periods_of(shares: Floats, n_words: float) -> Counts:
    """The number of rounds after which each row is averaged: 1, 2, 4, 8 or 16; rarely used rows have not moved far.

    shares   (n_rows,) the share of each row among the training words
    n_words  words of all workers per round; 1000 words, shares .5, .08 and .0001 -> 1, 4, 16
    """
    rounds = MOVES / np.maximum(shares * n_words, 1e-9)
    return np.asarray(np.minimum(2 ** np.ceil(np.log2(np.maximum(rounds, 1))), LONGEST), np.int64)


class Averager:
    """Merges the rows of all workers, round after round; each worker has an instance."""

    def __init__(self, state: TrainingState, exchange: Exchange) -> None:
        self._arrays, self._exchange, self._scratch = row_arrays(state), exchange, Scratch()
        self._widths = [(i, array.values.shape[1]) for i, array in enumerate(self._arrays)]
        number, n = exchange.number, exchange.n
        self._before = [array.values[number::n].copy() for array in self._arrays]  # of its own rows, by row // n

    def average(self, touched: Bytes, due: Bytes) -> tuple[int, int]:
        """Synchronise the due rows that any worker touched; return the numbers of bytes sent and received here.

        touched  (n_rows,) 1 if this worker has moved the row since it was averaged; 0 afterwards
        due      (n_rows,) 1 if the row is averaged now, the same for all workers
        """
        everyone = self._exchange.gather(np.packbits(touched & due))
        rows = np.flatnonzero(np.unpackbits(np.bitwise_or.reduce(everyone, axis=0), count=len(touched)))
        sent = received = everyone.size // len(everyone)
        for first in range(0, len(rows), BLOCK):
            block = rows[first : first + BLOCK]
            bits = everyone[:, block >> 3] >> (7 - (block & 7)).astype(np.uint8) & 1
            n_sent, n_received = self._average_block(block, bits.astype(bool))
            sent, received = sent + n_sent, received + n_received
        touched[due == 1] = 0
        return sent, received

    def _average_block(self, rows: Offsets, touched: Flags) -> tuple[int, int]:
        """Average a block of rows, each touched by some worker; touched is (n_workers, n_rows)."""
        number, n = self._exchange.number, self._exchange.n
        owners = rows % n
        to_send = [rows[touched[number] & (owners == owner)] for owner in range(n)]
        merged = [rows[owners == owner] for owner in range(n)]
        places, ends = _places(touched[:, owners == number])

        shares = self._memory("shares", int(ends[-1]))
        incoming = [[share[ends[i] : ends[i + 1]] for share in shares] for i in range(n)]
        outgoing = [self._memory(f"send{i}", 0 if i == number else len(to_send[i])) for i in range(n)]
        for i, taken in enumerate(outgoing):
            for array, target in zip(self._arrays, incoming[i] if i == number else taken, strict=True):
                take_rows(array.values, to_send[i], target)
        self._exchange.swap(outgoing, incoming)

        results = self._merge(merged[number], shares, places)
        arriving = [self._memory(f"got{i}", 0 if i == number else len(merged[i])) for i in range(n)]
        self._exchange.swap([results] * n, arriving)
        for i, values in enumerate(arriving):
            for array, value in zip(self._arrays, values, strict=True):
                put_rows(merged[i][: len(value)], value, array.values)
        row_bytes = 4 * sum(width for _, width in self._widths)
        others = [i for i in range(n) if i != number]
        sent = sum(len(to_send[i]) for i in others) + len(others) * len(merged[number])
        received = sum(int(ends[i + 1] - ends[i]) + len(merged[i]) for i in others)
        return row_bytes * sent, row_bytes * received

    def _memory(self, name: str, n_rows: int) -> list[Vectors]:
        """Buffers for this many rows of all arrays, reused in the next block."""
        return [self._scratch.array(f"{name}.{i}", (n_rows, width), np.float32) for i, width in self._widths]

    def _merge(self, rows: Offsets, shares: Sequence[Vectors], places: Ids) -> list[Vectors]:
        """Merge this worker's own rows from the versions of all workers, and keep them for the next time."""
        n, results = self._exchange.n, self._memory("merged", len(rows))
        plain = np.ones(places.shape, np.float32)
        scales = [
            plain
            if array.seen is None
            else adagrad_scales(self._before[array.seen][rows // n, 0], shares[array.seen], places)
            for array in self._arrays
        ]
        for i, (array, share) in enumerate(zip(self._arrays, shares, strict=True)):
            if array.is_direction:
                merge_means(rows, share, places, array.values, results[i])
            else:
                merge_moves(rows, share, places, scales[i], n, self._before[i], array.values, results[i])
        return results


def _places(touched: Flags) -> tuple[Ids, Offsets]:
    """Positions of each worker's rows among those received, one worker after the other.

    touched, of 2 workers and 2 rows, [[1, 1], [0, 1]] -> places [[0, NOBODY], [1, 2]], ends [0, 2, 3]
    """
    places = np.full(touched.shape[::-1], NOBODY, np.int32)
    ends = np.concatenate([[0], np.cumsum(touched.sum(axis=1))]).astype(np.int64)
    for i, flags in enumerate(touched):
        places[flags, i] = np.arange(ends[i], ends[i + 1])
    return places, ends


def adagrad_scales(before: Vectors, shares: Vectors, places: Ids) -> Vectors:
    """Factors for the moves of each worker.

    before  (n,) the sums of squares at the start of the round
    shares  (n_received, 1) the workers' versions of them; before 0, both workers have reached 2 -> sqrt(1 / 2) for both
    """
    gained = np.where(places >= 0, shares[np.maximum(places, 0), 0] - before[:, None], np.float32(0))
    middle = before.copy()
    for i in range(places.shape[1]):
        middle += gained[:, i] / 2
    scales: Vectors = np.sqrt((before[:, None] + gained / 2) / np.maximum(middle, np.float32(1e-30))[:, None])
    return scales
