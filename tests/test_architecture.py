"""The architecture of the package: rooms in one order, closed except for the names on their maps, without cycles.

A room is a folder of the package. The docstring of its `__init__` is its map: one line per module, in the order of
the flow, with what the module does and, in square brackets, the names that other rooms may import from it.

    tokenizer   text -> words, in plain Python [Tokenizer, RULE]
    characters  classes of code points

Here any room to the right of `words` may use `words.tokenizer.Tokenizer`; only `words` itself uses `words.characters`.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import siamese_cbow

PACKAGE = Path(siamese_cbow.__file__).parent

# Rooms import from rooms to their left.
ROOMS = (
    *("base", "machine", "text", "words", "stream", "kernels", "model", "transform", "formats", "training"),
    *("baselines", "evaluation", "retrieval", "integrations", "paper", "serve", "cluster", "cli"),
)
ROOT = {"__init__", "__main__", "errors", "progress"}  # modules outside the rooms
# Only model methods that belong to later rooms (`model.compress`) go through the public door.
USERS_OF_THE_DOOR = {"model.model"}

LONGEST = 300  # lines of a module
# the current number: one more needs a reason, or replaces another
MOST_MODULES = 226

HEAVY = {"numba", "torch", "gensim", "ray", "matplotlib", "pyarrow", "scipy", "rich", "sentencex", "tokenizers"}
HEAVY |= {"starlette", "uvicorn", "httptools", "prometheus_client", "msgspec", "orjson", "pybase64", "pooch"}
HEAVY |= {"py3langid"}


class Import(NamedTuple):
    """`module` (dotted, below the package) uses `name` of `source`; a name of "" is the module itself."""

    module: str
    source: str
    name: str


def dotted(path: Path) -> str:
    """`siamese_cbow/text/corpus.py` -> "text.corpus"; `siamese_cbow/text/__init__.py` -> "text"."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


PATHS = {dotted(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def imports(module: str) -> tuple[Import, ...]:
    """All imports of the package's own modules, including those inside functions and for type checkers only."""
    return tuple(_imports(module, ast.parse(PATHS[module].read_text("utf-8"))))


def _imports(module: str, tree: ast.AST) -> Iterator[Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "siamese_cbow":
                    yield Import(module, alias.name.partition(".")[2] or "__init__", "")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "siamese_cbow":
            source = (node.module or "").partition(".")[2]
            for alias in node.names:
                inner = f"{source}.{alias.name}".strip(".")
                yield Import(module, inner, "") if inner in PATHS else Import(module, source or "__init__", alias.name)


@cache
def doors(room: str) -> dict[str, set[str]]:
    """What the map of a room lists: {"tokenizer": {"Tokenizer", "RULE"}, "characters": set()}."""
    text = ast.get_docstring(ast.parse(PATHS[room].read_text("utf-8"))) or ""
    lines = re.sub(r"\n {6,}(?=\S)", " ", text).splitlines()  # a long line continues with a deeper indent
    entries = (re.fullmatch(r"    (\w+)/?  +(.*?)(?: \[([\w, ]+)\])?", line) for line in lines)
    return {entry[1]: set(re.findall(r"\w+", entry[3] or "")) for entry in entries if entry}


def room_of(module: str) -> str:
    return module.partition(".")[0]


def test_only_four_modules_are_outside_the_rooms() -> None:
    assert {module for module in PATHS if "." not in module} == {*ROOT, *ROOMS}


def test_size() -> None:
    sizes = {module: len(path.read_text("utf-8").splitlines()) for module, path in PATHS.items()}
    assert {module: size for module, size in sizes.items() if size > LONGEST} == {}
    assert len(sizes) <= MOST_MODULES


def test_no_name_means_two_things() -> None:
    """No two modules and no two classes have the same name, whatever their rooms."""
    stems = Counter(path.stem for path in PATHS.values() if path.stem != "__init__")
    trees = [ast.parse(path.read_text("utf-8")) for path in PATHS.values()]
    classes = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    assert {name for name, n in (stems + classes).items() if n > 1 and not name.startswith("_")} == set()


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_one_way(room: str) -> None:
    order = {name: place for place, name in enumerate(ROOMS)}
    wrong = [
        use
        for module in PATHS
        if room_of(module) == room
        for use in imports(module)
        if (use.source == "__init__" and module not in USERS_OF_THE_DOOR)
        or order.get(room_of(use.source), -1) > order[room]
    ]
    assert wrong == []


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_are_entered_by_their_doors(room: str) -> None:
    wrong = []
    for use in (use for module in PATHS for use in imports(module) if room_of(use.source) == room):
        if room_of(use.module) != room and use.source != room:  # names defined in the `__init__` itself are open
            folder, _, name = use.source.rpartition(".")
            if not use.name or use.name not in doors(folder or room).get(name, set()):
                wrong.append(use)
    assert wrong == []


@pytest.mark.parametrize("room", [dotted(path) for path in sorted(PACKAGE.glob("*/**/__init__.py"))])
def test_maps_are_true(room: str) -> None:
    folder = PATHS[room].parent
    modules = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert set(doors(room)) == modules - {"__init__"}
    used = {(use.source, use.name) for module in PATHS for use in imports(module) if room_of(module) != room_of(room)}
    public = {(home, name) for name, home in siamese_cbow._HOMES.items()}
    for module, names in doors(room).items():
        idle = {name for name in names if (f"{room}.{module}", name) not in used | public}
        assert not idle, f"{room}.{module} lists {idle}, which no other room uses"


@pytest.mark.parametrize("room", ROOMS)
def test_no_cycles(room: str) -> None:
    graph = {
        module: {use.source for use in imports(module) if room_of(use.source) == room and use.source != module}
        for module in PATHS
        if room_of(module) == room
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_inner_functions_are_called_by_kernels_only() -> None:
    """Called from Python, such a function would be compiled again in every process (see `machine.compiling.inner`)."""
    trees = {module: ast.parse(path.read_text("utf-8")) for module, path in PATHS.items()}
    inner = {(module, name) for module, tree in trees.items() for name, how in _decorated(tree) if how == "inner"}
    for module, tree in trees.items():
        here = {name for home, name in inner if home == module}
        here |= {use.name for use in imports(module) if (use.source, use.name) in inner}
        calls = [node.func for node in _plain_nodes(tree) if isinstance(node, ast.Call)]
        called = {function.id for function in calls if isinstance(function, ast.Name)}
        assert not here & called, f"{module}: decorate with njit, not inner"


def _decorated(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The functions of a module and their decorators: ("dot", "inner")."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from ((node.name, ast.unparse(how).partition("(")[0]) for how in node.decorator_list)


def _plain_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module outside compiled functions."""
    for node in ast.iter_child_nodes(tree):
        if not {how for _, how in _decorated(node)} & {"njit", "inner"}:
            yield node
            yield from _plain_nodes(node)


@pytest.mark.parametrize("code", ["import siamese_cbow", "from siamese_cbow.cli import main; main(['--help'])"])
def test_small_things_load_nothing_heavy(code: str) -> None:
    script = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint(*sys.modules, file=sys.stderr)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stderr
    assert not HEAVY & {name.partition(".")[0] for name in loaded.split()}


def test_similarity_loads_nothing_heavy() -> None:
    call = "import sys\nfrom siamese_cbow.cli import main\nmain(['similarity', 'a man plays', 'a woman sings'])"
    run = subprocess.run(
        [sys.executable, "-c", f"{call}\nprint(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(run.stdout) > 0
    assert not HEAVY & {name.partition(".")[0] for name in run.stderr.split()}
