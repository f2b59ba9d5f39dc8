"""Other programs' pickles: data comes back as it was written, and nothing in a file is ever executed."""

from __future__ import annotations

import argparse
import itertools
import pickle
import random
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from python2_pickles import python2_npy, python2_pickle
from siamese_cbow.errors import InputError
from siamese_cbow.formats.safe_pickle import Record, load_npy, load_pickle

VALUES: list[Any] = [
    None, True, False, 0, -1, 2**31, 2**63, -(2**63), 1.5, float("inf"), "", "naïve ☃", b"\x00\xff", (), (1,),
    (1, 2, 3, 4), [], [1, [2, [3]]], {}, {"a": 1, 2: "b", (1, "x"): None}, {1, 2}, frozenset({"a"}),
    OrderedDict([("b", 1), ("a", 2)]), ["same"] * 3, "x" * 1000, b"y" * 1000, list(range(2000)),
    {str(i): i for i in range(2000)},
]  # fmt: skip
ARRAYS = [
    np.arange(6, dtype=np.float32).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.zeros((0, 3)),
    np.array(3), np.arange(3, dtype=">i2"), np.array([True, False]), np.array(["a", "bcd"]), np.array([b"a", b"bc"]),
    np.ones(2, np.complex64),
]  # fmt: skip


def equal(found: Any, expected: Any) -> bool:
    if isinstance(expected, np.ndarray):
        return found.dtype == expected.dtype and found.shape == expected.shape and bool(np.all(found == expected))
    return type(found) is (dict if isinstance(expected, dict) else type(expected)) and found == expected


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("value", VALUES + ARRAYS + [np.float32(1.5), np.int64(-3)], ids=lambda value: repr(value)[:20])
def test_reads_what_python_3_writes(value: Any, protocol: int) -> None:
    assert equal(load_pickle(pickle.dumps(value, protocol)), value)


@pytest.mark.parametrize("protocol", [0, 2])
@pytest.mark.parametrize(
    "value",
    [value for value in VALUES if type(value) not in (set, frozenset)] + ARRAYS[:6],
    ids=lambda value: repr(value)[:20],
)
def test_reads_what_python_2_wrote(value: Any, protocol: int) -> None:
    if isinstance(value, int) and abs(value) > 2**31 - 1 and protocol == 2:
        return
    expected = (
        {b"\x00\xff": "\x00\xff", b"y" * 1000: "y" * 1000}.get(value, value) if isinstance(value, bytes) else value
    )
    assert equal(load_pickle(python2_pickle(value, protocol=protocol)), expected)


@pytest.mark.parametrize("protocol", [0, 2])
def test_strings_of_python_2_are_text(protocol: int) -> None:
    written = {b"dim": 2400, b"na\xc3\xafve": b"utf-8", b"na\xefve": b"latin-1", "naïve!": b'it\'s "quoted"\n\\'}
    assert load_pickle(python2_pickle(written, protocol=protocol)) == {
        "dim": 2400, "naïve": "latin-1", "naïve!": "it's \"quoted\"\n\\",
    }  # fmt: skip
    assert list(load_pickle(python2_pickle(OrderedDict([(b"b", 1), (b"a", 2)]), protocol=protocol))) == ["b", "a"]


def test_a_real_pickle_of_python_2_7_protocol_0() -> None:
    # cPickle.dumps({'dim': 3, 'rate': 0.5, 'name': u'caf\xe9', 'words': ['a', 'a']}), with its memo
    written = (
        b"(dp1\nS'dim'\np2\nI3\nsS'rate'\np3\nF0.5\nsS'name'\np4\nVcaf\xe9\np5\nsS'words'\np6\n(lp7\nS'a'\np8\nag8\nas."
    )
    assert load_pickle(written) == {"dim": 3, "rate": 0.5, "name": "café", "words": ["a", "a"]}


def test_objects_of_named_classes_come_back_as_records() -> None:
    for protocol in range(6):
        data = pickle.dumps({"args": argparse.Namespace(dim=3)}, protocol)
        with pytest.raises(InputError, match=r"asks for 'argparse\.Namespace'"):
            load_pickle(data)
        found = load_pickle(data, records={"argparse.Namespace"})
        assert found == {"args": Record("argparse.Namespace", {"dim": 3})}
    # an instance of an old-style class, as Python 2 wrote it
    old = b"(ivocabUtils\nvocabulary\np1\n(dp2\nS'size'\nI7\nsb."
    assert load_pickle(old, records=["vocabUtils.vocabulary"]) == Record("vocabUtils.vocabulary", {"size": 7})


class Malicious:
    def __init__(self, call: Any, *arguments: Any) -> None:
        self._what = call, arguments

    def __reduce__(self) -> Any:
        return self._what


