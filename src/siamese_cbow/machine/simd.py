"""What hand-written kernels are put together from: addresses, loads, stores and sums of several numbers at once.

Numba keeps the sums of a loop in registers only where it finds out by itself that it may. Written in LLVM's own terms,
they are where the code says: used in `gathering` and `products`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

PLACE = ir.IntType(64)


class VectorCode:
    """Writes code on vectors of `lanes` float32."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, lanes: int) -> None:
        self.context, self.builder = context, builder
        self._signature, self._args, self._lanes = signature, args, lanes
        self.vector = ir.VectorType(ir.FloatType(), lanes)

    def array(self, number: int) -> Any:
        """An argument that is an array."""
        return self.context.make_array(self._signature.args[number])(self.context, self.builder, self._args[number])

    def width(self, array: Any) -> Any:
        """The size of the last dimension."""
        return cgutils.unpack_tuple(self.builder, array.shape)[-1]

    def item(self, array: Any, *indices: Any) -> Any:
        """The address of an item."""
        index, sizes = indices[0], cgutils.unpack_tuple(self.builder, array.shape)[1:]
        for size, next_index in zip(sizes, indices[1:], strict=True):
            index = self.builder.add(self.builder.mul(index, size), next_index)
        return self.builder.gep(array.data, [index])

    def vectors(self, first: Any, n: int) -> list[Any]:
        """The addresses of n vectors that lie one after another."""
        places = [self.builder.gep(first, [PLACE(i * self._lanes)]) for i in range(n)]
        return [self.builder.bitcast(place, self.vector.as_pointer()) for place in places]

    def load(self, address: Any) -> Any:
        """A vector, from any place that holds a number."""
        loaded = self.builder.load(address, typ=self.vector)
        loaded.align = 4
        return loaded

    def store(self, vectors: list[Any], addresses: list[Any]) -> None:
        """Write vectors."""
        for vector, address in zip(vectors, addresses, strict=True):
            self.builder.store(vector, address, align=4)

    def zeros(self) -> Any:
        """What a sum starts from."""
        return ir.Constant(self.vector, [0.0] * self._lanes)

    def spread(self, number: Any) -> Any:
        """One number in all lanes."""
        undefined, whole = ir.Constant(self.vector, ir.Undefined), ir.IntType(32)
        alone = self.builder.insert_element(undefined, number, whole(0))
        return self.builder.shuffle_vector(alone, undefined, ir.Constant(ir.VectorType(whole, self._lanes), None))

    def multiply_add(self, factor: Any, vectors: list[Any], totals: list[Any]) -> list[Any]:
        """totals + factor * vectors, in one step where the processor has it."""
        function = cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(self.vector, [self.vector] * 3), f"llvm.fmuladd.v{self._lanes}f32"
        )
        return [self.builder.call(function, [factor, *pair]) for pair in zip(vectors, totals, strict=True)]
