"""What pairs add to running text, and what going on with a model on other text costs and brings.

    python -m benchmarks.pairs TEXT PAIRS DOMAIN --sts DIR [--seeds N] [--write]

Three streams that `siamese-cbow prepare` has made: a text such as Wikipedia, pairs such as the captions of one picture
(--kind groups), and a text of another kind, such as novels. Settings were looked at on 2012 and 2013 only.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.tables import machine, markdown, report
from siamese_cbow import evaluate, sts
from siamese_cbow.mix import Mix
from siamese_cbow.model import Model
from siamese_cbow.stream import Stream
from siamese_cbow.training.recipe import SiameseCBOW

N_CANDIDATES, N_ROUNDS, SHORTEST = 1000, 20, 6  # of finding the next sentence; words of the shortest sentence there
N_COMMON = 1000  # words whose vectors are compared before and after

# What is averaged: name -> whether a set is part of it.
PARTS: dict[str, Callable[[str, int], bool]] = {
    "19 sets": lambda name, year: True,
    "2012-13": lambda name, year: year <= 2013,
    "2014-15": lambda name, year: year >= 2014,
    "images": lambda name, year: "images" in name,
    "MSRvid": lambda name, year: "MSRvid" in name,
    "other 16": lambda name, year: "images" not in name and "MSRvid" not in name,
}


def means(model: Model, sets: list) -> list[float]:  # type: ignore[type-arg]
    """Mean Pearson of each of the parts."""
    scores = evaluate(model, sets).sets
    return [float(np.mean([s.pearson for s in scores if part(s.name, s.year)])) for part in PARTS.values()]


def row(name: str, found: Sequence[Sequence[float]]) -> list[str]:
    """The means over seeds; with the standard deviation where there are several."""
    cells = [f"{np.mean(values):.4f}" for values in zip(*found, strict=True)]
    if len(found) > 1:
        deviations = [np.std(values, ddof=1) for values in zip(*found, strict=True)]
        cells = [f"{cell} ± {deviation:.4f}" for cell, deviation in zip(cells, deviations, strict=True)]
    print(name, *cells, sep=" | ", flush=True)
    return [name, *cells]


def documents(stream: Stream, first: int, last: int) -> Stream:
    """Some documents of a stream, with its whole vocabulary."""
    begin, end = int(stream.documents[first]), int(stream.documents[last])
    return replace(
        stream,
        ids=stream.ids[stream.sentences[begin] : stream.sentences[end]],
        sentences=stream.sentences[begin : end + 1] - stream.sentences[begin],
        documents=stream.documents[first : last + 1] - begin,
        fingerprint=f"{stream.fingerprint} {first}-{last}",
    )


class NextSentence:
    """How often the sentence that follows is the nearest of a thousand that follow others; words as in the stream."""

    def __init__(self, stream: Stream) -> None:
        rng, words = np.random.default_rng(0), np.asarray(stream.vocabulary.words, object)
        long = np.diff(stream.sentences) >= SHORTEST
        follows = np.ones(stream.n_sentences, bool)
        follows[np.asarray(stream.documents[:-1])] = False
        fit = np.flatnonzero(long[:-1] & long[1:] & follows[1:])

        def texts(sentences: np.ndarray) -> list[str]:
            bounds = [(stream.sentences[i], stream.sentences[i + 1]) for i in sentences]
            return [" ".join(words[stream.ids[begin:end]]) for begin, end in bounds]

        chosen = [rng.choice(fit, min(N_CANDIDATES, len(fit)), replace=False) for _ in range(N_ROUNDS)]
        self._rounds = [(texts(sentences), texts(sentences + 1)) for sentences in chosen]

    def share(self, model: Model) -> float:
        found = []
        for texts in self._rounds:
            these, following = (model.encode(part, normalize_embeddings=True) for part in texts)
            found.append(np.mean((these @ following.T).argmax(1) == np.arange(len(these))))
        return float(np.mean(found))


def likeness(before: Model, after: Model) -> float:
    """The mean cosine of the frequent words' vectors before and after."""
    words = before.vocabulary.words[:N_COMMON]
    rows = [model.vectors[[model.vocabulary.index[word] for word in words]] for model in (before, after)]
    first, second = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in rows)
    return float(np.mean(np.sum(first * second, axis=1)))


Way: TypeAlias = Callable[[SiameseCBOW, str], Model]  # the recipe, and the folder of the text's own model of that seed


