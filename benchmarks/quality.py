"""How good the recipes and their peers are out of the box on the STS sets; and the lightest and heaviest words.

    python -m benchmarks.quality STREAM --sts DIR [--novels STREAM] [--seeds N] [--glove FILE] [--variants]
                                 [--cache FILE] [--skip NAME ...] [--write]

STREAM is the output of `siamese-cbow prepare`, for instance on Wikipedia. Every system is trained on it with N seeds:
the recipes, FastSent, and word2vec averaged, with SIF and with uSIF. GloVe joins them if --glove names a file of its
vectors; model2vec, WordLlama and the transformer always do. The paper's recipe runs at its own rate and with its
updates matched. The last row of our default recipe combines its seeds into one model.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmarks.peers import WORD2VEC_SUBSAMPLING, peers, treated_alike
from benchmarks.scoring import mean_pearson, spread
from benchmarks.tables import arguments, keep, kept, machine, markdown, report
from siamese_cbow import evaluate, sts
from siamese_cbow.baselines.fastsent import FastSent
from siamese_cbow.baselines.random_vectors import RandomVectors
from siamese_cbow.baselines.weighting import SIF, USIF
from siamese_cbow.baselines.word2vec import Algorithm, Word2Vec
from siamese_cbow.evaluation.sts import TUNING
from siamese_cbow.formats.vector_files import VectorFile
from siamese_cbow.paper.recipes import matched
from siamese_cbow.paper.work_pieces import PIECES, code_of
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from siamese_cbow.transform.compression import combine

# The alternatives that the defaults were chosen from.
VARIANTS: dict[str, dict[str, Any]] = {
    "contrastive, linear decay": {"decay": "linear"},
    "contrastive, batches of 512": {"batch_size": 512},
    "contrastive, runs of 2": {"run_length": 2},
    "contrastive, runs of 8": {"run_length": 8},
    "contrastive, temperature .1": {"temperature": 0.1},
    "contrastive, subsampling 3e-5": {"subsample": 3e-5},
}
CONTRASTIVE = "contrastive"
YEARS = ("2012", "2013", "2014", "2015")


def years(model: Any, sets: list) -> dict[str, float]:  # type: ignore[type-arg]
    scores = evaluate(model, sets)
    by_year = {year: mean_pearson(scores.sets, int(year)) for year in YEARS}
    return {"all": scores.mean_pearson, "spearman": scores.mean_spearman, **by_year}


def row(name: str, models: list[Any], sets: list, *, stream: Stream | None = None) -> list[str]:  # type: ignore[type-arg]
    """One row of scores; with a stream, also the score of the same vectors treated like the contrastive recipe's."""
    of_models = [years(model, sets) for model in models]
    means = {key: np.mean([of_model[key] for of_model in of_models]) for key in of_models[0]}
    cells = [f"{means[key]:.4f}" for key in ("spearman", *YEARS)]
    alike = "" if stream is None else spread([years(treated_alike(model, stream), sets)["all"] for model in models])
    row = [name, spread([of_model["all"] for of_model in of_models]), alike, *cells]
    print(*row, flush=True)
    return row


def recipe_rows(name: str, recipes: list[Any], stream: Stream, sets: list) -> list[list[str]]:  # type: ignore[type-arg]
    """The row of a recipe; for the default recipe, also one for its seeds combined."""
    models = [recipe.train(stream) for recipe in recipes]
    rows = [row(name, models, sets, stream=None if CONTRASTIVE in name else stream)]
    if name == CONTRASTIVE and (n := len(models)) > 1:
        rows.append(row(f"{name}, {n} seeds combined", [combine(models)], sets))
    return rows


def weighted_rows(name: str, recipes: list[Any], stream: Stream, sets: list) -> list[list[str]]:  # type: ignore[type-arg]
    """Rows for word vectors averaged, and with the weights of SIF and uSIF."""
    plain = [recipe.train(stream) for recipe in recipes]
    return [
        row(f"{name}, averaged", plain, sets, stream=stream),
        *(
            row(f"{name}, {how.name}", [how(RandomVectors()).apply(model, stream) for model in plain], sets)
            for how in (SIF, USIF)
        ),
    ]


class Finished:
    """Rows of earlier runs on the same stream, with the same seeds and code."""

    def __init__(self, cache: Path | None, about: str, skipped: list[str]) -> None:
        self._cache, self._about, self._skipped = cache, about, skipped

    def rows(self, name: str, make: Callable[[], list[list[str]]]) -> list[list[str]]:
        """The rows of a system, made if they are not in the cache."""
        if any(part in name for part in self._skipped):
            return []
        key = f"{name}, {self._about}"
        rows: list[list[str]] = (kept(self._cache).get(key) if self._cache else None) or make()
        if self._cache:
            keep(self._cache, key, rows)
        return rows


