"""Build the values in a pickle without running any of it: a stack machine that knows plain values and a few names.

A pickle is a program for such a machine, and the standard reader lets it call any installed function. Here a table maps
each allowed name to a function of ours that does the same by hand (`safe_pickle` has the table); any other name is
refused before anything happens. The standard library's `pickletools` describes the opcodes. Also refused: persistent
ids, the extension registry, buffers outside the file, keywords.

Rejected: `pickle.Unpickler` with our own `find_class`. It would run nothing either, but seven bytes make it allocate
34 GB (a position in its memo), and a megabyte of nested tuples as a key crashes the process. Here no length is trusted
before its bytes have arrived, and the size of the file bounds memory: at worst about a hundred bytes per byte of file.
"""

from __future__ import annotations

import codecs
import os
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO, NoReturn, TypeAlias

from siamese_cbow.errors import InputError

LONGEST_NUMBER = 256  # bytes; larger numbers can only be an attack
LONGEST_LINE = 1000  # bytes; the oldest protocol writes numbers, positions and names as lines of text
MOST_TUPLE_KEYS = 1000  # tuples with equal hashes are easy to make, and looking up a million of them takes hours
SPARE = 400_000  # items that may be copied in addition to one per byte: see `Machine.spend`

Calls: TypeAlias = Mapping[str, Callable[..., Any] | None]  # name -> what replaces the call
Opcode: TypeAlias = Callable[["Machine"], Any]


@dataclass
class Record:
    """An object of a class that is not loaded: class name and attributes, as data.

    An argparse.Namespace(dim=300) -> Record("argparse.Namespace", {"dim": 300})
    """

    name: str
    fields: dict[Any, Any] = field(default_factory=dict)


class Name(str):
    """A name that a pickle refers to, such as numpy.ndarray."""

    __slots__ = ()


@dataclass(eq=False)
class Announced:
    """A value that a pickle announces first and completes later: the value is `complete(machine, *state)`."""

    complete: Callable[..., Any]
    position: int | None = None  # in the memo


