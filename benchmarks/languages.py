"""Languages other than English: how good a model of some million words is, and how it handles unknown words.

    python -m benchmarks.languages DIR [--languages de ru ja zh] [--systems ours tf-idf ...] [--seeds 1 2 3] [--write]

DIR holds CODE.txt.xz and stsb-CODE-dev.csv for each language: text of any domain, and scored sentence pairs. All
systems read the same text; those of scikit-learn are also fitted on the sentences of the pairs (without scores), so
they know every word. The measure is Pearson between cosines and scores. Systems of this library run once per seed, and
the table shows the mean; the others run once. Results are kept in a temporary file, so systems can run one at a time.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality_streams import sentence_words
from benchmarks.scoring import spread
from benchmarks.tables import arguments, machine, markdown, report
from siamese_cbow import SiameseCBOW, TextSettings, Tokenizer, prepare
from siamese_cbow.baselines.random_vectors import RandomVectors
from siamese_cbow.model.model import Model
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text.row_reader import iter_lines
from siamese_cbow.transform.estimates import information

Encode = Callable[[Sequence[str]], Any]
KEPT = Path(tempfile.gettempdir()) / "siamese-cbow-languages.json"
OURS = "**ours, `ngrams`** (default)"


def pairs(folder: Path, language: str) -> tuple[list[str], list[str], np.ndarray]:
    """The first sentences, the second sentences, and the scores of the pairs."""
    with (folder / f"stsb-{language}-dev.csv").open(encoding="utf-8", newline="") as file:
        rows = [(a, b, float(score)) for a, b, score in csv.reader(file)]
    return [a for a, _, _ in rows], [b for _, b, _ in rows], np.array([score for _, _, score in rows])


def score(encode: Encode, folder: Path, language: str) -> float:
    """Pearson between cosines and scores."""
    first, second, gold = pairs(folder, language)
    a, b = encode(first), encode(second)
    if hasattr(a, "multiply"):  # sparse: most of the millions of n-grams are in no sentence
        products, squares = a.multiply(b).sum(axis=1), [rows.multiply(rows).sum(axis=1) for rows in (a, b)]
    else:
        products, squares = (a * b).sum(axis=1), [(rows * rows).sum(axis=1) for rows in (a, b)]
    lengths = np.sqrt(np.asarray(squares, np.float64)).reshape(2, -1).prod(axis=0)
    return float(np.corrcoef(np.asarray(products).reshape(-1) / np.maximum(lengths, 1e-12), gold)[0, 1])


def of_tokens(tokenizer: Tokenizer, vectors: Any) -> Encode:
    """Encodes a text as the mean of its word vectors, trained by gensim."""

    def encode(texts: Sequence[str]) -> np.ndarray:
        listed = [[vectors[word] for word in tokenizer.words(text) if word in vectors] for text in texts]
        return np.array([np.mean(rows, axis=0) if rows else np.zeros(vectors.vector_size) for rows in listed])

    return encode


def ours(folder: Path, language: str, stream: Stream, seed: int) -> dict[str, Encode]:
    """The default recipe: with each fallback for unknown words, with spelling 0, and with the text taken as English."""
    recipe = SiameseCBOW(seed=seed)
    model, not_spelled = recipe.train(stream), replace(recipe, spelling=0.0).train(stream)
    as_english = recipe.train(prepare(str(folder / f"{language}.txt.xz"), text=TextSettings(language="en")))
    return {
        "ours, unknown words skipped (`none`)": model.with_fallback("none").encode,
        "ours, `prefix`": model.with_fallback("prefix").encode,
        OURS: model.encode,
        "the same with `--spelling 0`": not_spelled.encode,
        "the same with `--language en`": as_english.encode,
    }


def tfidf(folder: Path, language: str, stream: Stream, seed: int) -> dict[str, Encode]:
    """tf-idf of words, and of characters."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    text = [line for line in iter_lines(folder / f"{language}.txt.xz") if line.strip()]
    text += [sentence for side in pairs(folder, language)[:2] for sentence in side]
    kinds: dict[str, dict[str, Any]] = {
        "tf-idf of words": {"tokenizer": stream.tokenizer.words, "lowercase": False, "token_pattern": None},
        "tf-idf of character 2- to 4-grams": {"analyzer": "char_wb", "ngram_range": (2, 4)},
    }
    return {name: TfidfVectorizer(**settings).fit(text).transform for name, settings in kinds.items()}