def norms(stream: Stream, recipe: SiameseCBOW) -> tuple[str, str]:
    """The lightest and the heaviest of the 300 most frequent words."""
    model = recipe.train(stream)
    order = np.argsort(np.linalg.norm(model.vectors[:300], axis=1))
    words = model.vocabulary.words
    return " ".join(words[i] for i in order[:10]), " ".join(words[i] for i in order[: -10 - 1 : -1])


def main() -> None:
    parser = arguments(__doc__, "stream", "--sts")
    parser.add_argument("--novels", type=Path)
    parser.add_argument("--seeds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--glove", type=Path, help="a file of GloVe vectors, such as glove.6B.300d.txt")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--variants", action="store_true", help="also what the defaults were chosen among")
    parser.add_argument("--cache", type=Path, help="keeps rows as they finish, so that the same command resumes")
    parser.add_argument("--skip", nargs="*", default=[], help="no systems whose name contains one of these")
    options = parser.parse_args()
    stream, sets = Stream.load(options.stream), sts(options.sts)
    finished = Finished(options.cache, f"{stream.fingerprint}, {options.seeds} seeds, {code_of(PIECES)}", options.skip)
    numbers = range(1, options.seeds + 1)
    recipes: dict[str, list[Any]] = {
        CONTRASTIVE: [SiameseCBOW(seed=seed) for seed in numbers],
        "paper, as published": [SiameseCBOW.paper(seed=seed) for seed in numbers],
        "paper, updates matched": [SiameseCBOW.paper(seed=seed, **matched(stream)) for seed in numbers],
        "paper, negatives from the batch": [SiameseCBOW.paper(seed=seed, negatives_from="batch") for seed in numbers],
        "random vectors for the same words": [RandomVectors(seed=seed) for seed in numbers],
        # What the recipe adds to its objective: stems, weights, directions, n-grams. A rate of 0 is refused.
        "contrastive, untrained": [SiameseCBOW(seed=seed, learning_rate=1e-12) for seed in numbers],
        "FastSent": [FastSent(seed=seed) for seed in numbers],
    }
    if options.variants:
        recipes |= {name: [SiameseCBOW(**changes)] for name, changes in VARIANTS.items()}
    rows = []
    for name, seeds in recipes.items():
        rows += finished.rows(name, lambda name=name, seeds=seeds: recipe_rows(name, seeds, stream, sets))
    for algorithm in get_args(Algorithm):
        of_word2vec = [Word2Vec(algorithm, sample=WORD2VEC_SUBSAMPLING, seed=seed) for seed in numbers]
        name = f"word2vec {algorithm}"
        rows += finished.rows(name, lambda name=name, seeds=of_word2vec: weighted_rows(name, seeds, stream, sets))
    if options.glove:
        name, glove = f"GloVe, {options.glove.name}", [VectorFile(options.glove)]
        rows += finished.rows(name, lambda: weighted_rows(name, glove, stream, sets))
    if options.peers:
        rows += finished.rows("peers", lambda: [row(name, [peer], sets) for name, peer in peers(sets)])
    parts = [
        f"One epoch on {stream.n_tokens:,} tokens, {len(sets)} STS sets, official protocol, mean "
        "Pearson over the sets (and Spearman); by year, mean Pearson over that year's sets. "
        "±: standard deviation over seeds. *Treated alike*: Pearson of the same vectors "
        "with the stems, finishing and n-grams that the contrastive recipe has, so that only the objectives differ. "
        f"word2vec and FastSent run for their own numbers of epochs, 5 and {FastSent().epochs}; word2vec subsamples at "
        f"{WORD2VEC_SUBSAMPLING:g}. Peers trained on other text use the preprocessing that is best for them "
        f"on 2012 and 2013. {TUNING}"
        + (f" Not measured in this run: systems named {', '.join(options.skip)}." if options.skip else ""),
        markdown(["recipe", "Pearson", "treated alike", "Spearman", *YEARS], rows),
    ]
    if options.novels:
        novels = Stream.load(options.novels)
        norm_rows = [
            [f"{rate:g}", *norms(novels, SiameseCBOW.paper(learning_rate=rate))]
            for rate in (SiameseCBOW.paper().learning_rate, matched(novels)["learning_rate"])
        ]
        parts.append(
            f"Norms after one epoch of the paper's recipe on {novels.n_tokens:,} tokens of novels, among the 300 most "
            "frequent words. The paper found function words lightest and personal pronouns heaviest, after 74 million "
            "sentences; on a text this small the published rate hardly moves the vectors, but the rate that "
            "matches its updates shows the effect:\n\n" + markdown(["learning rate", "lightest", "heaviest"], norm_rows)
        )
    parts.append(machine("numpy", "numba"))
    report("quality", "Quality of the recipes", *parts, write=options.write)


if __name__ == "__main__":
    main()
