"""What the machine builds: plain values, and stand-ins for what is only complete when the file has been read.

Each function here stands for a name that a pickle may ask for, and does by hand what that name would have done.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Spend: TypeAlias = Callable[[int], None]  # declares bytes or items that are copied; raises where they exceed the file

# Numbers and truth values, text of a fixed length, objects: no records, no dates.
_DTYPE = re.compile(r"[<>=|]?(?:\?|[iufcb][0-9]{1,2}|[SU][0-9]{1,9}|O8?|O4)")


@dataclass(frozen=True)
class Name:
    """A name that a pickle asks for, such as numpy.ndarray; `call` is what stands for calling it."""

    name: str
    call: Callable[[Spend, tuple[Any, ...]], Any] | None = None


@dataclass
class Record:
    """An object of some class that is not loaded: its name and its attributes, as data.

    An argparse.Namespace(dim=300) -> Record("argparse.Namespace", {"dim": 300})
    """

    name: str
    fields: dict[Any, Any] = field(default_factory=dict)


@dataclass(eq=False)
class DType:
    """Type of an array's numbers; a pickle tells the order of their bytes later."""

    value: np.dtype[Any]


@dataclass(eq=False)
class Array:
    """An array that a pickle announces first and fills later."""

    shape: tuple[int, ...] = ()
    value: NDArray[Any] | None = None  # numbers
    items: list[Any] | None = None  # objects, in C order


# What may be called


def ordered_dict(spend: Spend, arguments: tuple[Any, ...]) -> dict[Any, Any]:
    """OrderedDict() or OrderedDict([[key, value], ...]); a dict keeps the order as well."""
    found: dict[Any, Any] = {}
    if arguments:
        (pairs,) = arguments
        if type(pairs) is not list:
            raise TypeError(f"OrderedDict of {type(pairs).__name__}")
        spend(len(pairs))
        for key, value in pairs:
            put(found, key, value)
    return found


def collected(kind: type[Any]) -> Callable[[Spend, tuple[Any, ...]], Any]:
    """set([...]), frozenset([...]) or list([...])."""

    def build(spend: Spend, arguments: tuple[Any, ...]) -> Any:
        items = arguments[0] if arguments else ()
        if not isinstance(items, list | tuple):
            raise TypeError(f"{kind.__name__} of {type(items).__name__}")
        spend(len(items))
        return kind(items) if kind is list else kind(map(checked_key, items))

    return build


def no_bytes(spend: Spend, arguments: tuple[Any, ...]) -> bytes:
    """bytes(): how Python 3 writes no bytes at all in those protocols."""
    if arguments:
        raise TypeError("bytes made from something")
    return b""


def encoded(spend: Spend, arguments: tuple[Any, ...]) -> bytes:
    """_codecs.encode("...", "latin1"): how Python 3 writes bytes in the protocols of Python 2."""
    text, encoding = arguments
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise TypeError("bytes that are not written as Latin-1 text")
    spend(len(text))
    data: bytes = text.encode("latin-1")
    return data


def dtype(spend: Spend, arguments: tuple[Any, ...]) -> DType:
    """numpy.dtype("f4", False, True)."""
    code = as_text(arguments[0])
    if not _DTYPE.fullmatch(code):
        raise ValueError(f"an array of type {code[:40]!r}")
    return DType(np.dtype(code))


def announced_array(spend: Spend, arguments: tuple[Any, ...]) -> Array:
    """numpy.core.multiarray._reconstruct(numpy.ndarray, (0,), "b"): the content follows."""
    kind = arguments[0]
    if not (isinstance(kind, Name) and kind.name == "numpy.ndarray"):
        raise TypeError("an array of a class other than numpy.ndarray")
    return Array()


def array_of_buffer(spend: Spend, arguments: tuple[Any, ...]) -> Array:
    """numpy.core.numeric._frombuffer(bytes, dtype, shape, order), of protocol 5."""
    data, kind, shape, order = arguments
    array = Array()
    fill(array, (1, shape, kind, order == "F", data), spend)
    return array


