"""What the benchmarks of quality share: means over sets, values with the spread of seeds, and intervals."""

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
    """The mean, and of several seeds their standard deviation: `0.7050 ± 0.0020`."""
    deviation = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{deviation}"


def spread_row(name: str, figures: Sequence[Sequence[float]]) -> list[str]:
    """A row of a table, printed at once, from figures (n_seeds, n_columns)."""
    row = [name, *(spread(column) for column in zip(*figures, strict=True))]
    print(*row, sep=" | ", flush=True)
    return row


def interval(differences: np.ndarray, digits: int = 3, n: int = 2_000) -> str:
    """The mean of (n_items,) and its 95% interval, by a bootstrap over the items: `+0.012 [+0.003, +0.021]`."""
    drawn = np.random.default_rng(1).integers(0, len(differences), (n, len(differences)))
    low, high = np.percentile(differences[drawn].mean(axis=1), [2.5, 97.5])
    return f"{differences.mean():+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"
