"""SIMD: sums of scattered rows, kept in registers until they are complete.

    gather         out[k] = rows[a] + rows[b] + ...
    gather_scaled  out[k] = x rows[a] + y rows[b] + ...
    gather_move    out[k] -= rate (rows[a] + rows[b] + ...)
    add_halves     out += rows[a] + rows[b] + ...             of four-bit integers, two per byte
    write_signs    out = 1 or -1 for each bit of a number

Numba keeps the sums of a loop in registers only if it can prove that this is safe: its own loops run along the columns
of a few rows, write the sum to memory and read it again for the next few. Written in LLVM (`SimdCode`, which `products`
uses too), sums stay where the code puts them. Here the columns are split into pieces of a few cache lines, and each
piece is summed over all rows before the next: a third faster. Each number is the sum of its column from the first row
to the last, independent of the pieces.

rows, out  (any, width) float32 with a width of whole cache lines
numbers    (any,) int32, row numbers
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from siamese_cbow.machine.compiling import PLAIN, intrinsic_or
from siamese_cbow.machine.intrinsics import LINE

MOST_HALVES = 17  # each is at most 15, so a byte holds the sum of this many
_LINE_BYTES = 64

if not PLAIN:
    from llvmlite import ir
    from llvmlite.binding import get_host_cpu_features
    from numba.core import cgutils

    LARGE_REGISTERS = bool(get_host_cpu_features().get("avx512f"))
    PLACE = ir.IntType(64)
    # Cache lines in a piece: as many as fit the registers (half as many if a line takes two), then the rest.
    _PIECES = (10, 4, 1) if LARGE_REGISTERS else (5, 2, 1)


def _gather(rows: Any, numbers: Any, begin: int, end: int, out: Any, k: int) -> None:
    for j in range(rows.shape[1]):
        total = np.float32(0)
        for i in range(begin, end):
            total += rows[numbers[i], j]
        out[k, j] = total


@intrinsic_or(_gather)
def gather(typingctx: Any, rows: Any, numbers: Any, begin: Any, end: Any, out: Any, k: Any) -> Any:
    """out[k] = the sum of rows[numbers[begin:end]]."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _GatherCode(context, builder, signature, args, LINE)
        return code.write(code.array(0), code.array(1), None, args[2], args[3], code.array(4), args[5])

    return types.void(rows, numbers, types.int64, types.int64, out, types.int64), codegen


def _gather_scaled(rows: Any, numbers: Any, weights: Any, n: int, out: Any, k: int) -> None:
    for j in range(rows.shape[1]):
        total = np.float32(0)
        for i in range(n):
            total += weights[i] * rows[numbers[i], j]
        out[k, j] = total


@intrinsic_or(_gather_scaled)
def gather_scaled(typingctx: Any, rows: Any, numbers: Any, weights: Any, n: Any, out: Any, k: Any) -> Any:
    """out[k] = the sum of weights[i] * rows[numbers[i]] for i < n."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _GatherCode(context, builder, signature, args, LINE)
        return code.write(code.array(0), code.array(1), code.array(2), PLACE(0), args[3], code.array(4), args[5])

    return types.void(rows, numbers, weights, types.int64, out, types.int64), codegen


def _gather_move(rows: Any, numbers: Any, begin: int, end: int, rate: Any, out: Any, k: int) -> None:
    for j in range(rows.shape[1]):
        total = np.float32(0)
        for i in range(begin, end):
            total += rows[numbers[i], j]
        out[k, j] -= rate * total


@intrinsic_or(_gather_move)
def gather_move(typingctx: Any, rows: Any, numbers: Any, begin: Any, end: Any, rate: Any, out: Any, k: Any) -> Any:
    """out[k] -= rate * the sum of rows[numbers[begin:end]]."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _GatherCode(context, builder, signature, args, LINE)
        back = code.spread(builder.fneg(args[4]))
        return code.write(code.array(0), code.array(1), None, args[2], args[3], code.array(5), args[6], back)

    return types.void(rows, numbers, types.int64, types.int64, types.float32, out, types.int64), codegen


def _add_halves(rows: Any, numbers: Any, begin: int, end: int, out: Any) -> None:
    n = rows.shape[1]
    for i in range(begin, end):
        row = numbers[i] if numbers[i] >= 0 else len(rows) - 1
        for j in range(n):
            out[j] += rows[row, j] & 15
            out[n + j] += rows[row, j] >> 4


