"""In which order the batches of several streams come.

An epoch is cut into rounds of some 256 batches. Each round takes its share of every stream, one stream after the other:

    90 batches of text, 30 of pairs, 3 rounds  ->  30 text, 10 pairs, 30 text, 10 pairs, 30 text, 10 pairs

A batch is of one stream: among captions, a sentence of an encyclopedia would be too easy to tell apart to learn from.
(Rounds, because short stretches of batches cost speed: the threads start and stop for each.)

The n-th batch that a training takes of a stream is the n-th of that stream, whatever the epoch: when all its batches
have been taken it begins anew in another order. So a stream may be passed several times in an epoch, or a tenth of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from siamese_cbow.kernels.batch.records import Shape
from siamese_cbow.training.batches import batches_per_epoch

ROUND = 256  # batches


class Stretch(NamedTuple):
    """Batches of one stream that follow one another."""

    stream: int
    turn: int  # how often the stream has been gone through before
    first: int  # batch of this turn
    n: int


class Course:
    """The batches of a training: `Course([10, 2], [1, 2]).n_batches` -> 14."""

    def __init__(self, sizes: Sequence[int], passes: Sequence[float]) -> None:
        self._sizes = sizes  # batches of each stream
        self._shares = [max(1, round(n * size)) for n, size in zip(passes, sizes, strict=True)]  # of an epoch
        self.n_batches = sum(self._shares)  # of an epoch
        self._n_rounds = max(1, self.n_batches // ROUND)
        rounds = np.arange(self._n_rounds + 1)
        self._starts = np.sum([rounds * share // self._n_rounds for share in self._shares], axis=0)

    @classmethod
    def of(cls, shapes: Sequence[Shape], passes: Sequence[float]) -> Course:
        """The course of streams that are cut like this."""
        return cls([batches_per_epoch(shape) for shape in shapes], passes)

    def stretch(self, epoch: int, batch: int) -> Stretch:
        """What comes from batch `batch` of an epoch on, up to where another stream, or its next turn, begins."""
        number = int(np.searchsorted(self._starts[:-1], batch, side="right")) - 1
        at = int(self._starts[number])
        for stream, share in enumerate(self._shares):
            begin, end = (i * share // self._n_rounds for i in (number, number + 1))
            if batch < at + end - begin:
                turn, first = divmod(epoch * share + begin + batch - at, self._sizes[stream])
                return Stretch(stream, turn, first, min(at + end - begin - batch, self._sizes[stream] - first))
            at += end - begin
        raise IndexError(f"batch {batch} of {self.n_batches}")
