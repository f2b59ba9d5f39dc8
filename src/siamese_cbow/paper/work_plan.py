"""The plan of a report: which pieces of work its parts need, done one by one, each kept as soon as it is finished."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from siamese_cbow.errors import MissingExtra, SettingsError
from siamese_cbow.paper.cache import Cache
from siamese_cbow.paper.pieces import Job, Piece, compute
from siamese_cbow.paper.recipes import RECIPES, SYSTEMS
from siamese_cbow.progress import Progress

# part -> the systems it shows. Cheap ones first: a report that is broken off then has the most to show.
PARTS: dict[str, tuple[str, ...]] = {
    "table1": ("random", "siamese", "contrastive", "fastsent", "cbow", "skipgram", "skip-thought"),
    "table2": ("siamese", "contrastive", "fastsent", "fastsent+ae"),
    "table3": ("siamese", "contrastive", "fastsent", "cbow", "skipgram", "skip-thought"),
    "figure2": (),
    "figure3": (),
    "figure4": (),
    "analysis": ("random", "siamese", "contrastive", "fastsent", "cbow", "skipgram", "skip-thought"),
    "words": ("siamese", "contrastive", "cbow", "skipgram"),
}


@dataclass
class Results:
    """What the pieces gave, by what it is for."""

    systems: dict[str, dict[str, Any]] = field(default_factory=dict)  # by key of SYSTEMS
    negatives: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)  # recipe -> negatives -> point
    dims: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)  # recipe -> dim -> point
    curves: dict[str, dict[str, Any]] = field(default_factory=dict)  # recipe -> curve
    unavailable: dict[str, str] = field(default_factory=dict)  # systems without their library, and what to type


def checked_parts(only: Collection[str] | None) -> tuple[str, ...]:
    """The parts to make, in order: None -> all of them; an unknown one is an error that names them."""
    wanted = list(PARTS) if not only else list(only)
    if unknown := [part for part in wanted if part not in PARTS]:
        raise SettingsError(f"there is no part {unknown[0]!r} of a report; expected some of {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in wanted)


def run_plan(parts: Collection[str], job: Job, cache: Cache, progress: Progress) -> Results:
    """Do the work of some parts, or find it done. `progress` advances to `planned_seconds` in all."""
    results = Results()
    todo: list[tuple[Piece, Any]] = []
    for piece, place in planned(parts, job):
        known = _cached(piece, job, cache)
        if known is not None:
            place(results, known)
            progress.advance(job.seconds(piece))
        else:
            todo.append((piece, place))
    if todo:
        left = sum(job.seconds(piece) for piece, _ in todo)
        progress.say(f"{len(todo)} pieces of work to do, {_duration(left)} at a rough guess")
    clock = _Clock(todo, job)
    for number, (piece, place) in enumerate(todo, start=1):
        try:
            result = _computed(piece, job, cache, progress)
        except MissingExtra as error:
            results.unavailable[piece.key] = str(error)
            progress.say(f"{piece.title} is left out: {error}")
            continue
        place(results, result)
        progress.say(f"[{number}/{len(todo)}] {piece.title}: {clock.report(piece, result)}")
    if "skip-thought" in results.systems:
        shutil.rmtree(job.word2vec_folder, ignore_errors=True)  # it waited for this alone
    return results


def planned_seconds(parts: Collection[str], job: Job) -> float:
    """How long all pieces might take, finished ones too: the total of the progress bar."""
    return sum(job.seconds(piece) for piece, _ in planned(parts, job))


def planned(parts: Collection[str], job: Job) -> Iterator[tuple[Piece, Any]]:
    """Each piece with a function that puts its result where it belongs."""
    wanted = {key for part in parts for key in PARTS[part]}
    for key in [key for key in dict.fromkeys(sum(PARTS.values(), ())) if key in wanted]:
        system = SYSTEMS[key]
        yield Piece("system", key, system.label, system.make(job.scale, job.seed)), _place("systems", key)
    for recipe_key in RECIPES:
        base = SYSTEMS[recipe_key].make(job.scale, job.seed)
        if "figure3" in parts and recipe_key == "siamese":  # the other recipe takes its negatives from the batch
            for n in job.scale.negatives:
                point = Piece(
                    "point",
                    f"{recipe_key}-negatives-{n}",
                    f"{n} negative{'s' if n > 1 else ''}",
                    replace(base, negatives=n),
                )
                yield point, _place("negatives", recipe_key, n)
        if "figure4" in parts:
            for dim in job.scale.dims:
                title = f"{dim} dimensions, {RECIPES[recipe_key]}"
                yield (
                    Piece("point", f"{recipe_key}-dim-{dim}", title, replace(base, dim=dim)),
                    _place("dims", recipe_key, dim),
                )
        if "figure2" in parts:
            title = f"{job.scale.curve_epochs} epochs, {RECIPES[recipe_key]}"
            curve = Piece("curve", recipe_key, title, replace(base, epochs=job.scale.curve_epochs))
            yield curve, _place("curves", recipe_key)


def _place(where: str, *keys: Any) -> Any:
    def place(results: Results, result: dict[str, Any]) -> None:
        target = getattr(results, where)
        for key in keys[:-1]:
            target = target.setdefault(key, {})
        target[keys[-1]] = result

    return place


def _cached(piece: Piece, job: Job, cache: Cache) -> dict[str, Any] | None:
    """The finished piece, or, for a point, the system of the very same recipe, which holds all that a point does."""
    found = cache.get(piece.name, job.about(piece))
    if found is None and piece.kind == "point":
        key = piece.key.partition("-")[0]
        system = Piece("system", key, SYSTEMS[key].label, SYSTEMS[key].make(job.scale, job.seed))
        if system.recipe == piece.recipe and (known := cache.get(system.name, job.about(system))):
            return _as_point(known, job)
    return found


def _as_point(system: dict[str, Any], job: Job) -> dict[str, Any]:
    from siamese_cbow.paper.scoring import pearsons, scores_from_json

    scores = scores_from_json(system["cosines"], job.sets, "paper", "")
    return {"train_seconds": system["train_seconds"], "pearsons": pearsons(scores, job.sets)}


def _computed(piece: Piece, job: Job, cache: Cache, progress: Progress) -> dict[str, Any]:
    if piece.kind == "point" and (known := _cached(piece, job, cache)) is not None:  # a system trained just now
        progress.advance(job.seconds(piece))
        return known
    outer = _Rest(progress, job.seconds(piece))
    outer.advance(0, piece.title)
    result = compute(piece, job, outer)
    outer.finish()
    cache.put(piece.name, job.about(piece), result)
    shutil.rmtree(job.run_folder(piece), ignore_errors=True)
    return result


class _Rest:
    """A progress that ends where a piece ends, however well its length was guessed."""

    def __init__(self, outer: Progress, total: float) -> None:
        self._outer, self._left = outer, total

    def advance(self, amount: float, note: str = "") -> None:
        amount = min(amount, self._left)
        self._left -= amount
        self._outer.advance(amount, note)

    def say(self, message: str) -> None:
        self._outer.say(message)

    def finish(self) -> None:
        self.advance(self._left)


class _Clock:
    """Guesses the time left, from how wrong the guesses for finished pieces were."""

    def __init__(self, todo: list[tuple[Piece, Any]], job: Job) -> None:
        self._left = sum(job.seconds(piece) for piece, _ in todo)
        self._job, self._start, self._done = job, time.perf_counter(), 0.0

    def report(self, piece: Piece, result: dict[str, Any]) -> str:
        """`trained in 93 s, 12 minutes left`."""
        seconds = self._job.seconds(piece)
        self._left, self._done = self._left - seconds, self._done + seconds
        left = self._left * (time.perf_counter() - self._start) / max(1e-9, self._done)
        trained = f"trained in {_duration(result['train_seconds'])}"
        return f"{trained}, about {_duration(left)} left" if self._left > 0.01 else trained


def _duration(seconds: float) -> str:
    """`_duration(93)` -> "93 s"; `_duration(1000)` -> "17 minutes"; `_duration(9000)` -> "2.5 hours"."""
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