def random(folder: Path, language: str, stream: Stream, seed: int) -> dict[str, Encode]:
    """Random vectors: what shared words are worth without any learning."""
    model = RandomVectors(dim=300, seed=seed).train(stream)
    weights = information(np.asarray(stream.vocabulary.counts)).astype(np.float32)
    weighted = Model(stream.vocabulary, model.vectors * weights[:, None], stream.tokenizer)
    return {"random vectors": model.encode, "random vectors x information": weighted.encode}


def by_gensim(kind: str, sg: int, folder: Path, language: str, stream: Stream, seed: int) -> dict[str, Encode]:
    """word2vec or fastText with a vector for every word: 300 dimensions, 5 epochs, each at its usual rate."""
    import gensim.models

    way, rate = ("skip-gram", 0.025) if sg else ("CBOW", 0.05)
    settings = {"vector_size": 300, "epochs": 5, "min_count": 1, "workers": 2, "seed": seed, "sg": sg, "alpha": rate}
    trained = getattr(gensim.models, kind)(list(sentence_words(stream)), **settings)
    return {f"{kind}, {way}, 300 dimensions, 5 epochs, rate {rate}": of_tokens(stream.tokenizer, trained.wv)}


SYSTEMS = {
    "random": random,
    "tf-idf": tfidf,
    "word2vec": partial(by_gensim, "Word2Vec", 0),
    "word2vec-skip-gram": partial(by_gensim, "Word2Vec", 1),
    "fastText": partial(by_gensim, "FastText", 0),
    "fastText-skip-gram": partial(by_gensim, "FastText", 1),
    "ours": ours,
}
SEEDED = ("random", "ours")  # the others run once


def main() -> None:
    parser = arguments(__doc__, "folder")
    parser.add_argument("--languages", nargs="+", default=["de", "ru", "ja", "zh"])
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args()
    for kind in options.systems:
        for language in options.languages:
            text = TextSettings(language=language)
            stream = prepare(str(options.folder / f"{language}.txt.xz"), text=text)
            for seed in options.seeds if kind in SEEDED else [1]:
                for name, encode in SYSTEMS[kind](options.folder, language, stream, seed).items():
                    keep(name, language, seed, score(encode, options.folder, language))
    rows = [row for name, by_seed in kept().items() if (row := row_of(name, by_seed, options.languages))]
    text = (
        "Pearson on STS-b dev pairs, machine-translated into each language. The training text is of another "
        "domain (novels, documentation) and has two to eight million words, so `auto` chooses a min_count of 2 "
        "and 3 to 10 epochs. ±: standard deviation over the seeds; the other systems ran once. tf-idf is also "
        "fitted on the sentences of the pairs; tf-idf of words uses our tokenizer, like all other rows. `--spelling` "
        "and `ngrams` were chosen on these pairs, so they are not an untouched test.\n\n"
        f"{markdown(['system', *options.languages, 'mean', 'seeds'], rows)}\n\n"
        f"{machine('numpy', 'scikit-learn', 'gensim')}"
    )
    report("languages", "Languages", text, write=options.write)


def kept() -> dict[str, dict[str, dict[str, float]]]:
    """Scores by system, language and seed."""
    scores: dict[str, dict[str, dict[str, float]]] = json.loads(KEPT.read_text("utf-8")) if KEPT.is_file() else {}
    return scores


def keep(name: str, language: str, seed: int, score: float) -> None:
    scores = kept()
    scores.setdefault(name, {}).setdefault(language, {})[str(seed)] = score
    KEPT.write_text(json.dumps(scores), "utf-8")
    print(name, language, seed, f"{score:.4f}", flush=True)


def row_of(name: str, by_seed: dict[str, dict[str, float]], languages: Sequence[str]) -> list[str]:
    """The row of a system; empty if a language is missing."""
    if any(language not in by_seed for language in languages):
        return []
    scores = [list(by_seed[language].values()) for language in languages]
    return [
        name,
        *(spread(each, 3) for each in scores),
        f"{np.mean([np.mean(each) for each in scores]):.3f}",
        str(min(map(len, scores))),
    ]


if __name__ == "__main__":
    main()
