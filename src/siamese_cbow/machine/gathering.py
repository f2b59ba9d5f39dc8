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

from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from siamese_cbow.machine.memory import LINE
from siamese_cbow.machine.simd import PLACE, VectorCode

# Cache lines in a piece: as many as there are registers for (half of them where a line takes two), then what is left.
_PIECES = (10, 4, 1) if get_host_cpu_features().get("avx512f") else (5, 2, 1)


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

    return types.void(rows, numbers, types.int64, types.int64, out, types.int64), codegen


@intrinsic
def gather_scaled(typingctx: Any, rows: Any, numbers: Any, weights: Any, n: Any, out: Any, k: Any) -> Any:
    """out[k] = the sum of weights[i] * rows[numbers[i]] for i < n."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        _, _, _, n, _, k = args
        rows, numbers, weights, out = code.array(0), code.array(1), code.array(2), code.array(4)

        def piece(column: Any, n_lines: int) -> None:
            sums = code.sums(rows, numbers, weights, PLACE(0), n, column, n_lines)
            code.store(sums, code.lines(out, k, column, n_lines))

        return code.piece_by_piece(rows, piece)

    return types.void(rows, numbers, weights, types.int64, out, types.int64), codegen


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

    return types.void(rows, numbers, types.int64, types.int64, types.float32, out, types.int64), codegen


class _Code(VectorCode):
    """The parts that these functions have in common; a vector is a cache line."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        super().__init__(context, builder, signature, args, LINE)

    def piece_by_piece(self, rows: Any, piece: Callable[[Any, int], None]) -> Any:
        """Write `piece(column, n_lines)` for all columns: the largest pieces first."""
        builder, column, width = self.builder, PLACE(0), self.width(rows)
        for n_lines in _PIECES:
            size = PLACE(n_lines * LINE)
            n = builder.sdiv(builder.sub(width, column), size)
            with cgutils.for_range(builder, n) as loop:
                piece(builder.add(column, builder.mul(loop.index, size)), n_lines)
            column = builder.add(column, builder.mul(n, size))
        return self.context.get_dummy_value()

    def sums(self, rows: Any, numbers: Any, weights: Any, begin: Any, end: Any, column: Any, n_lines: int) -> list[Any]:
        """The loop over the rows, and what comes out of it: a value for each line."""
        builder, before = self.builder, self.builder.block
        loop, after = builder.append_basic_block("gather"), builder.append_basic_block("gathered")
        builder.cbranch(builder.icmp_signed("<", begin, end), loop, after)
        builder.position_at_end(loop)
        i = builder.phi(PLACE)
        sums = [builder.phi(self.vector) for _ in range(n_lines)]
        row = builder.sext(builder.load(builder.gep(numbers.data, [i])), PLACE)
        found = [self.load(address) for address in self.lines(rows, row, column, n_lines)]
        if weights is None:
            more = [builder.fadd(total, line) for total, line in zip(sums, found, strict=True)]
        else:
            more = self.multiply_add(self.spread(builder.load(builder.gep(weights.data, [i]))), found, sums)
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

    def lines(self, rows: Any, row: Any, column: Any, n_lines: int) -> list[Any]:
        """The addresses of some lines of a row."""
        return self.vectors(self.item(rows, row, column), n_lines)
