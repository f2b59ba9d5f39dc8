"""A recipe's objective, optimiser and learning rates, as numbers for the kernels.

What each objective and optimiser is stands in `kernels.registry`, the optimisers' formulas in `kernels.batch.updates`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.kernels.batch.records import Objective, Rule
from siamese_cbow.kernels.registry import OBJECTIVES, OPTIMIZERS
from siamese_cbow.training.recipe import SiameseCBOW


def objective_of(recipe: SiameseCBOW) -> Objective:
    """What the recipe minimises."""
    kind = OBJECTIVES[recipe.objective]
    return Objective(
        kind=kind.number,
        sharpness=np.float32(recipe.gamma if kind.setting == "gamma" else 1 / recipe.temperature),
        margin=np.float32(recipe.margin),
        unit=kind.unit,
        shared=not recipe.separate_matrices,
    )


def rule_of(recipe: SiameseCBOW) -> Rule:
    """The recipe's optimiser."""
    kind = OPTIMIZERS[recipe.optimizer]
    return Rule(
        kind=kind.number,
        dim=np.float32(recipe.dim),
        momentum=np.float32(recipe.momentum),
        decay=np.float32(recipe.second_momentum),
        epsilon=np.float32(kind.epsilon),
        clip=np.float32(recipe.clip_gradient or 0),
        l2=np.float32(recipe.l2),
    )


def state_shapes(recipe: SiameseCBOW, n_rows: int, width: int) -> list[tuple[int, int]]:
    """The shapes of the optimiser's two states: of Adagrad's, for 50,000 rows of 304 -> [(50000, 1), (1, 1)]."""
    shapes = {"": (1, 1), "one": (n_rows, 1), "row": (n_rows, width)}
    return [shapes[columns] for columns in OPTIMIZERS[recipe.optimizer].state]


def learning_rates(recipe: SiameseCBOW, first_step: int, n: int, n_steps: int) -> NDArray[np.float32]:
    """The learning rates of batches `first_step, first_step + 1, ...` of `n_steps` in all.

    Rate 1, linear decay, 4 steps -> 1, 0.75, 0.5, 0.25
    """
    left = 1 - np.arange(first_step, first_step + n) / max(1, n_steps) if recipe.decay == "linear" else np.ones(n)
    return (recipe.learning_rate * np.maximum(recipe.min_learning_rate_ratio, left)).astype(np.float32)
