"""The model in the package: what its size costs, how much of it is the luck of its seeds, and where the peers are.

    python -m benchmarks.pretrained WIKIPEDIA NOVELS --sts DIR [--write]

Both are what `siamese-cbow prepare` has made of the texts of `build_pretrained`. The peers are those of `peers`, each
with the preprocessing that serves it best. What ours was chosen on: `TUNING` in `evaluation.sts`.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.build_pretrained import SEEDS, combined, continued, small, trained
from benchmarks.peers import peers
from benchmarks.scoring import mean_pearson, spread_row
from benchmarks.tables import machine, markdown, report
from siamese_cbow import evaluate, load, sts
from siamese_cbow.evaluation.evaluate import System
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.scores import SetScore
from siamese_cbow.evaluation.sts import TUNING
from siamese_cbow.model.model import Model
from siamese_cbow.stream.stream import Stream

OTHERS = range(6, 11)  # seeds that were not shipped
YEARS = (2012, 2013, 2014, 2015)
SIZES = ((60_000, 560), (80_000, 430), (100_000, 350), (120_000, 300), (160_000, 230))  # words and dim, 20 MB each


def pearsons(system: System, sets: list[PairSet]) -> list[float]:
    """Means over the sets: all, then each year."""
    return by_year(evaluate(system, sets).sets)


def by_year(set_scores: Sequence[SetScore]) -> list[float]:
    return [mean_pearson(set_scores), *(mean_pearson(set_scores, year) for year in YEARS)]


def set_by_set(by_system: dict[str, Sequence[SetScore]]) -> str:
    """Where each system is strong."""
    rows = [
        [scores_of_set[0].name, *(f"{score.pearson:.3f}" for score in scores_of_set)]
        for scores_of_set in zip(*by_system.values(), strict=True)
    ]
    return markdown(["", *by_system], rows)


def sizes(parts: Sequence[Model], sets: list[PairSet]) -> str:
    """More words or more dimensions, in as many bytes: only what 2012 and 2013 say."""
    chosen_on = [pair_set for pair_set in sets if pair_set.year <= 2013]
    rows = []
    for words, dim in SIZES:
        model = small(combined(parts, dim), words)
        score = mean_pearson(evaluate(model, chosen_on).sets)
        rows.append([f"{words:,} words, {dim} dimensions", f"{model.rows.nbytes / 1e6:.1f}", f"{score:.4f}"])
    return markdown(["", "MB of rows", "2012-13"], rows)


def ours(wikipedia: Stream, novels: Stream, sets: list[PairSet]) -> tuple[list[list[str]], str]:
    """Rows: the shipped model, step by step, and the same from other seeds. And a table of other sizes."""

    def row(name: str, *models: Model) -> list[str]:
        return spread_row(name, [pearsons(model, sets) for model in models])

    first = trained(wikipedia, SEEDS)
    rows = [row("one seed, Wikipedia, 300 dimensions (five seeds)", *first)]
    parts = continued(first, novels)
    rows.append(row("+ then the novels", *parts))
    rows.append(row("+ unknown words by prefix", *(part.with_fallback("prefix") for part in parts)))
    whole, shipped = combined(parts), load()
    rows.append(row("+ five seeds made one", whole))
    assert np.array_equal(small(whole).vectors, shipped.vectors), "the model in the package is another one: build it"
    rows.append(row("**+ made smaller: the model in the package**", shipped))
    other_sizes = sizes(parts, sets)
    del first, parts, whole
    gc.collect()  # gigabytes
    rows.append(row("the same, from seeds 6-10", small(combined(continued(trained(wikipedia, OTHERS), novels)))))
    return rows, other_sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wikipedia", type=Path)
    parser.add_argument("novels", type=Path)
    parser.add_argument("--sts", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    wikipedia, novels, sets = Stream.load(options.wikipedia), Stream.load(options.novels), list(sts(options.sts))
    by_system = {name: evaluate(system, sets).sets for name, system in peers(sets)}
    theirs = [spread_row(name, [by_year(scores)]) for name, scores in by_system.items()]
    rows, other_sizes = ours(wikipedia, novels, sets)
    page = (
        f"Mean Pearson over {len(sets)} STS sets, protocol official, and over those of each year. Ours learnt from "
        f"{wikipedia.n_tokens:,} tokens of Wikipedia and {novels.n_tokens:,} of novels, without labels. {TUNING} "
        "±: standard deviation.\n\n"
        f"{markdown(['', f'{len(sets)} sets', *map(str, YEARS)], rows + theirs)}\n\n"
        f"The same five seeds in other sizes:\n\n{other_sizes}\n\nSet by set:\n\n"
        f"{set_by_set({'the model in the package': evaluate(load(), sets).sets, **by_system})}\n\n"
        f"{machine('numpy', 'model2vec', 'wordllama', 'sentence-transformers')}"
    )
    report("pretrained", "The model in the package", page, write=options.write)


if __name__ == "__main__":
    main()
