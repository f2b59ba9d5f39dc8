"""Helpers of the quality benchmarks: means over sets, values with their spread over seeds, and intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from siamese_cbow.evaluation.evaluate import System, evaluate
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.scores import SetScore, mean


def mean_pearson(scores: Iterable[SetScore], *years: int) -> float:
    """The mean over the sets of these years, or over all: `mean_pearson(evaluate(model, sets).sets, 2012, 2013)`."""
    figure = mean(score.pearson for score in scores if not years or score.year in years)
    if figure is None:
        raise ValueError(f"no set of {years or 'any year'} has a correlation")
    return figure


def scores(system: System, sets: Sequence[PairSet]) -> tuple[float, float, float]:
    """Mean Pearson over the sets of 2012-2013, of 2014-2015, and over all."""
    set_scores = evaluate(system, sets).sets
    return mean_pearson(set_scores, 2012, 2013), mean_pearson(set_scores, 2014, 2015), mean_pearson(set_scores)


def chosen_on(sets: Iterable[PairSet]) -> list[PairSet]:
    """The sets that settings are chosen on: those of 2012 and 2013."""
    return [pair_set for pair_set in sets if pair_set.year in (2012, 2013)]


def spread(values: Sequence[float], digits: int = 4) -> str:
    """The mean, with the standard deviation if there are several seeds: `0.7050 ± 0.0020`."""
    deviation = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{deviation}"


def spread_row(name: str, figures: Sequence[Sequence[float]]) -> list[str]:
    """A table row from figures (n_seeds, n_columns), also printed at once."""
    row = [name, *(spread(column) for column in zip(*figures, strict=True))]
    print(*row, sep=" | ", flush=True)
    return row


def interval(differences: np.ndarray, digits: int = 3, n: int = 2_000) -> str:
    """The mean of (n_items,) with its 95% interval, by bootstrap over the items: `+0.012 [+0.003, +0.021]`."""
    drawn = np.random.default_rng(1).integers(0, len(differences), (n, len(differences)))
    low, high = np.percentile(differences[drawn].mean(axis=1), [2.5, 97.5])
    return f"{differences.mean():+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"
