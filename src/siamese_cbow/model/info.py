"""Checks of what a model is made of: clear errors at the door, so that nothing inside has to ask again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.errors import InputError
from siamese_cbow.model.packed_rows import PackedRows, Rows
from siamese_cbow.words.vocabulary import Vocabulary

# Means stay finite up to here, whatever the number of words; no training comes near it.
LARGEST_NUMBER = 1e30


def checked_rows(vectors: Rows, vocabulary: Vocabulary) -> Rows:
    """The vectors as a read-only view, or an error that says what is wrong with them."""
    if isinstance(vectors, PackedRows):
        _check_shape(vectors.shape, vocabulary)
        return vectors
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or vectors.dtype != np.float32:
        shape = f"{vectors.dtype} {vectors.shape}" if isinstance(vectors, np.ndarray) else type(vectors).__name__
        raise InputError(f"vectors are {shape}; expected a (n_words, dim) array of float32, see numpy's astype")
    _check_shape(vectors.shape, vocabulary)
    if not _is_mapped(vectors):  # a file was checked when it was written; here it would be read from end to end
        check_numbers(vectors, vocabulary)
    view = np.ascontiguousarray(vectors).view()
    view.flags.writeable = False
    return view


def _check_shape(shape: tuple[int, ...], vocabulary: Vocabulary) -> None:
    if shape[0] != len(vocabulary) or 0 in shape:
        raise InputError(
            f"vectors have shape {shape} and the vocabulary has {len(vocabulary):,} words; "
            "expected a row for each word, at least one word and at least one dimension"
        )


def check_numbers(vectors: Vectors, vocabulary: Vocabulary) -> None:
    """Raises an error that names the first word whose vector has NaN, infinity or a number out of all proportion."""
    if vectors.min() >= -LARGEST_NUMBER and vectors.max() <= LARGEST_NUMBER:  # False for NaN too
        return
    row = int(np.flatnonzero(~(np.abs(vectors) <= LARGEST_NUMBER).all(axis=1))[0])
    raise InputError(
        f"the vector of {vocabulary.words[row]!r} (row {row:,}) has NaN, infinity or a number beyond "
        f"{LARGEST_NUMBER:g}; if it comes from training, try a smaller learning rate"
    )


def _is_mapped(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def plain_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy as it would come back from a file, so that a model equals itself after saving and loading."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(info), allow_nan=False))
    except (TypeError, ValueError) as error:
        expected = "expected plain numbers, strings, lists and dicts"
        raise InputError(f"info can't be written as JSON ({error}); {expected}") from None
    return plain


def without_scores(info: Mapping[str, Any]) -> dict[str, Any]:
    """What holds of a model once its rows are others: all but what was measured with them."""
    return {key: value for key, value in info.items() if key != "scores"}
