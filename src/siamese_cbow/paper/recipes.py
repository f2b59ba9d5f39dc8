"""What a report trains: the systems, in which of its parts they stand, and the points of the figures.

Every system sees the same stream and the same vocabulary. A new column of Table 1 is an entry in SYSTEMS and its key
in COMPARED; nothing else has to know of it.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from siamese_cbow.baselines.fastsent import FastSent
from siamese_cbow.baselines.random_vectors import RandomVectors
from siamese_cbow.baselines.skip_thought import SkipThought
from siamese_cbow.baselines.word2vec import Word2Vec
from siamese_cbow.evaluation.pair_sets import PROTOCOLS, PairSet
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.siamese_cbow import SiameseCBOW

RESULTS_VERSION = 3  # raise it when a piece is computed in another way, or holds something else


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    name: str
    dim: int
    skip_thought: Mapping[str, Any]  # options of SkipThought
    curve_epochs: int
    points_per_epoch: int
    negatives: tuple[int, ...]
    dims: tuple[int, ...]
    seconds_one_by_one: float  # how long a system may take for the one-by-one part of Table 3


FULL = Scale(
    name="full",
    dim=300,
    skip_thought={"dim": 300, "dim_word": 200, "max_tokens": 1_000_000},
    curve_epochs=5,
    points_per_epoch=7,  # the paper's: every 10 of 74 million examples
    negatives=(1, 2, 5, 10, 20),
    dims=(50, 100, 200, 300, 600),
    seconds_one_by_one=60.0,
)
QUICK = Scale(
    name="quick",
    dim=100,
    skip_thought={"dim": 100, "dim_word": 100, "n_words": 5000, "samples": 300, "max_tokens": 50_000},
    curve_epochs=5,
    points_per_epoch=2,
    negatives=(1, 2, 5),
    dims=(25, 50, 100),
    seconds_one_by_one=3.0,
)


@dataclass(frozen=True)
class Column:
    """A system of the report: a column of Table 1, or of others."""

    label: str
    short: str  # at the end of a line in a chart
    make: Callable[[Scale, int], Any]  # of a scale and a seed: a recipe


# By the name in files and in JSON, in the order of Table 1.
SYSTEMS: dict[str, Column] = {
    "random": Column("random vectors", "random", lambda scale, seed: RandomVectors(scale.dim, seed)),
    "skipgram": Column(
        "word2vec skip-gram", "skip-gram", lambda scale, seed: Word2Vec("skipgram", dim=scale.dim, seed=seed)
    ),
    "cbow": Column("word2vec CBOW", "CBOW", lambda scale, seed: Word2Vec("cbow", dim=scale.dim, seed=seed)),
    "skip-thought": Column(
        "skip-thought", "skip-thought", lambda scale, seed: SkipThought(seed=seed, **scale.skip_thought)
    ),
    "fastsent": Column("FastSent", "FastSent", lambda scale, seed: FastSent(dim=scale.dim, seed=seed)),
    "fastsent+ae": Column("FastSent+AE", "FastSent+AE", lambda scale, seed: FastSent(True, dim=scale.dim, seed=seed)),
    "siamese": Column(
        "Siamese CBOW (paper)", "Siamese (paper)", lambda scale, seed: SiameseCBOW.paper(dim=scale.dim, seed=seed)
    ),
    "contrastive": Column(
        "Siamese CBOW (contrastive)", "contrastive", lambda scale, seed: SiameseCBOW(dim=scale.dim, seed=seed, epochs=1)
    ),
}
# Cheap ones first: a report that is broken off then has the most to show.
COMPARED = ("random", "siamese", "contrastive", "fastsent", "cbow", "skipgram", "skip-thought")
PARTS: dict[str, tuple[str, ...]] = {  # part -> the systems it shows
    "table1": COMPARED,
    "table2": ("siamese", "contrastive", "fastsent", "fastsent+ae"),
    "table3": tuple(key for key in COMPARED if key != "random"),
    "figure2": (),
    "figure3": (),
    "figure4": (),
    "analysis": COMPARED,
    "words": ("siamese", "contrastive", "cbow", "skipgram"),
}
BASELINES = ("skipgram", "cbow", "skip-thought")  # of the paper's Table 1
RECIPES: dict[str, str] = {"siamese": "the paper's recipe", "contrastive": "the contrastive recipe"}  # of the figures


def label_of(key: str) -> str:
    """`label_of("cbow")` -> "word2vec CBOW"."""
    return SYSTEMS[key].label


def settings_of(recipe: Any) -> dict[str, Any]:
    """A recipe as plain values, with its kind: what a fingerprint is made of."""
    return {"recipe": type(recipe).__name__, **asdict(recipe)}


def training_words(recipe: Any, stream: Stream) -> int:
    """Words that a training reads, which is what its progress advances by."""
    if hasattr(recipe, "work"):
        return int(recipe.work(stream))
    return int(getattr(recipe, "epochs", 0) * stream.n_tokens)


def estimated_seconds(recipe: Any, stream: Stream) -> float:
    """A rough guess at the seconds a training takes on two cores; a report corrects it by what it measures."""
    dim = getattr(recipe, "dim", 300) / 300
    match settings_of(recipe):
        case {"recipe": "Word2Vec", "algorithm": algorithm}:
            speed = 280_000 if algorithm == "skipgram" else 1_000_000
        case {"recipe": "SkipThought"}:
            speed, dim = 8_000, dim**2
        case {"recipe": "FastSent"}:
            speed = 300_000
        case {"recipe": "SiameseCBOW", "objective": "softmax", "negatives": negatives}:
            speed = 6_000_000 / (2 + negatives)
        case _:
            speed = 3_000_000
    return 2 + training_words(recipe, stream) * max(0.15, dim) / speed


Kind: TypeAlias = Literal["system", "point", "curve"]


@dataclass(frozen=True)
class Piece:
    """A piece of work, done and kept as a whole: `Piece("system", "cbow", "word2vec CBOW", recipe)`.

    system   a column of Table 1: cosines of all pairs, timing, a look at its words
    point    a dot of Figure 3 or 4: Pearson of each set
    curve    Figure 2: Pearson of each set, many times during one training
    """

    kind: Kind
    key: str
    title: str
    recipe: Any

    @property
    def name(self) -> str:
        """For files: `system-cbow`."""
        return f"{self.kind}-{self.key}"


@dataclass(frozen=True)
class Job:
    """What all pieces of a report share."""

    stream: Stream
    sets: Sequence[PairSet]
    scale: Scale
    seed: int
    threads: int | None
    folder: Path  # for what must outlive a piece: word2vec's vectors, skip-thought's checkpoints

    @cached_property
    def sets_fingerprint(self) -> str:
        """A hash of all names, pairs and gold scores."""
        digest = hashlib.blake2b(digest_size=16)
        for pair_set in self.sets:
            digest.update(json.dumps([pair_set.collection, pair_set.year, pair_set.dataset, pair_set.pairs]).encode())
            digest.update(pair_set.gold.tobytes())
        return digest.hexdigest()

    def system(self, key: str) -> Piece:
        """The piece that trains one of SYSTEMS."""
        return Piece("system", key, label_of(key), SYSTEMS[key].make(self.scale, self.seed))

    def about(self, piece: Piece) -> dict[str, Any]:
        """Everything that a piece's result depends on: what its fingerprint is made of."""
        about: dict[str, Any] = {
            "kind": piece.kind,
            "recipe": settings_of(piece.recipe),
            "stream": self.stream.fingerprint,
            "sets": self.sets_fingerprint,
            "protocols": list(PROTOCOLS),
            "code": code_version(),
        }
        if piece.kind == "curve":
            about["points_per_epoch"] = self.scale.points_per_epoch
        if piece.key == "skip-thought":
            about["expansion"] = settings_of(self.word2vec)
        return about

    def seconds(self, piece: Piece) -> float:
        """A guess at how long a piece takes."""
        scoring = self.scale.points_per_epoch * piece.recipe.epochs if piece.kind == "curve" else 1
        return estimated_seconds(piece.recipe, self.stream) + scoring

    @property
    def word2vec(self) -> Any:
        """The recipe of the word vectors that bring rare words into skip-thought, as its authors did."""
        return self.system("skipgram").recipe

    @property
    def word2vec_folder(self) -> Path:
        """Where the skip-gram model waits for skip-thought."""
        about = {"recipe": settings_of(self.word2vec), "stream": self.stream.fingerprint, "code": code_version()}
        return self.folder / f"skipgram-model-{fingerprint(about)}"

    def run_folder(self, piece: Piece) -> Path:
        """Where skip-thought keeps its checkpoints: an interrupted training goes on."""
        return self.folder / f"{piece.name}-run-{fingerprint(self.about(piece))}"


def fingerprint(about: dict[str, Any]) -> str:
    """A hash of plain values: `fingerprint({"dim": 300})` -> 24 letters and digits."""
    return hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=12).hexdigest()


def code_version() -> str:
    """What the results depend on beside the data: `0.1.0/3`."""
    return f"{importlib.metadata.version('siamese-cbow')}/{RESULTS_VERSION}"
