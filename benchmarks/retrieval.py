"""Retrieval: our search by exact words, by meaning and by both, against BM25 and sentence encoders.

    python -m benchmarks.retrieval CRANFIELD WIKIPEDIA [--articles N] [--only SYSTEM] [--skip SYSTEM] [--write]

CRANFIELD is a folder with documents.tsv (id, title, text), queries.tsv and relevance.tsv; grades 1 to 4 are relevant.
WIKIPEDIA is a text of articles, one paragraph per line, with an empty line after each article: a query is a sentence
from one paragraph, and the other paragraphs of its article have to be found among those of all articles. BM25 is bm25s
with Snowball stems and its English stop words; encoders rank by cosine. nDCG@10 (every relevant document counts 1) and
MAP over the first 1,000 are computed by pytrec_eval. Intervals are those of the difference from our hybrid search, by
paired bootstrap over queries. Documents per second: everything from texts in memory to the ranking for one query,
except loading models; the best of three, for MiniLM on the first 300 documents.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers import WordLlama256, transformer
from benchmarks.scoring import interval
from benchmarks.tables import arguments, best_of, machine, markdown, report
from siamese_cbow import Texts, load, search
from siamese_cbow.model.geometry import units
from siamese_cbow.model.model import Model
from siamese_cbow.retrieval.fusion import Mode, Wanted
from siamese_cbow.retrieval.kept_text import KeptText
from siamese_cbow.retrieval.scoring import SearchedText
from siamese_cbow.retrieval.terms import QueryWords
from siamese_cbow.text.row_reader import RowReader, iter_lines

DEPTH, FEW = 1_000, 300
MEASURES = ("ndcg_cut_10", "map_cut_1000")


class TestCollection(NamedTuple):
    name: str
    documents: list[str]
    queries: list[str]
    relevant: list[set[int]]


def cranfield(folder: Path) -> TestCollection:
    def table(name: str) -> list[list[str]]:
        lines = (folder / name).read_text("utf-8").split("\n")
        return [line.split("\t") for line in lines[1:] if line]

    documents, queries = table("documents.tsv"), table("queries.tsv")
    number = {row[0]: i for i, row in enumerate(documents)}
    relevant: dict[str, set[int]] = {row[0]: set() for row in queries}
    for query, document, grade in table("relevance.tsv"):
        if 1 <= int(grade) <= 4 and document in number:
            relevant[query].add(number[document])
    texts = [f"{row[1]} {row[2]}".strip() or "-" for row in documents]
    return TestCollection("Cranfield", texts, [row[1] for row in queries], list(relevant.values()))


def wikipedia(path: Path, n_articles: int) -> TestCollection:
    """Articles of four or more paragraphs: a sentence of one paragraph is the query, the others are documents."""
    rng, documents, queries, relevant = random.Random(1), list[str](), list[str](), list[set[int]]()
    for article in _articles(path, n_articles):
        paragraphs = [paragraph for paragraph in article if len(paragraph.split()) >= 25][:12]
        if len(paragraphs) < 4:
            continue
        source = paragraphs.pop(rng.randrange(len(paragraphs)))
        sentences = [each for each in re.split(r"(?<=[.!?]) ", source) if 6 <= len(each.split()) <= 30]
        if sentences:
            queries.append(rng.choice(sentences))
            relevant.append(set(range(len(documents), len(documents) + len(paragraphs))))
        documents += paragraphs
    return TestCollection("Wikipedia", documents, queries, relevant)


def _articles(path: Path, n: int) -> Iterator[list[str]]:
    article: list[str] = []
    for line in iter_lines(path):
        if line.strip():
            article.append(line.strip())
            continue
        yield article
        article, n = [], n - 1
        if n == 0:
            return


Rank = Callable[[list[str], list[str]], list[list[int]]]  # documents, queries -> the best documents for each query


def ours(model: Model, mode: Mode) -> Rank:
    def rank(documents: list[str], queries: list[str]) -> list[list[int]]:
        if len(queries) == 1:  # as a user would search
            return [[hit.line - 1 for hit in search(queries[0], Texts(documents), model=model, k=10, mode=mode)]]
        reader, kept = RowReader(Texts(documents)), KeptText()
        for block in reader.blocks():
            kept.append(reader.rows(block))
        collection, wanted, words = SearchedText(model, kept, 1), Wanted(DEPTH, None, mode), QueryWords(model)
        return [[row for row, _, _ in collection.best(query, words.terms(query), wanted)] for query in queries]

    return rank


def bm25(documents: list[str], queries: list[str]) -> list[list[int]]:
    import bm25s
    from Stemmer import Stemmer

    settings: Any = {"stopwords": "en", "stemmer": Stemmer("english"), "show_progress": False}
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(documents, **settings), show_progress=False)
    k = min(DEPTH, len(documents))
    ranked, scores = retriever.retrieve(bm25s.tokenize(queries, **settings), k=k, show_progress=False)
    return [[int(i) for i, score in zip(*each, strict=True) if score > 0] for each in zip(ranked, scores, strict=True)]


def encoder(system: Any) -> Rank:
    def rank(documents: list[str], queries: list[str]) -> list[list[int]]:
        rows, wanted = (units(np.asarray(system.encode(texts), np.float32)) for texts in (documents, queries))
        return np.argsort(-(wanted @ rows.T), axis=1, kind="stable")[:, :DEPTH].tolist()

    return rank


def systems(model: Model) -> dict[str, Callable[[], Rank]]:
    def model2vec() -> Rank:
        from model2vec.distill import distill

        return encoder(distill(str(transformer())))

    def minilm() -> Rank:
        from sentence_transformers import SentenceTransformer

        return encoder(SentenceTransformer(str(transformer()), device="cpu"))

    return {
        "**ours, hybrid**": lambda: ours(model, "hybrid"),
        "ours, exact words": lambda: ours(model, "exact"),
        "ours, meaning": lambda: ours(model, "meaning"),
        "ours, meaning, not fitted to the collection": lambda: encoder(model),
        "BM25 (bm25s, stems, stop words)": lambda: bm25,
        "model2vec, distilled from all-MiniLM-L6-v2": model2vec,
        "WordLlama": lambda: encoder(WordLlama256()),
        "all-MiniLM-L6-v2": minilm,
    }


def scores_of(collection: TestCollection, ranking: list[list[int]]) -> dict[str, np.ndarray]:
    """The measures of each query."""
    import pytrec_eval

    wanted = {str(q): {str(d): 1 for d in relevant} for q, relevant in enumerate(collection.relevant) if relevant}
    run = {str(q): {str(d): float(-place) for place, d in enumerate(ranking[int(q)])} for q in wanted}
    by_query = pytrec_eval.RelevanceEvaluator(wanted, set(MEASURES)).evaluate(run)
    return {measure: np.array([by_query.get(q, {}).get(measure, 0.0) for q in wanted]) for measure in MEASURES}


def per_second(rank: Rank, collection: TestCollection, n: int) -> float:
    documents = collection.documents[:n]
    return len(documents) / best_of(3, lambda: rank(documents, collection.queries[:1]))


def table(collection: TestCollection, made: dict[str, Rank]) -> str:
    scored, speeds = dict[str, dict[str, np.ndarray]](), dict[str, float]()
    for name, rank in made.items():
        scored[name] = scores_of(collection, rank(collection.documents, collection.queries))
        speeds[name] = per_second(rank, collection, FEW if name == "all-MiniLM-L6-v2" else len(collection.documents))
        print(
            collection.name,
            name,
            *(f"{scored[name][each].mean():.4f}" for each in MEASURES),
            f"{speeds[name]:,.0f}",
            flush=True,
        )
    first = next(iter(scored))
    slowest = min(speeds.values())
    rows = [
        [name, *(f"{each[measure].mean():.3f}" for measure in MEASURES),
         *("" if name == first else interval(scored[first][measure] - each[measure], n=10_000) for measure in MEASURES),
         f"{speeds[name]:,.0f}", f"{speeds[name] / slowest:,.0f}"]
        for name, each in scored.items()
    ]  # fmt: skip
    heads = ["", "nDCG@10", "MAP", "gain of hybrid (nDCG@10)", "gain of hybrid (MAP)", "documents/s", "ratio"]
    size = f"{len(collection.documents):,} documents, {len(collection.queries):,} queries"
    return f"## {collection.name}: {size}\n\n{markdown(heads, rows)}"


def main() -> None:
    parser = arguments(__doc__, "cranfield", "wikipedia")
    parser.add_argument("--articles", type=int, default=500)
    parser.add_argument("--only", default="", help="only systems whose name has this")
    parser.add_argument("--skip", action="append", default=[], help="no systems whose name begins with this")
    options = parser.parse_args()
    made = {name: make() for name, make in systems(load()).items() if options.only in name
            and not name.startswith(tuple(options.skip))}  # fmt: skip
    collections = cranfield(options.cranfield), wikipedia(options.wikipedia, options.articles)
    tables = [table(collection, made) for collection in collections]
    about = machine("bm25s", "model2vec", "wordllama", "sentence-transformers")
    report("retrieval", "Retrieval", about, *tables, write=options.write)


if __name__ == "__main__":
    main()
