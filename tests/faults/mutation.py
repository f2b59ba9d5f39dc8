"""Mutants that get past the first check: an input is unpacked, changed inside, and packed again.

    mutate = behind(gzip.decompress, gzip.compress, text)
    mutate(data, random.Random(1))          a complete archive of another text

Lengths, checksums and headers are correct again, so the code behind them gets to see the change. An input that can't be
unpacked, because an earlier mutant was broken, is changed byte by byte.
"""

from __future__ import annotations

import io
import json
import pickletools
import random
import re
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

Mutate: TypeAlias = Callable[[bytes, random.Random], bytes]

PIECES = [
    *(b"\0", b"\xff", b"\n", b'"', b"{", b"[" * 40, b"-1", b"1e999", b"NaN", b"9" * 25, b"\xed\xa0\x80", b"../", b"\t"),
    *(b"\r", b",", b"\xef\xbb\xbf", b"'", b"\\", b" ", b"a cat", b"\xc2\xa0"),
]
NUMBERS = (0, 1, -1, 2, 3, 127, 128, 255, 256, 65535, 65536, 1 << 31, -(1 << 31), (1 << 63) - 1, -(1 << 63), 1 << 64)
VALUES: list[Any] = [
    *(None, True, False, 0.5, -0.0, 1e-320, 1e308, float("nan"), float("inf"), "", "a", "the cat", "zzz", "\0"),
    *("\ud800", "é", "ab" * 150, "<b>", "../x", "{}", "1", [], {}, [[]], ["a", "b"], [1, 2], {"a": 1}),
    *NUMBERS, 10**400, ["the", "cat", ""],
]  # fmt: skip
ALIKE: dict[type, list[Any]] = {  # values that may replace another value of their type
    str: [
        "a",
        "the cat",
        "cat",
        "zzz",
        "",
        "é",
        "a" * 300,
        "dog\n",
        "\0",
        "base64",
        "float",
        "m",
        "pca",
        "\u0130\ufb01",
    ],
    int: [0, 1, 2, 3, 4, 10, 1000, 1001, -1],
    float: [0.0, 0.5, 1.0, -1.0, 1e-9, 1.5],
    bool: [True, False],
    list: [[], ["cat"], ["the", "cat", "the"], ["a"] * 60, [1, 2], [[1], [2, 3]], [0]],
}
# Replace such strings in JSON text: notations that no Python value produces.
UNWRITABLE = {'"@deep"': "[" * 5000 + "]" * 5000, '"@objects"': '{"a":' * 900 + "1" + "}" * 900, '"@open"': "[" * 2000,
              '"@digits"': "9" * 5000, '"@exponent"': "1e99999", '"@twice"': '1, "k": 2, "k": 3',
              '"@lone"': '"\\ud800\\u0000"', '"@raw"': '"\x07"'}  # fmt: skip
DTYPES = ["<f4", "<f8", ">f4", "<i4", "<i8", ">i8", "|i1", "|u1", "<u2", "|O", "<U3", "|V4", "|b1", "<c8", "<M8[s]"]


def raw(data: bytes, chance: random.Random) -> bytes:
    """Cuts, flips, doubles, swaps and splices bytes."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(changed) + 1)
        end = min(len(changed), place + chance.choice((1, 1, 2, 4, 16, 200)))
        what = chance.randrange(6)
        if what == 0:
            changed[place:end] = chance.randbytes(end - place)
        elif what == 1:
            del changed[place:end]
        elif what == 2:
            changed[place:place] = chance.choice(PIECES)
        elif what == 3:
            changed[place:end] = changed[place:end] * 3
        elif what == 4 and place < len(changed):
            changed[place] ^= 1 << chance.randrange(8)
        else:
            changed[place:end] = struct.pack("<q", chance.choice(NUMBERS[:-1]))[: end - place]
    return bytes(changed)


def text(data: bytes, chance: random.Random) -> bytes:
    """Mutates characters, so that the result stays UTF-8; one in ten is mutated as bytes."""
    if chance.random() < 0.1:
        return raw(data, chance)
    letters = data.decode("utf-8", "ignore")
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(letters) + 1)
        end = place + chance.choice((0, 0, 1, 3, 20))
        piece = chance.choice((*PIECES, None, None)) or letters[chance.randrange(len(letters) + 1) :][:30].encode()
        letters = letters[:place] + piece.decode("utf-8", "ignore") * chance.choice((1, 1, 1, 2, 30)) + letters[end:]
    return letters.encode()


def of_words(*words: str) -> Mutate:
    """Like `text`, with a format's own words among the pieces."""

    def mutate(data: bytes, chance: random.Random) -> bytes:
        if chance.random() < 0.4:
            return text(data, chance)
        place = chance.randrange(len(data) + 1)
        return data[:place] + chance.choice(words).encode() * chance.choice((1, 1, 2, 60)) + data[place:]

    return mutate


