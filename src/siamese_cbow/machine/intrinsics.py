"""Processor features that Numba lacks: atomic counters, bit operations, prefetching; and memory that suits them.

Each function is first defined in plain Python and then in LLVM.

Rows are aligned and span whole cache lines (the dim rounded up, the rest zero), which makes loops over rows a fifth
faster. They are scattered over memory, so without prefetching most of the time would go into waiting for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.machine.compiling import INLINE, PLAIN, inner, intrinsic_or

if not PLAIN:
    from llvmlite import ir
    from numba.core import cgutils


def _at_item(emit: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Code for one array item, indexed by the second argument: emit(builder, its address, all arguments)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        value = emit(builder, builder.gep(array.data, [args[1]]), args)
        return context.get_dummy_value() if signature.return_type == types.void else value

    return codegen


def _add(array: Any, index: int, value: int) -> Any:
    old = array[index]
    array[index] = old + value
    return old


@intrinsic_or(_add)
def atomic_add(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """array[index] += value, int64; returns the old value."""
    code = _at_item(lambda builder, address, args: builder.atomic_rmw("add", address, args[2], "seq_cst"))
    return types.int64(array, types.int64, types.int64), code


@intrinsic_or(lambda array, index: array[index])
def atomic_load(typingctx: Any, array: Any, index: Any) -> Any:
    """array[index], int64."""
    code = _at_item(lambda builder, address, args: builder.load_atomic(address, "seq_cst", 8))
    return types.int64(array, types.int64), code


def _raise_to(array: Any, index: int, value: int) -> None:
    array[index] = max(array[index], value)


@intrinsic_or(_raise_to)
def atomic_raise(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """array[index] = max(array[index], value), int64."""
    code = _at_item(lambda builder, address, args: builder.atomic_rmw("max", address, args[2], "seq_cst"))
    return types.void(array, types.int64, types.int64), code


@intrinsic_or(lambda: 0)
def give_way(typingctx: Any) -> Any:
    """Yield this core to another thread (matters if there are more threads than free cores)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), "sched_yield")
        return builder.call(function, [])

    return types.int32(), codegen


def _eight_bytes(text: Any, i: int) -> Any:
    number = np.uint64(0)
    for k in range(8):
        number |= np.uint64(text[i + k]) << np.uint64(8 * k)
    return number


@intrinsic_or(_eight_bytes)
def eight_bytes(typingctx: Any, text: Any, i: Any) -> Any:
    """text[i : i + 8] as one number, the first byte lowest; all eight must be inside the array."""

    def load(builder: Any, address: Any, args: Any) -> Any:
        number = ir.IntType(64)
        loaded = builder.load(builder.bitcast(address, number.as_pointer()), typ=number)
        loaded.align = 1
        return loaded

    return types.uint64(text, types.int64), _at_item(load)


def _trailing_zeros(number: Any) -> Any:
    n = np.uint64(0)
    while n < np.uint64(64) and (number >> n) & np.uint64(1) == np.uint64(0):
        n += np.uint64(1)
    return n


@intrinsic_or(_trailing_zeros)
def trailing_zeros(typingctx: Any, number: Any) -> Any:
    """The number of zeros below the lowest set bit; 64 if there is none: 0b1000 -> 3."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(0))

    return types.uint64(types.uint64), codegen


def _high_product(a: Any, b: Any) -> Any:
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a1, a0, b1, b0 = a >> half, a & low, b >> half, b & low
    middle = a1 * b0 + (a0 * b0 >> half)
    return a1 * b1 + (middle >> half) + ((a0 * b1 + (middle & low)) >> half)


@intrinsic_or(_high_product)
def high_product(typingctx: Any, a: Any, b: Any) -> Any:
    """The upper half of the product of two uint64: 2**63, 6 -> 3."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        whole, half = ir.IntType(128), ir.IntType(64)
        product = builder.mul(builder.zext(args[0], whole), builder.zext(args[1], whole))
        return builder.trunc(builder.lshr(product, whole(64)), half)

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic_or(lambda array, index: None)
def prefetch_item(typingctx: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of array[index] for reading; the index is that of the flattened array, and inside it."""
    return types.void(array, types.int64), _at_item(lambda builder, address, args: _request(builder, address, 0))


@intrinsic_or(lambda array, index: None)
def prefetch_to_write(typingctx: Any, array: Any, index: Any) -> Any:
    """Like `prefetch_item`, but for writing: other cores lose the line and have to fetch it again."""
    return types.void(array, types.int64), _at_item(lambda builder, address, args: _request(builder, address, 1))


def _request(builder: Any, address: Any, writing: int) -> None:
    number, pointer = ir.IntType(32), ir.PointerType(ir.IntType(8))
    signature = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
    function = cgutils.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
    keep, data = number(3), number(1)
    builder.call(function, [builder.bitcast(address, pointer), number(writing), keep, data])


LINE = 16  # float32 numbers in a cache line


def padded_width(dim: int) -> int:
    """The row length for a dim: `padded_width(300)` -> 304."""
    return -(-dim // LINE) * LINE


def aligned(shape: tuple[int, ...]) -> Vectors:
    """Zeros aligned to a cache line; rows that straddle lines cost a tenth of the speed."""
    size = math.prod(shape)
    memory = np.zeros(size + LINE, np.float32)
    skip = (-memory.ctypes.data // memory.itemsize) % LINE
    return memory[skip : skip + size].reshape(shape)


@inner(**INLINE)
def prefetch(rows: Vectors, w: int) -> None:
    """Prefetch row w for reading."""
    for j in range(0, rows.shape[1], LINE):
        prefetch_item(rows, w * rows.shape[1] + j)


@inner(**INLINE)
def prefetch_to_move(rows: Vectors, w: int) -> None:
    """Prefetch row w for writing."""
    for j in range(0, rows.shape[1], LINE):
        prefetch_to_write(rows, w * rows.shape[1] + j)


class Scratch:
    """Reusable arrays: fresh memory would come from the system page by page, every time."""

    def __init__(self) -> None:
        self._bytes: dict[str, NDArray[np.uint8]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """An uninitialised array of this shape, valid until the name is requested again."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if name not in self._bytes or len(self._bytes[name]) < size:
            self._bytes[name] = np.empty(size + size // 4, np.uint8)
        array: NDArray[Any] = self._bytes[name][:size].view(dtype).reshape(shape)
        return array