EVIL = "raise SystemExit('the pickle was run')"


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "value",
    [
        Malicious(exec, EVIL), Malicious(eval, EVIL), Malicious(__import__("os").system, "exit 1"),
        Malicious(getattr, str, "join"), Malicious(subprocess.check_output, "ls"), Malicious(np.load, "x.npy"),
        Malicious(np.frombuffer, b"x"), Malicious(bytearray, 1 << 40), Malicious(np.zeros, 1 << 40), Path("x"),
        Record("x"), np.rec.array([(1, 2.0)]), np.zeros(2, "i4,f4"), np.ma.array([1]),
        np.array(["2020-01-01"], "M8[D]"), 1 + 2j,
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_everything_else_is_refused(value: Any, protocol: int) -> None:
    for data in (pickle.dumps(value, protocol), pickle.dumps([OrderedDict(a={"b": (value,)})], protocol)):
        with pytest.raises(InputError):
            load_pickle(data)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"cos\nsystem\n(S'exit 1'\ntR.", r"asks for 'os\.system'; .*nothing was run"),
        (b"(ios\nsystem\n.", r"asks for 'os\.system'"),
        (b"(cbuiltins\nlist\nK\x01o.", "asks for 'builtins.list'"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", r"asks for 'os\.system'"),
        (b"\x80\x04\x8c\x0fcollections.abc\x8c\x0bOrderedDict\x93.", "asks for"),
        (b"ccollections\nOrderedDict.__init__\n.", "asks for"),
        (b"cnumpy\nndarray\n.", "the class 'numpy.ndarray' where a value was expected"),
        (b"cnumpy\nndarray\n(I1000000000\ntR.", "asks for 'numpy.ndarray'"),
        (b"ccopy_reg\n_reconstructor\n(cnumpy\nndarray\nc__builtin__\nobject\nNtR.", "asks for 'numpy.ndarray'"),
        (b"Pid\n.", "opcode b'P'"),
        (b"\x82\x01.", r"opcode b'\\x82'"),
        (b"\x80\x09N.", "protocol 9"),
        (b"", "1 bytes expected, 0 left"),
        (b"N", "1 bytes expected, 0 left"),
        (b".", "not a readable pickle"),
        (b"T\xff\xff\xff\x7fabc", "2,147,483,647 bytes expected"),
        (b"\x8b\xff\xff\xff\x7fabc", "a number of"),
        (b"h\x05.", "nothing at 5"),
        (b"]q\x00h\x00a.", "contains itself"),
        (b"N" + b"\x85" * 100_000 + b".", "more than 100 deep"),
        (b"}N" + b"\x85" * 100_000 + b"Ns.", "a tuple as a key"),
        (b"}]Ns.", "a list as a key"),
        (b"\x8f(]\x90.", "a list as a key"),
        (b"}(K\x01u.", "a key without a value"),
        (b"NNa.", "items for a NoneType"),
        (b"NNb.", "a state for a NoneType"),
    ],
)
def test_broken_and_hostile_pickles(data: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_pickle(data)


def test_shared_parts_do_not_multiply() -> None:
    # a list of 2 references to a list of 2 references ... 60 levels: 2**60 leaves if each were copied
    nested = b"]q\x00" + b"".join(b"](h%ch%ceq%c" % (i, i, i + 1) for i in range(60)) + b"."
    found = load_pickle(nested)
    assert found[0] is found[1]
    # one list of 10,000 items, shared by 5,000 object arrays
    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n)U\x01btR(M\x10\x27\x85h\x01\x89h\x00tb"
    dtype = b"cnumpy\ndtype\n(U\x01OtR(K\x03U\x01|NNNtbq\x010"
    bomb = b"](" + b"N" * 10_000 + b"eq\x000" + dtype + b"(" + array * 5_000 + b"l."
    with pytest.raises(InputError, match="unfolds to more than it holds"):
        load_pickle(bomb)


def test_arrays_say_what_they_hold() -> None:
    good = python2_pickle(np.zeros((2, 3), np.float32))
    for old, new in [
        (b"J\x03\x00\x00\x00t", b"J\x04\x00\x00\x00t"),
        (b"J\x02", b"J\xff"),
        (b"f4", b"V4"),
        (b"f4", b"f9"),
    ]:
        assert old in good
        with pytest.raises(InputError, match="not a readable pickle"):
            load_pickle(good.replace(old, new))
    assert not load_pickle(good).flags.writeable


def test_npy_files(tmp_path: Path) -> None:
    path = tmp_path / "table.npy"
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(path, numbers)
    assert isinstance(load_npy(path), np.memmap)
    assert np.array_equal(load_npy(path), numbers)
    table = OrderedDict([("b", numbers[0]), ("a", numbers[1])])
    np.save(path, np.array(table), allow_pickle=True)
    for _ in range(2):
        found = load_npy(path).item()
        assert list(found) == ["b", "a"]
        assert np.array_equal(found["a"], numbers[1])
        cells = np.empty((), object)
        cells[()] = OrderedDict((word.encode(), row) for word, row in table.items())
        path.write_bytes(python2_npy(cells))
    rows = np.empty(2, object)
    rows[:] = list(numbers)
    path.write_bytes(python2_npy(rows))
    assert np.array_equal(np.stack(load_npy(path)), numbers)


def test_invalid_npy_files(tmp_path: Path) -> None:
    path = tmp_path / "table.npy"
    with pytest.raises(InputError, match=r"can't read .*table\.npy: No such file"):
        load_npy(path)
    cells = np.empty((), object)
    cells[()] = Malicious(exec, EVIL)
    np.save(path, cells, allow_pickle=True)
    with pytest.raises(InputError, match=r"table\.npy: it asks for '(__builtin__|builtins)\.exec'"):
        load_npy(path)
    np.save(path, np.zeros(100))
    whole = path.read_bytes()
    for content in (whole[:5], whole[:-1], b"", b"PK\x03\x04", whole[:6] + b"\x09" + whole[7:], pickle.dumps(1)):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"table\.npy is not a readable NumPy array"):
            load_npy(path)
    path.write_bytes(whole.replace(b"<f8", b"|O "))
    with pytest.raises(InputError, match=r"table\.npy"):
        load_npy(path)


