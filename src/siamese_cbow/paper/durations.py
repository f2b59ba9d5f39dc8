"""How long pieces of work take: a weight for the progress bar, and an estimate from a measured piece of each kind.

Machines differ more than any table of speeds can express, and other programs share them. So before a report starts,
each kind of training and the scoring run on a small sample of the text. These runs are timed, not kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from siamese_cbow.errors import SiameseCBOWError
from siamese_cbow.kernels.tables import OBJECTIVES
from siamese_cbow.paper.pieces import point
from siamese_cbow.paper.treatments import treated
from siamese_cbow.paper.work_pieces import Job, Piece, settings_of, training_words
from siamese_cbow.stream.stream import Stream

SMALL_CUT = 2_000  # words: the time to train on so few is a fixed cost
GROWTH, LONG_ENOUGH = 4, 0.3  # a sample grows by this factor until it takes so many seconds more than the fixed cost
SYSTEM_SCORINGS = 6  # evaluating a system costs about as much as scoring this many points
SPEEDS = {"Word2Vec skipgram": 280_000, "Word2Vec cbow": 1_000_000, "SkipThought": 8_000, "FastSent": 300_000}


def work_kind(recipe: Any) -> str:
    """Recipes of one kind cost the same per word, up to dimensions and negatives: "Word2Vec skipgram", "softmax"."""
    settings = settings_of(recipe)
    match settings["recipe"]:
        case "Word2Vec":
            return f"Word2Vec {settings['algorithm']}"
        case "SiameseCBOW":
            return str(settings["objective"])
        case name:
            return str(name)


def n_scorings(piece: Piece, job: Job) -> int:
    """How many times a piece scores the sets."""
    if piece.kind == "curve":
        return int(job.scale.points_per_epoch * piece.recipe.epochs)
    return SYSTEM_SCORINGS if piece.kind == "system" else 1


def weight(piece: Piece, job: Job) -> float:
    """A rough estimate of a piece's seconds on two cores: its share of the progress bar."""
    return _size(piece.recipe, job.stream) / SPEEDS.get(work_kind(piece.recipe), 3_000_000) + 2 + n_scorings(piece, job)


def _size(recipe: Any, stream: Stream) -> float:
    """The words that a training run reads, weighted by dimensions and, if negatives are sampled, by their number."""
    dim, kind = getattr(recipe, "dim", 300) / 300, work_kind(recipe)
    is_sampled = any(kind == name and objective.sampled for name, objective in OBJECTIVES.items())
    sentences = (2 + recipe.negatives) / 2 if is_sampled else 1.0
    return training_words(recipe, stream) * max(0.15, dim ** (2 if kind == "SkipThought" else 1)) * sentences


def measured_seconds(pieces: Sequence[Piece], job: Job) -> float:
    """How long the pieces will take, estimated from a measured piece of each kind."""
    kinds: dict[str, list[Piece]] = {}
    for piece in pieces:
        kinds.setdefault(work_kind(piece.recipe), []).append(piece)
    total, scoring, treating, tasks = 0.0, 0.0, 0.0, 0.0
    systems = [piece for piece in pieces if piece.kind == "system"]
    for alike in kinds.values():
        with suppress(SiameseCBOWError):  # its library is missing, or the sample has too little text
            fixed, a_word, model = _costs(_once(alike[0].recipe), job)
            total += sum(fixed + a_word * _size(piece.recipe, job.stream) for piece in alike)
            if not scoring:
                scoring = _second(partial(point, model, job.sets, ""))
                if systems:
                    treating, _ = _timed(partial(_treat, model, job))
                if systems and job.tasks is not None:
                    tasks = _second(partial(job.tasks.scores, model, ""))
    timings = job.scale.seconds_one_by_one * sum(map(job.is_timed, systems))
    scorings = scoring * sum(n_scorings(piece, job) for piece in pieces if piece.kind != "system")
    return total + scorings + timings + (treating + 2 * tasks) * len(systems)


def _costs(recipe: Any, job: Job) -> tuple[float, float, Any]:
    """The fixed seconds of any training run, the additional seconds per word, and the last model trained."""
    cut = small = _cut(job.stream, SMALL_CUT)
    _train(recipe, cut, job)  # warm-up: compiles the kernels
    (fixed, model), more = _fastest(partial(_train, recipe, cut, job)), 0.0
    while more < LONG_ENOUGH and cut.n_sentences < job.stream.n_sentences:
        cut = _cut(job.stream, GROWTH * cut.n_tokens)
        seconds, model = _fastest(partial(_train, recipe, cut, job))
        more = seconds - fixed
    return fixed, max(0.0, more) / max(1.0, _size(recipe, cut) - _size(recipe, small)), model


def _treat(system: Any, job: Job) -> None:
    """Apply and score all treatments, as for every system."""
    for each in treated(system, job.stream).values():
        point(each, job.sets, "")


def _once(recipe: Any) -> Any:
    """The same recipe with one epoch."""
    changes = {"epochs": 1, "decay_epochs": None}
    return replace(recipe, **{name: value for name, value in changes.items() if hasattr(recipe, name)})


def _cut(stream: Stream, n_words: int) -> Stream:
    """The first sentences of a stream, about `n_words` words."""
    n = int(np.searchsorted(stream.sentences, n_words))
    return stream.part(range(min(max(2, n), stream.n_sentences)))


def _train(recipe: Any, stream: Stream, job: Job) -> Any:
    return recipe.train(stream, threads=job.threads or 2)


def _second(do: Callable[[], Any]) -> float:
    """Seconds of the second call: the first one imports, compiles and fills caches."""
    do()
    return _timed(do)[0]


def _fastest(do: Callable[[], Any]) -> tuple[float, Any]:
    """The shorter of two runs: a delay by another program, scaled up to the whole text, once made hours into weeks."""
    return min(_timed(do), _timed(do), key=itemgetter(0))


def _timed(do: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = do()
    return time.perf_counter() - start, result
