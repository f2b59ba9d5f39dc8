"""Table 3: how long a system takes to compare sentences, pair by pair on one CPU as in the paper, and in one batch."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from siamese_cbow.evaluation.pair_sets import PairSet

WARM_UP = 20  # pairs, before the clock starts: code is compiled and files are read for the first one
ROUNDS = 3  # of the batch, of which the shortest counts


def time_pairs(system: Any, sets: Sequence[PairSet], *, seconds: float) -> dict[str, Any]:
    """CPU seconds for all pairs of the sets, one by one and batched, on one thread.

    One by one stops after so many seconds; what it would have taken for all pairs is then worked out, and `n_timed`
    tells how many were timed. -> {"n_pairs": 16858, "n_timed": 16858, "one_by_one": 0.9, "batched": 0.1}
    """
    from threadpoolctl import threadpool_limits

    pairs = [pair for one in sets for pair in one.pairs]
    with threadpool_limits(1):
        _one_by_one(system, pairs[:WARM_UP], seconds)
        one_by_one, n_timed = _one_by_one(system, pairs, seconds)
        batch = pairs[:n_timed]  # what is slow one by one would take too long for all pairs at once, too
        batched = min(_batched(system, batch) for _ in range(ROUNDS if one_by_one < seconds else 1))
    share = len(pairs) / n_timed
    return {
        "n_pairs": len(pairs),
        "n_timed": n_timed,
        "one_by_one": one_by_one * share,
        "batched": batched * share,
    }


def _one_by_one(system: Any, pairs: Sequence[tuple[str, str]], seconds: float) -> tuple[float, int]:
    """CPU seconds, and for how many pairs. CPU time: on a busy machine a clock would measure the neighbours."""
    start = time.process_time()
    passed = 0.0
    for n, (left, right) in enumerate(pairs, start=1):
        _cosine(system.encode(left, threads=1), system.encode(right, threads=1))
        passed = time.process_time() - start
        if passed > seconds:
            return passed, n
    return passed, len(pairs)


def _batched(system: Any, pairs: Sequence[tuple[str, str]]) -> float:
    start = time.process_time()
    a = system.encode([left for left, _ in pairs], threads=1)
    b = system.encode([right for _, right in pairs], threads=1)
    _cosines(a, b)
    return time.process_time() - start


def _cosine(a: Any, b: Any) -> float:
    lengths = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / lengths if lengths else 0.0


def _cosines(a: Any, b: Any) -> Any:
    lengths = np.sqrt(np.einsum("ij,ij->i", a, a) * np.einsum("ij,ij->i", b, b))
    return np.einsum("ij,ij->i", a, b) / np.where(lengths > 0, lengths, 1)
