"""The endpoints of the page: a map of words or texts, the lengths of vectors by frequency, more models.

Vectors are projected onto a plane by principal components in NumPy, or by UMAP if it is installed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from siamese_cbow.base.arrays import Floats, Vectors
from siamese_cbow.errors import InputError, MissingExtra, counted, needs
from siamese_cbow.model.geometry import lengths, pca, units
from siamese_cbow.model.model import Model
from siamese_cbow.retrieval.index import Index
from siamese_cbow.serve.api import Jobs, folded
from siamese_cbow.serve.bodies import Problem, json_response
from siamese_cbow.serve.middleware import Limits
from siamese_cbow.serve.registry import Registry
from siamese_cbow.serve.schemas import STRING, Endpoint, LoadRequest, MapRequest, listed

# In a large vocabulary, the first words (the, of, and) would spread over the whole map and leave no room for the rest.
N_TOO_FREQUENT, LARGE = 100, 5_000
N_NEAR = 12  # neighbours of each word named for a map
MOST_NAMED = 20  # words with neighbours on a map: more would hide each other

N_DOTS = 1500  # dots in the chart of norms: more would overlap
N_BINS = 24
N_FREQUENT = 10_000  # extremes come from these: rare words have hardly moved from their random initialisation
N_EXTREMES = 12
MOST_MAPS = 16  # cached
FEWEST_FOR_UMAP = 5


class Explorer:
    """The endpoints over the models of one server."""

    def __init__(self, models: Registry, limits: Limits, jobs: Jobs, index: Index | None = None) -> None:
        self._models, self._limits, self._jobs, self._index = models, limits, jobs, index
        self._norms: dict[str, dict[str, Any]] = {}
        self._maps: dict[bytes, dict[str, Any]] = {}  # of words; texts of users are not kept
        query = [{"name": "model", "schema": STRING}, {"name": "word", "schema": listed(STRING)}]
        self.endpoints = [
            Endpoint("/explore/map", self.map, "Map", MapRequest, may_take_long=True),
            Endpoint("/explore/norms", self.norms, "Norms", query=query),
            Endpoint("/explore/settings", self.settings, "Settings"),
            Endpoint("/explore/load", self.load, "Models", LoadRequest),
        ]

    async def map(self, request: MapRequest) -> Response:
        """Words or texts on a plane."""
        entry = self._models[request.model]
        n = len(request.texts or request.words)
        if n > self._limits.max_inputs:
            raise Problem(400, f"{n:,} points; expected at most {self._limits.max_inputs:,}", param="texts")

        def work() -> dict[str, Any]:
            return make_map(entry.model, request)

        key = msgspec.json.encode(request)
        try:
            if request.method == "umap":
                drawn = await self._jobs.get(key, work)
            else:
                drawn = self._maps.get(key) or await self._jobs.run(work)
        except MissingExtra as error:
            raise Problem(400, str(error), param="method", code="missing_extra") from None
        except InputError as error:
            raise Problem(400, str(error), param="method") from None
        if drawn is None:
            return json_response(
                {"status": "the result is not ready yet; send the same request again"},
                202,
                headers={"retry-after": "1"},
            )
        if request.texts is None:
            self._maps[key] = drawn
            self._maps = dict(list(self._maps.items())[-MOST_MAPS:])
        return json_response({"model": entry.name, **drawn})

    async def norms(self, request: Request) -> Response:
        """Lengths of vectors by frequency."""
        entry = self._models[request.query_params.get("model")]
        if entry.name not in self._norms:
            self._norms[entry.name] = await self._jobs.run(lambda: norms(entry.model))
        words = request.query_params.getlist("word")[: self._limits.max_inputs]
        return json_response({"model": entry.name, **self._norms[entry.name], "found": norms_of(entry.model, words)})

    async def settings(self, _: Request) -> Response:
        """Settings for the page."""
        methods = ["pca", "umap"] if find_spec("umap") else ["pca"]
        limits = {"max_inputs": self._limits.max_inputs, "max_bytes": self._limits.max_bytes}
        index = self._index and {"name": self._index.folder.resolve().name, "n_rows": len(self._index)}
        loadable = await self._jobs.run(lambda: self._models.loadable)
        return json_response({"methods": methods, **limits, "loadable": loadable, "index": index})

    async def load(self, request: LoadRequest) -> Response:
        """Load a model from the folder of the server, and list all models."""
        await self._jobs.run(lambda: self._models.load(request.name))
        return json_response({"object": "list", "data": [entry.described for entry in self._models]})


def make_map(model: Model, request: MapRequest) -> dict[str, Any]:
    """{"points": [{"label": "cat", "x": .1, "y": -.4, ...}], "shares": [.05, .03], "left_out": 0}."""
    if request.texts is not None:
        rows = model.encode(request.texts, normalize_embeddings=True, threads=1)
        known: NDArray[np.bool_] = np.any(rows, axis=1)
        plane, shares = project(rows[known], request.method)
        labels = [text for text, is_known in zip(request.texts, known.tolist(), strict=True) if is_known]
        points = [{"label": label, "x": x, "y": y} for label, (x, y) in zip(labels, plane.tolist(), strict=True)]
        return {"points": points, "shares": shares, "left_out": len(request.texts) - len(labels)}
    ids, groups, lacking = _words_of_map(model, request)
    rows = model.rows.take(ids, 0)
    plane, shares = project(units(rows), request.method)
    points = [
        {"label": model.vocabulary.words[i], "x": x, "y": y, "norm": norm, "group": groups.get(i)}
        for i, (x, y), norm in zip(ids, plane.tolist(), lengths(rows).tolist(), strict=True)
    ]
    return {"points": points, "shares": shares, "left_out": len(lacking), "lacking": lacking}


def _words_of_map(model: Model, request: MapRequest) -> tuple[list[int], dict[int, str], list[str]]:
    """The words of a map: the named ones and their neighbours, each with the word it belongs to, and frequent ones.

    The last item lists the named words that are not on the map: unknown words, and those after the first MOST_NAMED.
    """
    groups: dict[int, str] = {}
    lacking = request.words[MOST_NAMED:]
    for word in request.words[:MOST_NAMED]:
        word = folded(model, word)
        if word not in model:
            lacking.append(word)
        else:
            groups[model.vocabulary.index[word]] = word
            for near, _ in model.neighbours(word, N_NEAR):
                groups.setdefault(model.vocabulary.index[near], word)
    ids = list(groups)
    first = N_TOO_FREQUENT if len(model.vocabulary) >= LARGE else 0
    for i, word in enumerate(model.vocabulary.words[first : first + 4 * request.n_words], start=first):
        if len(ids) >= request.n_words:
            break
        if i not in groups and re.search(r"[^\W\d_]", word):  # punctuation and numbers say little on a map
            ids.append(i)
    return ids or [0], groups, lacking


def project(vectors: Vectors, method: Literal["pca", "umap"]) -> tuple[Floats, list[float] | None]:
    """Rows (n, dim) projected onto a plane (n, 2), from -1 to 1, and each axis's share of the variance (PCA only)."""
    if not len(vectors):
        return np.zeros((0, 2)), None
    plane, shares = (umap(vectors), None) if method == "umap" else pca(vectors)
    reach = np.abs(plane).max(initial=0.0)
    return (plane / reach if reach > 0 else plane), shares