def assigned(values: Sequence[str]) -> Mutate:
    """Changes, drops or repeats lines such as `dim = 300`; mutates one in four as text."""

    def mutate(data: bytes, chance: random.Random) -> bytes:
        lines = data.decode("utf-8", "ignore").split("\n")
        place = chance.randrange(len(lines))
        name, equals, _ = lines[place].partition(" = ")
        if not equals or chance.random() < 0.25:
            return text(data, chance)
        what = chance.randrange(6)
        if what == 0:
            del lines[place]
        elif what == 1:
            lines.insert(place, chance.choice(lines))
        else:
            lines[place] = name + equals + chance.choice(values)
        return "\n".join(lines).encode()

    return mutate


def cells(mark: str) -> Mutate:
    """Mutates a table cell by cell, with the delimiters in place."""

    def mutate(data: bytes, chance: random.Random) -> bytes:
        if chance.random() < 0.2:
            return text(data, chance)
        rows = [line.split(mark) for line in data.decode("utf-8", "ignore").split("\n")]
        for _ in range(chance.randint(1, 3)):
            row = rows[chance.randrange(len(rows))]
            place, what = chance.randrange(len(row)), chance.randrange(7)
            if what == 0:
                rows.append(list(row))
            elif what == 1:
                del row[place]
                row[:] = row or [""]
            elif what == 2:
                row.insert(place, chance.choice(("", "x", '""', "1e5")))
            elif what == 3:
                row[place] = f'"{row[place]}"'
            elif what == 4:
                row[place] = str(chance.choice(VALUES))[:400]
            elif what == 5:
                row[place] = text(row[place].encode("utf-8", "replace"), chance).decode("utf-8", "ignore")
            else:
                rows.insert(chance.randrange(len(rows)), list(chance.choice(rows)))
        return "\n".join(mark.join(row) for row in rows).encode("utf-8", "replace")

    return mutate


def json_value(value: Any, chance: random.Random) -> Any:
    """A plain value with some places in it changed."""
    holder: list[Any] = [value]
    for _ in range(chance.randint(1, 3)):
        inside, key = holder, 0
        while True:  # descends to a random place
            here: Any = inside[key]
            if not isinstance(here, dict | list) or not here or chance.random() < 0.2:
                break
            inside, key = here, chance.choice(list(here)) if isinstance(here, dict) else chance.randrange(len(here))
        what = chance.randrange(8)
        old = inside[key]
        if what == 0 and inside is not holder:
            del inside[key]
        elif what == 1 and isinstance(old, dict):
            old[chance.choice(("", "a", "k", "\ud800", *old))] = chance.choice(VALUES)
        elif what == 1 and isinstance(old, list):
            old.extend(old[:50] or ["the cat"])
        elif what == 2 and isinstance(old, str):
            inside[key] = text(old.encode("utf-8", "replace"), chance).decode("utf-8", "replace")
        elif what == 2 and isinstance(old, int | float):
            inside[key] = old + chance.choice((1, -1, 0.5)) if abs(old) < 1e300 else 0
        elif what == 3:
            inside[key] = [old]
        elif what < 6 and type(old) in ALIKE:
            inside[key] = chance.choice(ALIKE[type(old)])
        elif what == 6 and chance.random() < 0.3:
            inside[key] = chance.choice(list(UNWRITABLE)).strip('"')
        else:
            inside[key] = chance.choice(VALUES)
    return holder[0]


def json_text(data: bytes, chance: random.Random) -> bytes:
    """Mutates JSON by its values, including duplicate keys, deep nesting and endless numbers."""
    if chance.random() < 0.08:
        return raw(data, chance)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return raw(data, chance)
    try:
        written = json.dumps(json_value(value, chance), ensure_ascii=chance.random() < 0.5)
    except (ValueError, RecursionError):
        return raw(data, chance)
    if "@" in written:
        for mark, instead in UNWRITABLE.items():
            written = written.replace(mark, instead)
    return written.encode("utf-8", "surrogatepass")


def json_lines(data: bytes, chance: random.Random) -> bytes:
    """Mutates one line of several, as JSON."""
    lines = data.split(b"\n")
    place = chance.randrange(len(lines))
    lines[place] = json_text(lines[place], chance)
    if chance.random() < 0.2:
        lines.insert(chance.randrange(len(lines)), chance.choice(lines))
    return b"\n".join(lines)


def behind(unpack: Callable[[bytes], bytes], pack: Callable[[bytes], bytes], inner: Mutate) -> Mutate:
    """Mutates the content of a compressed input; one in eight is changed as it is."""

    def mutate(data: bytes, chance: random.Random) -> bytes:
        if chance.random() > 0.12:
            with suppress(Exception):
                return pack(inner(unpack(data), chance))
        return raw(data, chance)

    return mutate


