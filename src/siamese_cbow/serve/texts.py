"""The endpoints for programs: vectors, similarities, neighbours, search.

Each reads a record, works, and answers. Little work is done on the spot; anything that others would have to wait for
goes to a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import numpy as np
from pybase64 import b64encode_as_string
from starlette.requests import Request
from starlette.responses import Response

from siamese_cbow.base.arrays import Vectors, thread_count
from siamese_cbow.errors import InputError
from siamese_cbow.model.geometry import cosines, paired_cosines
from siamese_cbow.model.model import Model
from siamese_cbow.serve.bodies import Reader
from siamese_cbow.serve.explanation import explain
from siamese_cbow.serve.limits import Limits
from siamese_cbow.serve.metrics import Metrics
from siamese_cbow.serve.problems import Problem, json_response
from siamese_cbow.serve.requests import EmbeddingsRequest, NeighboursRequest, SearchRequest, SimilarityRequest
from siamese_cbow.serve.shelf import Entry, Shelf

Result = TypeVar("Result")


class Texts:
    """The endpoints over one shelf of models."""

    def __init__(self, shelf: Shelf, limits: Limits, metrics: Metrics) -> None:
        self._shelf, self._limits, self._metrics = shelf, limits, metrics
        self._read_embeddings = Reader(EmbeddingsRequest, limits)
        self._read_similarity = Reader(SimilarityRequest, limits)
        self._read_neighbours = Reader(NeighboursRequest, limits)
        self._read_search = Reader(SearchRequest, limits)
        self.pool = ThreadPoolExecutor(thread_count(None), thread_name_prefix="siamese-cbow")

    async def run(self, quick: bool, work: Callable[[], Result]) -> Result:
        """The result of some work, done here if it is quick and in a thread if not."""
        return work() if quick else await asyncio.get_running_loop().run_in_executor(self.pool, work)

    async def embeddings(self, request: Request) -> Response:
        """`POST /v1/embeddings`."""
        asked = cast(EmbeddingsRequest, await self._read_embeddings(request))
        entry = self._shelf[asked.model]
        dim = asked.dimensions or entry.embedder.dim
        if dim > entry.embedder.dim:
            expected = f"expected 1 to {entry.embedder.dim} for the model {entry.name!r}"
            raise Problem(400, f"dimensions is {dim}; {expected}", param="dimensions")
        texts, ids = self._inputs(asked)

        def work() -> Response:
            if texts is not None:
                vectors, n_tokens = entry.embedder.texts(texts, dim=dim, normalize=asked.normalize)
            else:
                vectors, n_tokens = entry.embedder.ids(ids, dim=dim, normalize=asked.normalize)
            self._metrics.embedded(entry.name, len(vectors), n_tokens)
            return _embeddings(vectors, asked.encoding_format == "base64", entry.name, n_tokens)

        size = sum(map(len, texts)) if texts is not None else 6 * sum(map(len, ids))
        return await self.run(entry.embedder.is_quick(size), work)

    def _inputs(self, asked: EmbeddingsRequest) -> tuple[list[str] | None, list[list[int]]]:
        """Texts, or else token ids: "a" -> ["a"]; [1, 2] -> [[1, 2]]."""
        given: Any = [asked.input] if isinstance(asked.input, str) else asked.input
        kinds = set(map(type, given))
        if len(kinds) != 1:
            message = "input has members of several kinds; expected only strings, only token ids, or only lists of them"
            raise Problem(400, message, param="input")
        if kinds == {int}:
            return None, [given]
        self._check_count(len(given), "input")
        return (given, []) if kinds == {str} else (None, given)

    def _check_count(self, n: int, param: str) -> None:
        if n > self._limits.max_inputs:
            message = f"{param} has {n:,} members; expected at most {self._limits.max_inputs:,} in a request"
            raise Problem(400, message, param=param, code="too_many_inputs")

    def _vectors(self, entry: Entry, texts: Sequence[str]) -> Vectors:
        vectors, n_tokens = entry.embedder.texts(texts, dim=entry.embedder.dim, normalize=True)
        self._metrics.embedded(entry.name, len(texts), n_tokens)
        return vectors

    async def similarity(self, request: Request) -> Response:
        """`POST /similarity`."""
        asked = cast(SimilarityRequest, await self._read_similarity(request))
        entry = self._shelf[asked.model]
        if asked.explain:
            if not (isinstance(asked.a, str) and isinstance(asked.b, str)):
                raise Problem(400, "explain is for two texts; expected a string for a and for b", param="explain")
            return json_response({"model": entry.name, **explain(entry.model, asked.a, asked.b)})
        a, b = ([one] if isinstance(one, str) else one for one in (asked.a, asked.b))
        self._check_count(len(a) + len(b), "a and b")
        if asked.pairwise and len(a) != len(b):
            raise Problem(400, f"{len(a)} texts against {len(b)}; expected as many on either side", param="b")

        def work() -> Response:
            rows = self._vectors(entry, [*a, *b])
            found: Any = (paired_cosines if asked.pairwise else cosines)(rows[: len(a)], rows[len(a) :])
            if isinstance(asked.a, str) and isinstance(asked.b, str):
                found = float(found.flat[0])
            return json_response({"model": entry.name, "similarity": found})

        return await self.run(len(a) * len(b) <= 4096 and entry.embedder.is_quick(sum(map(len, [*a, *b]))), work)

    async def neighbours(self, request: Request) -> Response:
        """`POST /neighbours`."""
        asked = cast(NeighboursRequest, await self._read_neighbours(request))
        entry = self._shelf[asked.model]
        self._check_count(len(asked.positive) + len(asked.negative), "positive and negative")
        if (asked.text is None) == (not asked.positive and not asked.negative):
            raise Problem(400, "expected either a text, or positive or negative words", param="text")
        near = await self.run(False, lambda: _near(entry.model, asked))
        return json_response(
            {"model": entry.name, "neighbours": [{"word": word, "cosine": cosine} for word, cosine in near]}
        )

    async def search(self, request: Request) -> Response:
        """`POST /search`."""
        asked = cast(SearchRequest, await self._read_search(request))
        entry = self._shelf[asked.model]
        self._check_count(len(asked.texts), "texts")

        def work() -> Response:
            rows = self._vectors(entry, [asked.query, *asked.texts])
            scores = cosines(rows[:1], rows[1:])[0]
            worth = rows[1:].any(axis=1) & (scores >= (-1.0 if asked.threshold is None else asked.threshold))
            best = [i for i in np.argsort(-scores, kind="stable").tolist() if worth[i]][: asked.k]
            found = [{"index": i, "score": float(scores[i]), "text": asked.texts[i]} for i in best]
            return json_response({"model": entry.name, "results": found})

        return await self.run(entry.embedder.is_quick(sum(map(len, asked.texts))), work)


def _embeddings(vectors: Vectors, packed: bool, name: str, n_tokens: int) -> Response:
    """OpenAI's answer. Packed vectors are little-endian float32 in base64; its Python client asks for these.

    Python's own `base64` would take half of the time of a whole request, four times as long as pybase64.
    """
    rows: Any = [b64encode_as_string(row) for row in vectors.astype("<f4", copy=False)] if packed else vectors
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
    usage = {"prompt_tokens": n_tokens, "total_tokens": n_tokens}
    return json_response({"object": "list", "data": data, "model": name, "usage": usage})


def _near(model: Model, asked: NeighboursRequest) -> list[tuple[str, float]]:
    try:
        if asked.text is not None:
            return model.neighbours(folded(model, asked.text), asked.k)
        plus, minus = ([folded(model, word) for word in words] for words in (asked.positive, asked.negative))
        return model.most_similar(plus, minus, topn=asked.k)
    except InputError as error:
        raise Problem(404, str(error), code="unknown_word") from None


def folded(model: Model, word: str) -> str:
    """A word as the model writes it: "Paris" -> "paris" for a model of lower case; a text is left as it is."""
    words = model.tokenizer.words(word) if word not in model else []
    return words[0] if len(words) == 1 else word
