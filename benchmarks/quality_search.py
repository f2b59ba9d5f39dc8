"""The search for the default recipe: what was tried, on STS 2012 and 2013, and how the winner does on 2014 and 2015.

    python -m benchmarks.quality_search STREAM --sts DIR --cache FILE [--punctuated STREAM] [--only NAME] [--write]

STREAM is what `siamese-cbow prepare` has made of Wikipedia, `--punctuated` the same with `--punctuation`. Every figure
is kept in FILE as soon as it is there: the same command goes on where it stopped. Rows of the search are trained
on the first half of the documents and see 2012 and 2013 alone; only the last table looks at 2014 and 2015.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality_streams import dealt, first_half, halves, pieces
from benchmarks.quality_tried import PROTOTYPES
from benchmarks.tables import machine, markdown, report
from siamese_cbow import evaluate, sts
from siamese_cbow.model import Model
from siamese_cbow.stream import Stream
from siamese_cbow.training.recipe import SiameseCBOW

PLAIN: dict[str, Any] = {"share_stems": False, "idf_power": 0.0, "length_power": 1.0, "common_directions": 0}
LEARNT: dict[str, Any] = {"idf_power": 0.0, "length_power": 1.0, "common_directions": 0}
NO_DIRECTIONS: dict[str, Any] = {"common_directions": 0}
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Row:
    """One thing that was tried: changes of the default recipe, and perhaps of the stream."""

    name: str
    changes: Mapping[str, Any]
    cut: Callable[[Stream], Stream] | None = None
    punctuated: bool = False
    seeds: tuple[int, ...] = (1,)
    beside: tuple[Row, ...] = ()  # other trainings, whose dimensions are put beside its own
    dim: int | None = None  # and reduced to so many


VIEWS = Row("words of a sentence dealt into two views", {"run_length": 8}, dealt)
PIECES = Row("sentences cut into pieces of about 6 words", {"run_length": 8}, lambda stream: pieces(stream, 6))

SECTIONS: dict[str, list[Row]] = {
    "Step by step": [
        Row("one row a word, lengths as learnt, with punctuation", PLAIN, punctuated=True, seeds=SEEDS),
        Row("+ no punctuation", PLAIN, seeds=SEEDS),
        Row("+ stems share a row", LEARNT, seeds=SEEDS),
        Row("+ square roots of lengths, times information", NO_DIRECTIONS, seeds=SEEDS),
        Row("+ two common directions removed: the default", {}, seeds=SEEDS),
    ],
    "Weights and directions, all on the same training": [
        Row("lengths as learnt", LEARNT),
        Row("information alone", {"length_power": 1.0, "common_directions": 0}),
        Row("square roots of lengths alone", {"idf_power": 0.0, "common_directions": 0}),
        Row("information, lengths^.75", {"length_power": 0.75, "common_directions": 0}),
        Row("information, lengths^.25", {"length_power": 0.25, "common_directions": 0}),
        Row("information, all lengths 1", {"length_power": 0.0, "common_directions": 0}),
        Row("information^1.5, square roots", {"idf_power": 1.5, "common_directions": 0}),
        Row("information^.5, square roots", {"idf_power": 0.5, "common_directions": 0}),
        *(Row(f"{n} common directions removed", {"common_directions": n}) for n in (1, 3, 5, 8)),
    ],
    "The objective": [
        Row("temperature .04", {"temperature": 0.04}),
        Row("temperature .07", {"temperature": 0.07}),
        Row("batches of 128", {"batch_size": 128}),
        Row("batches of 512", {"batch_size": 512}),
        Row("runs of 2", {"run_length": 2}),
        Row("runs of 8", {"run_length": 8}),
        Row("two matrices", {"separate_matrices": True}),
        Row("margin, hardest negative", {"objective": "margin"}),
    ],
    "Text": [
        Row("subsampling 1e-5", {"subsample": 1e-5}),
        Row("subsampling 3e-5", {"subsample": 3e-5}),
        Row("subsampling 3e-4", {"subsample": 3e-4}),
        Row("sentences cut into halves", {"run_length": 8}, halves),
        PIECES,
        Row("sentences cut into pieces of about 12 words", {"run_length": 8}, lambda stream: pieces(stream, 12)),
        VIEWS,
    ],
    "Length and size": [
        Row("2 epochs", {"epochs": 2}),
        Row("3 epochs", {"epochs": 3}),
        Row("linear decay", {"decay": "linear"}),
        Row("100 dimensions", {"dim": 100}),
        Row("600 dimensions", {"dim": 600}),
    ],
    "Several trainings side by side": [
        Row("two seeds, 600 dimensions", {}, beside=(Row("", {"seed": 2}),)),
        Row("the default and dealt words, 600 dimensions", {}, beside=(VIEWS,)),
        Row("the default and pieces, 600 dimensions", {}, beside=(PIECES,)),
        Row("all three, 900 dimensions", {}, beside=(VIEWS, PIECES)),
        Row("all three, reduced to 300 dimensions", {}, beside=(VIEWS, PIECES), dim=300),
    ],
}
FINAL = [
    Row("before: one row a word, lengths as learnt, with punctuation", PLAIN, punctuated=True, seeds=SEEDS),
    Row("the default", {}, seeds=SEEDS),
    Row("the default, 2 epochs", {"epochs": 2}, seeds=SEEDS),
]


class Search:
    """Trains what is not in the cache yet."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._sets, self._cache = sts(options.sts), options.cache
        self._tuning = [one for one in self._sets if one.year in (2012, 2013)]
        self._streams = {False: Stream.load(options.stream)}
        if options.punctuated:
            self._streams[True] = Stream.load(options.punctuated)
        self._known = dict(self._read())
        self._learnt: tuple[str, Model] | None = None
        self._only = options.only

    def _read(self) -> Iterator[tuple[str, dict[str, float]]]:
        if self._cache.exists():
            for line in self._cache.read_text(encoding="utf-8").splitlines():
                yield tuple(json.loads(line))

    def figures(self, row: Row, *, final: bool) -> list[dict[str, float]]:
        """For each seed: mean Pearson of each year and of all, and the seconds it took; none where left out."""
        if row.punctuated not in self._streams or (self._only and self._only not in row.name):
            return [self._known[key] for seed in row.seeds if (key := self._key(row, seed, final)) in self._known]
        return [self._figure(row, seed, final) for seed in row.seeds]

    def _key(self, row: Row, seed: int, final: bool) -> str:
        return json.dumps([row.name, dict(row.changes), seed, final], sort_keys=True)

    def _figure(self, row: Row, seed: int, final: bool) -> dict[str, float]:
        key = self._key(row, seed, final)
        if key not in self._known:
            start = time.perf_counter()
            model = self._train(row, seed, final)
            if row.beside:
                model = side_by_side([model, *(self._train(other, seed, final) for other in row.beside)], row.dim)
            found = {"seconds": time.perf_counter() - start, **self._scores(model, final)}
            self._known[key] = found
            with self._cache.open("a", encoding="utf-8") as file:
                file.write(json.dumps([key, found]) + "\n")
            print(row.name, seed, found, flush=True)
        return self._known[key]

    def _train(self, row: Row, seed: int, final: bool) -> Model:
        stream = self._streams[row.punctuated]
        stream = stream if final else first_half(stream)
        recipe = SiameseCBOW(**{"seed": seed, **row.changes})
        if row.cut:
            return recipe.train(row.cut(stream))
        # Rows that differ only in how a training is finished share it.
        learnt = replace(recipe, **LEARNT)
        name = f"{learnt} {row.punctuated} {final}"
        if self._learnt is None or self._learnt[0] != name:
            self._learnt = name, learnt.train(stream)
        return finish(recipe, self._learnt[1])

    def _scores(self, model: Model, final: bool) -> dict[str, float]:
        sets = evaluate(model, self._sets if final else self._tuning).sets
        years = {str(y): float(np.mean([s.pearson for s in sets if s.year == y])) for y in {s.year for s in sets}}
        return {"all": float(np.mean([s.pearson for s in sets])), **years}


