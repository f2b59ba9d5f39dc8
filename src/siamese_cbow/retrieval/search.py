"""Search: the rows of a text that match a query by words and by meaning, without an index.

search("a pet", "notes.txt", model=model, k=2)   ->   [Hit(6.1, "notes.txt", 12, "my cat sat"), Hit(4.0, ...)]

Nothing is kept between calls; for many queries over the same text, see `index`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from siamese_cbow.base.arrays import Vectors, thread_count
from siamese_cbow.base.option_fields import at_least_1, checked_value
from siamese_cbow.errors import InputError
from siamese_cbow.formats.resolver import open_model
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress, shown
from siamese_cbow.retrieval.fusion import Mode, Wanted
from siamese_cbow.retrieval.kept_text import KeptText
from siamese_cbow.retrieval.scoring import SearchedText, in_threads
from siamese_cbow.retrieval.terms import QueryWords, Term
from siamese_cbow.text.records import RawBlock, TextSettings, text_settings
from siamese_cbow.text.row_reader import Line, RowReader, Rows


@dataclass(frozen=True)
class Hit:
    """A row that matches a query: `Hit(6.1, "notes.txt", 12, "a cat sat")`.

    score    exact + meaning, each in units of its standard deviation over the collection; the cosine in a search by
             meaning alone, BM25 in a search by exact words alone
    source   the file, "standard input" or "the iterable"
    line     the number of the row in its source, from 1; `counted` is its unit: "line", or "record" in a table
    before   the rows before it, as many as requested; `after`: the rows after it
    exact    the part of the score that comes from words; `meaning`: the part that comes from vectors
    words    the query words that the row contains, in any form
    """

    score: float
    source: str
    line: int
    text: str
    before: tuple[Line, ...] = ()
    after: tuple[Line, ...] = ()
    exact: float = 0.0
    meaning: float = 0.0
    words: tuple[str, ...] = ()
    counted: Literal["line", "record"] = "line"


def search(
    query: str,
    inputs: Any,
    *,
    model: Model | str | None = None,
    k: int | None = 10,
    threshold: float | None = None,
    before: int = 0,
    after: int = 0,
    mode: Mode = "hybrid",
    text: TextSettings | None = None,
    threads: int | None = None,
    progress: Progress | bool = SILENT,
) -> list[Hit]:
    """The rows that match the query best, best first; ties go to the earlier row.

    inputs         a file, folder, glob, "-", a list of those, or `Texts([...])`
    model          a model or its name; by default the pretrained one
    k              number of hits; None: all that reach the threshold
    threshold      minimum score of a hit
    before, after  number of rows around a hit to return with it
    mode           "hybrid": exact words and meaning; or "exact" or "meaning" alone
    text           how text is read, and what a row is; by default a line, or a paragraph of wrapped text
    threads        by default all cores; the result does not depend on it
    progress       True shows a bar, in a terminal or a notebook
    """
    wanted, n_threads = Wanted(k, threshold, mode), thread_count(threads)
    check_context(before, after)
    model = open_model(model)
    terms = checked_terms(model, QueryWords(model), query, mode)
    kept = KeptText()
    with shown(progress, "reading", None, unit="B") as reporter:
        reader = RowReader.of(inputs, text_settings(text, unit="auto"), reporter.say)

        def rows_of(block: RawBlock) -> tuple[RawBlock, Rows]:
            return block, reader.rows(block)

        for block, rows in in_threads(rows_of, reader.blocks(), n_threads):
            kept.append(rows)
            reporter.advance(block.n_source_bytes)
        if not kept.n_rows:
            reporter.say("there is no text to search: the input is empty")
    if mode != "exact":  # exact search needs no vectors
        model.watch(map(kept.text, range(kept.n_rows)))
    best = SearchedText(model, kept, n_threads).best(query, terms, wanted)
    return [_hit(kept, *each, before, after, matched_words(model, terms, kept.text(each[0]))) for each in best]


def _hit(
    kept: KeptText, row: int, exact: float, meaning: float, before: int, after: int, words: tuple[str, ...]
) -> Hit:
    block, i = kept.place(row)
    rows = kept.block(block)
    context = kept.around(row, before, after)
    own = exact + meaning, rows.source, rows.number(i), rows.row(i)
    return Hit(*own, *context, exact, meaning, words, rows.counted)


def encoded_blocks(
    reader: RowReader, model: Model, threads: int | None, progress: Progress
) -> Iterator[tuple[Rows, Vectors]]:
    """The rows of each block and their vectors of length 1, (n_rows, dim); zeros for rows without a known word."""
    for rows in reader.row_blocks(progress):
        yield rows, model.encode(rows.texts(), normalize_embeddings=True, threads=threads)


def checked_terms(model: Model, words: QueryWords, query: str, mode: Mode) -> list[Term]:
    """The terms of a query; if there is nothing to search for, an error that says what to type."""
    if not isinstance(query, str):
        raise InputError(f"the query is {query!r:.60} ({type(query).__name__}); expected a string")
    if not query.strip():
        raise InputError("the query is empty; expected at least one word")
    terms = words.terms(query)
    has_vector = bool(model.encode(query).any())
    unknown = ", ".join(map(repr, model.unknown_words(query)[:5])) or "no words"
    if mode == "exact" and not terms:
        why = "only words that occur nearly everywhere" if has_vector else f"no word ({unknown})"
        raise InputError(f"the query {query!r:.80} has {why}; add a rarer word, or drop --exact")
    if mode == "meaning" and not has_vector:
        raise InputError(
            f"the query {query!r:.80} has no word the model knows ({unknown}); use other words, or drop "
            "--meaning to match them exactly"
        )
    if not terms and not has_vector:
        raise InputError(f"the query {query!r:.80} has no word to search for ({unknown}); use other words")
    return terms


def matched_words(model: Model, terms: list[Term], text: str) -> tuple[str, ...]:
    """The query words that a text contains, in the query's order: "loud guitars", "a guitar" -> ("guitars",)."""
    from siamese_cbow.words.unknown_words import key_of

    known = {word: model.vocabulary.id_of(word) for word in model.tokenizer.words(text)}
    ids = {i for i in known.values() if i is not None}
    keys = {key_of(word) for word, i in known.items() if i is None}
    return tuple(term.word for term in terms if ids.intersection(term.ids) or keys.intersection(term.keys))


def check_context(before: int, after: int) -> None:
    """Raise an error unless these are valid numbers of rows."""
    checked_value("before", before, int, at_least=0)
    checked_value("after", after, int, at_least=0)


class _Searchable(Protocol):
    model: Model

    def search(self, query: str, *, k: int | None = 10) -> list[Any]: ...

    def blocks(self) -> Iterator[Rows]: ...


def recall(index: _Searchable, n_queries: int, k: int, seed: int) -> dict[str, Any]:
    """The share of the true k best rows that an index finds, since its codes are approximate.

    Empty if no row has a word with a vector, because queries are made from rows.
    """
    n_queries, k = at_least_1("n_queries", n_queries), at_least_1("k", k)
    checked_value("seed", seed, int, at_least=0)
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
    """Queries: the first halves of random rows; fewer than n if few rows have known words."""
    rng, queries = np.random.default_rng(seed), list[str]()
    for row in rng.integers(0, text.n_rows, 20 * n).tolist() if text.n_rows else ():
        words = text.text(row).split()
        query = " ".join(words[: (len(words) + 1) // 2])
        if query and model.encode(query).any():
            queries.append(query)
        if len(queries) == n:
            break
    return queries