def umap(vectors: Vectors) -> Floats:
    """Rows on a plane that preserves neighbourhoods; deterministic."""
    with needs("umap-learn", "umap"):
        from umap import UMAP
    if len(vectors) < FEWEST_FOR_UMAP:
        few = counted(len(vectors), "point")
        raise InputError(f"{few}; UMAP needs at least {FEWEST_FOR_UMAP}, principal components any number")
    reducer = UMAP(n_neighbors=min(15, len(vectors) - 1), metric="cosine", random_state=1, n_jobs=1, init="pca")
    plane = np.asarray(reducer.fit_transform(vectors), np.float64)
    centred: Floats = plane - (plane.max(axis=0) + plane.min(axis=0)) / 2
    return centred


def norms(model: Model) -> dict[str, Any]:
    """Lengths of vectors by frequency: some words, quantiles of all, and the extremes among frequent words.

    If a model has no counts, the rank replaces the frequency.
    """
    sizes, at, words = lengths(model.vectors), _places(model), model.vocabulary.words
    order = np.argsort(sizes[:N_FREQUENT], kind="stable").tolist()

    def dots(ids: Sequence[int]) -> list[dict[str, Any]]:
        return [{"word": words[i], "at": float(at[i]), "norm": float(sizes[i])} for i in ids]

    ranks = np.unique(np.geomspace(1, len(sizes), N_DOTS).astype(int)) - 1  # evenly spaced on a logarithmic axis
    return {
        "axis": "count" if model.vocabulary.counts.any() else "rank",
        "dots": dots(ranks.tolist()),
        "bins": _quantiles(at, sizes),
        "shortest": dots(order[:N_EXTREMES]),
        "longest": dots(order[::-1][:N_EXTREMES]),
    }


def norms_of(model: Model, names: Sequence[str]) -> list[dict[str, Any]]:
    """The positions of some words among all: ["The", "blorf"] -> [{"word": "the", "at": 61012.0, "norm": 0.3}]."""
    words = [word for word in dict.fromkeys(folded(model, name) for name in names) if word in model]
    ids = [model.vocabulary.index[word] for word in words]
    at, sizes = _places(model)[ids].tolist(), lengths(model.rows.take(ids, 0)).tolist()
    return [{"word": word, "at": x, "norm": norm} for word, x, norm in zip(words, at, sizes, strict=True)]


def _places(model: Model) -> Floats:
    """The count of each word; without counts, its rank in the vocabulary, from 1."""
    counts = model.vocabulary.counts
    if not counts.any():
        return np.arange(1, len(counts) + 1, dtype=np.float64)
    return np.maximum(counts, 1).astype(np.float64)


def _quantiles(at: Floats, sizes: Floats) -> list[dict[str, float]]:
    """The 10%, 50% and 90% quantiles of the length, in bins of equal width on a logarithmic axis."""
    edges = np.geomspace(at.min(), max(at.max(), at.min() + 1), N_BINS + 1)
    which = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, N_BINS - 1)
    bins = []
    for i in range(N_BINS):
        inside = sizes[which == i]
        if len(inside):
            low, middle, high = np.quantile(inside, [0.1, 0.5, 0.9]).tolist()
            centre = float(np.sqrt(edges[i] * edges[i + 1]))
            bins.append({"at": centre, "low": low, "middle": middle, "high": high, "n": len(inside)})
    return bins
