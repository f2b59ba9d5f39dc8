"""The rows of a model: checked float32, or packed as float16 or as integers of 8 or 4 bits with a scale per row.

    [0.6, -1.0, 0.25]  ->  int8   codes [76, -127, 32],  scale 1/127
                           int4   codes [4, -7, 2],      scale 1/7, two codes per byte

`take` unpacks the few rows that a text needs, so a model can stay packed, even on disk; `unpacked` unpacks all rows
once, for bulk work. Both give the same bits. A row's scale is its largest magnitude divided by the largest code; scales
per column were no better (`benchmarks/compress.py`). `folder_format` reads and writes the files.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids, Vectors, without_caches
from siamese_cbow.base.option_fields import checked_value
from siamese_cbow.errors import FormatError, InputError, SettingsError
from siamese_cbow.model.geometry import blocks
from siamese_cbow.words.vocabulary import Vocabulary

Dtype: TypeAlias = Literal["float32", "float16", "int8", "int4"]
Index: TypeAlias = "Sequence[int] | Ids | NDArray[np.int64] | slice"

LARGEST_CODE = {"int8": 127, "int4": 7}
STORED_AS: dict[str, Any] = {"float16": np.float16, "int8": np.int8, "int4": np.uint8}
LARGEST_NUMBER = 1e30  # means stay finite up to here, whatever the number of words; no training run comes near it

# Byte -> its two codes, the one of the lower four bits first: 0x9f -> 15 - 8 and 9 - 8.
_CODES_OF_BYTE = np.stack([np.arange(256) % 16 - 8, np.arange(256) // 16 - 8], axis=1).astype(np.float32)


@dataclass(frozen=True, eq=False)
class PackedRows:
    """A matrix (n, dim) of float32 numbers, packed.

    codes   (n, dim) float16 or int8; for int4 (n, half of dim, rounded up) uint8
    scales  (n,) float32; ones for float16
    """

    codes: NDArray[Any]
    scales: NDArray[np.float32]
    dim: int
    dtype: Dtype

    @property
    def shape(self) -> tuple[int, int]:
        """(n, dim), whatever the width of the codes."""
        return len(self.codes), self.dim

    @property
    def nbytes(self) -> int:
        """Bytes of codes and scales."""
        return int(self.codes.nbytes + self.scales.nbytes)

    def take(self, ids: Sequence[int] | Ids, axis: int = 0) -> Vectors:
        """Some rows, unpacked; called like `ndarray.take`."""
        return self._unpack(self.codes.take(ids, axis), self.scales.take(ids))

    def __getitem__(self, ids: Index) -> PackedRows:
        """Some rows, packed."""
        return PackedRows(self.codes[ids], self.scales[ids], self.dim, self.dtype)

    def as_int8(self) -> PackedRows:
        """The same numbers with a code per byte, which other libraries read."""
        return PackedRows(codes_of_bytes(self.codes, self.dim).astype(np.int8), self.scales, self.dim, "int8")

    def __getstate__(self) -> dict[str, Any]:
        return without_caches(self)

    @cached_property
    def unpacked(self) -> Vectors:
        """All rows, (n, dim) float32, read-only."""
        rows = np.empty(self.shape, np.float32)
        for part in blocks(len(rows)):
            rows[part] = self._unpack(self.codes[part], self.scales[part])
        rows.flags.writeable = False
        return rows

    def _unpack(self, codes: NDArray[Any], scales: NDArray[np.float32]) -> Vectors:
        if self.dtype == "float16":
            return codes.astype(np.float32)
        if self.dtype == "int4":
            codes = codes_of_bytes(codes, self.dim)
        rows: Vectors = codes * scales[:, np.newaxis]
        return rows


Rows: TypeAlias = "Vectors | PackedRows"


def as_array(rows: Rows) -> Vectors:
    """All rows as float32, without a copy if they already are."""
    return rows.unpacked if isinstance(rows, PackedRows) else rows


def checked_rows(vectors: Rows, vocabulary: Vocabulary) -> Rows:
    """The rows of a model, float32 ones as a read-only view, or an error that says what is wrong with them."""
    checked_value("vocabulary", vocabulary, Vocabulary, described="a vocabulary: Vocabulary.of_words(['the', 'cat'])")
    if not isinstance(vectors, PackedRows) and (
        not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or vectors.dtype != np.float32
    ):
        shape = f"{vectors.dtype} {vectors.shape}" if isinstance(vectors, np.ndarray) else type(vectors).__name__
        raise InputError(f"vectors are {shape}; expected a (n_words, dim) array of float32, see numpy's astype")
    if vectors.shape[0] != len(vocabulary) or 0 in vectors.shape:
        raise InputError(
            f"vectors have shape {vectors.shape} but the vocabulary has {len(vocabulary):,} words; expected "
            "one row per word, at least one word and at least one dimension"
        )
    if isinstance(vectors, PackedRows):
        return vectors
    if not is_mapped(vectors):  # a file was checked when it was written; here it would be read from end to end
        check_numbers(vectors, vocabulary)
    view = np.ascontiguousarray(vectors).view()
    view.flags.writeable = False
    return view


def check_numbers(vectors: Vectors, vocabulary: Vocabulary) -> None:
    """Raises an error that names the first word whose vector has NaN, infinity or a number beyond LARGEST_NUMBER."""
    if vectors.min() >= -LARGEST_NUMBER and vectors.max() <= LARGEST_NUMBER:  # False for NaN too
        return
    row = int(np.flatnonzero(~(np.abs(vectors) <= LARGEST_NUMBER).all(axis=1))[0])
    raise InputError(
        f"the vector of {vocabulary.words[row]!r} (row {row:,}) has NaN, infinity or a number beyond "
        f"{LARGEST_NUMBER:g}; if it comes from training, try a smaller learning rate"
    )


@np.errstate(over="ignore", invalid="ignore")  # as a `with` block it takes twice as long
def check_finite(vectors: Vectors) -> None:
    """Raises an error if vectors that were just computed contain NaN or infinity: a memory-mapped model is never read
    in full, so its rows are checked where they are used.

    The sum of squares tells in a tenth of the time; only if it overflows is every number checked.
    """
    flat = vectors.reshape(-1)
    if not math.isfinite(flat.dot(flat)) and not np.isfinite(flat).all():
        raise FormatError(
            "the model has NaN or infinity in its vectors; to find out where: siamese-cbow info MODEL --verify"
        )


def is_mapped(array: Any) -> bool:
    """Whether an array is mapped from a file."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def in_memory(rows: Rows) -> Rows:
    """The same rows, copied if they are mapped from a file; otherwise unchanged."""
    if isinstance(rows, PackedRows):
        if not is_mapped(rows.codes) and not is_mapped(rows.scales):
            return rows
        return PackedRows(rows.codes.copy(), rows.scales.copy(), rows.dim, rows.dtype)
    return rows.copy() if is_mapped(rows) else rows