class Machine:
    """The state while one pickle is read, from the current position of its file.

    calls    for each name that a pickle may use: `call(machine, *arguments)`; None if it may not be called
    records  names of classes whose objects become records
    """

    def __init__(self, file: BinaryIO, calls: Calls, records: Collection[str]) -> None:
        self._file, self._start = file, file.tell()
        self.size = file.seek(0, os.SEEK_END) - self._start
        file.seek(self._start)
        self._calls: Calls = {**calls, **dict.fromkeys(records)}
        self._records = frozenset(records)
        self._stack: list[Any] = []
        self._below: list[list[Any]] = []  # the stacks below each mark
        self._memo: dict[int, Any] = {}
        self._utf8: dict[int, str] = {}  # strings of Python 2 that were bytes of UTF-8, by their id
        self._spent = self._n_tuple_keys = 0

    def run(self) -> Any:
        """The value the pickle builds."""
        while (code := self._take(1)) != b".":
            if code in _VALUES:
                value = _VALUES[code](self)
                self._stack.append(value)
            elif code in _ACTIONS:
                _ACTIONS[code](self)
            else:
                raise ValueError(f"opcode {code!r}")
        return self._stack.pop()

    def spend(self, n: int) -> None:
        """Limit how far the values outgrow the file: 1 for each copied item, 4 for each container.

        A few bytes may refer to one large list many times, and an empty set takes 1 byte in the file, 216 in memory.
        """
        self._spent += n
        if self._spent > SPARE + self.size:
            raise MemoryError("it unfolds to more than it holds")

    def _new(self, container: Any) -> Any:
        self.spend(4)
        return container

    def key(self, key: Any) -> Any:
        """A key, checked to hash fast and without recursion: C code follows nested tuples until the stack overflows."""
        is_tuple = type(key) is tuple and len(key) <= 16
        self._n_tuple_keys += is_tuple
        if self._n_tuple_keys > MOST_TUPLE_KEYS:
            raise MemoryError(f"it has more than {MOST_TUPLE_KEYS:,} tuples as keys")
        for part in key if is_tuple else (key,):
            is_small = type(part) is int and part.bit_length() <= 64
            if not (is_small or part is None or type(part) in (str, bytes, bool, float)):
                raise TypeError(f"a {type(part).__name__} as a key")
        return key

    @property
    def position(self) -> int:
        """Bytes read so far."""
        return self._file.tell() - self._start

    def _take(self, n: int) -> bytes:
        if n > 64 and n > self.size - self.position:  # a buffered file would allocate n bytes first
            raise EOFError(f"{n:,} bytes expected, {self.size - self.position:,} left")
        data = self._file.read(n)
        if len(data) < n:
            raise EOFError(f"{n:,} bytes expected, {len(data):,} left")
        return data

    def _number(self, n: int, *, signed: bool = False) -> int:
        return int.from_bytes(self._take(n), "little", signed=signed)

    def _counted(self, size: int) -> bytes:
        return self._take(self._number(size))

    def _line(self, longest: int = LONGEST_LINE) -> bytes:
        line = self._file.readline(longest + 1)
        if not line.endswith(b"\n"):
            raise EOFError(f"a line of at most {longest:,} bytes expected")
        return line[:-1]

    def _protocol(self) -> None:
        if (version := self._number(1)) > 5:
            raise ValueError(f"protocol {version}")

    def _integer_line(self) -> int:
        line = self._line()
        return line == b"01" if line in (b"00", b"01") else int(line)  # how Python 2 writes truth values

    def _long(self, size: int) -> int:
        if (n := self._number(size)) > LONGEST_NUMBER:
            raise ValueError(f"a number of {n:,} bytes")
        return self._number(n, signed=True)

    def _string_line(self) -> str:
        line = self._line(self.size).strip()
        if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
            raise ValueError("a string without quotes")
        return self._python2_text(codecs.escape_decode(line[1:-1])[0])

    def _python2_text(self, string: bytes) -> str:
        """A string of Python 2 as text: UTF-8, or else Latin-1."""
        try:
            text = string.decode()
        except UnicodeDecodeError:
            return string.decode("latin-1")
        if not text.isascii():
            self._utf8[id(text)] = text
        return text

    def raw(self, string: Any) -> bytes:
        """The bytes of a string, which may have been decoded as text."""
        if type(string) is str:
            self.spend(len(string))
            return string.encode("utf-8" if id(string) in self._utf8 else "latin-1")
        if type(string) is not bytes:
            raise TypeError(f"a {type(string).__name__} in place of bytes")
        return string

    def _mark(self) -> None:
        self._below.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._below.pop()
        return items

    def _last(self, n: int) -> tuple[Any, ...]:
        return tuple([self._stack.pop() for _ in range(n)][::-1])

    def _remember(self, position: int) -> None:
        self._memo[position] = self._stack[-1]
        if type(self._stack[-1]) is Announced:
            self._stack[-1].position = position

    def _add(self, kind: type[Any], items: Sequence[Any]) -> None:
        """Add items to the list, set or dictionary on top of the stack."""
        target = self._stack[-1]
        if type(target) is not kind:
            raise TypeError(f"items for a {type(target).__name__}")
        if kind is list:
            target.extend(items)
        else:
            target.update(map(self.key, items) if kind is set else self.dictionary(items))

    def dictionary(self, items: Sequence[Any]) -> dict[Any, Any]:
        """[key, value, key, value, ...] as a dictionary."""
        if len(items) % 2:
            raise ValueError("a key without a value")
        return {self.key(key): value for key, value in zip(items[::2], items[1::2], strict=True)}

    # names, and what would call them

    def _name(self, module: Any, name: Any) -> Name:
        if type(module) is not str or type(name) is not str:
            raise TypeError("a name that is not text")
        if (full := f"{module}.{name}") not in self._calls:
            _refuse(full)
        return Name(full)

    def _called(self, name: Any, arguments: Any) -> Any:
        if type(arguments) is not tuple or type(name) is not Name:
            raise TypeError("a call of something that is not a function")
        call = self._calls[name]
        return self.object(name, *arguments) if call is None else self._new(call(self, *arguments))

    def object(self, kind: Any, *arguments: Any) -> Any:
        """An object of one of the classes that are read as records."""
        if type(kind) is not Name or kind not in self._records or arguments:
            _refuse(kind if type(kind) is Name else type(kind).__name__)
        return self._new(Record(str(kind)))

    def _build(self) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        if type(target) is Record and type(state) is dict:
            self.spend(len(state))
            target.fields.update(state)
        elif type(target) is Announced and type(state) is tuple:
            self._stack[-1] = target.complete(self, *state)
            if target.position is not None:
                self._memo[target.position] = self._stack[-1]
        elif not (type(target) is dict and type(state) in (dict, type(None)) and not state):
            raise TypeError(f"a state for a {type(target).__name__}")


