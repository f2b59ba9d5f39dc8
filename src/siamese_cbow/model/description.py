"""What there is to say of a model, as plain values: for `siamese-cbow info`, and for whoever compares models."""

from __future__ import annotations

from typing import Any

import numpy as np

from siamese_cbow.model.geometry import lengths
from siamese_cbow.model.model import Model

N_FREQUENT = 10


def describe(model: Model) -> dict[str, Any]:
    """Size, tokenizer, most frequent words, lengths of the vectors, and the model's info.

    `describe(model)["n_words"]` -> 50000; `describe(model)["frequent"]` -> {"the": 61012, "of": 30418, ...}
    """
    sizes = lengths(model.vectors)
    counts = model.vocabulary.counts
    return {
        "n_words": len(model.vocabulary),
        "dim": model.dim,
        "dtype": model.dtype,
        "megabytes": round(model.rows.nbytes / 1e6, 1),
        "tokenizer": model.tokenizer.settings(),
        "n_counted": int(counts.sum()),
        "frequent": model.vocabulary.frequent(N_FREQUENT),
        "norms": {
            "min": _short(sizes.min()),
            "median": _short(np.median(sizes)),
            "max": _short(sizes.max()),
            "zero": int((sizes == 0).sum()),
        },
        **model.info,
    }


def _short(number: float) -> float:
    return float(f"{number:.4g}")
