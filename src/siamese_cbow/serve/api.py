"""The endpoints for programs: vectors, similarities, neighbours, search.

Each handler gets a record and returns a response. Quick work is done inline; anything that would block other requests
goes to a thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pybase64 import b64encode_as_string
from starlette.responses import Response

from siamese_cbow.base.arrays import Vectors, thread_count
from siamese_cbow.errors import InputError, counted
from siamese_cbow.model.geometry import cosines, paired_cosines
from siamese_cbow.model.model import Model
from siamese_cbow.retrieval.index import Index
from siamese_cbow.retrieval.search import Hit, search
from siamese_cbow.serve.bodies import Problem, json_response
from siamese_cbow.serve.middleware import Limits, Metrics
from siamese_cbow.serve.registry import Entry, Registry
from siamese_cbow.serve.schemas import EmbeddingsRequest, Endpoint, NeighboursRequest, SearchRequest, SimilarityRequest
from siamese_cbow.text.inputs import Texts

# Work off the event loop: short work in a thread pool, long work in its own thread, polled by the client.
#
# UMAP compiles itself on first use, which takes half a minute or more. No request waits that long, and neither does a
# server that is told to stop: threads of long work are daemons.

Result = TypeVar("Result")

PATIENCE = 4.0  # seconds a request waits for long work
MOST_KEPT, MOST_AT_ONCE = 16, 4


class Jobs:
    """`await jobs.run(work)` -> the result of `work()`; `await jobs.get(b"key", work)` -> that, or None if pending."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(thread_count(None), thread_name_prefix="siamese-cbow")
        self._long: dict[bytes, Future[Any]] = {}  # the oldest first
        self._one_at_a_time = threading.Lock()

    async def run(self, work: Callable[[], Result], *, is_quick: bool = False) -> Result:
        """The result of `work()`, called inline if it is quick and in a thread if not."""
        return work() if is_quick else await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def get(self, key: bytes, work: Callable[[], Any]) -> Any:
        """The result of the long work with this key, or None while it is pending; the first request starts it."""
        future = self._long.get(key)
        if future is None:
            if sum(not future.done() for future in self._long.values()) >= MOST_AT_ONCE:
                await asyncio.sleep(min(1.0, PATIENCE))  # slows down clients that poll without a pause
                return None
            future = self._begin(key, work)
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), PATIENCE)
        except TimeoutError:
            return None
        except Exception:
            self._long.pop(key, None)  # the next attempt may succeed
            raise

    def _begin(self, key: bytes, work: Callable[[], Any]) -> Future[Any]:
        for old in [old for old, future in self._long.items() if future.done()][: -MOST_KEPT + 1 or None]:
            del self._long[old]
        future: Future[Any] = Future()

        def run() -> None:
            with self._one_at_a_time:
                try:
                    future.set_result(work())
                except Exception as error:
                    future.set_exception(error)

        self._long[key] = future
        threading.Thread(target=run, name="long job", daemon=True).start()
        return future

    def close(self) -> None:
        """Drop work that has not started; let started work finish."""
        self._pool.shutdown(cancel_futures=True)


# Limits of an explained text; more would not be readable. Characters are checked first, as finding words takes time.
MOST_WORDS, MOST_CHARACTERS, MOST_UNKNOWN = 200, 20_000, 5  # an unknown word takes a scan of all known ones


