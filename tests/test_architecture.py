"""Who may import whom: a module imports only from its own level and from those before it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import siamese_cbow

PACKAGE = Path(siamese_cbow.__file__).parent

# From raw text to the command line; a folder stands for all of its modules.
LEVELS = [
    ["errors", "arrays", "progress", "files", "intrinsics", "notebook", "numba_options", "safe_pickle"],
    ["text"],
    ["vocabulary", "lazy_vocabulary", "lookup", "counting", "languages", "fallback"],
    ["stream", "mix", "stream_writer", "spool", "preparation"],
    ["kernels"],
    [
        *("description", "encoding", "hub", "model", "model_card", "model_checks", "neighbours", "plots", "storage"),
        *("tensor_file", "vector_files", "vector_layouts", "combination", "compression", "packed_rows", "postprocess"),
    ],
    ["training", "baselines"],
    ["evaluation"],
    ["report", "interop", "retrieval"],
    ["demo", "cli", "serve"],
]
LEVEL_OF = {name: level for level, names in enumerate(LEVELS) for name in names}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or not path.name.startswith("__"))

HEAVY = {"numba", "torch", "gensim", "ray", "matplotlib", "pyarrow", "scipy", "rich", "sentencex", "tokenizers"}
HEAVY |= {"starlette", "uvicorn", "httptools", "prometheus_client", "msgspec", "orjson", "pybase64"}


def top(path: Path) -> str:
    """`siamese_cbow/text/corpus.py` -> 'text'; `siamese_cbow/model.py` -> 'model'."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(path: Path) -> set[str]:
    """The top-level names below the package that a module imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "siamese_cbow":
            found |= {f"siamese_cbow.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return {name.split(".")[1] for name in found if name.startswith("siamese_cbow.")}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    assert top(path) in LEVEL_OF, f"give {top(path)} a level"
    upwards = {name for name in imported(path) if LEVEL_OF[name] > LEVEL_OF[top(path)]}
    assert not upwards, f"{path.name} (level {LEVEL_OF[top(path)]}) imports {upwards}"


@pytest.mark.parametrize("code", ["import siamese_cbow", "from siamese_cbow.cli import main; main(['--help'])"])
def test_small_things_load_nothing_heavy(code: str) -> None:
    script = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint(*sys.modules, file=sys.stderr)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stderr
    assert not HEAVY & {name.partition(".")[0] for name in loaded.split()}


# What a small command has no use for, though each is but a few milliseconds.
NEEDLESS = {"shutil", "tempfile", "random", "html", "importlib.resources", "importlib.util", "subprocess", "csv"}
NEEDLESS |= {f"siamese_cbow.{name}" for name in ("lookup", "model_card", "languages", "plots", "postprocess", "stream")}


def test_similarity_loads_only_what_it_needs() -> None:
    call = "from siamese_cbow.cli import main; main(['similarity', 'a man plays', 'a woman sings'])"
    found = [
        subprocess.run(
            [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"],
            capture_output=True,
            text=True,
            check=True,
        )
        for code in ("pass", call)
    ]
    before, after = (set(run.stderr.split()) for run in found)  # a start of Python may bring in anything
    assert float(found[1].stdout) > 0
    assert not (HEAVY | NEEDLESS) & (after - before)
    assert {name for name in after if name.startswith("siamese_cbow.cli.")} == {
        *("siamese_cbow.cli.similarity", "siamese_cbow.cli.batched", "siamese_cbow.cli.model_option"),
        "siamese_cbow.cli.quick_numpy",
    }
