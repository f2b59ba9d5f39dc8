"""What the benchmarks of quality share: means over sets, and rows with the spread of seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from siamese_cbow.evaluation.scores import SetScore, mean


def mean_pearson(scores: Iterable[SetScore], *years: int) -> float:
    """The mean over the sets of these years, or over all: `mean_pearson(evaluate(model, sets).sets, 2012, 2013)`."""
    figure = mean(score.pearson for score in scores if not years or score.year in years)
    if figure is None:
        raise ValueError(f"no set of {years or 'any year'} has a correlation")
    return figure


def spread_row(name: str, figures: Sequence[Sequence[float]]) -> list[str]:
    """A row of a table, printed at once: with several seeds, their mean and standard deviation, `.7050 ± .0020`."""
    means, spread = np.mean(figures, axis=0), np.std(figures, axis=0, ddof=1) if len(figures) > 1 else None
    cells = [f"{mean:.4f}" + ("" if spread is None else f" ± {spread[i]:.4f}") for i, mean in enumerate(means)]
    print(name, *cells, sep=" | ", flush=True)
    return [name, *cells]