def scalar(spend: Spend, arguments: tuple[Any, ...]) -> Any:
    """numpy.core.multiarray.scalar(dtype, bytes)."""
    kind, data = arguments
    array = Array()
    fill(array, (1, (1,), kind, False, data), spend)
    if array.value is None:
        raise TypeError("a single object as a number")
    return array.value[0]


# What may be told later


def set_byte_order(kind: DType, state: Sequence[Any]) -> None:
    """(3, "<", None, None, None, -1, -1, 0): version, order, and what records and subarrays would have."""
    if any(part is not None for part in state[2:5]):
        raise TypeError("an array of records")
    order = as_text(state[1])
    if order not in ("<", ">", "=", "|"):
        raise ValueError(f"byte order {order[:40]!r}")
    if order in ("<", ">"):
        kind.value = kind.value.newbyteorder("<" if order == "<" else ">")


def fill(array: Array, state: Sequence[Any], spend: Spend) -> None:
    """(1, shape, dtype, is it in Fortran order, raw bytes or a list of objects); the oldest NumPy had no leading 1."""
    shape, kind, fortran, content = state[-4:]
    if not isinstance(kind, DType):
        raise TypeError("an array without a dtype")
    if not (isinstance(shape, tuple) and len(shape) <= 32 and all(type(n) is int and n >= 0 for n in shape)):
        raise TypeError("an array with a shape that is none")
    n_items = math.prod(shape)
    array.shape = shape
    if kind.value.hasobject:
        if not isinstance(content, list) or len(content) != n_items:
            raise ValueError(f"an array of {n_items:,} objects with content for another number")
        spend(n_items)
        array.items = list(content)
        return
    if type(content) is not bytes:
        content = encoded(spend, (content, "latin1"))
    if len(content) != n_items * kind.value.itemsize:
        raise ValueError(f"an array of {n_items:,} numbers with {len(content):,} bytes")
    numbers = np.frombuffer(content, kind.value) if n_items else np.empty(0, kind.value)
    array.value = numbers.reshape(shape, order="F" if fortran else "C")


# Keys and text


def put(target: Any, key: Any, value: Any) -> None:
    """target[key] = value, for a dictionary and a key that is safe to hash."""
    if type(target) is not dict:
        raise TypeError(f"items for a {type(target).__name__}")
    target[checked_key(key)] = value


def checked_key(key: Any) -> Any:
    """A key that hashes in little time and no depth: C code follows nested tuples down until the stack is used up."""
    if type(key) is tuple and len(key) <= 16:
        for part in key:
            _check_plain_key(part)
    else:
        _check_plain_key(key)
    return key


def _check_plain_key(key: Any) -> None:
    plain = key is None or type(key) in (str, bytes, bool, float) or (type(key) is int and key.bit_length() <= 64)
    if not plain:
        raise TypeError(f"a {type(key).__name__} as a key")


def as_text(value: Any) -> str:
    """Text that Python 2 may have written as bytes: UTF-8, or else Latin-1."""
    if type(value) is bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.decode("latin-1")
    if type(value) is not str:
        raise TypeError(f"a {type(value).__name__} in place of text")
    return value


def _names() -> Mapping[str, Name]:
    builtin: dict[str, Callable[[Spend, tuple[Any, ...]], Any] | None] = {
        "list": collected(list), "set": collected(set), "frozenset": collected(frozenset), "bytes": no_bytes,
        "object": None,
    }  # fmt: skip
    known: dict[str, Callable[[Spend, tuple[Any, ...]], Any] | None] = {
        "_codecs.encode": encoded,
        "collections.OrderedDict": ordered_dict,
        "numpy.dtype": dtype,
        "numpy.ndarray": None,
    }
    for python in ("__builtin__", "builtins"):  # of Python 2 and 3
        known |= {f"{python}.{name}": call for name, call in builtin.items()}
    for python in ("copy_reg", "copyreg"):
        known[f"{python}._reconstructor"] = None
    for core in ("numpy.core", "numpy._core"):  # before and since NumPy 2
        known[f"{core}.multiarray._reconstruct"] = announced_array
        known[f"{core}.multiarray.scalar"] = scalar
        known[f"{core}.numeric._frombuffer"] = array_of_buffer
    return {name: Name(name, call) for name, call in known.items()}


NAMES = _names()
