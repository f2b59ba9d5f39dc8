"""Approximate nearest neighbours with usearch: finds near rows among the many that `dedup` has kept.

An index needs no graph: a query is compared with the codes of all its rows (`fitting.Coding`).

Vectors are kept as int8. The components of a unit vector with 300 dimensions are about .06; usearch would multiply them
by 127 and keep three bits, so they are scaled here: 4 times the usual size fills the range, and larger values are
clipped. Scaling does not change cosines.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.errors import MissingExtra, needs

Graph: TypeAlias = Any  # usearch.index.Index
Keys: TypeAlias = NDArray[np.int64]

# Half of usearch's default effort for adding halves the time; more connections and more effort for searching make up
# for it: recall@10 over 74,000 sentences of speeches is .977 (usearch's defaults, 16 and 64: .979; 16 and 32: .965).
CONNECTIVITY, EXPANSION_ADD = 24, 32


def what_is_missing() -> MissingExtra | None:
    """The error to raise if usearch is missing, or None; checked without loading it, since it may never be needed."""
    return None if importlib.util.find_spec("usearch") else MissingExtra("usearch", "search")


def new_graph(dim: int) -> Graph:
    """An empty graph, in memory."""
    with needs("usearch", "search"):
        from usearch.index import Index
    return Index(ndim=dim, metric="cos", dtype="i8", connectivity=CONNECTIVITY, expansion_add=EXPANSION_ADD)


def add(graph: Graph, keys: Keys, vectors: NDArray[np.int8], threads: int) -> None:
    """Add `shrunk` vectors, (n, dim), under their keys."""
    if not len(keys):
        return
    with _interruptible():
        graph.add(keys.astype(np.uint64), vectors, threads=threads)


def nearest(graph: Graph, vectors: Vectors, n: int, *, effort: int, threads: int = 1) -> list[tuple[Keys, Vectors]]:
    """For each vector, (m, dim), the keys of approximately its `n` nearest, best first, and approximate cosines.

    A higher `effort` misses fewer rows. A graph of at most `effort` rows is scanned completely: this costs no more and
    misses none, not even unreachable rows (which may exist if several threads have built the graph).
    """
    if not len(graph) or not len(vectors):
        return [(np.empty(0, np.int64), np.empty(0, np.float32)) for _ in vectors]
    graph.expansion_search = max(effort, n)
    with _interruptible():
        matches = graph.search(shrunk(vectors), min(n, len(graph)), threads=threads, exact=len(graph) <= effort)
    if len(vectors) == 1:  # then the library drops a dimension
        return [(matches.keys.astype(np.int64), 1 - matches.distances)]
    return [
        (keys[:count].astype(np.int64), 1 - distances[:count])
        for keys, distances, count in zip(matches.keys, matches.distances, matches.counts, strict=True)
    ]


def shrunk(vectors: Vectors) -> NDArray[np.int8]:
    """Rows of length 1 as int8; [[0.6, 0.8]] -> [[27, 36]] (in two dimensions, 4 times the usual size is 2.8)."""
    scale = 127 * vectors.shape[-1] ** 0.5 / 4
    small: NDArray[np.int8] = np.clip(np.rint(vectors * np.float32(scale)), -127, 127).astype(np.int8)
    return small


def fingerprints(vectors: NDArray[np.int8]) -> list[int]:
    """A number of 64 bits for each row, (n, dim): equal rows have equal numbers, different rows almost never."""
    padded = np.zeros((len(vectors), -(-vectors.shape[1] // 8) * 8), np.int8)
    padded[:, : vectors.shape[1]] = vectors
    chunks = padded.view(np.uint64)
    mixed = (chunks ^ (chunks >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)  # so that every byte affects others
    odd = np.random.default_rng(1).integers(0, 1 << 63, chunks.shape[1], np.uint64) * np.uint64(2) + np.uint64(1)
    hashes: list[int] = ((mixed ^ (mixed >> np.uint64(32))) * odd).sum(axis=1, dtype=np.uint64).tolist()
    return hashes


@contextmanager
def _interruptible() -> Iterator[None]:
    """The library swallows Ctrl-C and raises RuntimeError instead ("Terminated by user", "... has been terminated")."""
    try:
        yield
    except RuntimeError as error:
        if "terminated" in str(error).lower():
            raise KeyboardInterrupt from None
        raise
