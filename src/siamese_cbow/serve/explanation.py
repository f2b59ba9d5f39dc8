"""Where the similarity of two texts comes from: the cosine of two sums is a sum over pairs of words.

    cos(a + b, c) = a·c / (|a + b| |c|)  +  b·c / (|a + b| |c|)

So each pair of words has a share, and the shares add up to the similarity, exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.errors import InputError
from siamese_cbow.model.model import Model

MOST_WORDS = 200  # of a text; more can't be looked at


def explain(model: Model, a: str, b: str) -> dict[str, Any]:
    """The words of both texts, the lengths of their vectors, and the share of each pair, (n_words_a, n_words_b).

    {"similarity": 0.5, "a": [{"word": "cat", "norm": 1.2}], "b": [...], "shares": [[0.5]]}; an unknown word has the
    norm None and no share, or else `counts_as`: the known word that it counts as.
    """
    words_a, rows_a = _words(model, a)
    words_b, rows_b = _words(model, b)
    shares = rows_a @ rows_b.T
    total = float(np.linalg.norm(rows_a.sum(axis=0)) * np.linalg.norm(rows_b.sum(axis=0)))
    shares = shares / total if total > 0 else np.zeros_like(shares)
    return {"similarity": float(shares.sum()), "a": words_a, "b": words_b, "shares": shares.tolist()}


def _words(model: Model, text: str) -> tuple[list[dict[str, Any]], NDArray[np.float64]]:
    words = model.tokenizer.words(text)
    if len(words) > MOST_WORDS:
        raise InputError(f"a text of {len(words):,} words; expected at most {MOST_WORDS} to explain")
    rows = np.zeros((len(words), model.dim))
    shown: list[dict[str, Any]] = []
    for row, word in zip(rows, words, strict=True):
        known = model.counts_as(word)
        shown.append({"word": word, "norm": None})
        if known is not None:
            row[:] = model.vector(known)
            shown[-1]["norm"] = float(np.linalg.norm(row))
        if known not in (None, word):
            shown[-1]["counts_as"] = known
    return shown, rows