class Api:
    """The endpoints over the models of one server."""

    def __init__(
        self, models: Registry, limits: Limits, metrics: Metrics, jobs: Jobs, index: Index | None = None
    ) -> None:
        self._models, self._limits, self._metrics, self._jobs, self._index = models, limits, metrics, jobs, index
        self.endpoints = [
            Endpoint("/v1/embeddings", self.embeddings, "Embeddings", EmbeddingsRequest),
            Endpoint("/similarity", self.similarity, "Similarity", SimilarityRequest),
            Endpoint("/neighbours", self.neighbours, "Neighbours", NeighboursRequest),
            Endpoint("/search", self.search, "Search", SearchRequest),
        ]

    async def embeddings(self, request: EmbeddingsRequest) -> Response:
        """Vectors of texts, in OpenAI's format."""
        entry = self._models[request.model]
        dim = request.dimensions or entry.embedder.dim
        if dim > entry.embedder.dim:
            expected = f"expected 1 to {entry.embedder.dim} for the model {entry.name!r}"
            raise Problem(400, f"dimensions is {dim}; {expected}", param="dimensions")
        texts, ids = self._inputs(request)

        def work() -> Response:
            if texts is not None:
                vectors, n_tokens = entry.embedder.texts(texts, dim=dim, normalize=request.normalize)
            else:
                vectors, n_tokens = entry.embedder.ids(ids, dim=dim, normalize=request.normalize)
            self._metrics.embedded(entry.name, len(vectors), n_tokens)
            return _embeddings(vectors, request.encoding_format == "base64", entry.name, n_tokens)

        size = sum(map(len, texts)) if texts is not None else 6 * sum(map(len, ids))
        return await self._jobs.run(work, is_quick=entry.embedder.is_quick(size))

    def _inputs(self, request: EmbeddingsRequest) -> tuple[list[str] | None, list[list[int]]]:
        """Texts, or else token ids: "a" -> ["a"]; [1, 2] -> [[1, 2]]."""
        inputs: Any = [request.input] if isinstance(request.input, str) else request.input
        kinds = set(map(type, inputs))
        if len(kinds) != 1:
            message = "input mixes types; expected only strings, only token ids, or only lists of them"
            raise Problem(400, message, param="input")
        if kinds == {int}:
            return None, [inputs]
        self._check_count(len(inputs), "input")
        return (inputs, []) if kinds == {str} else (None, inputs)

    def _check_count(self, n: int, param: str) -> None:
        if n > self._limits.max_inputs:
            message = f"{param} has {n:,} members; expected at most {self._limits.max_inputs:,} per request"
            raise Problem(400, message, param=param, code="too_many_inputs")

    def _vectors(self, entry: Entry, texts: Sequence[str]) -> Vectors:
        vectors, n_tokens = entry.embedder.texts(texts, dim=entry.embedder.dim, normalize=True)
        self._metrics.embedded(entry.name, len(texts), n_tokens)
        return vectors

    async def similarity(self, request: SimilarityRequest) -> Response:
        """How similar texts are, from -1 to 1."""
        entry = self._models[request.model]
        are_single = isinstance(request.a, str) and isinstance(request.b, str)
        if request.explain:
            if not are_single:
                raise Problem(400, "explain needs two texts; expected a string for a and for b", param="explain")
            return await self._explained(entry, str(request.a), str(request.b))
        a, b = ([texts] if isinstance(texts, str) else texts for texts in (request.a, request.b))
        self._check_count(len(a) + len(b), "a and b")
        if request.pairwise and len(a) != len(b):
            raise Problem(
                400, f"{counted(len(a), 'text')} against {len(b):,}; expected the same number on both sides", param="b"
            )

        def work() -> Response:
            rows = self._vectors(entry, [*a, *b])
            scores: Any = (paired_cosines if request.pairwise else cosines)(rows[: len(a)], rows[len(a) :])
            return json_response({"model": entry.name, "similarity": float(scores.flat[0]) if are_single else scores})

        is_quick = len(a) * len(b) <= 4096 and entry.embedder.is_quick(sum(map(len, [*a, *b])))
        return await self._jobs.run(work, is_quick=is_quick)

    async def _explained(self, entry: Entry, a: str, b: str) -> Response:
        longest = max(len(a), len(b))
        if longest > MOST_CHARACTERS:
            message = f"a text of {longest:,} characters; explain takes at most {MOST_CHARACTERS:,}"
            raise Problem(400, message, param="a" if len(a) == longest else "b")

        def work() -> Response:
            return json_response({"model": entry.name, **explain(entry.model, a, b)})

        return await self._jobs.run(work)

    async def neighbours(self, request: NeighboursRequest) -> Response:
        """The words nearest to a text, or to a sum of words."""
        entry = self._models[request.model]
        self._check_count(len(request.positive) + len(request.negative), "positive and negative")
        if (request.text is None) == (not request.positive and not request.negative):
            raise Problem(400, "expected either a text, or positive or negative words", param="text")
        nearest, unknown = await self._jobs.run(lambda: _nearest(entry.model, request))
        listed = [{"word": word, "cosine": cosine} for word, cosine in nearest]
        return json_response({"model": entry.name, "neighbours": listed, **({"unknown": unknown} if unknown else {})})

    async def search(self, request: SearchRequest) -> Response:
        """The texts that match a query, among those in the request or in the server's index.

        Scores depend on the whole collection: if a client sends it in pieces, their scores can't be compared.
        """
        entry = self._models[request.model]
        how: Any = {"k": request.k, "threshold": request.threshold, "mode": request.mode, "threads": 1}
        texts, index = request.texts, self._index
        if texts is None and index is None:
            raise Problem(400, "no texts; expected some, or a server with an index: serve --index DIR", param="texts")
        if texts is None and index is not None and request.model and entry.model is not index.model:
            raise Problem(400, f"the index was not built with {entry.name!r}; leave out `model`", param="model")

        def work() -> Response:
            told = {"unknown": unknown} if (unknown := _unknown(entry.model, request.query)) else {}
            if texts is not None:
                hits = search(request.query, Texts(texts), model=entry.model, **how)
                results = [{"index": hit.line - 1, "text": texts[hit.line - 1], **_reasons(hit)} for hit in hits]
                return json_response({"model": entry.name, "results": results, "stale": [], **told})
            assert index is not None
            hits = index.search(request.query, **how)
            results = [{"source": hit.source, hit.counted: hit.line, "text": hit.text, **_reasons(hit)} for hit in hits]
            return json_response({"model": entry.name, "results": results, "stale": index.stale()[:20], **told})

        return await self._jobs.run(work)


