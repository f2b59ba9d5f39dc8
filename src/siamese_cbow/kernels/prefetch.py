"""Ask the processor for memory before it is needed: rows lie all over it, and most of the work is waiting for them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from siamese_cbow.arrays import Vectors
from siamese_cbow.kernels.lean import INLINE
from siamese_cbow.kernels.rows import LINE


def _request(builder: Any, address: Any, writing: int) -> None:
    number, pointer = ir.IntType(32), ir.PointerType(ir.IntType(8))
    signature = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
    function = cgutils.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
    keep, data = number(3), number(1)
    builder.call(function, [builder.bitcast(address, pointer), number(writing), keep, data])


@intrinsic
def _prefetch_flat(typingctx: Any, array: Any, index: Any) -> Any:
    """The line of the index-th number of an array (all dimensions in one), for writing."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        _request(builder, builder.gep(view.data, [args[1]]), writing=1)
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


@intrinsic
def prefetch_item(typingctx: Any, array: Any, index: Any) -> Any:
    """Have array[index] and its line brought into the cache, for reading; the index must be inside the array."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        _request(builder, builder.gep(view.data, [args[1]]), writing=0)
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


@njit(**INLINE)
def prefetch(rows: Vectors, w: int) -> None:
    """Have row w brought into the cache, for writing."""
    for j in range(0, rows.shape[1], LINE):
        _prefetch_flat(rows, w * rows.shape[1] + j)
