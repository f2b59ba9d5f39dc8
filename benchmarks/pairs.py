"""What pairs add to running text, and what fine-tuning a model on other text costs and gains.

    python -m benchmarks.pairs TEXT PAIRS DOMAIN --sts DIR [--seeds N] [--threads N] [--write]

The arguments are three streams made by `siamese-cbow prepare`: a text such as Wikipedia, pairs such as the captions of
one picture (--kind groups), and text of another domain, such as novels. Nothing in the recipe was chosen here except
the rate of .01 that the documentation recommends: it was chosen on 2012 and 2013, and on the held-out novels.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.quality_streams import documents, sentence_words
from benchmarks.scoring import spread_row
from benchmarks.tables import arguments, machine, markdown, report
from siamese_cbow import evaluate, sts
from siamese_cbow.model.geometry import paired_cosines
from siamese_cbow.model.model import Model
from siamese_cbow.stream.mix import Mix
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.siamese_cbow import SiameseCBOW

N_CANDIDATES, N_ROUNDS, SHORTEST = 1000, 20, 6  # next-sentence task; fewest words of a sentence
N_COMMON = 1000  # words whose vectors are compared before and after

# Groups of sets to average over: name -> whether a set belongs to the group.
PARTS: dict[str, Callable[[str, int], bool]] = {
    "19 sets": lambda name, year: True,
    "2012-13": lambda name, year: year <= 2013,
    "2014-15": lambda name, year: year >= 2014,
    "images": lambda name, year: "images" in name,
    "MSRvid": lambda name, year: "MSRvid" in name,
    "other 16": lambda name, year: "images" not in name and "MSRvid" not in name,
}


def means(model: Model, sets: list) -> list[float]:  # type: ignore[type-arg]
    """Mean Pearson over each group of PARTS."""
    scores = evaluate(model, sets).sets
    return [float(np.mean([s.pearson for s in scores if part(s.name, s.year)])) for part in PARTS.values()]


class NextSentence:
    """How often the next sentence is the nearest among a thousand next sentences; words as in the stream."""

    def __init__(self, stream: Stream) -> None:
        rng = np.random.default_rng(0)
        long = np.diff(stream.sentences) >= SHORTEST
        follows = np.ones(stream.n_sentences, bool)
        follows[np.asarray(stream.documents[:-1])] = False
        fit = np.flatnonzero(long[:-1] & long[1:] & follows[1:])

        def texts(sentences: np.ndarray) -> list[str]:
            return [" ".join(words) for words in sentence_words(stream, sentences)]

        chosen = [rng.choice(fit, min(N_CANDIDATES, len(fit)), replace=False) for _ in range(N_ROUNDS)]
        self._rounds = [(texts(sentences), texts(sentences + 1)) for sentences in chosen]

    def share(self, model: Model) -> float:
        found = []
        for texts in self._rounds:
            these, following = (model.encode(part, normalize_embeddings=True) for part in texts)
            found.append(np.mean((these @ following.T).argmax(1) == np.arange(len(these))))
        return float(np.mean(found))


def likeness(before: Model, after: Model) -> float:
    """The mean cosine between the vectors of frequent words before and after."""
    words = before.vocabulary.words[:N_COMMON]
    first, second = (model.vectors[[model.vocabulary.index[word] for word in words]] for model in (before, after))
    return float(paired_cosines(first, second).mean())


@dataclass(frozen=True)
class Way:
    """What to train on; with a rate, training continues from the text-only model of the same seed."""

    streams: Mix
    rate: float | None = None


@dataclass(frozen=True)
class Bench:
    """Settings that all training runs share."""

    sets: list  # type: ignore[type-arg]
    seeds: Sequence[int]
    folder: Path  # of the text-only models, one per seed
    threads: int | None

    def models(self, way: Way) -> list[Model]:
        """Trains one model per seed."""
        recipes = [SiameseCBOW(seed=seed) for seed in self.seeds]
        if way.rate is not None:
            starts = [str(self.folder / str(seed)) for seed in self.seeds]
            recipes = [
                replace(recipe, init=start, learning_rate=way.rate)
                for recipe, start in zip(recipes, starts, strict=True)
            ]
        return [recipe.train(way.streams, threads=self.threads) for recipe in recipes]


def main() -> None:
    parser = arguments(__doc__, "text", "pairs", "domain", "--sts")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, help="1 is kinder to a busy machine; the figures are the same")
    options = parser.parse_args()
    text, pairs, domain = (Stream.load(getattr(options, name)) for name in ("text", "pairs", "domain"))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(sts(options.sts), range(1, options.seeds + 1), Path(folder), options.threads)
        of_text = bench.models(Way(Mix([text])))
        for seed, model in zip(bench.seeds, of_text, strict=True):
            model.save(bench.folder / str(seed))
        parts = [*_pairs(bench, text, pairs, of_text), *_other_text(bench, text, domain, of_text)]
    parts.append(machine("numpy", "numba"))
    report("pairs", "Pairs and fine-tuning", *parts, write=options.write)


def _seeds(bench: Bench) -> str:
    """`3 seeds and their standard deviation`."""
    return f"{len(bench.seeds)} seeds and their standard deviation" if len(bench.seeds) > 1 else "seed 1"


def _pairs(bench: Bench, text: Stream, pairs: Stream, of_text: list[Model]) -> list[str]:
    ways = {
        "pairs only": Way(Mix([pairs])),
        "mixed, a quarter of the pairs per epoch": Way(Mix([text, pairs], passes=[1, 0.25])),
        "mixed, all pairs once per epoch": Way(Mix([text, pairs])),
        "mixed, all pairs 5 times per epoch": Way(Mix([text, pairs], passes=[1, 5])),
        "text, then pairs, rate .05": Way(Mix([pairs]), 0.05),
        "text, then pairs, rate .01": Way(Mix([pairs]), 0.01),
        "text, then pairs, rate .002": Way(Mix([pairs]), 0.002),
    }
    rows = [spread_row("text only", [means(model, bench.sets) for model in of_text])]
    rows += [spread_row(name, [means(model, bench.sets) for model in bench.models(way)]) for name, way in ways.items()]
    return [
        "## Pairs",
        f"Text: {text.n_tokens:,} tokens; pairs: {pairs.n_sentences:,} captions of {pairs.n_documents:,} pictures, "
        f"{pairs.n_tokens:,} tokens. The default recipe, one epoch, {_seeds(bench)}"
        "; mean Pearson, official protocol. The image sets (2014, 2015) are captions from the same collection as "
        "most of the pairs, but of other pictures; MSRvid describes short videos; the other 16 sets have nothing "
        "to do with pictures.",
        markdown(["", *PARTS], rows),
    ]


def _other_text(bench: Bench, text: Stream, domain: Stream, of_text: list[Model]) -> list[str]:
    n_held = max(1, domain.n_documents // 5)
    new = documents(domain, 0, domain.n_documents - n_held)
    following = NextSentence(documents(domain, domain.n_documents - n_held, domain.n_documents))
    ways = {
        "new text only": Way(Mix([new])),
        "both, mixed, from scratch": Way(Mix([text, new])),
        "old, then new, rate .05": Way(Mix([new]), 0.05),
        "old, then new, rate .02": Way(Mix([new]), 0.02),
        "old, then new, rate .01": Way(Mix([new]), 0.01),
        "old, then new, rate .005": Way(Mix([new]), 0.005),
        "old, then new with a tenth of the old, rate .05": Way(Mix([new, text], passes=[1, 0.1]), 0.05),
        "old, then new with a tenth of the old, rate .01": Way(Mix([new, text], passes=[1, 0.1]), 0.01),
    }

    def figures(before: Model, after: Model) -> list[float]:
        same = likeness(before, after) if after is before or "init" in after.info["recipe"] else np.nan
        return [*means(after, bench.sets)[:3], following.share(after), same]

    def finished(line: list[str], model: Model) -> list[str]:
        return [*("–" if "nan" in cell else cell for cell in line), f"{len(model.vocabulary):,}"]

    rows = [finished(spread_row("old text only", [figures(model, model) for model in of_text]), of_text[0])]
    for name, way in ways.items():
        models = bench.models(way)
        rows.append(
            finished(spread_row(name, [figures(*both) for both in zip(of_text, models, strict=True)]), models[0])
        )
    return [
        "## Fine-tuning on another text",
        f"Old text: {text.n_tokens:,} tokens of Wikipedia; new text: {new.n_tokens:,} tokens of novels. `next "
        f"sentence`: on {n_held} held-out novels, how often the next sentence is the nearest of {N_CANDIDATES:,} "
        f"({N_ROUNDS} rounds; chance: {1 / N_CANDIDATES:.3f}). `cosine`: between the vectors before and after, "
        f"mean over the {N_COMMON:,} most frequent words. Seeds and protocol as above.",
        markdown(["", *list(PARTS)[:3], "next sentence", "cosine", "words"], rows),
    ]


if __name__ == "__main__":
    main()
