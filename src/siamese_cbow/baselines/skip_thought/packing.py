"""Sentences of different lengths side by side, without padding: all first words, then all second words, ...

    the cat sat        packed   the a | cat dog | sat        (longest sentence first)
    a dog              sizes      2      2        1

Plain arrays; knows nothing of PyTorch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Offsets

Rows: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Packed:
    """Sentences in packed order. Sentence i here is sentence `order[i]` of what was given."""

    ids: Rows  # (n_tokens,)
    sizes: list[int]  # (longest,): sentences that have a t-th word
    order: Rows  # (n_sentences,)
    last: Rows  # (n_sentences,): where in `ids` the last word of sentence i stands
    backward: Rows  # (n_tokens,): `ids[backward]` has every sentence reversed

    @property
    def before(self) -> Rows:
        """For every word but the first ones, the word before it: for the a | cat dog | sat, it is the a | cat."""
        starts = np.cumsum([0, *self.sizes])
        found = [self.ids[start : start + size] for start, size in zip(starts, self.sizes[1:], strict=False)]
        return np.concatenate([self.ids[:0], *found])


def pack(ids: Rows, offsets: Offsets, *, at_least: int = 1) -> Packed:
    """Packs the sentences `ids[offsets[i] : offsets[i + 1]]`, none of them empty.

    With `at_least` 4, all sizes are 4 or more: where sentences have ended, the first word given fills their places.
    """
    lengths = np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")
    n_missing = max(0, at_least - len(order))
    starts = np.pad(offsets[:-1][order], (0, n_missing))
    filled = lengths = np.pad(lengths[order], (0, n_missing))
    filled = np.where(np.arange(len(lengths)) < at_least, lengths[0], lengths)
    steps = np.arange(lengths[0])[:, None]
    there, real = steps < filled, steps < lengths
    sizes = there.sum(axis=1)
    firsts = np.cumsum(sizes) - sizes  # where the t-th words start
    columns = np.arange(len(lengths))
    mirrored = np.where(real, firsts[np.where(real, lengths - 1 - steps, 0)] + columns, 0)[there]
    return Packed(
        ids[np.where(real, starts + steps, 0)[there]],
        sizes.tolist(),
        order,
        (firsts[lengths - 1] + columns)[: len(order)],
        mirrored,
    )
