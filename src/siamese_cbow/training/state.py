"""The state of a training: all that a checkpoint has to hold, and nothing else.

All else (order of sentences, negatives, learning rates) is a function of the recipe, the stream and these counters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.errors import FormatError
from siamese_cbow.kernels.batch.random import Purpose, key
from siamese_cbow.kernels.batch.records import Matrices
from siamese_cbow.machine.memory import aligned
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.training.kin import ALONE, Kin
from siamese_cbow.training.optimizers import state_shapes
from siamese_cbow.training.recipe import SiameseCBOW
from siamese_cbow.training.start import place, start_rows
from siamese_cbow.training.strips import StripLayout, joined, layout_of, spread
from siamese_cbow.words.vocabulary import Vocabulary


@dataclass
class Counters:
    """Where a training stands. Tallies are float64 and don't depend on the number of threads."""

    epoch: int = 0  # of the next batch
    batch: int = 0  # of the next batch, in its epoch
    step: int = 0  # batches done in all
    examples: int = 0
    words: int = 0  # of all anchors, before subsampling
    words_cut: int = 0  # beyond max_tokens
    loss: float = 0.0  # sum over the examples of this epoch
    loss_examples: int = 0  # examples of this epoch

    @property
    def mean_loss(self) -> float:
        """The mean loss of this epoch's examples so far."""
        return self.loss / max(1, self.loss_examples)


@dataclass
class TrainingState:
    """Arrays and counters. `vectors` is what is learnt, without regard to how it lies in memory."""

    dim: int
    layout: StripLayout
    left: Matrices  # the anchors' side: this becomes the model
    right: Matrices  # the candidates' side; the same arrays when there is one matrix
    counters: Counters

    @property
    def vectors(self) -> Vectors:
        """The rows so far, (n_rows, dim): words, then what they share. May be a view that goes on changing."""
        return joined(self.left.vectors, self.layout, self.dim)

    def folded(self, kin: Kin) -> Vectors:
        """A copy of them with one row a word."""
        is_copy, rows = self.layout.n_strips > 1, self.vectors
        return rows if is_copy and not kin.n_shared else kin.fold(rows)

    @property
    def shared(self) -> bool:
        """Whether both sides use one matrix."""
        return self.right.vectors is self.left.vectors

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """The arrays by name, as a checkpoint holds them: vectors, vectors.first, ..."""
        sides = {"vectors": self.left} if self.shared else {"vectors": self.left, "candidates": self.right}
        return {
            name + suffix: array
            for name, side in sides.items()
            for suffix, array in (("", side.vectors), (".first", side.first), (".second", side.second))
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]], counters: Mapping[str, Any]) -> None:
        """Take over what `arrays()` and `asdict(counters)` gave for the same recipe and stream."""
        own = self.arrays()
        for name in own.keys() | arrays.keys():
            if name not in own or name not in arrays or own[name].shape != arrays[name].shape:
                saved, expected = (a[name].shape if name in a else None for a in (arrays, own))
                raise FormatError(
                    f"the checkpoint's array {name!r} has shape {saved}, expected {expected}; it is from another "
                    "recipe or vocabulary: start a new run in another folder"
                )
            own[name][...] = arrays[name]
        self.counters = Counters(**{field.name: counters[field.name] for field in fields(Counters)})


def first_state(
    recipe: SiameseCBOW, vocabulary: Vocabulary, progress: Progress = SILENT, *, kin: Kin = ALONE
) -> TrainingState:
    """Where a training starts: normal(0, init_std) rows, or those of `init`; shared rows after the words'."""
    layout, n_rows = layout_of(recipe), len(vocabulary) + kin.n_shared
    left = _side(recipe, layout, n_rows, 0)
    right = _side(recipe, layout, n_rows, 1) if recipe.separate_matrices else left
    if recipe.init is not None:
        places, rows = start_rows(recipe, vocabulary, progress)
        for side in [left, right] if recipe.separate_matrices else [left]:
            whole = joined(side.vectors, layout, recipe.dim)
            place(whole, places, rows, kin)
            spread(whole, 0, side.vectors, layout)
    return TrainingState(recipe.dim, layout, left, right, Counters())


def _side(recipe: SiameseCBOW, layout: StripLayout, n_rows: int, number: int) -> Matrices:
    shape = layout.n_strips * n_rows, layout.width
    vectors = aligned(shape)
    rng = np.random.Generator(np.random.Philox(key=int(key(recipe.seed, number, Purpose.VECTORS))))
    for first in range(0, n_rows, 4096):
        drawn = rng.standard_normal((min(4096, n_rows - first), recipe.dim), dtype=np.float32)
        spread(drawn * np.float32(recipe.init_std), first, vectors, layout)
    return Matrices(vectors, *(aligned(state) for state in state_shapes(recipe, *shape)))
