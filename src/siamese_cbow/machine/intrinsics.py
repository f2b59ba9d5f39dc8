"""What a processor can do and Numba has no word for: loading eight bytes, counting zeros, asking for memory."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def eight_bytes(typingctx: Any, text: Any, i: Any) -> Any:
    """text[i : i + 8] as one number, the first byte lowest; all eight must be inside the array."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        number = ir.IntType(64)
        address = builder.bitcast(builder.gep(view.data, [args[1]]), number.as_pointer())
        loaded = builder.load(address, typ=number)
        loaded.align = 1
        return loaded

    return types.uint64(text, types.int64), codegen


@intrinsic
def trailing_zeros(typingctx: Any, number: Any) -> Any:
    """The number of zeros below the lowest bit that is set; 64 where none is: 0b1000 -> 3."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(0))

    return types.uint64(types.uint64), codegen


def _request(builder: Any, address: Any, writing: int) -> None:
    number, pointer = ir.IntType(32), ir.PointerType(ir.IntType(8))
    signature = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
    function = cgutils.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
    keep, data = number(3), number(1)
    builder.call(function, [builder.bitcast(address, pointer), number(writing), keep, data])


@intrinsic
def prefetch_for_writing(typingctx: Any, array: Any, index: Any) -> Any:
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
