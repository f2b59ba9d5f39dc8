"""Read the data in other programs' pickles without running any of it.

    load_pickle("options.pkl")     -> {"dim": 2400, "encoder": "gru", ...}
    load_npy("utable.npy")         -> an array, even of objects, which NumPy itself reads only through pickle

Reads protocols 0 to 5, from Python 2 and 3. A Python 2 string comes back as text: UTF-8, or else Latin-1. Writes no
pickles and rebuilds no objects of any class (see `Record`); a file that needs more is refused. `pickle_machine`
executes the opcodes; this module lists the names that a file may use, each with its replacement.
"""

from __future__ import annotations

import math
import os
import re
import struct
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from siamese_cbow.base.arrays import BROKEN_NPY
from siamese_cbow.errors import InputError
from siamese_cbow.formats.pickle_machine import Announced, Machine, Name, Record

__all__ = ["Record", "load_npy", "load_pickle"]

PathLike: TypeAlias = str | os.PathLike[str]

DEEPEST = 100  # levels of nested lists; deeper ones can only be an attack on the stack
# Numbers, booleans, fixed-length text and objects are allowed; records and dates are not.
DTYPE = re.compile(r"[<>=|]?(?:\?|[iufcb][0-9]{1,2}|[SU][0-9]{1,9}|O8?|O4)")
# Everything that the machine, NumPy and the standard library raise for a malformed file.
BROKEN = (EOFError, IndexError, KeyError, MemoryError, OverflowError, TypeError, ValueError, struct.error)


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


def load_npy(path: PathLike) -> NDArray[Any]:
    """The array in a `.npy` file: numbers are memory-mapped, objects are read as by `load_pickle`.

    `np.save("table.npy", {"a": 1})` writes a zero-dimensional array: `load_npy("table.npy").item()` -> {"a": 1}
    """
    with _opened(path) as file, _explained(str(path), "NumPy array"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Python 2 wrote 3L for 3, which NumPy repairs with a warning
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version} of the format")
        try:
            shape, _, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(file)
        except BROKEN_NPY as error:
            raise ValueError(f"header: {error}") from None
        if not dtype.hasobject:
            with np.errstate(over="ignore"):  # the product of a damaged shape may overflow; it is refused below
                numbers: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
            return numbers
        array = _value(file, str(path), ())
        if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype:
            raise ValueError("the content does not match its header")
        return array


def _value(file: BinaryIO, name: str, records: Collection[str]) -> Any:
    machine = Machine(file, CALLS, records)
    try:
        with _explained(name, "pickle", machine):
            value = machine.run()
            _check_finished(value, set(), set(), 0)
            return value
    except RecursionError:  # the caller has used up most of the stack
        raise InputError(f"{name} is nested too deeply to be read here") from None


def _check_finished(value: Any, around: set[int], done: set[int], depth: int) -> None:
    """Raise an error if a value contains itself, is deeply nested, or has a name or an array without content."""
    if isinstance(value, Name):
        raise InputError(f"it has the class {str(value)!r} where a value was expected")
    if isinstance(value, Announced):
        raise ValueError("an array without content")
    parts = _parts(value)
    if parts is None or id(value) in done:
        return
    if id(value) in around:
        raise ValueError("a value that contains itself")
    if depth > DEEPEST:
        raise ValueError(f"values nested more than {DEEPEST} deep")
    around.add(id(value))
    for part in parts:
        _check_finished(part, around, done, depth + 1)
    around.remove(id(value))
    done.add(id(value))


def _parts(value: Any) -> Iterable[Any] | None:
    if isinstance(value, dict | Record):
        return (value.fields if isinstance(value, Record) else value).values()  # keys are plain
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return value.flat
    return value if isinstance(value, list | tuple) else None  # so are the items of sets


@contextmanager
def _opened(path: PathLike) -> Iterator[BinaryIO]:
    try:
        with Path(path).open("rb") as file:
            yield file
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror}; check the path") from error


@contextmanager
def _explained(name: str, what: str, machine: Machine | None = None) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(f"{name}: {error}" if name not in str(error) else str(error)) from None
    except BROKEN as error:
        where = f"byte {machine.position:,}: " if machine else ""
        reason = f"nothing at {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{name} is not a readable {what} ({where}{reason[:200]}); it is damaged, truncated, or a variant "
            "that only its own program reads"
        ) from None


# names that a pickle may call


def _ordered_dict(machine: Machine, pairs: Any = ()) -> dict[Any, Any]:
    """OrderedDict() or OrderedDict([[key, value], ...]); a dict keeps the order as well."""
    if not isinstance(pairs, list | tuple):
        raise TypeError(f"OrderedDict of {type(pairs).__name__}")
    machine.spend(len(pairs))
    return machine.dictionary([part for key, value in pairs for part in (key, value)])


