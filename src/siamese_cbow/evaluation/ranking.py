"""Retrieval with relevance judgements: queries, documents, grades; nDCG@10 and average precision, with BM25.

    documents.tsv   id, title (optional), text        or, as in BEIR:   corpus.jsonl
    queries.tsv     id, text                                            queries.jsonl
    relevance.tsv   query, document, grade or score                     qrels/test.tsv   query-id, corpus-id, score

Documents are ranked by cosine with the query, ties in file order. A query counts if it has a relevant document. The
gain of a document is its score (higher is more relevant); for a grade from 1 (the most relevant, as in Cranfield) to 4,
it is 4 to 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats
from siamese_cbow.errors import InputError
from siamese_cbow.evaluation.evaluate import System, unit_vectors
from siamese_cbow.kernels.bm25 import idf, norms, saturated
from siamese_cbow.text.json_files import table_rows
from siamese_cbow.words.tokenizer import Tokenizer

DEPTH = 10  # of nDCG
K1 = 1.2  # of BM25: Lucene's default
WORST = 4  # the worst grade that still counts as relevant
NDCG, AP = f"nDCG@{DEPTH}", "MAP"
PLAIN_WORDS = Tokenizer(punctuation=False)


@dataclass(frozen=True, eq=False)
class Collection:
    """A test collection: `Collection("cranfield", documents, queries, {0: {12: 4.0}})`."""

    name: str
    documents: Sequence[str]
    queries: Sequence[str]
    gains: Mapping[int, Mapping[int, float]]  # position of a query -> position of a document -> its gain, above 0

    @cached_property
    def judged(self) -> list[int]:
        """Positions of the queries that have a relevant document."""
        return [query for query in range(len(self.queries)) if self.gains.get(query)]

    def items(self, system: System) -> dict[str, Floats]:
        """nDCG@10 and average precision of each judged query, (n_judged,)."""
        asked = unit_vectors(system, [self.queries[query] for query in self.judged])
        return self.scored(asked @ unit_vectors(system, self.documents).T)

    def beside(self) -> dict[str, dict[str, Floats]]:
        """The same for BM25, which needs no vectors."""
        return {"BM25": self.scored(bm25(self.documents, [self.queries[query] for query in self.judged]))}

    def scored(self, similarities: NDArray[np.floating]) -> dict[str, Floats]:
        """The measures of a ranking by similarities, (n_judged, n_documents)."""
        ranked = np.argsort(-similarities, axis=1, kind="stable")
        gains = [self.gains[query] for query in self.judged]
        return {
            NDCG: np.array([ndcg(row.tolist(), wanted) for row, wanted in zip(ranked, gains, strict=True)]),
            AP: np.array([average_precision(row.tolist(), wanted) for row, wanted in zip(ranked, gains, strict=True)]),
        }

    def sample(self, n: int) -> Collection:
        """The collection itself: it is small."""
        return self


def ndcg(ranked: Sequence[int], gains: Mapping[int, float]) -> float:
    """The gains of the first ten, the i-th divided by log2(1 + i), over the ideal sum: [1, 0], {0: 1} -> 0.63."""

    def discounted(values: Sequence[float]) -> float:
        return float(sum(value / np.log2(2 + place) for place, value in enumerate(values)))

    best = discounted(sorted(gains.values(), reverse=True)[:DEPTH])
    return discounted([gains.get(document, 0.0) for document in ranked[:DEPTH]]) / best


def average_precision(ranked: Sequence[int], gains: Mapping[int, float]) -> float:
    """The mean over relevant documents of the precision at their rank: [1, 0], {0: 1} -> 0.5."""
    hits = np.flatnonzero([document in gains for document in ranked])
    return float((np.arange(1, len(hits) + 1) / (hits + 1)).sum() / len(gains))


class CountTable(NamedTuple):
    """How often features occur in texts: the feature of column columns[i] occurs counts[i] times in text rows[i]."""

    place: dict[str, int]  # the column of each feature
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    counts: Floats


def count_table(texts: Iterable[Iterable[str]]) -> CountTable:
    """The features of each text, counted: [["a", "b", "a"], ["b"]] -> rows 0 0 1, columns 0 1 1, counts 2 1 1."""
    counted = [Counter(features) for features in texts]
    place = {feature: i for i, feature in enumerate(dict.fromkeys(chain.from_iterable(counted)))}
    rows = np.repeat(np.arange(len(counted)), np.array([*map(len, counted)], np.int64))
    columns = np.array([place[feature] for features in counted for feature in features], np.int64)
    return CountTable(place, rows, columns, np.array([n for each in counted for n in each.values()], np.float64))


def bm25(documents: Sequence[str], queries: Sequence[str]) -> NDArray[np.float32]:
    """BM25 with Lucene's parameters, (n_queries, n_documents): no stop words, no stems."""
    place, rows, columns, counts = count_table(map(PLAIN_WORDS.words, documents))
    lengths = np.bincount(rows, counts, minlength=len(documents))
    asks = norms(lengths / max(1.0, lengths.mean()), K1)[rows]
    frequencies = np.bincount(columns, minlength=len(place))
    worth = idf(frequencies, len(documents))[columns] * saturated(counts, asks, K1)
    by_word = np.argsort(columns, kind="stable")  # documents grouped by word; those of a word begin at starts[word]
    postings, worth = rows[by_word], worth[by_word]
    starts = np.concatenate(([0], np.cumsum(frequencies)))
    scores = np.zeros((len(queries), len(documents)))
    for row, query in zip(scores, queries, strict=True):
        for word, n in Counter(word for word in PLAIN_WORDS.words(query) if word in place).items():
            span = slice(starts[place[word]], starts[place[word] + 1])
            row[postings[span]] += n * worth[span]
    return scores.astype(np.float32)


