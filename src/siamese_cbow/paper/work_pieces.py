"""Pieces of work, the job they share, and everything that a piece's result depends on, including the code.

Nothing is computed here but fingerprints; `pieces` does the work.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from siamese_cbow.evaluation.pair_sets import PROTOCOLS, PairSet
from siamese_cbow.evaluation.tasks import Tasks
from siamese_cbow.paper.recipes import SYSTEMS, Scale, label_of
from siamese_cbow.stream.stream import Stream

PIECES, TASKS = "siamese_cbow.paper.pieces", "siamese_cbow.evaluation.tasks"  # the modules that compute results


def settings_of(recipe: Any) -> dict[str, Any]:
    """A recipe and its kind as plain values, for fingerprints."""
    return {"recipe": type(recipe).__name__, **asdict(recipe)}


def training_words(recipe: Any, stream: Stream) -> int:
    """The number of words that a training run reads, the unit of its progress."""
    if hasattr(recipe, "work"):
        return int(recipe.work(stream))
    return int(getattr(recipe, "epochs", 0) * stream.n_tokens)


Kind: TypeAlias = Literal["system", "point", "curve"]


@dataclass(frozen=True)
class Piece:
    """A piece of work, computed and cached as a whole: `Piece("system", "cbow", "word2vec CBOW", recipe)`.

    system   a column of Table 1: cosines of all pairs, timing, facts about its words
    point    a point of Figure 3 or 4: Pearson of each set
    curve    Figure 2: Pearson of each set, many times during one training run
    """

    kind: Kind
    key: str
    title: str
    recipe: Any  # its seed distinguishes the runs of one system

    @property
    def name(self) -> str:
        """A name for files: `system-cbow-1`."""
        return f"{self.kind}-{self.key}-{self.recipe.seed}"


@dataclass(frozen=True)
class Job:
    """The inputs and options that all pieces of a report share."""

    stream: Stream
    sets: Sequence[PairSet]
    scale: Scale
    seed: int
    threads: int | None
    folder: Path  # for files that must outlive a piece: word2vec's vectors, skip-thought's checkpoints
    tasks: Tasks | None = None

    @cached_property
    def sets_fingerprint(self) -> str:
        """A hash of all names, pairs and gold scores."""
        digest = hashlib.blake2b(digest_size=16)
        for pair_set in self.sets:
            digest.update(json.dumps([pair_set.collection, pair_set.year, pair_set.dataset, pair_set.pairs]).encode())
            digest.update(pair_set.gold.tobytes())
        return digest.hexdigest()

    @property
    def seeds(self) -> list[int]:
        """The seeds of the runs of a system: 1 -> 1, 2, 3."""
        return [self.seed + i for i in range(self.scale.n_seeds)]

    def system(self, key: str, seed: int | None = None) -> Piece:
        """The piece that trains one of SYSTEMS."""
        seed = self.seed if seed is None else seed
        return Piece("system", key, f"{label_of(key)}, seed {seed}", SYSTEMS[key].make(self.scale, seed, self.stream))

    def systems(self, key: str) -> list[Piece]:
        """All runs of a system."""
        return [self.system(key, seed) for seed in self.seeds[: SYSTEMS[key].seeds]]

    def about(self, piece: Piece) -> dict[str, Any]:
        """Everything that a piece's result depends on: the input of its fingerprint."""
        about: dict[str, Any] = {
            "kind": piece.kind,
            "recipe": settings_of(piece.recipe),
            "stream": self.stream.fingerprint,
            "sets": self.sets_fingerprint,
            "protocols": list(PROTOCOLS),
            "code": code_of(PIECES, type(piece.recipe).__module__, *([TASKS] if self.tasks else [])),
        }
        if piece.kind == "curve":
            about["points_per_epoch"] = self.scale.points_per_epoch
        if piece.kind == "system":
            about["is_timed"] = self.is_timed(piece)
            about["treatments"] = list(SYSTEMS[piece.key].treatments)
            about["tasks"] = self.tasks and self.tasks.fingerprint
        if piece.key == "skip-thought":
            about["expansion"] = settings_of(self.word2vec)
        return about

    def is_timed(self, piece: Piece) -> bool:
        """Whether Table 3 shows this run: one run per system is enough."""
        return bool(piece.recipe.seed == self.seed)

    @property
    def word2vec(self) -> Any:
        """The recipe of the word vectors from which skip-thought gets its rare words, as in the original work."""
        return self.system("skipgram").recipe

    @property
    def word2vec_folder(self) -> Path:
        """Where the skip-gram model is kept for skip-thought."""
        code = code_of(type(self.word2vec).__module__)
        about = {"recipe": settings_of(self.word2vec), "stream": self.stream.fingerprint, "code": code}
        return self.folder / f"skipgram-model-{fingerprint(about)}"

    def run_folder(self, piece: Piece) -> Path:
        """Where skip-thought keeps its checkpoints, so that an interrupted run resumes."""
        return self.folder / f"{piece.name}-run-{fingerprint(self.about(piece))}"


def fingerprint(about: dict[str, Any]) -> str:
    """A hash of plain values: `fingerprint({"dim": 300})` -> 24 letters and digits."""
    return hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=12).hexdigest()


# The code that made a result: a hash of the modules it depends on, found by following their imports. Comments,
# docstrings and formatting don't count, so that better documentation does not force retraining. Modules that are not
# imported can change without invalidating cached results.

PACKAGE = "siamese_cbow"
# Left out of the hash: their content is already in the settings of a result, or concerns other results.
PLANS = frozenset(f"{PACKAGE}.paper.{name}" for name in ("recipes", "work_pieces"))
LIBRARIES = ("gensim", "numba", "numpy", "scipy", "scikit-learn", "torch")  # results may change with their versions


def code_of(*modules: str, with_plans: bool = False) -> str:
    """A hash of these modules and all they import from this package: `code_of("siamese_cbow.paper.pieces")`.

    with_plans  include the modules that define which pieces there are: for a whole report, not for a piece
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
    """These modules and all they import, including imports inside functions."""
    closure, todo = set[str](), list(modules)
    while todo:
        name = todo.pop()
        if name not in closure | left_out and _path(name) is not None:
            closure.add(name)
            todo += _imports(name)
    return closure


@cache
def _imports(name: str) -> tuple[str, ...]:
    """The modules of this package that a module imports, by their full names."""
    imported = []
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    # The package root imports everything lazily: a module that uses it depends on the names it imports, not on all.
    return tuple(module for module in imported if module.startswith(f"{PACKAGE}."))


@cache
def _plain(name: str) -> str:
    """The code of a module without docstrings."""
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
    """The file of a module of this package; None for anything else, such as a function in a module."""
    root = Path(__file__).parents[1]
    inside = root.joinpath(*name.split(".")[1:])
    paths = (inside.with_suffix(".py"), inside / "__init__.py")
    return next((path for path in paths if path.is_file()), None) if name.startswith(f"{PACKAGE}.") else None


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return ""