FUZZ = """
import random, resource, sys
from pathlib import Path
from siamese_cbow.errors import InputError
from siamese_cbow.formats.safe_pickle import load_npy, load_pickle
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + 200 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (size, size))
seeds = [path.read_bytes() for path in sorted(Path(sys.argv[1]).glob("seed*"))]
chance = random.Random(1)
opcodes = b"\\x80\\x95(012N\\x88IJKML\\x8aFGSTUBC\\x8eVX\\x8c]ael)t\\x85}dsu\\x8f\\x90ghjpqrc\\x93Rb\\x81io."
read = n = 0
for turn in range(int(sys.argv[2])):
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(data))
        what = chance.randrange(5)
        if what == 0: data[place] = chance.randrange(256)
        elif what == 1: data[place] = chance.choice(opcodes)
        elif what == 2: del data[place : place + chance.randint(1, 20)]
        elif what == 3: data[place:place] = data[chance.randrange(len(data)):][:chance.randint(1, 40)]
        else: data[place:place] = bytes(chance.choices(opcodes, k=chance.randint(1, 5)))
        data = data or bytearray(b".")
    if turn % 10 == 0:
        data = bytes(chance.choices(opcodes, k=chance.randint(1, 200))) + b"."
    n += 1
    try:
        if data[:6] == b"\\x93NUMPY":
            path = Path(sys.argv[1]) / "mutated.npy"
            path.write_bytes(data)
            load_npy(path)
        else:
            load_pickle(bytes(data), records=["argparse.Namespace"])
        read += 1
    except InputError:
        pass
print(n, read)
"""


def test_mutated_pickles_give_a_value_or_our_error(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("memory is limited the Linux way")
    value = {
        "options": argparse.Namespace(a=1),
        "table": np.ones((3, 2)),
        "words": ["a", "é"],
        "n": (1, 2.5, None, 2**70),
    }
    seeds = [pickle.dumps(value, protocol) for protocol in range(6)]
    plain = OrderedDict([(b"a", np.ones(3, np.float32)), (b"b", (True, 1.0, "é")), (b"c", [1, {b"x": 2}])])
    cells = np.empty(1, object)
    cells[0] = plain
    seeds += [python2_pickle(plain, protocol=0), python2_pickle(plain, protocol=2), python2_npy(cells)]
    for number, seed in enumerate(seeds):
        (tmp_path / f"seed{number}").write_bytes(seed)
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, str(tmp_path), "12000"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    n, read = map(int, done.stdout.split())
    assert n == 12_000
    assert read > 200, "most mutations should break a file, not all of them"


def test_random_bytes() -> None:
    chance = random.Random(2)
    for _ in range(3000):
        try:
            load_pickle(chance.randbytes(chance.randint(0, 60)))
        except InputError:
            continue


BOMBS = {
    "positions of the memo": b"Nr\xff\xff\xff\x7f.",
    "empty sets": b"(" + b"\x8f" * 3_000_000 + b"l.",
    "empty lists": b"(" + b"]" * 3_000_000 + b"l.",
    "tuples around tuples": b"N" + b"\x85" * 3_000_000 + b".",
    "keys of one hash": b"}("
    + b"".join(
        b"(" + b"".join(b"J" + bit.to_bytes(4, "little", signed=True) for bit in bits) + b"tN"
        for bits in itertools.product((-1, -2), repeat=16)  # hash(-1) == hash(-2)
    )
    + b"u.",
    "a name of shared lists": b"]q\x00" + b"](h\x00h\x00eq\x00" * 60 + b"h\x00\x93.",
    "a dtype of shared lists": b"]q\x00" + b"](h\x00h\x00eq\x00" * 60 + b"cnumpy\ndtype\n(h\x00tR.",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_small_files_take_little_memory_and_time(bomb: str, tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("memory is limited the Linux way")
    (tmp_path / "bomb.pkl").write_bytes(BOMBS[bomb])
    script = (
        "import resource, sys\n"
        "from siamese_cbow.errors import InputError\n"
        "from siamese_cbow.formats.safe_pickle import load_pickle\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize() + 300 * 2**20\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size, size))\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
        "try:\n    print(load_pickle(sys.argv[1]))\n"
        "except InputError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "bomb.pkl")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("None" if bomb == "positions of the memo" else f"{tmp_path / 'bomb.pkl'} is not")