@intrinsic_or(_add_halves)
def add_halves(typingctx: Any, rows: Any, numbers: Any, begin: Any, end: Any, out: Any) -> Any:
    """Adds both halves of the bytes of rows[numbers[begin:end]] to out: all lower ones, then all upper ones.

    rows  (any, width) uint8 with a width of whole cache lines; a negative number stands for the last one
    out   (2 width,) int16

    [[0x21], [0x43]], numbers 0 1 -> 1 + 3, 2 + 4. At most MOST_HALVES rows: sums are bytes until they are complete.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, numbers, out = (context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 1, 4))
        begin, end, byte = args[2], args[3], ir.IntType(8)
        line, wide = ir.VectorType(byte, _LINE_BYTES), ir.VectorType(ir.IntType(16), _LINE_BYTES)
        n_rows, width = cgutils.unpack_tuple(builder, rows.shape)
        with cgutils.for_range(builder, builder.sdiv(width, PLACE(_LINE_BYTES))) as lines:
            column, before = builder.mul(lines.index, PLACE(_LINE_BYTES)), builder.block
            loop, after = builder.append_basic_block("halves"), builder.append_basic_block("added")
            builder.cbranch(builder.icmp_signed("<", begin, end), loop, after)
            builder.position_at_end(loop)
            i, sums = builder.phi(PLACE), [builder.phi(line) for _ in range(2)]
            number = builder.sext(builder.load(builder.gep(numbers.data, [i])), PLACE)
            is_row = builder.icmp_signed(">=", number, PLACE(0))
            row = builder.select(is_row, number, builder.sub(n_rows, PLACE(1)))
            address = builder.gep(rows.data, [builder.add(builder.mul(row, width), column)])
            loaded = builder.load(builder.bitcast(address, line.as_pointer()), typ=line)
            loaded.align = 1
            four, low = (ir.Constant(line, [number] * _LINE_BYTES) for number in (4, 15))
            more = [builder.add(sums[0], builder.and_(loaded, low)), builder.add(sums[1], builder.lshr(loaded, four))]
            next_i = builder.add(i, PLACE(1))
            builder.cbranch(builder.icmp_signed("<", next_i, end), loop, after)
            builder.position_at_end(after)
            results = [builder.phi(line) for _ in range(2)]
            i.add_incoming(begin, before)
            i.add_incoming(next_i, loop)
            for phi, new in zip([*sums, *results], [*more, *more], strict=True):
                phi.add_incoming(ir.Constant(line, [0] * _LINE_BYTES), before)
                phi.add_incoming(new, loop)
            for result, place in zip(results, (column, builder.add(width, column)), strict=True):
                address = builder.bitcast(builder.gep(out.data, [place]), wide.as_pointer())
                total = builder.load(address, typ=wide)
                total.align = 2
                builder.store(builder.add(total, builder.zext(result, wide)), address, align=2)
        return context.get_dummy_value()

    return types.void(rows, numbers, types.int64, types.int64, out), codegen


def _write_signs(bits: Any, out: Any, first: int) -> None:
    for j in range(64):
        out[first + j] = 1 if (bits >> np.uint64(j)) & np.uint64(1) else -1


@intrinsic_or(_write_signs)
def write_signs(typingctx: Any, bits: Any, out: Any, first: Any) -> Any:
    """out[first : first + 64], int16, becomes 1 for each set bit and -1 for the others, starting at the lowest."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out = context.make_array(signature.args[1])(context, builder, args[1])
        wide, is_set = (ir.VectorType(ir.IntType(size), 64) for size in (16, 1))
        ones, others = (ir.Constant(wide, [sign] * 64) for sign in (1, -1))
        signs = builder.select(builder.bitcast(args[0], is_set), ones, others)
        address = builder.gep(out.data, [args[2]])
        builder.store(signs, builder.bitcast(address, wide.as_pointer()), align=2)
        return context.get_dummy_value()

    return types.void(types.uint64, out, types.int64), codegen


