"""Claims and their decisions: the settings in which a claim is decided, and decisions in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from siamese_cbow.base.arrays import Floats
from siamese_cbow.evaluation.score_tables import number, signed
from siamese_cbow.evaluation.verdicts import Decision
from siamese_cbow.paper.recipes import ALIKE, PUBLISHED, READINGS
from siamese_cbow.paper.treatments import LABELS, Treatment
from siamese_cbow.paper.view import View


def told(decision: Decision, *, sign: bool = True) -> str:
    """`+.0096, 95% interval -.0052 to +.0237`, and what kept it from being decided."""
    shown = signed if sign else number
    bounds = decision.interval
    interval = f", 95% interval {shown(bounds.low)} to {shown(bounds.high)}" if bounds else ""
    why = f" ({decision.why})" if decision.why else ""
    return f"{shown(decision.value)}{interval}{why}"


def counted(decision: Decision) -> str:
    """`15.3, 95% interval 13 to 17`: the same of a count, which is a mean over trainings."""
    bounds, value = decision.interval, decision.value
    interval = f", 95% interval {round(bounds.low, 1):g} to {round(bounds.high, 1):g}" if bounds else ""
    why = f" ({decision.why})" if decision.why else ""
    return f"{'undefined' if value is None else f'{round(value, 1):g}'}{interval}{why}"


def in_settings(view: View, treatments: tuple[Treatment, ...] = ALIKE) -> Iterator[tuple[str, Treatment, str]]:
    """The readings of the paper's recipe that are there, in each treatment: the system, the treatment, what to call "
    "it."""
    for treatment in treatments:
        for key in view.among(PUBLISHED, treatment):
            yield key, treatment, READINGS[key] if treatment == "learnt" else f"{READINGS[key]}, {LABELS[treatment]}"


def wins(places: Sequence[int]) -> Callable[..., Floats]:
    """On how many of some sets the first of several systems is ahead of all others."""

    def statistic(first: Floats, *others: Floats) -> Floats:
        best = np.max([other[..., places] for other in others], axis=0)
        count: Floats = (first[..., places] > best).sum(axis=-1).astype(np.float64)
        return count

    return statistic
