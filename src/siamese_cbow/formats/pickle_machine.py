"""The stack machine: one method for each group of opcodes, and a table that says which byte means what.

The opcodes are described in the standard library's `pickletools`. Left out, and so refused: persistent ids, the
extension registry, buffers kept outside of the file, and calls with keywords.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable, Collection
from typing import Any, NoReturn, TypeAlias

from siamese_cbow.errors import InputError
from siamese_cbow.formats.pickle_source import Source
from siamese_cbow.formats.pickle_values import (
    NAMES,
    Array,
    DType,
    Name,
    Record,
    as_text,
    checked_key,
    fill,
    put,
    set_byte_order,
)

LONGEST_NUMBER = 256  # bytes; larger ones are only there to waste time

Opcode: TypeAlias = Callable[["_Machine"], None]


def run(source: Source, records: Collection[str]) -> tuple[Any, bool]:
    """The value that a pickle builds, with stand-ins where it has arrays, and whether its strings are Python 2's."""
    machine = _Machine(source, records)
    return machine.run(), machine.python2


class _Machine:
    """The state while one pickle is read."""

    def __init__(self, source: Source, records: Collection[str]) -> None:
        self._source = source
        self._records = frozenset(records)
        self._stack: list[Any] = []
        self._outer: list[list[Any]] = []  # the stacks below each mark
        self._memo: dict[int, Any] = {}
        self._spent = 0
        self.python2 = False

    def run(self) -> Any:
        take = self._source.take
        while (code := take(1)[0]) != _STOP:
            operation = OPCODES.get(code)
            if operation is None:
                raise ValueError(f"opcode {bytes([code])!r}")
            operation(self)
        return self._stack.pop()

    def spend(self, n: int) -> None:
        """Counts what is copied: every copied thing stands in the file once, so all of them are fewer than its bytes.

        Without this, few bytes that refer to one large list again and again would fill the memory.
        """
        self._spent += n
        if self._spent > self._source.size:
            raise MemoryError("it unfolds to more than it holds")

    # the stack

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def mark(self) -> None:
        self._outer.append(self._stack)
        self._stack = []

    def since_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._outer.pop()
        return items

    def pop(self) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self.since_mark()

    def duplicate(self) -> None:
        self.push(self._stack[-1])

    # the memo

    def remember(self, position: int) -> None:
        if position < 0:
            raise ValueError("a negative position")
        self._memo[position] = self._stack[-1]

    def memoize(self) -> None:
        self.remember(len(self._memo))

    def recall(self, position: int) -> None:
        self.push(self._memo[position])

    # plain values

    def protocol(self) -> None:
        if (version := self._source.number(1)) > 5:
            raise ValueError(f"protocol {version}")

    def frame(self) -> None:
        if self._source.number(8) > self._source.size:
            raise EOFError("a frame larger than the file")

    def integer_line(self) -> None:
        line = self._source.line()
        self.push(line == b"01" if line in (b"00", b"01") else int(line))  # how Python 2 writes truth values

    def long_line(self) -> None:
        self.push(int(self._source.line().removesuffix(b"L")))

    def long(self, size: int) -> None:
        if (n := self._source.number(size)) > LONGEST_NUMBER:
            raise ValueError(f"a number of {n:,} bytes")
        self.push(self._source.number(n, signed=True))

    def float_line(self) -> None:
        self.push(float(self._source.line()))

    def binary_float(self) -> None:
        self.push(struct.unpack(">d", self._source.take(8))[0])

    def string_line(self) -> None:
        line = self._source.line(self._source.size).strip()
        if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
            raise ValueError("a string without quotes")
        self.python2 = True
        self.push(codecs.escape_decode(line[1:-1])[0])

    def string(self, size: int) -> None:
        self.python2 = True
        self.push(self._source.take(self._source.number(size)))

    def bytes_(self, size: int) -> None:
        self.push(self._source.take(self._source.number(size)))

    def text_line(self) -> None:
        self.push(self._source.line(self._source.size).decode("raw-unicode-escape"))

    def text(self, size: int) -> None:
        self.push(self._source.take(self._source.number(size)).decode("utf-8", "surrogatepass"))

    # collections

    def tuple_(self, n: int) -> None:
        if len(self._stack) < n:
            raise IndexError("too few values")
        self._stack[-n:] = [tuple(self._stack[-n:])]

    def extend(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not list:
            raise TypeError(f"items for a {type(target).__name__}")
        target.extend(items)

    def append(self) -> None:
        self.extend([self._stack.pop()])

    def set_items(self, items: list[Any]) -> None:
        if len(items) % 2:
            raise ValueError("a key without a value")
        for key, value in zip(items[::2], items[1::2], strict=True):
            put(self._stack[-1], key, value)

    def set_item(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self.set_items([key, value])

    def dict_(self) -> None:
        items = self.since_mark()
        self.push({})
        self.set_items(items)

    def add_items(self) -> None:
        items = self.since_mark()
        target = self._stack[-1]
        if type(target) is not set:
            raise TypeError(f"items for a {type(target).__name__}")
        target.update(map(checked_key, items))

    def frozenset_(self) -> None:
        self.push(frozenset(map(checked_key, self.since_mark())))

    # names, and what would be calls

    def name(self, name: str) -> None:
        if name in self._records:
            self.push(Name(name))
        elif name in NAMES:
            self.push(NAMES[name])
        else:
            _refuse(name)

    def name_lines(self) -> None:
        self.name(f"{self._source.line().decode()}.{self._source.line().decode()}")

    def name_of_stack(self) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        self.name(f"{as_text(module)}.{as_text(name)}")

    def reduce(self) -> None:
        arguments, called = self._stack.pop(), self._stack.pop()
        if type(arguments) is not tuple or type(called) is not Name:
            raise TypeError("a call of what is no function")
        if called.name in ("copy_reg._reconstructor", "copyreg._reconstructor"):
            kind, base, state = arguments
            if type(base) is not Name or not base.name.endswith(".object") or state is not None:
                raise TypeError("an object with a base class")
            self.new(kind, ())
        elif called.call is None:
            self.new(called, arguments)
        else:
            self.push(called.call(self.spend, arguments))

    def new(self, kind: Any, arguments: Any) -> None:
        if type(kind) is not Name or kind.name not in self._records or arguments:
            _refuse(kind.name if type(kind) is Name else type(kind).__name__)
        self.push(Record(kind.name))

    def new_object(self) -> None:
        arguments, kind = self._stack.pop(), self._stack.pop()
        self.new(kind, arguments)

    def instance(self) -> None:
        arguments = self.since_mark()
        self.name_lines()
        self.new(self._stack.pop(), arguments)

    def object_(self) -> None:
        kind, *arguments = self.since_mark()
        self.new(kind, arguments)

    def build(self) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        if type(target) is Record and type(state) is dict:
            self.spend(len(state))
            target.fields.update(state)
        elif type(target) is DType and type(state) is tuple:
            set_byte_order(target, state)
        elif type(target) is Array and type(state) is tuple:
            fill(target, state, self.spend)
        elif not (type(target) is dict and type(state) in (dict, type(None)) and not state):
            raise TypeError(f"a state for a {type(target).__name__}")


def _refuse(name: str) -> NoReturn:
    raise InputError(
        f"it asks for {name[:200]!r}; only plain values, OrderedDict and NumPy arrays are read, and nothing was run: "
        "if you trust the file, load it with the program that wrote it and save its arrays with numpy.save"
    )


_STOP = ord(".")

OPCODES: dict[int, Opcode] = {
    code[0]: operation
    for code, operation in {
        b"\x80": _Machine.protocol,
        b"\x95": _Machine.frame,
        b"(": _Machine.mark,
        b"0": _Machine.pop,
        b"1": lambda m: m.since_mark() and None,
        b"2": _Machine.duplicate,
        b"N": lambda m: m.push(None),
        b"\x88": lambda m: m.push(True),
        b"\x89": lambda m: m.push(False),
        b"I": _Machine.integer_line,
        b"J": lambda m: m.push(m._source.number(4, signed=True)),
        b"K": lambda m: m.push(m._source.number(1)),
        b"M": lambda m: m.push(m._source.number(2)),
        b"L": _Machine.long_line,
        b"\x8a": lambda m: m.long(1),
        b"\x8b": lambda m: m.long(4),
        b"F": _Machine.float_line,
        b"G": _Machine.binary_float,
        b"S": _Machine.string_line,
        b"T": lambda m: m.string(4),
        b"U": lambda m: m.string(1),
        b"B": lambda m: m.bytes_(4),
        b"C": lambda m: m.bytes_(1),
        b"\x8e": lambda m: m.bytes_(8),
        b"\x96": lambda m: m.bytes_(8),
        b"V": _Machine.text_line,
        b"X": lambda m: m.text(4),
        b"\x8c": lambda m: m.text(1),
        b"\x8d": lambda m: m.text(8),
        b"]": lambda m: m.push([]),
        b"a": _Machine.append,
        b"e": lambda m: m.extend(m.since_mark()),
        b"l": lambda m: m.push(m.since_mark()),
        b")": lambda m: m.push(()),
        b"t": lambda m: m.push(tuple(m.since_mark())),
        b"\x85": lambda m: m.tuple_(1),
        b"\x86": lambda m: m.tuple_(2),
        b"\x87": lambda m: m.tuple_(3),
        b"}": lambda m: m.push({}),
        b"d": _Machine.dict_,
        b"s": _Machine.set_item,
        b"u": lambda m: m.set_items(m.since_mark()),
        b"\x8f": lambda m: m.push(set()),
        b"\x90": _Machine.add_items,
        b"\x91": _Machine.frozenset_,
        b"g": lambda m: m.recall(int(m._source.line())),
        b"h": lambda m: m.recall(m._source.number(1)),
        b"j": lambda m: m.recall(m._source.number(4)),
        b"p": lambda m: m.remember(int(m._source.line())),
        b"q": lambda m: m.remember(m._source.number(1)),
        b"r": lambda m: m.remember(m._source.number(4)),
        b"\x94": _Machine.memoize,
        b"c": _Machine.name_lines,
        b"\x93": _Machine.name_of_stack,
        b"R": _Machine.reduce,
        b"b": _Machine.build,
        b"\x81": _Machine.new_object,
        b"i": _Machine.instance,
        b"o": _Machine.object_,
    }.items()
}
