"""Ask the processor for a row before it is needed: rows lie all over memory, and most work is waiting for them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from siamese_cbow.arrays import Vectors
from siamese_cbow.kernels.rows import LINE


@intrinsic
def _prefetch_line(typingctx: Any, array: Any, row: Any, column: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        strides = cgutils.unpack_tuple(builder, view.strides, 2)
        offset = builder.add(builder.mul(args[1], strides[0]), builder.mul(args[2], strides[1]))
        number, pointer = ir.IntType(32), ir.PointerType(ir.IntType(8))
        address = builder.inttoptr(builder.add(builder.ptrtoint(view.data, ir.IntType(64)), offset), pointer)
        signature_ = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, signature_, "llvm.prefetch.p0")
        for_writing, keep, data = number(1), number(3), number(1)
        builder.call(function, [address, for_writing, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), codegen


@njit(nogil=True, cache=True, forceinline=True)
def prefetch(rows: Vectors, w: int) -> None:
    """Have row w brought into the cache, for writing."""
    for j in range(0, rows.shape[1], LINE):
        _prefetch_line(rows, w, j)
