"""The endpoints of the page: a map of words or texts, and the lengths of vectors by frequency."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from siamese_cbow.errors import InputError, MissingExtra
from siamese_cbow.model.geometry import lengths
from siamese_cbow.model.model import Model
from siamese_cbow.serve.bodies import Reader
from siamese_cbow.serve.desk import Desk
from siamese_cbow.serve.limits import Limits
from siamese_cbow.serve.maps import make_map
from siamese_cbow.serve.problems import Problem, json_response
from siamese_cbow.serve.requests import MapRequest
from siamese_cbow.serve.shelf import Shelf
from siamese_cbow.serve.texts import Texts, folded

N_DOTS = 1500  # of the picture of norms: more hide each other
N_BINS = 24
N_FREQUENT = 10_000  # rare words have hardly left their random start, so the extremes are looked for among these
N_EXTREMES = 12


class Explorer:
    """The endpoints of the page over one shelf of models."""

    def __init__(self, shelf: Shelf, limits: Limits, texts: Texts) -> None:
        self._shelf, self._limits, self._texts = shelf, limits, texts
        self._read_map = Reader(MapRequest, limits)
        self._desk = Desk()
        self._norms: dict[str, dict[str, Any]] = {}

    async def map(self, request: Request) -> Response:
        """`POST /explore/map`; 202 while the map is being made."""
        asked = cast(MapRequest, await self._read_map(request))
        model = self._shelf[asked.model].model
        n = len(asked.texts or asked.words)
        if n > self._limits.max_inputs:
            raise Problem(400, f"{n:,} points; expected at most {self._limits.max_inputs:,}", param="texts")
        try:
            if asked.method == "umap":
                content = await self._desk.get(msgspec.json.encode(asked), lambda: make_map(model, asked))
            else:
                content = await self._texts.run(False, lambda: make_map(model, asked))
        except MissingExtra as error:
            raise Problem(400, str(error), param="method", code="missing_extra") from None
        except InputError as error:
            raise Problem(400, str(error), param="method") from None
        if content is None:
            return json_response({"status": "still working; ask again"}, 202, headers={"retry-after": "1"})
        return json_response({"model": self._shelf[asked.model].name, **content})

    async def norms(self, request: Request) -> Response:
        """`GET /explore/norms?model=NAME&word=WORD&word=...`; but for the words, worked out once for each model."""
        entry = self._shelf[request.query_params.get("model")]
        if entry.name not in self._norms:
            self._norms[entry.name] = await self._texts.run(False, lambda: norms(entry.model))
        asked = request.query_params.getlist("word")[: self._limits.max_inputs]
        return json_response({"model": entry.name, **self._norms[entry.name], "found": found_norms(entry.model, asked)})

    async def settings(self, _: Request) -> Response:
        """`GET /explore/settings`: what the page has to know of the server."""
        methods = ["pca", "umap"] if find_spec("umap") else ["pca"]
        limits = {"max_inputs": self._limits.max_inputs, "max_bytes": self._limits.max_bytes}
        return json_response({"methods": methods, **limits})


def norms(model: Model) -> dict[str, Any]:
    """Lengths of vectors by frequency: some words, quantiles of all, and the extremes among frequent words.

    Without counts, the rank takes the place of the frequency.
    """
    sizes, at, words = lengths(model.vectors), _places(model), model.vocabulary.words
    order = np.argsort(sizes[:N_FREQUENT], kind="stable").tolist()

    def shown(i: int) -> dict[str, Any]:
        return {"word": words[i], "at": float(at[i]), "norm": float(sizes[i])}

    ranks = np.unique(np.geomspace(1, len(sizes), N_DOTS).astype(int)) - 1  # as many rare words as frequent ones
    return {
        "axis": "count" if model.vocabulary.counts.any() else "rank",
        "dots": [shown(i) for i in ranks.tolist()],
        "bins": _quantiles(at, sizes),
        "shortest": [shown(i) for i in order[:N_EXTREMES]],
        "longest": [shown(i) for i in order[::-1][:N_EXTREMES]],
    }


def found_norms(model: Model, asked: Sequence[str]) -> list[dict[str, Any]]:
    """Where some words stand among all: ["The", "blorf"] -> [{"word": "the", "at": 61012.0, "norm": 0.3}]."""
    words = [word for word in dict.fromkeys(folded(model, one) for one in asked) if word in model]
    ids = [model.vocabulary.index[word] for word in words]
    at, sizes = _places(model)[ids].tolist(), lengths(model.rows.take(ids, 0)).tolist()
    return [{"word": word, "at": x, "norm": norm} for word, x, norm in zip(words, at, sizes, strict=True)]


def _places(model: Model) -> NDArray[np.float64]:
    """How often each word was seen; where nobody counted, its place in the vocabulary, from 1."""
    counts = model.vocabulary.counts
    if not counts.any():
        return np.arange(1, len(counts) + 1, dtype=np.float64)
    return np.maximum(counts, 1).astype(np.float64)


def _quantiles(at: NDArray[np.float64], sizes: NDArray[np.float64]) -> list[dict[str, float]]:
    """The tenth, the middle and the ninth of ten words by length, in bins of equal width on a logarithmic axis."""
    edges = np.geomspace(at.min(), max(at.max(), at.min() + 1), N_BINS + 1)
    which = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, N_BINS - 1)
    found = []
    for i in range(N_BINS):
        inside = sizes[which == i]
        if len(inside):
            low, middle, high = np.quantile(inside, [0.1, 0.5, 0.9]).tolist()
            centre = float(np.sqrt(edges[i] * edges[i + 1]))
            found.append({"at": centre, "low": low, "middle": middle, "high": high, "n": len(inside)})
    return found