def after(n: int, inner: Mutate | Mapping[bytes, Mutate]) -> Mutate:
    """The first bytes say what the rest is and mostly stay; with a mapping, they also say how the rest is mutated."""

    def mutate(data: bytes, chance: random.Random) -> bytes:
        head, rest = data[:n], data[n:]
        if chance.random() < 0.02:
            return chance.randbytes(n) + rest
        change = inner.get(head, raw) if isinstance(inner, Mapping) else inner
        return head + change(rest, chance)

    return mutate


# arrays


def npy(data: bytes, chance: random.Random) -> bytes:
    """An `.npy` file: mutates its header by value, with the right length, or its numbers."""
    if data[:6] != b"\x93NUMPY" or len(data) < 10 or chance.random() < 0.1:
        return raw(data, chance)
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header, body = data[10:end].decode("latin-1"), data[end:]
    what = chance.randrange(5)
    if what == 0:
        header = re.sub(r"'[<>|=][^']*'", repr(chance.choice(DTYPES)), header, count=1)
    elif what == 1:
        shape = tuple(chance.choice((0, 1, 2, 3, 4, *NUMBERS)) for _ in range(chance.randrange(4)))
        header = re.sub(r"\([^)]*\)", str(shape).replace("\\", ""), header, count=1)
    elif what == 2:
        header = (
            header.replace("False", "True")
            if chance.random() < 0.3
            else text(header.encode(), chance).decode("latin-1")
        )
    elif body:
        place = chance.randrange(len(body))
        number = struct.pack(chance.choice("fdq"), chance.choice((0, 1, 3, -1, 1 << 20)))
        body = body[:place] + number + body[place + len(number) :]
        body = body if what == 3 else body[: chance.randrange(len(body))]
    written = header.encode("latin-1", "replace")[:60000]
    return data[:8] + struct.pack("<H", len(written)) + written + body


def safetensors(data: bytes, chance: random.Random) -> bytes:
    """Mutates the header by value, with the right length, or the numbers."""
    if len(data) < 8 or chance.random() < 0.1:
        return raw(data, chance)
    n = struct.unpack("<Q", data[:8])[0]
    header, body = data[8 : 8 + n], data[8 + n :]
    what = chance.randrange(4)
    if what == 0:
        with suppress(ValueError, TypeError, AttributeError):
            tensors = json.loads(header)
            tensor = tensors[chance.choice(list(tensors))]
            tensor["dtype"] = chance.choice(["F64", "F32", "F16", "BF16", "I8", "U8", "I64", "BOOL", "F8_E5M2"])
            tensor["shape"] = [chance.choice((*tensor["shape"], 0, 1, *NUMBERS)) for _ in range(chance.randrange(4))]
            header = json.dumps(tensors).encode()
    elif what == 1:
        header = json_text(header, chance)
    elif body:
        place = chance.randrange(len(body))
        number = struct.pack(chance.choice("fe"), chance.choice((0.0, 1.0, -1.0, float("nan"), float("inf"), 65000.0)))
        body = body[:place] + number + body[place + len(number) :]
        body = body if what == 2 else body[: chance.randrange(len(body))]
    return struct.pack("<Q", len(header)) + header + body


def zipped(inner: Mutate) -> Mutate:
    """A zip archive, such as npz: mutates a member, with the right checksum, or the names."""

    def mutate(data: bytes, chance: random.Random) -> bytes:
        if chance.random() < 0.1:
            return raw(data, chance)
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as old:
                members = [(info.filename, old.read(info)) for info in old.infolist()]
            place = chance.randrange(len(members))
        except Exception:  # an earlier mutant may be anything
            return raw(data, chance)
        name, content = members[place]
        what = chance.randrange(8)
        if what == 0:
            members[place] = (chance.choice(("../x.npy", "/x.npy", "", "a" * 300, members[0][0])), content)
        elif what == 1:
            del members[place]
        else:
            members[place] = (name, inner(content, chance))
        sink = io.BytesIO()
        kind = zipfile.ZIP_DEFLATED if chance.random() < 0.2 else zipfile.ZIP_STORED
        with zipfile.ZipFile(sink, "w", kind) as new:
            for name, content in members:
                new.writestr(zipfile.ZipInfo(name or "x"), content, kind)
        return sink.getvalue()

    return mutate


# tables in Parquet


