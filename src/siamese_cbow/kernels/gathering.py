"""Sums of rows that lie anywhere, kept in registers until they are complete.

    gather         out[k] = rows[a] + rows[b] + ...
    gather_scaled  out[k] = x rows[a] + y rows[b] + ...
    gather_move    out[k] -= rate (rows[a] + rows[b] + ...)

Numba's own loops go along the columns of a few rows, and write the sum to memory and read it again for the next few.
Here the columns are cut into pieces of some cache lines each, and a piece is summed over all rows before the next:
a third faster. Each number is the sum of its column from the first row to the last, whatever the pieces.

rows, out  (any, width) with a width of whole cache lines
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from siamese_cbow.kernels.lines import LINE

# Cache lines in a piece: as many as there are registers for (half of them where a line takes two), then what is left.
_PIECES = (10, 4, 1) if get_host_cpu_features().get("avx512f") else (5, 2, 1)

_PLACE = types.int64


@intrinsic
def gather(typingctx: Any, rows: Any, numbers: Any, begin: Any, end: Any, out: Any, k: Any) -> Any:
    """out[k] = the sum of rows[numbers[begin:end]]."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        _, _, begin, end, _, k = args
        rows, numbers, out = code.array(0), code.array(1), code.array(4)

        def piece(column: Any, n_lines: int) -> None:
            sums = code.sums(rows, numbers, None, begin, end, column, n_lines)
            code.store(sums, code.lines(out, k, column, n_lines))

        return code.piece_by_piece(rows, piece)

    return types.void(rows, numbers, _PLACE, _PLACE, out, _PLACE), codegen


@intrinsic
def gather_scaled(typingctx: Any, rows: Any, numbers: Any, weights: Any, n: Any, out: Any, k: Any) -> Any:
    """out[k] = the sum of weights[i] * rows[numbers[i]] for i < n."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        _, _, _, n, _, k = args
        rows, numbers, weights, out = code.array(0), code.array(1), code.array(2), code.array(4)

        def piece(column: Any, n_lines: int) -> None:
            sums = code.sums(rows, numbers, weights, code.place(0), n, column, n_lines)
            code.store(sums, code.lines(out, k, column, n_lines))

        return code.piece_by_piece(rows, piece)

    return types.void(rows, numbers, weights, _PLACE, out, _PLACE), codegen


@intrinsic
def gather_move(typingctx: Any, rows: Any, numbers: Any, begin: Any, end: Any, rate: Any, out: Any, k: Any) -> Any:
    """out[k] -= rate * the sum of rows[numbers[begin:end]]."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        _, _, begin, end, rate, _, k = args
        rows, numbers, out = code.array(0), code.array(1), code.array(5)
        back = code.spread(builder.fneg(rate))

        def piece(column: Any, n_lines: int) -> None:
            sums = code.sums(rows, numbers, None, begin, end, column, n_lines)
            addresses = code.lines(out, k, column, n_lines)
            before = [code.load(address) for address in addresses]
            code.store(code.multiply_add(back, sums, before), addresses)

        return code.piece_by_piece(rows, piece)

    return types.void(rows, numbers, _PLACE, _PLACE, types.float32, out, _PLACE), codegen


class _Code:
    """Writes the parts that these functions are made of."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self._context, self._builder, self._signature, self._args = context, builder, signature, args
        self.place, self._line = ir.IntType(64), ir.VectorType(ir.FloatType(), LINE)

    def array(self, number: int) -> Any:
        """An argument that is an array."""
        return self._context.make_array(self._signature.args[number])(self._context, self._builder, self._args[number])

    def piece_by_piece(self, rows: Any, piece: Callable[[Any, int], None]) -> Any:
        """Write `piece(column, n_lines)` for all columns: the largest pieces first."""
        builder, column, width = self._builder, self.place(0), self._width(rows)
        for n_lines in _PIECES:
            size = self.place(n_lines * LINE)
            n = builder.sdiv(builder.sub(width, column), size)
            with cgutils.for_range(builder, n) as loop:
                piece(builder.add(column, builder.mul(loop.index, size)), n_lines)
            column = builder.add(column, builder.mul(n, size))
        return self._context.get_dummy_value()

    def sums(self, rows: Any, numbers: Any, weights: Any, begin: Any, end: Any, column: Any, n_lines: int) -> list[Any]:
        """The loop over the rows, and what comes out of it: a value for each line."""
        builder, before = self._builder, self._builder.block
        loop, after = builder.append_basic_block("gather"), builder.append_basic_block("gathered")
        builder.cbranch(builder.icmp_signed("<", begin, end), loop, after)
        builder.position_at_end(loop)
        i = builder.phi(self.place)
        sums = [builder.phi(self._line) for _ in range(n_lines)]
        row = builder.sext(builder.load(builder.gep(numbers.data, [i])), self.place)
        found = [self.load(address) for address in self.lines(rows, row, column, n_lines)]
        if weights is None:
            more = [builder.fadd(total, line) for total, line in zip(sums, found, strict=True)]
        else:
            more = self.multiply_add(self.spread(builder.load(builder.gep(weights.data, [i]))), found, sums)
        next_i = builder.add(i, self.place(1))
        builder.cbranch(builder.icmp_signed("<", next_i, end), loop, after)
        builder.position_at_end(after)
        results = [builder.phi(self._line) for _ in range(n_lines)]
        i.add_incoming(begin, before)
        i.add_incoming(next_i, loop)
        for phi, new in zip([*sums, *results], [*more, *more], strict=True):
            phi.add_incoming(ir.Constant(self._line, [0.0] * LINE), before)
            phi.add_incoming(new, loop)
        return results

    def lines(self, rows: Any, row: Any, column: Any, n_lines: int) -> list[Any]:
        """The addresses of some lines of a row."""
        builder = self._builder
        first = builder.gep(rows.data, [builder.add(builder.mul(row, self._width(rows)), column)])
        pointer = self._line.as_pointer()
        return [builder.bitcast(builder.gep(first, [self.place(i * LINE)]), pointer) for i in range(n_lines)]

    def load(self, address: Any) -> Any:
        """A line."""
        loaded = self._builder.load(address, typ=self._line)
        loaded.align = 4
        return loaded

    def store(self, lines: list[Any], addresses: list[Any]) -> None:
        """Write lines."""
        for line, address in zip(lines, addresses, strict=True):
            self._builder.store(line, address, align=4)

    def spread(self, number: Any) -> Any:
        """One number in all places of a line."""
        undefined, first = ir.Constant(self._line, ir.Undefined), ir.IntType(32)(0)
        alone = self._builder.insert_element(undefined, number, first)
        return self._builder.shuffle_vector(alone, undefined, ir.Constant(ir.VectorType(ir.IntType(32), LINE), None))

    def multiply_add(self, factor: Any, lines: list[Any], totals: list[Any]) -> list[Any]:
        """totals + factor * lines"""
        function = cgutils.get_or_insert_function(
            self._builder.module, ir.FunctionType(self._line, [self._line] * 3), f"llvm.fmuladd.v{LINE}f32"
        )
        return [self._builder.call(function, [factor, line, total]) for line, total in zip(lines, totals, strict=True)]

    def _width(self, rows: Any) -> Any:
        return cgutils.unpack_tuple(self._builder, rows.shape)[1]
