"""A small text of your own: a finished model as it is, adapted or fine-tuned (`--init`), a new one, and tf-idf.

    python -m benchmarks.small_text TEXT=MODEL [TEXT=MODEL ...] [--sizes 1000 10000 100000] [--seeds 1 2 3] [--write]

TEXT is a file with one paragraph per line and a blank line between documents, a .tsv file with a column `text`, or a
folder with one .txt file per document; MODEL is the model to start from, `pretrained` or a folder. For a fair
comparison, MODEL must not have seen TEXT or similar text. Long documents are split into pages of 30 sentences. Systems
may read only the first documents of TEXT, as many as make up the given number of sentences.

The task: one sentence is removed from each of some pages and has to find its page, represented by the mean of the other
sentences, among all of them. The measures are the share of rank 1 and the mean reciprocal rank. Each seed draws other
pages and sentences, and also seeds the training. Differences from the model as it is are paired by sentence; their
intervals come from a bootstrap over sentences.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.scoring import interval
from benchmarks.tables import arguments, machine, markdown, report
from siamese_cbow import Model, SiameseCBOW, Texts, load, prepare
from siamese_cbow.text.row_reader import iter_lines
from siamese_cbow.text.splitters import split_lines

SIZES = (1_000, 10_000, 100_000)
LEAST, MOST = 6, 30  # fewest sentences of a page with a query, most of any page
Encode = Callable[[Sequence[str]], Any]  # rows of length 1, dense or sparse
START = "the model as it is"
CELLS = ("text", "starts from", "sentences", "queries", "system", "top 1", "mean reciprocal rank", "difference")


def sources(path: Path) -> Iterator[bytes]:
    """The paragraphs of each document."""
    if path.is_dir():
        for file in sorted(path.glob("*.txt")):
            yield file.read_bytes()
    elif path.suffix == ".tsv":
        with path.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                yield row["text"].encode()
    else:
        for is_blank, listed in itertools.groupby(iter_lines(path), key=lambda line: not line.strip()):
            if not is_blank:
                yield "\n".join(listed).encode()


def documents(path: Path, size: int) -> list[list[str]]:
    """The pages of the first documents, with at least `size` sentences if the text has that many."""
    pages: list[list[str]] = []
    n = 0
    for paragraphs in sources(path):
        split, _ = split_lines(paragraphs.rstrip() + b"\n", "en")
        sentences = [sentence for sentence in split.decode().splitlines() if sentence.strip()]
        pages += (sentences[i : i + MOST] for i in range(0, len(sentences), MOST))
        n += len(sentences)
        if n >= size:
            break
    return pages


class Task:
    """Pages, and one sentence of each that has to find it."""

    def __init__(self, listed: Sequence[list[str]], n: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        long = [i for i, document in enumerate(listed) if len(document) >= LEAST]
        chosen = sorted(rng.choice(long, min(n, len(long)), replace=False).tolist())
        taken = {i: int(rng.integers(len(listed[i]))) for i in chosen}
        self.queries = [listed[i][taken[i]] for i in chosen]
        self.text = [  # what systems may read: everything but the queries
            [s for j, s in enumerate(document) if taken.get(i) != j] for i, document in enumerate(listed)
        ]
        self.pages = [self.text[i] for i in chosen]

    def ranks(self, encode: Encode) -> np.ndarray:
        """How many pages are nearer to each query than its own page; 0 if its page is found."""
        queries = encode(self.queries)
        rows = encode([sentence for page in self.pages for sentence in page])
        ends = np.cumsum([0, *map(len, self.pages)])
        pages = sparse.csr_array((np.ones(ends[-1]), np.arange(ends[-1]), ends)) @ rows
        lengths = np.sqrt(np.asarray((pages * pages).sum(axis=1))).reshape(-1)
        cosines = queries @ pages.T
        cosines = np.asarray(cosines.toarray() if sparse.issparse(cosines) else cosines) / np.maximum(lengths, 1e-12)
        return np.asarray((cosines > np.diag(cosines)[:, None]).sum(axis=1))


def of_model(model: Model) -> Encode:
    """Encodes to unit vectors, so that every sentence of a page counts the same."""
    return lambda texts: model.encode(list(texts), normalize_embeddings=True)


def of_tfidf(texts: Sequence[str], **settings: Any) -> Encode:
    """scikit-learn's tf-idf, fitted on the same text."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(**settings).fit(texts)
    return lambda some: sparse.csr_array(vectorizer.transform(some))


def lines_of(listed: Sequence[list[str]]) -> list[str]:
    """One sentence per line, an empty line between documents."""
    return [line for document in listed for line in (*document, "")]


def systems(task: Task, start: str, seed: int) -> Iterator[tuple[str, Encode]]:
    """Each system with its defaults."""
    listed, model = lines_of(task.text), load(start)
    sentences = [line for line in listed if line]
    stream = prepare(Texts(listed))
    yield START, of_model(model)
    yield "adapted", of_model(model.adapt(sentences))
    yield "trained from scratch", of_model(SiameseCBOW(seed=seed).train(stream))
    yield "trained further (`--init`)", of_model(SiameseCBOW(init=start, dim=model.dim, seed=seed).train(stream))
    yield "tf-idf of words", of_tfidf(sentences)
    yield "tf-idf of character 2- to 4-grams", of_tfidf(sentences, analyzer="char_wb", ngram_range=(2, 4))


def rows(path: Path, start: str, size: int, n_documents: int, seeds: Sequence[int]) -> Iterator[list[str]]:
    """One row per system, with the mean over seeds."""
    listed = documents(path, size)
    n, ranks = sum(map(len, listed)), dict[str, list[np.ndarray]]()
    if n < size * 0.7:
        return
    for seed in seeds:
        task = Task(listed, n_documents, seed)
        for name, encode in systems(task, start, seed):
            ranks.setdefault(name, []).append(task.ranks(encode))
            print(path.name, f"{n:,}", seed, name, f"{(1 / (1 + ranks[name][-1])).mean():.4f}", flush=True)
    asked, first = f"{len(seeds)} x {len(task.queries)}", 1 / (1 + np.concatenate(ranks[START]))
    for name, by_seed in ranks.items():
        together = np.concatenate(by_seed)
        reciprocal = 1 / (1 + together)
        against = "" if name == START else interval(reciprocal - first)
        scores = (f"{(together == 0).mean():.3f}", f"{reciprocal.mean():.3f}")
        yield [path.name, Path(start).name, f"{n:,}", asked, name, *scores, against]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("text", nargs="+", metavar="TEXT=MODEL")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args()
    table = []
    for text, size in itertools.product(options.text, options.sizes):
        path, _, start = text.partition("=")
        table += rows(Path(path), start or "pretrained", size, options.documents, options.seeds)
    text = (
        "Each query is a sentence; the task is to find its document, represented by the mean of its other "
        f"sentences. Default settings, {len(options.seeds)} seeds. No starting model has seen the text. Last "
        "column: difference in reciprocal rank from the model as it is, with a 95% interval over the queries.\n\n"
        f"{markdown(CELLS, table)}\n\n{machine('numpy', 'scikit-learn')}"
    )
    report("small_text", "Small text", text, write=options.write)


if __name__ == "__main__":
    main()
