"""What a report trains: the systems, and the points of the figures, in full size and in quick size.

Every system sees the same stream and the same vocabulary. `key` is the name in files and in JSON, `label` what readers
see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from siamese_cbow.baselines.fastsent import FastSent
from siamese_cbow.baselines.random_vectors import RandomVectors
from siamese_cbow.baselines.word2vec import Word2Vec
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.siamese_cbow import SiameseCBOW

PAPER_SYSTEMS = ("skipgram", "cbow", "skip-thought", "siamese")  # of the paper's Table 1
BASELINES = ("skipgram", "cbow", "skip-thought")


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
class System:
    """A column of Table 1."""

    key: str
    label: str
    short: str  # at the end of a line in a chart
    make: Callable[[Scale, int], Any]  # of a scale and a seed: a recipe


def _skip_thought(scale: Scale, seed: int) -> Any:
    from siamese_cbow.baselines.skip_thought.recipe import SkipThought

    return SkipThought(seed=seed, **scale.skip_thought)


SYSTEMS: dict[str, System] = {
    system.key: system
    for system in (
        System("random", "random vectors", "random", lambda scale, seed: RandomVectors(scale.dim, seed)),
        System(
            "skipgram",
            "word2vec skip-gram",
            "skip-gram",
            lambda scale, seed: Word2Vec("skipgram", dim=scale.dim, seed=seed),
        ),
        System("cbow", "word2vec CBOW", "CBOW", lambda scale, seed: Word2Vec("cbow", dim=scale.dim, seed=seed)),
        System("skip-thought", "skip-thought", "skip-thought", _skip_thought),
        System("fastsent", "FastSent", "FastSent", lambda scale, seed: FastSent(dim=scale.dim, seed=seed)),
        System(
            "fastsent+ae", "FastSent+AE", "FastSent+AE", lambda scale, seed: FastSent(True, dim=scale.dim, seed=seed)
        ),
        System(
            "siamese",
            "Siamese CBOW (paper)",
            "Siamese (paper)",
            lambda scale, seed: SiameseCBOW.paper(dim=scale.dim, seed=seed),
        ),
        System(
            "contrastive",
            "Siamese CBOW (contrastive)",
            "contrastive",
            lambda scale, seed: SiameseCBOW(dim=scale.dim, seed=seed),
        ),
    )
}
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
    words = training_words(recipe, stream)
    match settings_of(recipe):
        case {"recipe": "Word2Vec", "algorithm": algorithm}:
            speed = 280_000 if algorithm == "skipgram" else 1_000_000
        case {"recipe": "SkipThought"}:
            speed, dim = 8_000, (recipe.dim / 300) ** 2
        case {"recipe": "FastSent"}:
            speed = 300_000
        case {"recipe": "SiameseCBOW", "objective": "softmax", "negatives": negatives}:
            speed = 6_000_000 / (2 + negatives)
        case _:
            speed = 3_000_000
    return 2 + words * max(0.15, dim) / speed