def _refuse(name: str) -> NoReturn:
    raise InputError(
        f"it asks for {str(name[:200])!r}; only plain values, OrderedDict and NumPy arrays are read, and nothing was "
        "run: if you trust the file, load it with the program that wrote it and save its arrays with numpy.save"
    )


def _with(operation: Callable[[Machine, Any], Any], arguments: Mapping[bytes, Any]) -> dict[bytes, Opcode]:
    """Opcodes that differ in one argument: (operation, {b"K": 1}) -> {b"K": lambda machine: operation(machine, 1)}."""
    return {code: partial(lambda argument, m: operation(m, argument), argument) for code, argument in arguments.items()}


# Opcodes that push a value
_VALUES: dict[bytes, Opcode] = {
    **_with(lambda m, value: value, {b"N": None, b"\x88": True, b"\x89": False}),
    **_with(Machine._number, {b"K": 1, b"M": 2}),
    **_with(Machine._long, {b"\x8a": 1, b"\x8b": 4}),
    **_with(Machine._counted, {b"B": 4, b"C": 1, b"\x8e": 8, b"\x96": 8}),
    **_with(lambda m, size: m._counted(size).decode("utf-8", "surrogatepass"), {b"X": 4, b"\x8c": 1, b"\x8d": 8}),
    **_with(lambda m, size: m._python2_text(m._counted(size)), {b"T": 4, b"U": 1}),
    **_with(lambda m, kind: m._new(kind()), {b"]": list, b"}": dict, b"\x8f": set}),
    **_with(lambda m, n: m._new(m._last(n)), {b")": 0, b"\x85": 1, b"\x86": 2, b"\x87": 3}),
    **_with(lambda m, size: m._memo[m._number(size)], {b"h": 1, b"j": 4}),
    b"J": lambda m: m._number(4, signed=True),
    b"I": Machine._integer_line,
    b"L": lambda m: int(m._line().removesuffix(b"L")),
    b"F": lambda m: float(m._line()),
    b"G": lambda m: struct.unpack(">d", m._take(8))[0],
    b"S": Machine._string_line,
    b"V": lambda m: m._line(m.size).decode("raw-unicode-escape"),
    **_with(lambda m, kind: m._new(kind(m._since_mark())), {b"t": tuple, b"l": list}),
    b"d": lambda m: m._new(m.dictionary(m._since_mark())),
    b"\x91": lambda m: m._new(frozenset(map(m.key, m._since_mark()))),
    b"2": lambda m: m._stack[-1],
    b"g": lambda m: m._memo[int(m._line())],
    b"c": lambda m: m._name(m._line().decode(), m._line().decode()),
    b"\x93": lambda m: m._name(*m._last(2)),
    **dict.fromkeys((b"R", b"\x81"), lambda m: m._called(*m._last(2))),
    b"i": lambda m: m.object(m._name(m._line().decode(), m._line().decode()), *m._since_mark()),
    b"o": lambda m: m.object(*m._since_mark()),
}
# Opcodes that push no value
_ACTIONS: dict[bytes, Opcode] = {
    **_with(lambda m, size: m._remember(m._number(size)), {b"q": 1, b"r": 4}),
    b"p": lambda m: m._remember(int(m._line())),
    b"\x94": lambda m: m._remember(len(m._memo)),
    b"\x80": Machine._protocol,
    b"\x95": lambda m: m._take(8),  # the length of a frame, which nothing here depends on
    b"(": Machine._mark,
    b"0": lambda m: m._stack.pop() if m._stack else m._since_mark(),
    b"1": Machine._since_mark,
    b"a": lambda m: m._add(list, m._last(1)),
    b"s": lambda m: m._add(dict, m._last(2)),
    **_with(lambda m, kind: m._add(kind, m._since_mark()), {b"e": list, b"u": dict, b"\x90": set}),
    b"b": Machine._build,
}
