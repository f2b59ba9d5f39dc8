"""How many of the true best rows an index finds: it selects rows by codes, which are not exact."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from siamese_cbow.base.arrays import thread_count
from siamese_cbow.model.model import Model
from siamese_cbow.retrieval.fusion import Wanted
from siamese_cbow.retrieval.kept_text import KeptText
from siamese_cbow.retrieval.scoring import SearchedText
from siamese_cbow.retrieval.terms import QueryWords
from siamese_cbow.text.row_reader import Rows


class _Searchable(Protocol):
    model: Model

    def search(self, query: str, *, k: int | None = 10) -> list[Any]: ...

    def blocks(self) -> Iterator[Rows]: ...


def recall(index: _Searchable, n_queries: int, k: int, seed: int) -> dict[str, Any]:
    """The share of the k best rows that a search finds; nothing for an index without words."""
    kept = KeptText()
    for rows in index.blocks():
        kept.append(rows)
    queries = some_queries(index.model, kept, n_queries, seed)
    if not queries:
        return {}
    collection, words = SearchedText(index.model, kept, thread_count(None)), QueryWords(index.model)
    n_found, n_wanted, seconds = 0, 0, list[float]()
    for query in queries:
        began = time.perf_counter()
        mine = [hit.score for hit in index.search(query, k=k)]
        seconds.append(time.perf_counter() - began)
        true = [exact + meaning for _, exact, meaning in collection.best(query, words.terms(query), Wanted(k))]
        n_wanted += len(true)
        n_found += sum(score >= true[-1] - 1e-4 for score in mine)
    return {
        "recall": round(n_found / max(1, n_wanted), 4),
        "k": k,
        "n_queries": len(queries),
        "n_rows": kept.n_rows,
        "milliseconds": round(float(np.median(seconds)) * 1e3, 2),
    }


def some_queries(model: Model, text: KeptText, n: int, seed: int) -> list[str]:
    """The first halves of random rows; fewer if there are few rows with known words."""
    rng, queries = np.random.default_rng(seed), list[str]()
    for row in rng.integers(0, text.n_rows, 20 * n).tolist() if text.n_rows else ():
        words = text.text(row).split()
        query = " ".join(words[: (len(words) + 1) // 2])
        if query and model.encode(query).any():
            queries.append(query)
        if len(queries) == n:
            break
    return queries
