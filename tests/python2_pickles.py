"""Writes pickles like Python 2, whose strings were bytes, in its oldest and its newest protocol."""

from __future__ import annotations

import struct
from collections import OrderedDict
from typing import Any

import numpy as np


def python2_pickle(value: Any, *, protocol: int = 2) -> bytes:
    """What `cPickle.dumps` of Python 2.7 wrote, except for the memo, which no reader needs."""
    write = _protocol_0 if protocol == 0 else _protocol_2
    return (b"\x80\x02" if protocol == 2 else b"") + write(value) + b"."


def python2_npy(array: np.ndarray) -> bytes:
    """What `numpy.save` wrote under Python 2 for an object array."""
    shape = "".join(f"{n}L, " for n in array.shape)
    header = f"{{'descr': '|O', 'fortran_order': False, 'shape': ({shape}), }}"
    header += " " * (-(10 + len(header) + 1) % 16) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + python2_pickle(array)


def _protocol_2(value: Any) -> bytes:
    recurse = _protocol_2
    if value is None or isinstance(value, bool):
        return {None: b"N", True: b"\x88", False: b"\x89"}[value]
    if isinstance(value, int):
        return b"J" + struct.pack("<i", value)
    if isinstance(value, float):
        return b"G" + struct.pack(">d", value)
    if isinstance(value, bytes):  # a Python 2 `str`
        return b"U" + bytes([len(value)]) + value if len(value) < 256 else b"T" + struct.pack("<i", len(value)) + value
    if isinstance(value, str):  # a Python 2 `unicode`
        return b"X" + struct.pack("<I", len(value.encode())) + value.encode()
    return _collection(value, recurse)


def _protocol_0(value: Any) -> bytes:
    recurse = _protocol_0
    if value is None or isinstance(value, bool):
        return {None: b"N", True: b"I01\n", False: b"I00\n"}[value]
    if isinstance(value, int):
        return b"I%d\n" % value if abs(value) < 2**31 else b"L%dL\n" % value
    if isinstance(value, float):
        return b"F" + repr(value).encode() + b"\n"
    if isinstance(value, bytes):
        return b"S" + repr(value)[1:].encode() + b"\n"
    if isinstance(value, str):
        return b"V" + value.encode("raw-unicode-escape") + b"\n"
    return _collection(value, recurse)


def _collection(value: Any, recurse: Any) -> bytes:
    if isinstance(value, OrderedDict):
        return b"ccollections\nOrderedDict\n(" + recurse([[k, v] for k, v in value.items()]) + b"tR"
    if isinstance(value, dict):
        return b"(" + b"".join(recurse(k) + recurse(v) for k, v in value.items()) + b"d"
    if isinstance(value, list):
        return b"(l(" + b"".join(map(recurse, value)) + b"e"
    if isinstance(value, tuple):
        return b"(" + b"".join(map(recurse, value)) + b"t"
    assert isinstance(value, np.ndarray), value
    code = (value.dtype.kind + str(value.dtype.itemsize)).encode()
    order = value.dtype.str[:1].encode()
    dtype = b"cnumpy\ndtype\n" + recurse((code, 0, 1)) + b"R" + recurse((3, order, None, None, None, -1, -1, 0)) + b"b"
    content = recurse(value.ravel().tolist() if value.dtype.hasobject else value.tobytes())
    state = b"(" + recurse(1) + recurse(value.shape) + dtype + recurse(False) + content + b"t"
    return (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n"
        + recurse((0,))
        + recurse(b"b")
        + b"tR"
        + state
        + b"b"
    )