# Files


def collections(folder: Path) -> list[Collection]:
    """The collections in the subfolders of a folder."""
    judged = ("relevance.tsv", "qrels/test.tsv")
    inside = sorted(path for path in folder.iterdir() if any((path / name).is_file() for name in judged))
    return [read_collection(path) for path in inside]


def read_collection(folder: Path) -> Collection:
    """The collection of one folder."""
    is_beir = not (folder / "relevance.tsv").is_file()
    documents = dict(_texts(folder / ("corpus.jsonl" if is_beir else "documents.tsv")))
    queries = dict(_texts(folder / ("queries.jsonl" if is_beir else "queries.tsv")))
    judged = folder / "qrels" / "test.tsv" if is_beir else folder / "relevance.tsv"
    places = [{name: place for place, name in enumerate(texts)} for texts in (queries, documents)]
    gains: dict[int, dict[int, float]] = {}
    for number, (query, document, gain) in enumerate(_judgements(judged), start=2):
        for name, known, what in ((query, places[0], "query"), (document, places[1], "document")):
            if name not in known:
                raise InputError(
                    f"{judged} line {number:,}: no {what} {name!r} in the collection; expected one of its ids"
                )
        if gain > 0:
            gains.setdefault(places[0][query], {})[places[1][document]] = gain
    if not gains:
        raise InputError(f"{judged} names no relevant document; expected a query, a document and a grade per line")
    return Collection(folder.name, list(documents.values()), list(queries.values()), gains)


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    """Id and text of each document; the title is prepended unless the text begins with it."""
    header, rows = _table(path)
    identity = "_id" if "_id" in header else "id"
    names = [identity, "text", *(["title"] if "title" in header else [])]
    for name, text, *title in _cells(path, header, rows, names):
        yield name, text if not title or text.startswith(title[0]) else f"{title[0]} {text}"


def _judgements(path: Path) -> Iterator[tuple[str, str, float]]:
    header, rows = _table(path)
    is_graded = "grade" in header
    names = ["query", "document", "grade" if is_graded else "score"]
    if "query-id" in header:
        names = ["query-id", "corpus-id", "score"]
    for number, (query, document, value) in enumerate(_cells(path, header, rows, names), start=2):
        try:
            figure = float(value)
        except ValueError:
            raise InputError(f"{path} line {number:,}: {value!r} is not a number; expected a {names[2]}") from None
        gain = (WORST + 1 - figure if 1 <= figure <= WORST else 0.0) if is_graded else figure
        yield query, document, gain


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    """The names of the columns, and the rows."""
    if not path.is_file():
        raise InputError(f"no file {path}; a collection has documents, queries and relevance: see docs/evaluation.md")
    rows, _ = table_rows(path)
    if not rows:
        raise InputError(f"{path} is empty; expected a header line, then one record per line")
    return rows[0], rows[1:]


def _cells(path: Path, header: list[str], rows: list[list[str]], names: Sequence[str]) -> Iterator[list[str]]:
    """The cells of some columns."""
    if lacking := [name for name in names if name not in header]:
        raise InputError(f"{path} has no column {lacking[0]!r}; its columns are {', '.join(header)[:80]}")
    places = [header.index(name) for name in names]
    for number, cells in enumerate(rows, start=2):
        if len(cells) != len(header):
            raise InputError(f"{path} line {number:,} has {len(cells)} cells; expected {len(header)}")
        yield [cells[place].strip() for place in places]
