"""A recipe's optimiser and learning rates, as numbers for the kernels.

`kernels.tables` lists the optimisers, `kernels.batch.updates` has their formulas.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.kernels.batch.batch_records import Rule
from siamese_cbow.kernels.tables import OPTIMIZERS, OptimizerName
from siamese_cbow.training.recipe import Recipe


def rule_of(
    optimizer: OptimizerName,
    dim: int,
    momentum: float = 0.9,
    second_momentum: float = 0.999,
    clip_gradient: float | None = None,
    l2: float = 0.0,
    to_start: bool = False,
) -> Rule:
    """An optimiser, as numbers for the kernels."""
    kind = OPTIMIZERS[optimizer]
    return Rule(
        kind=kind.number,
        dim=np.float32(dim),
        momentum=np.float32(momentum),
        decay=np.float32(second_momentum),
        epsilon=np.float32(kind.epsilon),
        clip=np.float32(clip_gradient or 0),
        l2=np.float32(l2),
        to_start=to_start,
    )


def state_shapes(optimizer: OptimizerName, n_rows: int, width: int) -> list[tuple[int, int]]:
    """The shapes of an optimiser's two states: `state_shapes("adagrad", 50_000, 304)` -> [(50000, 1), (1, 1)]."""
    shapes = {"": (1, 1), "one": (n_rows, 1), "row": (n_rows, width)}
    return [shapes[columns] for columns in OPTIMIZERS[optimizer].state]


def learning_rates(recipe: Recipe, first_step: int, n: int, n_steps: int) -> NDArray[np.float32]:
    """The learning rates of batches `first_step, first_step + 1, ...` of `n_steps` in total.

    Rate 1, linear decay, 4 steps -> 1, 0.75, 0.5, 0.25; with decay over twice the epochs -> 1, 0.875, 0.75, 0.625
    """
    n_decay = n_steps * (recipe.decay_epochs or recipe.n_epochs) / recipe.n_epochs
    left = 1 - np.arange(first_step, first_step + n) / max(1, n_decay) if recipe.decay == "linear" else np.ones(n)
    return (recipe.rate * np.maximum(recipe.min_learning_rate_ratio, left)).astype(np.float32)
