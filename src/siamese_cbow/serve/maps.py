"""Words or texts of one's own on a plane, with what the page has to know of each point."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.model.geometry import lengths, units
from siamese_cbow.model.model import Model
from siamese_cbow.serve.projection import project
from siamese_cbow.serve.requests import MapRequest
from siamese_cbow.serve.texts import folded

# Of a large vocabulary the first words (the, of, and) would spread over the whole map, and leave no room for the rest.
N_TOO_FREQUENT, LARGE = 100, 5_000
N_NEAR = 12  # neighbours of each word that is named for a map


def make_map(model: Model, asked: MapRequest) -> dict[str, Any]:
    """{"points": [{"label": "cat", "x": .1, "y": -.4, ...}], "shares": [.05, .03], "left_out": 0}."""
    if asked.texts is not None:
        rows = model.encode(asked.texts, normalize_embeddings=True, threads=1)
        known: NDArray[np.bool_] = np.any(rows, axis=1)
        plane, shares = project(rows[known], asked.method)
        labels = [text for text, is_known in zip(asked.texts, known.tolist(), strict=True) if is_known]
        points = [{"label": label, "x": x, "y": y} for label, (x, y) in zip(labels, plane.tolist(), strict=True)]
        return {"points": points, "shares": shares, "left_out": len(asked.texts) - len(labels)}
    ids, named = _chosen(model, asked)
    rows = model.rows.take(ids, 0)
    plane, shares = project(units(rows), asked.method)
    sizes = lengths(rows).tolist()
    points = [
        {"label": model.vocabulary.words[i], "x": x, "y": y, "norm": norm, "group": named.get(i)}
        for i, (x, y), norm in zip(ids, plane.tolist(), sizes, strict=True)
    ]
    return {"points": points, "shares": shares, "left_out": 0}


def _chosen(model: Model, asked: MapRequest) -> tuple[list[int], dict[int, str]]:
    """The words of a map: those named and their neighbours, each with the word it belongs to, and frequent ones."""
    named: dict[int, str] = {}
    for word in asked.words[:20]:
        word = folded(model, word)
        if word in model:
            named[model.vocabulary.index[word]] = word
            for near, _ in model.neighbours(word, N_NEAR):
                named.setdefault(model.vocabulary.index[near], word)
    ids = list(named)
    first = N_TOO_FREQUENT if len(model.vocabulary) >= LARGE else 0
    for i, word in enumerate(model.vocabulary.words[first : first + 4 * asked.n_words], start=first):
        if len(ids) >= asked.n_words:
            break
        if i not in named and re.search(r"[^\W\d_]", word):  # marks and numbers say little on a map
            ids.append(i)
    return ids or [0], named