def _reasons(hit: Hit) -> dict[str, Any]:
    """The fields of a hit that explain it."""
    return {"score": hit.score, "exact": hit.exact, "meaning": hit.meaning, "words": list(hit.words)}


def _embeddings(vectors: Vectors, as_base64: bool, name: str, n_tokens: int) -> Response:
    """OpenAI's response. In base64, vectors are little-endian float32; its Python client requests these.

    Python's own `base64` would take half the time of a whole request, four times as long as pybase64.
    """
    rows: Any = [b64encode_as_string(row) for row in vectors.astype("<f4", copy=False)] if as_base64 else vectors
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
    usage = {"prompt_tokens": n_tokens, "total_tokens": n_tokens}
    return json_response({"object": "list", "data": data, "model": name, "usage": usage})


def _nearest(model: Model, request: NeighboursRequest) -> tuple[list[tuple[str, float]], list[dict[str, Any]]]:
    """The neighbours, and the unknown words of the request, as `explain` lists them."""
    how: Any = {"topn": request.k, "all_forms": request.all_forms}
    try:
        if request.text is not None:
            nearest = model.neighbours(folded(model, request.text), **how)
        else:
            plus, minus = (list(map(model.word_or_vector, words)) for words in (request.positive, request.negative))
            nearest = model.most_similar(plus, minus, **how)
    except InputError as error:
        raise Problem(404, str(error), code="unknown_word") from None
    return nearest, _unknown(model, " ".join([request.text or "", *request.positive, *request.negative]))


def _unknown(model: Model, text: str) -> list[dict[str, Any]]:
    """The unknown words of a text, as `explain` lists them; empty for a multilingual model."""
    words = [] if model.languages else model.unknown_words(text)[:MOST_UNKNOWN]
    return [_described(model, word)[0] for word in words]


def folded(model: Model, word: str) -> str:
    """A word as the model writes it: "Paris" -> "paris" for a lowercase model; a text stays as it is."""
    words = model.tokenizer.words(word) if word not in model else []
    return words[0] if len(words) == 1 else word


def explain(model: Model, a: str, b: str) -> dict[str, Any]:
    """How each pair of words contributes to the similarity of two texts: the cosine of two sums is a sum over pairs.

        cos(a + b, c) = a·c / (|a + b| |c|)  +  b·c / (|a + b| |c|)

    So each pair of words has a share, (n_words_a, n_words_b), and the shares add up to exactly the similarity:
    {"similarity": 0.5, "a": [{"word": "cat", "norm": 1.2}], "b": [...], "shares": [[0.5]]}. An unknown word has the
    norm None and no share, or `counts_as`, the known word it counts as, or `made_of`, a description for people.
    """
    words_a, rows_a = _words(model, a)
    words_b, rows_b = _words(model, b)
    shares = rows_a @ rows_b.T
    total = float(np.linalg.norm(rows_a.sum(axis=0)) * np.linalg.norm(rows_b.sum(axis=0)))
    shares = shares / total if total > 0 else np.zeros_like(shares)
    return {"similarity": float(shares.sum()), "a": words_a, "b": words_b, "shares": shares.tolist()}


def _words(model: Model, text: str) -> tuple[list[dict[str, Any]], NDArray[np.float64]]:
    """The words of a text as `explain` lists them, and their vectors, (n_words, dim)."""
    words = model.tokenizer.words(text)
    if len(words) > MOST_WORDS:
        raise InputError(f"a text of {len(words):,} words; explain takes at most {MOST_WORDS}")
    described = [_described(model, word) for word in words]
    rows = np.array([vector for _, vector in described]).reshape(len(words), model.dim)
    return [record for record, _ in described], rows


def _described(model: Model, word: str) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """A word as `explain` lists it, and its vector, (dim,)."""
    known, vector = model.counts_as(word), model.word_row(word)
    if vector is None:
        return {"word": word, "norm": None}, np.zeros(model.dim)
    row = vector.astype(np.float64)
    record = {"word": word, "norm": float(np.linalg.norm(row))}
    origin = {"made_of": model.made_of(word)} if known is None else {"counts_as": known} if known != word else {}
    return record | origin, row
