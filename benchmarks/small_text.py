"""Small text of one's own: the pretrained model as it is, adapted, trained further (`--init`), a new one, and tf-idf.

    python -m benchmarks.small_text TEXT [--sizes 1000 10000 100000] [--documents 400] [--write]

TEXT has a paragraph a line and a blank line between documents, and is not of the kind that the pretrained model was
trained on. Its first documents, as many as make up so many sentences, are all that a system may read. The task: one
sentence is taken out of each of some documents, and the document it came from is to be found among all of them by the
mean of its other sentences. The share of first places, and the mean reciprocal rank.
"""

from __future__ import annotations

import argparse
import itertools
import lzma
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables import machine, markdown, report
from siamese_cbow import Model, SiameseCBOW, Texts, load, prepare
from siamese_cbow.text.splitters import split_lines

SIZES = (1_000, 10_000, 100_000)
LEAST, MOST = 6, 30  # sentences of a document that a page is made of
Encode = Callable[[Sequence[str]], np.ndarray]


def documents(path: Path) -> Iterator[list[str]]:
    """The sentences of each document."""
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
        for is_blank, lines in itertools.groupby(file, key=lambda line: not line.strip()):
            if not is_blank:
                split, _ = split_lines(b"".join(lines), "en")
                yield [sentence for sentence in split.decode().splitlines() if sentence.strip()]


class Task:
    """Pages, and the sentence of each that has to find it."""

    def __init__(self, listed: Sequence[list[str]], n: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        long = [i for i, document in enumerate(listed) if len(document) >= LEAST]
        chosen = sorted(rng.choice(long, min(n, len(long)), replace=False).tolist())
        taken = {i: int(rng.integers(min(len(listed[i]), MOST))) for i in chosen}
        self.queries = [listed[i][taken[i]] for i in chosen]
        self.pages = [[s for j, s in enumerate(listed[i][:MOST]) if j != taken[i]] for i in chosen]
        self.text = [  # what systems may read: without the sentences that are asked for
            [s for j, s in enumerate(document) if taken.get(i) != j] for i, document in enumerate(listed)
        ]

    def score(self, encode: Encode) -> tuple[float, float]:
        """Share of first places, mean reciprocal rank."""
        queries = encode(self.queries)
        rows = encode([sentence for page in self.pages for sentence in page])
        ends = np.cumsum([0, *map(len, self.pages)])
        pages = np.array([rows[a:b].sum(axis=0) for a, b in itertools.pairwise(ends)])
        unit = [x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) for x in (queries, pages)]
        cosines = unit[0] @ unit[1].T
        ranks = (cosines > np.diag(cosines)[:, None]).sum(axis=1)
        return float((ranks == 0).mean()), float((1 / (1 + ranks)).mean())


def of_model(model: Model) -> Encode:
    """Vectors of length 1, so that every sentence of a page counts the same."""
    return lambda texts: model.encode(list(texts), normalize_embeddings=True)


def of_tfidf(texts: Sequence[str], **settings: Any) -> Encode:
    """scikit-learn's tf-idf, fitted on the same text."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(**settings).fit(texts)
    return lambda some: vectorizer.transform(some).toarray().astype(np.float32)


def lines_of(listed: Sequence[list[str]]) -> list[str]:
    """One sentence a line, an empty line between documents."""
    return [line for document in listed for line in (*document, "")]


def systems(task: Task) -> dict[str, Encode]:
    """Each with its defaults."""
    listed = lines_of(task.text)
    sentences = [line for line in listed if line]
    stream = prepare(Texts(listed))
    return {
        "pretrained": of_model(load()),
        "pretrained, adapted": of_model(load().adapt(sentences)),
        "trained": of_model(SiameseCBOW().train(stream)),
        "`--init pretrained`": of_model(SiameseCBOW(init="pretrained", dim=load().dim).train(stream)),
        "tf-idf of words": of_tfidf(sentences),
        "tf-idf of character 2- to 4-grams": of_tfidf(sentences, analyzer="char_wb", ngram_range=(2, 4)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = []
    for size in options.sizes:
        listed, n = [], 0
        for document in documents(options.text):
            if n >= size:
                break
            listed.append(document)
            n += len(document)
        task = Task(listed, options.documents)
        for name, encode in systems(task).items():
            first, rank = task.score(encode)
            rows.append([f"{n:,}", f"{len(task.queries):,}", name, f"{first:.3f}", f"{rank:.3f}"])
            print(*rows[-1], flush=True)
    text = (
        f"The document that a sentence was taken from, found among all by the mean of its other sentences; text: "
        f"{options.text.name}, which is not Wikipedia. Defaults throughout.\n\n"
        f"{markdown(['sentences', 'documents', 'system', 'first places', 'mean reciprocal rank'], rows)}\n\n"
        f"{machine('numpy', 'scikit-learn')}"
    )
    report("small_text", "Small text", text, write=options.write)


if __name__ == "__main__":
    main()