def _collection(kind: type[Any], machine: Machine, items: Any = ()) -> Any:
    """set([...]), frozenset([...]) or list([...])."""
    if not isinstance(items, list | tuple):
        raise TypeError(f"{kind.__name__} of {type(items).__name__}")
    machine.spend(len(items))
    return kind(items) if kind is list else kind(map(machine.key, items))


def _bytes(machine: Machine, text: Any = "", encoding: Any = "latin1") -> bytes:
    """bytes() and _codecs.encode("...", "latin1"): how Python 3 writes bytes in the protocols of Python 2."""
    if type(text) is not str or type(encoding) is not str or encoding not in ("latin1", "latin-1"):
        raise TypeError("bytes that are not written as Latin-1 text")
    return machine.raw(text)


def _reconstructor(machine: Machine, kind: Any, base: Any, state: Any) -> Record:
    """copy_reg._reconstructor(kind, object, None): how the oldest protocols write an object."""
    if type(base) is not Name or not base.endswith(".object") or state is not None:
        raise TypeError("an object with a base class")
    record: Record = machine.object(kind)
    return record


def _dtype(machine: Machine, code: Any, *flags: Any) -> Announced:
    """numpy.dtype("f4", False, True), followed by the state (3, "<", None, None, None, -1, -1, 0)."""
    if type(code) is not str or not DTYPE.fullmatch(code):
        raise ValueError(f"an array of type {code[:40]!r}" if type(code) is str else "an array without a type")
    return Announced(partial(_with_byte_order, np.dtype(code)))


def _with_byte_order(dtype: np.dtype[Any], machine: Machine, version: Any, order: Any, *more: Any) -> np.dtype[Any]:
    if any(part is not None for part in more[:3]):
        raise TypeError("an array of records")
    if type(order) is not str or order not in ("<", ">", "=", "|"):
        raise ValueError("an unknown order of bytes")
    return dtype if order in ("=", "|") else dtype.newbyteorder("<" if order == "<" else ">")


def _announced_array(machine: Machine, kind: Any, *more: Any) -> Announced:
    """numpy.core.multiarray._reconstruct(numpy.ndarray, (0,), "b"), followed by the state that `_array` takes."""
    if type(kind) is not Name or kind != "numpy.ndarray":
        raise TypeError("an array of a class other than numpy.ndarray")
    return Announced(_array)


def _array(machine: Machine, *state: Any) -> NDArray[Any]:
    """The state (1, shape, dtype, is in Fortran order, raw bytes or list of objects); the oldest NumPy wrote no 1."""
    shape, dtype, is_fortran, content = state[-4:]
    if not isinstance(dtype, np.dtype):
        raise TypeError("an array without a dtype")
    if not (isinstance(shape, tuple) and len(shape) <= 32 and all(type(n) is int and n >= 0 for n in shape)):
        raise TypeError("an array with an invalid shape")
    n_items = math.prod(shape)
    if dtype.hasobject:
        if not isinstance(content, list) or len(content) != n_items:
            raise ValueError(f"an array of {n_items:,} objects with content for another number")
        machine.spend(n_items)
        objects = np.empty(n_items, object)
        for place, item in enumerate(content):
            objects[place] = item
        return objects.reshape(shape)
    data = machine.raw(content)
    if len(data) != n_items * dtype.itemsize:
        raise ValueError(f"an array of {n_items:,} numbers with {len(data):,} bytes")
    numbers = np.frombuffer(data, dtype) if n_items else np.empty(0, dtype)
    return numbers.reshape(shape, order="F" if is_fortran else "C")


def _scalar(machine: Machine, dtype: Any, data: Any) -> Any:
    """numpy.core.multiarray.scalar(dtype, bytes)."""
    if isinstance(dtype, np.dtype) and dtype.hasobject:
        raise TypeError("a single object as a number")
    return _array(machine, (1,), dtype, False, data)[0]


CALLS: dict[str, Callable[..., Any] | None] = {
    "_codecs.encode": _bytes,
    "collections.OrderedDict": _ordered_dict,
    "numpy.dtype": _dtype,
    "numpy.ndarray": None,
}
for _module in ("__builtin__", "builtins"):  # of Python 2 and 3
    CALLS |= {f"{_module}.{kind.__name__}": partial(_collection, kind) for kind in (list, set, frozenset)}
    CALLS |= {f"{_module}.bytes": _bytes, f"{_module}.object": None}
for _module in ("copy_reg", "copyreg"):
    CALLS[f"{_module}._reconstructor"] = _reconstructor
for _module in ("numpy.core", "numpy._core"):  # before and since NumPy 2
    CALLS[f"{_module}.multiarray._reconstruct"] = _announced_array
    CALLS[f"{_module}.multiarray.scalar"] = _scalar
    # of protocol 5: (bytes, dtype, shape, order)
    CALLS[f"{_module}.numeric._frombuffer"] = lambda machine, data, dtype, shape, order: _array(
        machine, shape, dtype, order == "F", data
    )
