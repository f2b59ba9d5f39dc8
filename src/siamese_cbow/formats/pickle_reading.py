"""From a file to finished values: run the machine, then put arrays and text in the place of stand-ins."""

from __future__ import annotations

import os
import struct
import tokenize
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from siamese_cbow.errors import InputError
from siamese_cbow.formats.pickle_machine import run
from siamese_cbow.formats.pickle_source import Source
from siamese_cbow.formats.pickle_values import Array, DType, Name, Record, as_text

__all__ = ["Record", "load_npy", "load_pickle"]

DEEPEST = 100  # levels of lists in lists; deeper ones are only there to use up the stack

PathLike: TypeAlias = str | os.PathLike[str]

# All that the machine, NumPy and the conversions of the standard library raise where a file is not what it should be.
BROKEN = (EOFError, IndexError, KeyError, MemoryError, OverflowError, TypeError, ValueError, struct.error)
BROKEN_HEADER = (SyntaxError, RecursionError, tokenize.TokenError)  # NumPy reads a header as a Python expression


def load_pickle(source: PathLike | bytes, *, records: Collection[str] = ()) -> Any:
    """The value in a pickle, given by its path or its bytes.

    `load_pickle(pickle.dumps({"dim": 3}))` -> {"dim": 3}

    Arrays are read-only and share the memory of what was read. Objects of the classes named in `records`, such as
    "argparse.Namespace", come back as `Record`; the classes themselves are not loaded.
    """
    if isinstance(source, bytes):
        return _value(BytesIO(source), "the pickle", records)
    with _opened(source) as file:
        return _value(file, str(source), records)


def load_npy(path: PathLike, *, records: Collection[str] = ()) -> NDArray[Any]:
    """The array in a `.npy` file: one of numbers is mapped into memory, one of objects is read as by `load_pickle`.

    `np.save("table.npy", {"a": 1})` wrote an array of no dimensions: `load_npy("table.npy").item()` -> {"a": 1}
    """
    with _opened(path) as file, _explained(str(path), "NumPy array"):
        shape, dtype = _header(file)
        if not dtype.hasobject:
            return _mapped(Path(path))
        array = _value(file, str(path), records)
        if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype:
            raise ValueError("the content is not what its header says")
        return array


def _value(file: BinaryIO, name: str, records: Collection[str]) -> Any:
    source = Source(file)
    try:
        with _explained(name, "pickle", source):
            value, python2 = run(source, records)
            return _finished(value, python2, {}, 0)
    except RecursionError:  # belongs to the caller, who had little of the stack left
        raise InputError(f"{name} is nested too deeply to be read here") from None


def _finished(value: Any, python2: bool, done: dict[int, Any], depth: int) -> Any:
    """The value without stand-ins. What is referred to twice is worked on once, so shared parts can't multiply."""
    if type(value) is bytes:
        return as_text(value) if python2 else value
    if type(value) is DType:
        return value.value
    if type(value) is Name:
        raise InputError(f"it has the class {value.name!r} where a value was expected")
    if not isinstance(value, list | tuple | dict | set | frozenset | Array | Record):
        return value
    if id(value) in done:
        found = done[id(value)]
        if found is _UNDER_WAY:
            raise ValueError("a value that contains itself")
        return found
    if depth > DEEPEST:
        raise ValueError(f"values nested more than {DEEPEST} deep")
    done[id(value)] = _UNDER_WAY
    done[id(value)] = result = _rebuilt(value, lambda part: _finished(part, python2, done, depth + 1))
    return result


_UNDER_WAY = object()


def _rebuilt(value: Any, finished: Any) -> Any:
    if isinstance(value, dict):
        return {finished(key): finished(item) for key, item in value.items()}
    if isinstance(value, Record):
        return Record(value.name, {finished(key): finished(item) for key, item in value.fields.items()})
    if not isinstance(value, Array):
        return type(value)(map(finished, value))
    if value.items is not None:
        objects = np.empty(len(value.items), object)
        for place, item in enumerate(value.items):
            objects[place] = finished(item)
        return objects.reshape(value.shape)
    if value.value is None:
        raise ValueError("an array without content")
    return value.value


def _header(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = npy.read_magic(file)
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"version {version} of the format")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Python 2 wrote 3L for 3, which NumPy repairs with a warning
        try:
            shape, _, dtype = read(file)
        except BROKEN_HEADER as error:
            raise ValueError(f"header: {error}") from None
    return shape, dtype


def _mapped(path: Path) -> NDArray[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


@contextmanager
def _opened(path: PathLike) -> Iterator[BinaryIO]:
    try:
        with Path(path).open("rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror}; check the path") from error


@contextmanager
def _explained(name: str, what: str, source: Source | None = None) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(f"{name}: {error}" if name not in str(error) else str(error)) from None
    except BROKEN as error:
        where = f"byte {source.position:,}: " if source else ""
        reason = f"nothing at {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{name} is no {what} that can be read ({where}{reason[:200]}); it is damaged or cut short, "
            "or of a kind that only its own program reads"
        ) from None
