"""Docstrings are executed: if one says "`code` -> value" and both can be evaluated, the value must be right.

An example counts if its code is an expression of names that the module knows, and its value is a Python literal
(numbers may be rounded). Examples with other names (`model`, `stream`, ...) or with paths are for readers only.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import siamese_cbow
from siamese_cbow.errors import MissingExtra

EXAMPLE = re.compile(r"`([^`\n]+)` -> ([^`;\n]+|`[^`\n]+`)")


def examples() -> Iterator[tuple[str, str, str]]:
    """(module, code, value) of everything that looks like an example."""
    for info in pkgutil.walk_packages(siamese_cbow.__path__, "siamese_cbow."):
        if info.name.endswith("__main__"):
            continue
        spec = importlib.util.find_spec(info.name)
        assert spec is not None
        assert spec.origin is not None
        tree = ast.parse(Path(spec.origin).read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                for code, value in EXAMPLE.findall(ast.get_docstring(node) or ""):
                    yield info.name, code, value.strip("`")


def literal(value: str) -> Any:
    """The value of a literal, even if prose follows: "3, rounded" -> 3; ValueError if there is none."""
    for text in (value, value.rstrip(" .:"), *(value[: match.start()] for match in re.finditer(r"[,:.] ", value))):
        try:
            return ast.literal_eval(text.strip())
        except (ValueError, SyntaxError):
            continue
    raise ValueError(value)


def can_run(module: str, code: str, value: str) -> bool:
    try:
        tree = ast.parse(code, mode="eval")
        literal(value)
    except (SyntaxError, ValueError):
        return False
    if re.search(r"\b(read|open|load|find|convert)\w*\(", code) or "..." in value:  # needs files, or is abbreviated
        return False
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    try:
        known = {*vars(importlib.import_module(module)), *vars(builtins), "np"}
    except (ImportError, MissingExtra):
        return False
    return names <= known and any(isinstance(node, ast.Call) for node in ast.walk(tree))


RUN = sorted({example for example in examples() if can_run(*example)})


def is_shown(result: Any, expected: Any) -> bool:
    """Whether a result is the one in the docstring, with numbers rounded as there."""
    if isinstance(result, np.ndarray):
        result = result.tolist()
    if isinstance(result, Iterator):
        result = list(result)
    if isinstance(expected, list | tuple):
        return len(result) == len(expected) and all(map(is_shown, result, expected))
    if isinstance(expected, float):
        return bool(result == pytest.approx(expected, abs=0.006))
    return bool(result == expected)


@pytest.mark.parametrize(("module", "code", "value"), RUN, ids=lambda text: text.removeprefix("siamese_cbow."))
def test_example(module: str, code: str, value: str) -> None:
    result = eval(code, {"np": np, **vars(importlib.import_module(module))})
    assert is_shown(result, literal(value)), result


def test_there_are_examples_to_run() -> None:
    assert len(RUN) > 20