def trained(way: Way, seeds: Sequence[int], folder: Path) -> list[Model]:
    """A model for each seed."""
    return [way(SiameseCBOW(seed=seed), str(folder / str(seed))) for seed in seeds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("text", "pairs", "domain"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--sts", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text, pairs, domain = (Stream.load(getattr(options, name)) for name in ("text", "pairs", "domain"))
    sets, seeds = sts(options.sts), range(1, options.seeds + 1)
    with tempfile.TemporaryDirectory() as folder:
        of_text = trained(lambda recipe, _: recipe.train(text), seeds, Path(folder))
        for seed, model in zip(seeds, of_text, strict=True):
            model.save(Path(folder) / str(seed))
        parts = [
            *_pairs(text, pairs, of_text, sets, seeds, Path(folder)),
            *_other_text(text, domain, of_text, sets, seeds, Path(folder)),
            machine("numpy", "numba"),
        ]
    report("pairs", "Pairs, and going on with a model", "\n\n".join(parts), write=options.write)


def _pairs(text: Stream, pairs: Stream, of_text: list, sets: list, seeds: range, folder: Path) -> list[str]:  # type: ignore[type-arg]
    def mixed(n: float) -> Way:
        return lambda recipe, _: recipe.train(Mix([text, pairs], passes=[1, n]))

    def after(rate: float) -> Way:
        return lambda recipe, start: replace(recipe, init=start, learning_rate=rate).train(pairs)

    ways: dict[str, Way] = {
        "pairs only": lambda recipe, _: recipe.train(pairs),
        "mixed, a quarter of the pairs an epoch": mixed(0.25),
        "mixed, all pairs once an epoch": mixed(1),
        "mixed, all pairs 5 times an epoch": mixed(5),
        "text, then pairs, rate .05": after(0.05),
        "text, then pairs, rate .01": after(0.01),
        "text, then pairs, rate .002": after(0.002),
    }
    rows = [row("text only", [means(model, sets) for model in of_text])]
    for name, way in ways.items():
        rows.append(row(name, [means(model, sets) for model in trained(way, seeds, folder)]))
    return [
        "## Pairs",
        f"Text: {text.n_tokens:,} tokens; pairs: {pairs.n_sentences:,} captions of {pairs.n_documents:,} pictures, "
        f"{pairs.n_tokens:,} tokens. The default recipe, one epoch, {len(seeds)} seeds and their standard deviation; "
        "mean Pearson, protocol official. The image sets (2014, 2015) are captions of pictures, from the same "
        "collection as most of the pairs, but of other pictures; MSRvid describes short films; the other 16 sets have "
        "nothing to do with pictures.",
        markdown(["", *PARTS], rows),
    ]


def _other_text(text: Stream, domain: Stream, of_text: list, sets: list, seeds: range, folder: Path) -> list[str]:  # type: ignore[type-arg]
    n_held = max(1, domain.n_documents // 5)
    new = documents(domain, 0, domain.n_documents - n_held)
    following = NextSentence(documents(domain, domain.n_documents - n_held, domain.n_documents))

    def after(rate: float, *, old: float = 0) -> Way:
        streams = Mix([new, text], passes=[1, old]) if old else Mix([new])
        return lambda recipe, start: replace(recipe, init=start, learning_rate=rate).train(streams)

    ways: dict[str, Way] = {
        "new text only": lambda recipe, _: recipe.train(new),
        "both, mixed, from scratch": lambda recipe, _: recipe.train([text, new]),
        "old, then new, rate .05": after(0.05),
        "old, then new, rate .02": after(0.02),
        "old, then new, rate .01": after(0.01),
        "old, then new, rate .005": after(0.005),
        "old, then new with a tenth of the old, rate .05": after(0.05, old=0.1),
        "old, then new with a tenth of the old, rate .01": after(0.01, old=0.1),
    }

    def figures(before: Model, after: Model) -> list[float]:
        same = likeness(before, after) if after is before or "init" in after.info["recipe"] else np.nan
        return [*means(after, sets)[:3], following.share(after), same, len(after.vocabulary)]

    def finished(line: list[str]) -> list[str]:
        return [*("–" if "nan" in cell else cell for cell in line[:-1]), f"{float(line[-1].split()[0]):,.0f}"]

    rows = [finished(row("old text only", [figures(model, model) for model in of_text]))]
    for name, way in ways.items():
        models = trained(way, seeds, folder)
        rows.append(finished(row(name, [figures(*both) for both in zip(of_text, models, strict=True)])))
    return [
        "## Another text",
        f"Old text: {text.n_tokens:,} tokens of Wikipedia; new text: {new.n_tokens:,} tokens of novels. `next "
        f"sentence`: on {n_held} novels held out, how often the next sentence is the nearest of {N_CANDIDATES:,} "
        f"({N_ROUNDS} rounds; chance: {1 / N_CANDIDATES:.3f}). `cosine`: between the vectors before and after, mean of "
        f"the {N_COMMON:,} most frequent words. Seeds and protocol as above.",
        markdown(["", *list(PARTS)[:3], "next sentence", "cosine", "words"], rows),
    ]


if __name__ == "__main__":
    main()
