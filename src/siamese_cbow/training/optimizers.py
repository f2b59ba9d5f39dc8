"""Optimisers as the kernels know them: a rule of numbers, and the memory it keeps of each row.

The formulas stand in `kernels.rules`. All are lazy: only the rows of a batch's words move and only their memory decays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from siamese_cbow.kernels.batch import updates as rules
from siamese_cbow.kernels.batch.updates import Rule
from siamese_cbow.training.recipe import OptimizerName, SiameseCBOW


class Kind(NamedTuple):
    """A rule's number, what it adds to denominators, and how much it remembers of each row."""

    number: int
    epsilon: float
    columns: tuple[str, str]  # of its two memories: "" none, "one" number, a full "row"


KINDS: dict[OptimizerName, Kind] = {
    "sgd": Kind(rules.SGD, 0.0, ("", "")),
    "nesterov": Kind(rules.NESTEROV, 0.0, ("row", "")),
    "adagrad": Kind(rules.ADAGRAD, 1e-10, ("one", "")),
    "adadelta": Kind(rules.ADADELTA, 1e-6, ("row", "row")),
    "adam": Kind(rules.ADAM, 1e-8, ("row", "row")),
    "adamax": Kind(rules.ADAMAX, 1e-8, ("row", "row")),
}


def rule_of(recipe: SiameseCBOW) -> Rule:
    """The recipe's optimiser, as numbers."""
    kind = KINDS[recipe.optimizer]
    return Rule(
        kind=kind.number,
        dim=np.float32(recipe.dim),
        momentum=np.float32(recipe.momentum),
        decay=np.float32(recipe.second_momentum),
        epsilon=np.float32(kind.epsilon),
        clip=np.float32(recipe.clip_gradient or 0),
        l2=np.float32(recipe.l2),
    )


def memory_shape(kind: str, n_rows: int, width: int) -> tuple[int, int]:
    """The shape of a memory: memory_shape("one", 50_000, 304) -> (50000, 1)."""
    return {"": (1, 1), "one": (n_rows, 1), "row": (n_rows, width)}[kind]


def learning_rates(
    recipe: SiameseCBOW, first_step: int, n: int, n_steps: int
) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The learning rates of batches `first_step, first_step + 1, ...` of `n_steps` in all.

    Rate 1, linear decay, 4 steps -> 1, 0.75, 0.5, 0.25
    """
    left = 1 - np.arange(first_step, first_step + n) / max(1, n_steps) if recipe.decay == "linear" else np.ones(n)
    return (recipe.learning_rate * np.maximum(recipe.min_learning_rate_ratio, left)).astype(np.float32)
