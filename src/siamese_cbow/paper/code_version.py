"""Which code a result was made by: a hash of the modules that it depends on, found by following their imports.

Comments, docstrings and the layout of a file don't count, so that explaining something better costs no training. A
module that nothing here imports can change without touching any result that is kept.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
from functools import cache
from pathlib import Path

PACKAGE = "siamese_cbow"
# What these say is in the settings of a result, or about other results.
PLANS = frozenset(f"{PACKAGE}.paper.{name}" for name in ("recipes", "work_pieces", "code_version"))
LIBRARIES = ("gensim", "numba", "numpy", "scipy", "scikit-learn", "torch")  # whose numbers may change with them


def code_of(*modules: str, with_plans: bool = False) -> str:
    """The hash of these modules and of all that they import from this package: `code_of("siamese_cbow.paper.pieces")`.

    with_plans  also of what says which pieces there are: for a whole report, not for a piece
    """
    return _code_of(frozenset(modules), frozenset() if with_plans else PLANS)


@cache
def _code_of(modules: frozenset[str], left_out: frozenset[str]) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for name in sorted(_closure(modules, left_out)):
        digest.update(f"{name} {_plain(name)}\n".encode())
    for library in LIBRARIES:
        digest.update(f"{library} {_version(library)}\n".encode())
    return digest.hexdigest()


def _closure(modules: frozenset[str], left_out: frozenset[str] = PLANS) -> set[str]:
    """The modules, and those that they import at any place, also inside functions."""
    found, todo = set[str](), list(modules)
    while todo:
        name = todo.pop()
        if name not in found | left_out and _path(name) is not None:
            found.add(name)
            todo += _imports(name)
    return found


@cache
def _imports(name: str) -> tuple[str, ...]:
    """The modules of this package that one imports by their full names."""
    imported = []
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    # The public door imports everything lazily: who goes through it depends on what it asks for, not on all.
    return tuple(module for module in imported if module.startswith(f"{PACKAGE}."))


@cache
def _plain(name: str) -> str:
    """What a module does, without docstrings."""
    tree = _tree(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def _tree(name: str) -> ast.Module:
    path = _path(name)
    assert path is not None
    return ast.parse(path.read_text("utf-8"))


@cache
def _path(name: str) -> Path | None:
    """The file of a module of this package; None for anything else, such as a function of a module."""
    root = Path(__file__).parents[1]
    inside = root.joinpath(*name.split(".")[1:])
    paths = (inside.with_suffix(".py"), inside / "__init__.py")
    return next((path for path in paths if path.is_file()), None) if name.startswith(f"{PACKAGE}.") else None


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return ""
