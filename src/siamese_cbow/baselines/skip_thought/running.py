"""PyTorch's part of encoding, and the settings under which the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.baselines.skip_thought.encoder import Direction, Part
from siamese_cbow.baselines.skip_thought.gru import gru
from siamese_cbow.baselines.skip_thought.packing import Packed, Rows

CHUNK = 8192  # words whose vectors are in memory at a time


@contextmanager
def exact(threads: int | None) -> Iterator[None]:
    """A fixed number of threads (None: as it is set) and no algorithm whose result varies.

    The old settings come back at the end.
    """
    settings: Any = torch.utils.deterministic
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), settings.fill_uninitialized_memory
    torch.set_num_threads(threads or before[0])
    torch.use_deterministic_algorithms(True)
    settings.fill_uninitialized_memory = False  # all that is allocated here is written before it is read
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.use_deterministic_algorithms(before[1])
        settings.fill_uninitialized_memory = before[2]


def last_states(part: Part, sentences: Packed) -> Vectors:
    """The vectors of sentences, (n_sentences, dim), in packed order."""
    orders = (sentences.ids, sentences.ids[sentences.backward])
    ways = zip(part.directions, orders, strict=False)
    return np.concatenate([_last_states(part, direction, rows, sentences) for direction, rows in ways], axis=1)


def _last_states(part: Part, direction: Direction, rows: Rows, sentences: Packed) -> Vectors:
    inputs, gates, candidate = map(_tensor, (direction.inputs, direction.gates, direction.candidate))
    found = np.empty((len(sentences.order), direction.dim), np.float32)
    state = torch.zeros(sentences.sizes[0], direction.dim)
    first = 0
    with torch.no_grad():
        for sizes in _chunks(sentences.sizes):
            behind = first + sum(sizes)
            incoming = torch.from_numpy(part.vectors(rows[first:behind])) @ inputs
            if direction.bias is not None:
                incoming += _tensor(direction.bias)
            states = gru(incoming, sizes, state[: sizes[0]], gates, candidate, reset_first=part.reset_first)
            ended = (sentences.last >= first) & (sentences.last < behind)
            found[ended] = states.numpy()[sentences.last[ended] - first]
            state, first = states[-sizes[-1] :], behind
    return found


def _tensor(array: Vectors) -> torch.Tensor:
    """The array as a tensor; PyTorch warns of arrays that may not be written to, so those are copied."""
    return torch.from_numpy(np.require(array, np.float32, ["C", "W"]))


def _chunks(sizes: list[int]) -> Iterator[list[int]]:
    """Consecutive steps of at most CHUNK words in all, but at least one: [3, 2, 2] -> [3, 2, 2]."""
    chunk: list[int] = []
    n_words = 0
    for size in sizes:
        if chunk and n_words + size > CHUNK:
            yield chunk
            chunk, n_words = [], 0
        chunk.append(size)
        n_words += size
    yield chunk
