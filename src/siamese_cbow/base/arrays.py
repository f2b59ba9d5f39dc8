"""Names for the array types that modules exchange, arrays on disk, and the number of threads.

Does not compute with arrays: see `kernels`.
"""

from __future__ import annotations

import hashlib
import os
import tokenize
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.errors import FormatError, SettingsError

Bytes: TypeAlias = NDArray[np.uint8]
Ids: TypeAlias = NDArray[np.int32]  # word ids; never narrower: the paper's vocabulary has 315,643 words
Offsets: TypeAlias = NDArray[np.int64]  # (n + 1,): item i is [offsets[i] : offsets[i + 1]]
Counts: TypeAlias = NDArray[np.int64]
Vectors: TypeAlias = NDArray[np.float32]  # (n, dim)
Floats: TypeAlias = NDArray[np.float64]  # where sums need the precision

_BLOCK = 1 << 18  # numbers checked at a time: they are still cached for the second check


# What NumPy raises for a file that is not `.npy`: it parses the header as a Python expression.
BROKEN_NPY = (ValueError, TypeError, OSError, EOFError, MemoryError, OverflowError, SyntaxError, RecursionError,
              tokenize.TokenError)  # fmt: skip


def mapped_array(path: Path, dtype: Any, shape: tuple[int | None, ...], *, advice: str) -> NDArray[Any]:
    """An `.npy` file, mapped into memory, read-only; a FormatError unless it has this type and shape (None: any)."""
    try:
        with np.errstate(over="ignore"):  # the product of a damaged shape may overflow; it is refused below
            array: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:
        raise FormatError(f"can't read {path} ({error}); {advice}") from None
    fits = len(array.shape) == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if array.dtype != dtype or not fits:
        actual, wanted = f"{array.dtype} {array.shape}", f"{np.dtype(dtype)} {shape}"
        raise FormatError(f"{path} holds {actual}, expected {wanted}; {advice}")
    return array


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write a `.npy` file with the bytes of `np.save`; raise an error if the disk is full."""
    with path.open("wb") as file:
        append_array(file, array)


def append_array(file: BinaryIO, array: NDArray[Any]) -> None:
    """Append an array to an open file, with the bytes of `np.save`.

    NumPy writes real files through a C buffer and does not notice when flushing the last kilobytes fails: a full
    disk gave short files and no error. Any other writable object receives the bytes through `write`.
    """
    np.save(cast(Any, SimpleNamespace(write=file.write)), array, allow_pickle=False)


def as_mapped(path: Path, array: NDArray[Any]) -> NDArray[Any]:
    """Write an array to a `.npy` file and map it into memory, so that the system can reclaim the pages.

    The array is written before it is mapped: writing to a full disk raises an error, whereas storing through the map of
    an empty file allocates space only then, and a full disk kills the process (SIGBUS).
    """
    save_array(path, array)
    mapped: NDArray[Any] = np.lib.format.open_memmap(path, mode="r+")
    return mapped


class GrowingArray:
    """A `.npy` file that grows by appending; its header is rewritten once the length is known.

    NumPy leaves room in the header for a longer first axis, for exactly this purpose.

    row     the shape of one item: () for numbers, (dim,) for vectors
    hashed  compute `hash` while writing
    """

    def __init__(self, path: Path, dtype: Any, row: tuple[int, ...] = (), *, hashed: bool = False) -> None:
        self._file: BinaryIO = path.open("w+b")
        self._dtype, self._row = np.dtype(dtype), row
        self._digest = hashlib.blake2b(digest_size=16) if hashed else None
        self.length = 0
        self._write_header()

    def append(self, values: NDArray[Any]) -> None:
        """Adds values at the end."""
        data = np.ascontiguousarray(values, self._dtype)
        if self._digest is not None:
            self._digest.update(data.data)
        self._file.write(data.data)  # not `tofile`: see `append_array`
        self.length += len(data)

    def close(self) -> None:
        """Writes the final header and closes the file."""
        with self._file:
            self._file.flush()
            self._file.seek(0)
            self._write_header()

    def hash(self) -> bytes:
        """A hash of the values."""
        assert self._digest is not None
        return self._digest.digest()

    def _write_header(self) -> None:
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": (self.length, *self._row)}
        np.lib.format.write_array_header_1_0(cast(Any, self._file), header)


def check_ids(ids: Ids, n_words: int) -> str:
    """What is wrong with word ids; empty if all belong to a vocabulary of `n_words`: [0, 7], 5 -> "the word 7 of 5".

    One pass: a billion ids take half a second, or the time to read 4 GB if they are not in memory yet.
    """
    for first in range(0, len(ids), _BLOCK):
        largest = int(ids[first : first + _BLOCK].view(np.uint32).max())  # unsigned: a negative id is the largest
        if largest >= n_words:
            return f"the word {int(np.uint32(largest).view(np.int32))} of {n_words:,}"
    return ""


def check_offsets(offsets: Offsets, length: int, *, empty: bool = False) -> str:
    """What is wrong with offsets; empty if they rise from 0 to `length`: [0, 3, 2], 2 -> "item 1 from 3 to 2".

    empty  whether items may be empty
    """
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != length:
        ends = f"offsets from {offsets[0]} to {offsets[-1]}" if len(offsets) else "no offsets"
        return f"{ends}, expected from 0 to {length:,}"
    for first in range(0, len(offsets) - 1, _BLOCK):
        block = np.asarray(offsets[first : first + _BLOCK + 1])
        rises = block[1:] >= block[:-1] if empty else block[1:] > block[:-1]
        if not rises.all():
            wrong = int(np.argmin(rises))
            return f"item {first + wrong} from {block[wrong]} to {block[wrong + 1]}"
    return ""


def thread_count(threads: int | None) -> int:
    """How many threads to use: the number asked for, or all cores this process may run on.

    `thread_count(3)` -> 3; `thread_count(None)` -> 2 on a machine with two cores.
    """
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not isinstance(threads, int | np.integer) or isinstance(threads, bool) or threads < 1:
        raise SettingsError(f"threads is {threads!r}; expected a whole number, 1 or more (leave it out for all cores)")
    return int(threads)


def without_caches(thing: object) -> dict[str, Any]:
    """The attributes of an object except its cached properties, for `__getstate__`: pickles carry no caches."""
    return {
        name: value
        for name, value in vars(thing).items()
        if not isinstance(getattr(type(thing), name, None), cached_property)
    }
