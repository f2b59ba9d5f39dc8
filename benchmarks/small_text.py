"""Small text of one's own: the pretrained model as it is, adapted, trained further (`--init`), a new one, and tf-idf.

    python -m benchmarks.small_text TEXT [--sizes 1000 10000 100000] [--documents 400] [--seeds 1 2 3] [--write]

TEXT has a paragraph a line and a blank line between documents, and is not of the kind that the pretrained model was
trained on. Its first documents, as many as make up so many sentences, are all that a system may read. The task: one
sentence is taken out of each of some documents, and the document it came from is to be found among all of them by the
mean of its other sentences. The share of first places, and the mean reciprocal rank. Each seed draws other documents
and sentences, and is that of the trainings; differences from the pretrained model are of the same seeds.
"""

from __future__ import annotations

import argparse
import itertools
import lzma
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.tables import machine, markdown, report
from siamese_cbow import Model, SiameseCBOW, Texts, load, prepare
from siamese_cbow.text.splitters import split_lines

SIZES = (1_000, 10_000, 100_000)
LEAST, MOST = 6, 30  # sentences of a document that a page is made of
Encode = Callable[[Sequence[str]], Any]  # rows of length 1, dense or sparse
PRETRAINED = "pretrained"


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
        pages = sparse.csr_array((np.ones(ends[-1]), np.arange(ends[-1]), ends)) @ rows
        lengths = np.sqrt(np.asarray((pages * pages).sum(axis=1))).reshape(-1)
        cosines = queries @ pages.T
        cosines = np.asarray(cosines.toarray() if sparse.issparse(cosines) else cosines) / np.maximum(lengths, 1e-12)
        ranks = (cosines > np.diag(cosines)[:, None]).sum(axis=1)
        return float((ranks == 0).mean()), float((1 / (1 + ranks)).mean())


def of_model(model: Model) -> Encode:
    """Vectors of length 1, so that every sentence of a page counts the same."""
    return lambda texts: model.encode(list(texts), normalize_embeddings=True)


def of_tfidf(texts: Sequence[str], **settings: Any) -> Encode:
    """scikit-learn's tf-idf, fitted on the same text."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(**settings).fit(texts)
    return lambda some: sparse.csr_array(vectorizer.transform(some))


def lines_of(listed: Sequence[list[str]]) -> list[str]:
    """One sentence a line, an empty line between documents."""
    return [line for document in listed for line in (*document, "")]


def systems(task: Task, seed: int) -> dict[str, Encode]:
    """Each with its defaults."""
    listed = lines_of(task.text)
    sentences = [line for line in listed if line]
    stream = prepare(Texts(listed))
    return {
        PRETRAINED: of_model(load()),
        "pretrained, adapted": of_model(load().adapt(sentences)),
        "trained": of_model(SiameseCBOW(seed=seed).train(stream)),
        "`--init pretrained`": of_model(SiameseCBOW(init="pretrained", dim=load().dim, seed=seed).train(stream)),
        "tf-idf of words": of_tfidf(sentences),
        "tf-idf of character 2- to 4-grams": of_tfidf(sentences, analyzer="char_wb", ngram_range=(2, 4)),
    }


def table(path: Path, sizes: Sequence[int], n_documents: int, seeds: Sequence[int]) -> list[list[str]]:
    """A line for each size and system, with the mean over seeds."""
    rows = []
    for size in sizes:
        listed, n = [], 0
        for document in documents(path):
            if n >= size:
                break
            listed.append(document)
            n += len(document)
        scores: dict[str, list[tuple[float, float]]] = {}
        for seed in seeds:
            task = Task(listed, n_documents, seed)
            for name, encode in systems(task, seed).items():
                scores.setdefault(name, []).append(task.score(encode))
                print(f"{n:,}", seed, name, *(f"{number:.4f}" for number in scores[name][-1]), flush=True)
        for name, by_way in scores.items():
            first, rank = np.mean(by_way, axis=0)
            more = np.array(by_way)[:, 1] - np.array(scores[PRETRAINED])[:, 1]
            against = "" if name == PRETRAINED else f"{more.mean():+.3f} ({more.min():+.3f} to {more.max():+.3f})"
            rows.append([f"{n:,}", f"{len(task.queries):,}", name, f"{first:.3f}", f"{rank:.3f}", against])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = table(options.text, options.sizes, options.documents, options.seeds)
    header = ["sentences", "documents", "system", "first places", "mean reciprocal rank", "against the pretrained"]
    text = (
        f"The document that a sentence was taken from, found among all by the mean of its other sentences; text: "
        f"{options.text.name}, which is not Wikipedia. Defaults throughout; the mean of {len(options.seeds)} seeds, "
        "and the smallest and largest difference of reciprocal ranks from the pretrained model.\n\n"
        f"{markdown(header, rows)}\n\n{machine('numpy', 'scikit-learn')}"
    )
    report("small_text", "Small text", text, write=options.write)


if __name__ == "__main__":
    main()
