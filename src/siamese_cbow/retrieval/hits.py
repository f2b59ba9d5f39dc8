"""A hit, and the best ones so far."""

from __future__ import annotations

import heapq
import threading
from dataclasses import dataclass

import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.text.row_reader import Line


@dataclass(frozen=True)
class Hit:
    """A row near the query: `Hit(0.71, "notes.txt", 12, "a cat sat")`.

    score   the cosine of its vector and the query's, from -1 to 1
    source  the file, "standard input" or "the iterable"
    line    its number there, from 1
    before  the rows before it, as many as were asked for; `after` those after it
    """

    score: float
    source: str
    line: int
    text: str
    before: tuple[Line, ...] = ()
    after: tuple[Line, ...] = ()


class Cutoff:
    """The score that a row has to reach to be among the k best, as far as known; threads share it.

    Only ever rises, so whoever reads an old one does too much work, never too little.
    """

    def __init__(self, k: int | None, threshold: float | None) -> None:
        self._k, self.value = k, -np.inf if threshold is None else threshold
        self._best: Vectors = np.empty(0, np.float32)
        self._lock = threading.Lock()

    def offer(self, scores: Vectors) -> None:
        """Scores of rows nobody has offered before."""
        if self._k is None:
            return
        with self._lock:
            together = np.concatenate([self._best, scores])
            if len(together) > self._k:
                together = np.partition(together, len(together) - self._k)[-self._k :]
            self._best = together
            if len(together) == self._k:
                self.value = max(self.value, float(together.min()))


class Best:
    """The k best of what is offered, or all (k None); of equal scores, those that come first.

    `place` is anything that grows from one offer to the next.
    """

    def __init__(self, k: int | None) -> None:
        self._k = k
        self._heap: list[tuple[float, int, int]] = []  # score, -place, key: the first is the worst

    def offer(self, score: float, place: int) -> tuple[bool, int | None]:
        """Whether it is taken in, and the place of the one that has to leave for it."""
        entry = (score, -place, place)
        if self._k is None or len(self._heap) < self._k:
            heapq.heappush(self._heap, entry)
            return True, None
        if entry < self._heap[0]:
            return False, None
        return True, heapq.heapreplace(self._heap, entry)[2]

    def places(self) -> list[int]:
        """The places of the best, best first."""
        return [place for _, _, place in sorted(self._heap, reverse=True)]
