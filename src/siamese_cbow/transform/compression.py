"""Smaller models: fewer words, fewer dimensions, fewer bits, in this order.

    163,771 words x 300 x float32   197 MB
    163,771 words x 200 x int4       17 MB     what that costs: results/compress.md

Roads not taken: product quantisation, cutting without a rotation, other weights for the rotation. They are measured by
`benchmarks/compress.py` beside what is done here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts, Vectors
from siamese_cbow.errors import SettingsError
from siamese_cbow.model.geometry import blocks, gram_of, one_thread, strongest, with_signs
from siamese_cbow.model.model import Model
from siamese_cbow.model.packed_rows import Dtype, PackedRows, as_array, packed
from siamese_cbow.words.vocabulary import Vocabulary


def compress(model: Model, dtype: Dtype | None = None, *, dim: int | None = None, words: int | None = None) -> Model:
    """A new model that is smaller; its info says what it was before the first time.

    What is kept for undoing a post-processing stays behind: it is of the whole model.
    """
    if dtype is not None and dtype not in get_args(Dtype):
        raise SettingsError(f"dtype is {dtype!r}; expected one of {', '.join(get_args(Dtype))}")
    for name, value, most in (("dim", dim, model.dim), ("words", words, len(model.vocabulary))):
        if value is not None and not (isinstance(value, int) and 1 <= value <= most):
            raise SettingsError(f"{name} is {value!r}; expected 1 to {most:,}, what the model has")
    vocabulary, rows = model.vocabulary, model.rows
    if words is not None:
        ids = most_frequent(vocabulary.counts, words)
        rows = rows[ids]
        vocabulary = Vocabulary(
            [vocabulary.words[i] for i in ids.tolist()], vocabulary.counts[ids], vocabulary.languages
        )
    if dim is not None and dim < model.dim:
        rows = rotated(as_array(rows), dim)  # estimated on the words that stay: the others no longer matter
    if dtype not in (None, model.dtype) or not isinstance(rows, PackedRows):
        rows = packed(as_array(rows), dtype or model.dtype)
    first = {"from_dtype": model.dtype, "from_dim": model.dim, "from_words": len(model.vocabulary)}
    before = {name: (model.info.compression or {}).get(name, value) for name, value in first.items()}
    info = replace(model.info, scores=None, compression=before)
    ngrams = model.given_ngrams if rows.shape[1] == model.dim else None  # else fitted anew, to the new rows
    return Model(vocabulary, rows, model.tokenizer, info, ngrams=ngrams)


def most_frequent(counts: NDArray[np.int64], n: int | None) -> NDArray[np.int64]:
    """The ids of the n words with the highest counts, in their order: counts [5, 1, 5, 3], n 3 -> [0, 2, 3]."""
    return np.sort(np.argsort(-counts, kind="stable")[:n])


def rotated(vectors: Vectors, dim: int, counts: Counts | None = None) -> Vectors:
    """The rows, turned so that the first dimensions carry most, and cut after `dim` of them.

    counts  how much each word matters. Without them all matter the same, which `compress` wants: results/compress.md
    """
    directions = with_signs(strongest(gram_of(vectors, counts), dim)[0]).T
    turned = np.empty((len(vectors), dim), np.float32)
    with one_thread():
        for part in blocks(len(vectors)):
            turned[part] = vectors[part].astype(np.float64) @ directions
    return turned
