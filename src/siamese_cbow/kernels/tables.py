"""The objectives and the optimisers that a recipe can name, with everything that other modules need to know about them.

The command line, recipes, the memory layout and kernels read these tables, and nothing else lists names. Imports
nothing, because `--help` reads it too. Kernels know no names; they compare `number`, which is never stored.

A new objective is a line here, its loss in `objectives.losses` and its definition in `objectives.reference`; a new
optimiser is a line here and its rule in `batch.updates`. A kernel that meets a number without code ends with an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

ObjectiveName: TypeAlias = Literal["contrastive", "softmax", "sigmoid", "margin", "logistic", "hinge"]
ScoreName: TypeAlias = Literal["cosine", "dot", "distance"]
OptimizerName: TypeAlias = Literal["sgd", "nesterov", "adagrad", "adadelta", "adam", "adamax"]


class ObjectiveKind(NamedTuple):
    """The properties of an objective."""

    number: int
    sampled: bool  # negatives are sampled for each anchor; otherwise all other sentences of its batch are candidates
    score: ScoreName  # of two sentences, see `SCORES`
    setting: Literal["temperature", "gamma", "margin", ""]  # of the recipe and of the definition
    reference: str  # the function of `objectives.reference` that defines it


OBJECTIVES: Mapping[ObjectiveName, ObjectiveKind] = {
    "contrastive": ObjectiveKind(3, sampled=False, score="cosine", setting="temperature", reference="softmax"),
    "softmax": ObjectiveKind(0, sampled=True, score="cosine", setting="temperature", reference="softmax"),
    "sigmoid": ObjectiveKind(1, sampled=True, score="dot", setting="", reference="sigmoid"),
    "margin": ObjectiveKind(4, sampled=False, score="cosine", setting="margin", reference="margin"),
    "logistic": ObjectiveKind(2, sampled=True, score="cosine", setting="gamma", reference="logistic"),
    "hinge": ObjectiveKind(5, sampled=True, score="distance", setting="margin", reference="hinge"),
}
# How two sentences are compared: the cosine of their means, the dot product of their means, or the squared distance of
# their sums, negated so that higher is nearer. Kernels compare the number.
SCORES: Mapping[ScoreName, int] = {"cosine": 0, "dot": 1, "distance": 2}


class OptimizerKind(NamedTuple):
    """The properties of an optimiser."""

    number: int
    epsilon: float  # added to denominators
    state: tuple[str, str]  # the two things it remembers about each row: "" nothing, "one" number or a full "row"
    elementwise: bool  # each number of a row moves independently, so that a row may be cut into strips
    settings: tuple[Literal["momentum", "second_momentum"], ...] = ()  # of the recipe, besides the learning rate


OPTIMIZERS: Mapping[OptimizerName, OptimizerKind] = {
    "sgd": OptimizerKind(0, 0.0, ("", ""), elementwise=True),
    "nesterov": OptimizerKind(1, 0.0, ("row", ""), elementwise=True, settings=("momentum",)),
    "adagrad": OptimizerKind(2, 1e-10, ("one", ""), elementwise=False),
    "adadelta": OptimizerKind(3, 1e-6, ("row", "row"), elementwise=True, settings=("momentum",)),
    "adam": OptimizerKind(4, 1e-8, ("row", "row"), elementwise=True, settings=("momentum", "second_momentum")),
    "adamax": OptimizerKind(5, 1e-8, ("row", "row"), elementwise=True, settings=("momentum", "second_momentum")),
}


def sampled_objectives(sampled: bool = True) -> str:
    """Names for messages: "softmax, sigmoid, logistic and hinge"; with `sampled=False`, "contrastive and margin"."""
    return _listed([name for name, kind in OBJECTIVES.items() if kind.sampled == sampled])


def users_of(setting: str) -> str:
    """The objectives and optimisers with a setting, in words: `users_of("second_momentum")` -> "adam and adamax"."""
    objectives: list[str] = [name for name, kind in OBJECTIVES.items() if setting == kind.setting]
    return _listed([*objectives, *(name for name, kind in OPTIMIZERS.items() if setting in kind.settings)])


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)