class SimdCode:
    """Generates code for vectors of `lanes` float32."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, lanes: int) -> None:
        self.context, self.builder = context, builder
        self._signature, self._args, self._lanes = signature, args, lanes
        self.vector = ir.VectorType(ir.FloatType(), lanes)

    def array(self, number: int) -> Any:
        """Argument `number`, which is an array."""
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
        """The addresses of n consecutive vectors."""
        places = [self.builder.gep(first, [PLACE(i * self._lanes)]) for i in range(n)]
        return [self.builder.bitcast(place, self.vector.as_pointer()) for place in places]

    def load(self, address: Any) -> Any:
        """The vector at an address, which need not be aligned to a whole vector."""
        loaded = self.builder.load(address, typ=self.vector)
        loaded.align = 4
        return loaded

    def store(self, vectors: list[Any], addresses: list[Any]) -> None:
        """Write vectors."""
        for vector, address in zip(vectors, addresses, strict=True):
            self.builder.store(vector, address, align=4)

    def zeros(self) -> Any:
        """The initial value of a sum."""
        return ir.Constant(self.vector, [0.0] * self._lanes)

    def spread(self, number: Any) -> Any:
        """One number in all lanes."""
        undefined, whole = ir.Constant(self.vector, ir.Undefined), ir.IntType(32)
        alone = self.builder.insert_element(undefined, number, whole(0))
        return self.builder.shuffle_vector(alone, undefined, ir.Constant(ir.VectorType(whole, self._lanes), None))

    def multiply_add(self, factor: Any, vectors: list[Any], totals: list[Any]) -> list[Any]:
        """totals + factor * vectors, fused if the processor supports it."""
        function = cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(self.vector, [self.vector] * 3), f"llvm.fmuladd.v{self._lanes}f32"
        )
        return [self.builder.call(function, [factor, *pair]) for pair in zip(vectors, totals, strict=True)]


class _GatherCode(SimdCode):
    """What the three gather functions share; a vector is a cache line."""

    def write(
        self, rows: Any, numbers: Any, weights: Any, begin: Any, end: Any, out: Any, k: Any, factor: Any = None
    ) -> Any:
        """All columns, the largest pieces first: out[k] = the sum, or out[k] += factor * the sum."""
        builder, column, width = self.builder, PLACE(0), self.width(rows)
        for n_lines in _PIECES:
            size = PLACE(n_lines * LINE)
            n = builder.sdiv(builder.sub(width, column), size)
            with cgutils.for_range(builder, n) as loop:
                first = builder.add(column, builder.mul(loop.index, size))
                sums = self._sums(rows, numbers, weights, begin, end, first, n_lines)
                addresses = self._lines(out, k, first, n_lines)
                if factor is not None:
                    sums = self.multiply_add(factor, sums, [self.load(address) for address in addresses])
                self.store(sums, addresses)
            column = builder.add(column, builder.mul(n, size))
        return self.context.get_dummy_value()

    def _sums(
        self, rows: Any, numbers: Any, weights: Any, begin: Any, end: Any, column: Any, n_lines: int
    ) -> list[Any]:
        """The loop over the rows and its results: a value for each line."""
        builder, before = self.builder, self.builder.block
        loop, after = builder.append_basic_block("gather"), builder.append_basic_block("gathered")
        builder.cbranch(builder.icmp_signed("<", begin, end), loop, after)
        builder.position_at_end(loop)
        i = builder.phi(PLACE)
        sums = [builder.phi(self.vector) for _ in range(n_lines)]
        row = builder.sext(builder.load(builder.gep(numbers.data, [i])), PLACE)
        lines = [self.load(address) for address in self._lines(rows, row, column, n_lines)]
        if weights is None:
            more = [builder.fadd(total, line) for total, line in zip(sums, lines, strict=True)]
        else:
            more = self.multiply_add(self.spread(builder.load(builder.gep(weights.data, [i]))), lines, sums)
        next_i = builder.add(i, PLACE(1))
        builder.cbranch(builder.icmp_signed("<", next_i, end), loop, after)
        builder.position_at_end(after)
        results = [builder.phi(self.vector) for _ in range(n_lines)]
        i.add_incoming(begin, before)
        i.add_incoming(next_i, loop)
        for phi, new in zip([*sums, *results], [*more, *more], strict=True):
            phi.add_incoming(self.zeros(), before)
            phi.add_incoming(new, loop)
        return results

    def _lines(self, rows: Any, row: Any, column: Any, n_lines: int) -> list[Any]:
        """The addresses of some lines of a row."""
        return self.vectors(self.item(rows, row, column), n_lines)
