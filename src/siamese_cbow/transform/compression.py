"""Smaller models: fewer words, fewer dimensions, fewer bits, in this order.

    163,771 words x 300 x float32   197 MB
    163,771 words x 200 x int4       17 MB     what that costs: results/compress.md

Roads not taken: product quantisation, cutting without a rotation, other weights for the rotation. They are measured by
`benchmarks/compress.py` beside what is done here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts, Vectors
from siamese_cbow.errors import SettingsError
from siamese_cbow.model.info import without_scores
from siamese_cbow.model.packed_rows import Dtype, PackedRows, packed
from siamese_cbow.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from siamese_cbow.model.model import Model

ROWS_AT_A_TIME = 8_192


def compress(model: Model, dtype: Dtype | None = None, *, dim: int | None = None, words: int | None = None) -> Model:
    """A new model that is smaller; its info says how, and what it was before.

    What is kept for undoing a post-processing stays behind: it is of the whole model.
    """
    from siamese_cbow.model.model import Model

    if dtype is not None and dtype not in get_args(Dtype):
        raise SettingsError(f"dtype is {dtype!r}; expected one of {', '.join(get_args(Dtype))}")
    for name, value, most in (("dim", dim, model.dim), ("words", words, len(model.vocabulary))):
        if value is not None and not 1 <= value <= most:
            raise SettingsError(f"{name} is {value}; expected 1 to {most:,}, what the model has")
    kept = most_frequent(model.vocabulary.counts, words)
    rows = model.rows if words is None else _some(model, kept)
    if dim is not None and dim < model.dim:
        # Estimated on the words that stay: the others no longer matter.
        rows = rotated(_unpacked(rows), dim)
    if dtype not in (None, model.dtype) or not isinstance(rows, PackedRows):
        rows = packed(_unpacked(rows), dtype or model.dtype)
    vocabulary = model.vocabulary if words is None else _part(model.vocabulary, kept)
    before = model.info.get("compression") or {
        "from_dtype": model.dtype, "from_dim": model.dim, "from_words": len(model.vocabulary),
    }  # fmt: skip
    now = {"dtype": dtype or model.dtype, "dim": dim or model.dim, "words": len(vocabulary)}
    info = {**without_scores(model.info), "compression": {**before, **now}}
    return Model(vocabulary, rows, model.tokenizer, info)


def most_frequent(counts: NDArray[np.int64], n: int | None) -> NDArray[np.int64]:
    """The ids of the n words with the highest counts, in their order: counts [5, 1, 5, 3], n 3 -> [0, 2, 3]."""
    return np.sort(np.argsort(-counts, kind="stable")[:n])


def rotated(vectors: Vectors, dim: int, counts: Counts | None = None) -> Vectors:
    """The rows, turned so that the first dimensions carry most, and cut after `dim` of them.

    counts  how much each word matters. Without them all matter the same, which `compress` wants: results/compress.md
    """
    gram = np.zeros((vectors.shape[1],) * 2)
    for start in range(0, len(vectors), ROWS_AT_A_TIME):
        rows = vectors[start : start + ROWS_AT_A_TIME].astype(np.float64)
        gram += rows.T @ (rows if counts is None else rows * counts[start : start + ROWS_AT_A_TIME, None])
    directions = np.linalg.eigh(gram)[1][:, ::-1][:, :dim]
    # An eigenvector may come with either sign; this makes the result one and the same on every machine.
    largest = np.abs(directions).argmax(axis=0)
    directions = directions * np.sign(directions[largest, np.arange(dim)])
    turned = np.empty((len(vectors), dim), np.float32)
    for start in range(0, len(vectors), ROWS_AT_A_TIME):
        part = slice(start, start + ROWS_AT_A_TIME)
        turned[part] = vectors[part].astype(np.float64) @ directions
    return turned


def _unpacked(rows: Vectors | PackedRows) -> Vectors:
    return rows.unpacked if isinstance(rows, PackedRows) else rows


def _some(model: Model, ids: NDArray[np.int64]) -> Vectors | PackedRows:
    return model.rows.part(ids) if isinstance(model.rows, PackedRows) else model.rows[ids]


def _part(vocabulary: Vocabulary, ids: NDArray[np.int64]) -> Vocabulary:
    words = [vocabulary.words[i] for i in ids.tolist()]
    return Vocabulary(words, vocabulary.counts[ids], vocabulary.languages)