def finish(recipe: SiameseCBOW, learnt: Model) -> Model:
    """A model with rows as learnt -> what the recipe would have made of them."""
    from siamese_cbow.training.finishing import finished

    vectors = finished(recipe, learnt.vectors.copy(), np.asarray(learnt.vocabulary.counts))
    return Model(learnt.vocabulary, vectors, learnt.tokenizer, learnt.info)


def side_by_side(models: list[Model], dim: int | None) -> Model:
    """The dimensions of several models in one, each model with the same say; reduced to the strongest directions."""
    first, counts = models[0], np.asarray(models[0].vocabulary.counts)[:, None]
    scaled = [m.vectors / np.sqrt((counts * m.vectors**2.0).sum() / counts.sum()) for m in models]
    vectors = np.concatenate(scaled, axis=1).astype(np.float32)
    if dim is not None:
        vectors = vectors @ np.linalg.eigh((counts * vectors).T @ vectors)[1][:, -dim:].astype(np.float32)
    return Model(first.vocabulary, vectors, first.tokenizer, first.info)


def cells(figures: list[dict[str, float]], years: tuple[str, ...]) -> list[str]:
    if not figures:
        return ["not run"] * (len(years) + 2)

    def shown(key: str) -> str:
        values = [one[key] for one in figures]
        return f"{np.mean(values):.4f}" + (f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else "")

    return [*(shown(key) for key in ("all", *years)), f"{np.mean([one['seconds'] for one in figures]):.0f}"]


def table(search: Search, rows: list[Row], *, final: bool = False) -> str:
    years = ("2012", "2013", "2014", "2015") if final else ("2012", "2013")
    header = ["", "mean of 19 sets" if final else "mean of 8 sets", *years, "seconds"]
    return markdown(header, [[row.name, *cells(search.figures(row, final=final), years)] for row in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stream", type=Path)
    parser.add_argument("--punctuated", type=Path)
    parser.add_argument("--sts", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--only", help="run rows whose name holds this; show what is known of the others")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    search = Search(options)
    parts = [
        "Mean Pearson over STS sets, protocol official, unlabelled text only (English Wikipedia). ±: standard "
        "deviation of three seeds; otherwise seed 1. Everything was chosen on 2012 and 2013."
    ]
    parts += ["## The result, on the whole text", table(search, FINAL, final=True)]
    parts += ["## The search, on half of the text", "Each row is the default recipe but for what its name says."]
    for title, rows in SECTIONS.items():
        parts += [f"### {title}", table(search, rows)]
    parts += [PROTOTYPES, machine("numpy", "numba", "PyStemmer")]
    report("quality_search", "The search for the default recipe", "\n\n".join(parts), write=options.write)


if __name__ == "__main__":
    main()