def parquet(write: Callable[..., bytes]) -> Mutate:
    """Rewrites the table with other cells, types and options; or mutates its footer, with its length, or a page."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = [pa.string(), pa.large_string(), pa.binary(), pa.list_(pa.string()), pa.int64(), pa.float64(), pa.bool_(),
             pa.dictionary(pa.int32(), pa.string()), pa.struct([("a", pa.string())]),
             pa.list_(pa.list_(pa.string()))]  # fmt: skip

    def mutate(data: bytes, chance: random.Random) -> bytes:
        what = chance.randrange(10)
        if what == 0 or len(data) < 12 or data[-4:] != b"PAR1":
            return raw(data, chance)
        n = struct.unpack("<I", data[-8:-4])[0]
        pages, footer = data[: max(4, len(data) - 8 - n)], data[max(4, len(data) - 8 - n) : -8]
        if what == 1:
            footer = raw(footer, chance)
            return pages + footer + struct.pack("<I", len(footer)) + b"PAR1"
        if what == 2 and len(pages) > 4:
            changed = bytearray(pages)
            for _ in range(chance.randint(1, 3)):
                changed[chance.randrange(4, len(changed))] ^= 1 << chance.randrange(8)
            return bytes(changed) + data[len(pages) :]
        try:
            columns = pq.read_table(io.BytesIO(data), use_threads=False).to_pydict()
        except Exception:  # an earlier mutant
            return raw(data, chance)
        return rewritten(columns, chance) or raw(data, chance)

    def rewritten(columns: dict[str, list[Any]], chance: random.Random) -> bytes | None:
        for values in columns.values():
            if values and chance.random() < 0.5:
                values[chance.randrange(len(values))] = chance.choice(
                    (None, "", "a b " * 50, "\0", "é\n", 1, ["a"], 0.5)
                )
        if columns and chance.random() < 0.2:
            name = chance.choice(list(columns))
            columns[chance.choice(("text", "label", "a.b", "", "Text"))] = columns.pop(name)
        try:
            arrays = {}
            for name, values in columns.items():
                arrays[name] = pa.array(values, chance.choice(kinds) if chance.random() < 0.3 else None)
            return write(
                pa.table(arrays),
                compression=chance.choice(("none", "snappy", "gzip", "zstd", "brotli", "lz4")),
                use_dictionary=chance.random() < 0.5,
                row_group_size=chance.choice((1, 2, 1000)),
                data_page_version=chance.choice(("1.0", "2.0")),
                version=chance.choice(("1.0", "2.4", "2.6")),
            )
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            return None

    return mutate


# pickles


def pickled(data: bytes, chance: random.Random) -> bytes:
    """Mutates opcodes: some are dropped, repeated, swapped or replaced."""
    if chance.random() < 0.3:
        return raw(data, chance)
    try:
        places = [place for _, _, place in pickletools.genops(data)]
    except Exception:  # an earlier mutant
        return raw(data, chance)
    steps = [data[a:b] for a, b in zip(places, [*places[1:], len(data)], strict=True)]
    for _ in range(chance.randint(1, 3)):
        place, what = chance.randrange(len(steps)), chance.randrange(5)
        if what == 0:
            del steps[place]
        elif what == 1:
            steps.insert(place, chance.choice(steps))
        elif what == 2:
            other = chance.randrange(len(steps))
            steps[place], steps[other] = steps[other], steps[place]
        elif what == 3:
            steps.insert(place, chance.choice(OPCODES))
        else:
            steps[place] = raw(steps[place], chance)
        if not steps:
            break
    return b"".join(steps)


OPCODES = [
    *(b"(", b"0", b"1", b"2", b"N", b"\x88", b"]", b"}", b")", b"\x8f", b"\x85", b"\x86", b"a", b"e", b"s", b"u", b"t"),
    *(b"l", b"d", b"b", b"R", b"\x81", b"\x90", b"\x91", b"\x94", b"cos\nsystem\n", b"cnumpy\nndarray\n", b"I1\n"),
    *(b"K\x05", b"M\xff\xff", b"J\xff\xff\xff\x7f", b"\x8a\x08" + b"\xff" * 8, b"h\x00", b"j\xff\xff\xff\x7f"),
    *(b"X\x01\x00\x00\x00a", b"C\x01a", b"\x95" + b"\xff" * 8, b"\x8e" + b"\xff" * 8, b"Pid\n", b"Q", b"q\x00"),
]  # fmt: skip


def by_file(names: Sequence[str], given: Mapping[str, Mutate] | None = None) -> Mutate:
    """For a folder: the first byte selects the file that the rest replaces; its ending selects the mutation."""
    usual: dict[str, Mutate] = {
        "json": json_text, "jsonl": json_lines, "safetensors": safetensors, "npy": npy, "npz": zipped(npy),
        "pkl": pickled, "csv": cells(","), "txt": text, "md": text,
    }  # fmt: skip
    ways = [({**usual, **(given or {})}).get(name.rpartition(".")[2], raw) for name in names]

    def mutate(data: bytes, chance: random.Random) -> bytes:
        if not data or chance.random() < 0.01:
            return chance.randbytes(1) + data[1:]
        return data[:1] + ways[data[0] % 128 % len(ways)](data[1:], chance)

    return mutate
