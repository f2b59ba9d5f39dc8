"""Languages other than English: what a model of some million words is worth, and what is done with unknown words.

    python -m benchmarks.languages DIR [--languages de ru ja zh] [--systems ours tf-idf ...] [--write]

DIR holds CODE.txt.xz and stsb-CODE-dev.csv for each language: text of any domain, and pairs of sentences with a score.
All systems read the same text; those of scikit-learn also the sentences of the pairs (without scores), so that they
know every word. Pearson of the cosines with the scores. Results are kept from run to run in a file beside the report.
"""

from __future__ import annotations

import argparse
import csv
import json
import lzma
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import machine, markdown, report
from siamese_cbow import SiameseCBOW, TextSettings, prepare
from siamese_cbow.baselines.random_vectors import RandomVectors
from siamese_cbow.model.model import Model
from siamese_cbow.stream.stream import Stream
from siamese_cbow.transform.estimates import information

Encode = Callable[[Sequence[str]], Any]
KEPT = Path(tempfile.gettempdir()) / "siamese-cbow-languages.json"
MIN_COUNT, EPOCHS = 2, 5  # what `auto` gives for texts of two to eight million words


def pairs(folder: Path, language: str) -> tuple[list[str], list[str], np.ndarray]:
    """The sentences on either side, and their scores."""
    with (folder / f"stsb-{language}-dev.csv").open(encoding="utf-8", newline="") as file:
        rows = [(a, b, float(score)) for a, b, score in csv.reader(file)]
    return [a for a, _, _ in rows], [b for _, b, _ in rows], np.array([score for _, _, score in rows])


def score(encode: Encode, folder: Path, language: str) -> float:
    """Pearson of the cosines with the scores."""
    first, second, gold = pairs(folder, language)
    a, b = (_rows(encode(texts)) for texts in (first, second))
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return float(np.corrcoef((a * b).sum(axis=1) / np.maximum(lengths, 1e-12), gold)[0, 1])


def _rows(vectors: Any) -> np.ndarray:
    return np.asarray(vectors.toarray() if hasattr(vectors, "toarray") else vectors, np.float64)


def of_tokens(model: Model, vectors: Any) -> Encode:
    """The mean of the vectors of words that gensim has trained."""

    def encode(texts: Sequence[str]) -> np.ndarray:
        listed = [[vectors[word] for word in model.tokenizer.words(text) if word in vectors] for text in texts]
        return np.array([np.mean(rows, axis=0) if rows else np.zeros(vectors.vector_size) for rows in listed])

    return encode


def sentences(stream: Stream) -> Iterator[list[str]]:
    """The words of each sentence."""
    ids, words = np.asarray(stream.ids), stream.vocabulary.words
    for start, end in zip(stream.sentences[:-1].tolist(), stream.sentences[1:].tolist(), strict=True):
        yield [words[i] for i in ids[start:end].tolist()]


def ours(folder: Path, language: str, stream: Stream) -> dict[str, Encode]:
    """The default recipe, with each answer to unknown words; and as if the text were English."""
    recipe = SiameseCBOW(epochs=EPOCHS)
    model = recipe.train(stream)
    as_english = recipe.train(
        prepare(str(folder / f"{language}.txt.xz"), min_count=MIN_COUNT, text=TextSettings(language="en"))
    )
    return {
        "ours, unknown words left out (`none`)": model.with_fallback("none").encode,
        "ours, `prefix`": model.with_fallback("prefix").encode,
        "**ours, `ngrams`** (default)": model.encode,
        "the same with `--language en`": as_english.encode,
    }


def tfidf(folder: Path, language: str, stream: Stream) -> dict[str, Encode]:
    """Of words, and of characters."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    with lzma.open(folder / f"{language}.txt.xz", "rt", encoding="utf-8") as file:
        text = [line for line in file if line.strip()]
    text += [sentence for side in pairs(folder, language)[:2] for sentence in side]
    kinds: dict[str, dict[str, Any]] = {
        "tf-idf of words": {},
        "tf-idf of character 3- to 5-grams": {"analyzer": "char_wb", "ngram_range": (3, 5)},
    }
    return {name: TfidfVectorizer(**settings).fit(text).transform for name, settings in kinds.items()}


def random(folder: Path, language: str, stream: Stream) -> dict[str, Encode]:
    """What sharing words is worth, without learning anything."""
    model = RandomVectors(dim=300).train(stream)
    weights = information(np.asarray(stream.vocabulary.counts)).astype(np.float32)
    weighted = Model(stream.vocabulary, model.vectors * weights[:, None], stream.tokenizer)
    return {"random vectors": model.encode, "random vectors x information": weighted.encode}


def word2vec(folder: Path, language: str, stream: Stream) -> dict[str, Encode]:
    """Skip-gram, 300 dimensions, 5 epochs."""
    from gensim.models import Word2Vec

    trained = Word2Vec(list(sentences(stream)), vector_size=300, epochs=5, min_count=1, sg=0, workers=2, seed=1)
    return {"word2vec, CBOW, 300 dimensions, 5 epochs": of_tokens(_empty(stream), trained.wv)}


def fasttext(folder: Path, language: str, stream: Stream) -> dict[str, Encode]:
    """The same with n-grams, which give every word a vector."""
    from gensim.models import FastText

    trained = FastText(list(sentences(stream)), vector_size=300, epochs=5, min_count=1, sg=0, workers=2, seed=1)
    return {"fastText, CBOW, 300 dimensions, 5 epochs": of_tokens(_empty(stream), trained.wv)}


def _empty(stream: Stream) -> Model:
    rows = np.zeros((len(stream.vocabulary), 1), np.float32)
    return Model(stream.vocabulary, rows, stream.tokenizer)


SYSTEMS = {"random": random, "tf-idf": tfidf, "ours": ours, "word2vec": word2vec, "fastText": fasttext}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--languages", nargs="+", default=["de", "ru", "ja", "zh"])
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    kept: dict[str, dict[str, float]] = json.loads(KEPT.read_text("utf-8")) if KEPT.is_file() else {}
    for kind in options.systems:
        for language in options.languages:
            text = TextSettings(language=language)
            stream = prepare(str(options.folder / f"{language}.txt.xz"), min_count=MIN_COUNT, text=text)
            for name, encode in SYSTEMS[kind](options.folder, language, stream).items():
                kept.setdefault(name, {})[language] = score(encode, options.folder, language)
                print(name, language, f"{kept[name][language]:.4f}", flush=True)
                KEPT.write_text(json.dumps(kept), "utf-8")
    rows = []
    for name, found in kept.items():
        cells = [f"{found[language]:.3f}" if language in found else "not run" for language in options.languages]
        whole = all(language in found for language in options.languages)
        rows.append([name, *cells, f"{np.mean([found[one] for one in options.languages]):.3f}" if whole else ""])
    also = " tf-idf was also fitted on the sentences of the pairs." if any("tf-idf" in name for name in kept) else ""
    text = (
        "STS-b dev pairs of each language, machine-translated; text of another domain (novels, documentation), two to "
        f"eight million words, `--min-count {MIN_COUNT} --epochs {EPOCHS}`, one seed; Pearson.{also}\n\n"
        f"{markdown(['system', *options.languages, 'mean'], rows)}\n\n{machine('numpy', 'scikit-learn', 'gensim')}"
    )
    report("languages", "Languages", text, write=options.write)


if __name__ == "__main__":
    main()