def packed(vectors: Vectors, dtype: Dtype) -> Rows:
    """The vectors in fewer bits: `packed(vectors, "int8")`; "float32" returns them unchanged."""
    if dtype == "float32":
        return vectors
    n, dim = vectors.shape
    if dtype == "float16":
        if np.abs(vectors).max() > np.finfo(np.float16).max:
            raise SettingsError(f"a vector contains {np.abs(vectors).max():g}, but float16 ends at 65,504; use int8")
        return PackedRows(vectors.astype(np.float16), np.ones(n, np.float32), dim, dtype)
    scales = (np.abs(vectors).max(axis=1) / np.float32(LARGEST_CODE[dtype])).astype(np.float32)
    divisors = np.where(scales > 0, scales, np.float32(1))[:, np.newaxis]
    codes = np.empty((n, dim), np.int8)
    for part in blocks(n):
        codes[part] = np.rint(vectors[part] / divisors[part])
    return PackedRows(codes if dtype == "int8" else two_a_byte(codes), scales, dim, dtype)


def two_a_byte(codes: NDArray[np.int8]) -> NDArray[np.uint8]:
    """(n, dim) codes of -7 to 7 -> (n, half of dim) bytes: [[7, -1]] -> [[0x7f]]."""
    if codes.shape[1] % 2:
        codes = np.pad(codes, ((0, 0), (0, 1)))
    shifted = (codes + 8).astype(np.uint8)
    pairs: NDArray[np.uint8] = shifted[:, ::2] | shifted[:, 1::2] << np.uint8(4)
    return pairs


def codes_of_bytes(pairs: NDArray[Any], dim: int) -> NDArray[np.float32]:
    """The inverse, (n, half of dim) bytes -> (n, dim) codes: [[0x7f]] -> [[7, -1]]."""
    codes: NDArray[np.float32] = _CODES_OF_BYTE.take(pairs, 0).reshape(len(pairs), 2 * pairs.shape[1])[:, :dim]
    return codes
