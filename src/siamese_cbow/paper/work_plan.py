"""The plan of a report: which pieces of work its parts need, done one by one, each kept as soon as it is finished.

    cache/system-cbow-5f0c...json      {"about": {...}, "result": {...}}

A piece is kept in a JSON file named by what it is and by the fingerprint of everything it depends on. An entry that
can't be read is said and computed again; nothing in the cache is ever trusted beyond its fingerprint.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from siamese_cbow.base.disk import what_reads, written_by
from siamese_cbow.base.files import atomic_file
from siamese_cbow.base.targets import remove_ours
from siamese_cbow.errors import MissingExtra, SettingsError
from siamese_cbow.model.storage import MODEL_FILES
from siamese_cbow.paper.pieces import compute, pearsons
from siamese_cbow.paper.recipes import PARTS, RECIPES, Job, Piece, fingerprint
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.training.checkpoint import CHECKPOINT_FILES

_HASH = 24 * "[0-9a-f]"
_KEPT = f"*-{_HASH}.json"
_PART_FILES = tuple(f"*/{name}" for name in CHECKPOINT_FILES)
FORMAT_VERSION = 1  # of a cached piece; 0.1.0 wrote none
CACHE_FILES = (  # all that a cache holds, also where a process was killed
    *(_KEPT, f".{_KEPT}.*.tmp/*"),
    *(f"*-run-{_HASH}/{name}" for name in _PART_FILES),
    *(
        f"{folder}/{name}"
        for folder in (f"skipgram-model-{_HASH}", ".skipgram-model-*.tmp/new")
        for name in MODEL_FILES
    ),
)


@dataclass
class Results:
    """What the pieces gave, by what it is for."""

    systems: dict[str, dict[str, Any]] = field(default_factory=dict)  # by key of SYSTEMS
    negatives: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)  # recipe -> negatives -> point
    dims: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)  # recipe -> dim -> point
    curves: dict[str, dict[str, Any]] = field(default_factory=dict)  # recipe -> curve
    unavailable: dict[str, str] = field(default_factory=dict)  # systems without their library, and what to type


Place: TypeAlias = Callable[[Results, dict[str, Any]], None]  # puts a result where it belongs


def checked_parts(only: Collection[str] | None) -> tuple[str, ...]:
    """The parts to make, in order: None -> all of them; an unknown one is an error that names them."""
    wanted = only or PARTS
    if unknown := [part for part in wanted if part not in PARTS]:
        raise SettingsError(f"there is no part {unknown[0]!r} of a report; expected some of {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in wanted)


def run_plan(parts: Collection[str], job: Job, cache: Cache, progress: Progress) -> Results:
    """Do the work of some parts, or find it done. `progress` advances to `planned_seconds` in all."""
    results = Results()
    todo: list[tuple[Piece, Place]] = []
    for piece, place in planned(parts, job):
        known = _cached(piece, job, cache)
        if known is not None:
            place(results, known)
            progress.advance(job.seconds(piece))
        else:
            todo.append((piece, place))
    began, guessed, done = time.perf_counter(), sum(job.seconds(piece) for piece, _ in todo), 0.0
    if todo:
        progress.say(f"{len(todo)} pieces of work to do, {_duration(guessed)} at a rough guess")
    for number, (piece, place) in enumerate(todo, start=1):
        try:
            result = _computed(piece, job, cache, progress)
        except MissingExtra as error:
            results.unavailable[piece.key] = str(error)
            progress.say(f"{piece.title} is left out: {error}")
            continue
        place(results, result)
        done += job.seconds(piece)
        seconds = (guessed - done) * (time.perf_counter() - began) / done  # as wrong as the guesses were so far
        left = f", about {_duration(seconds)} left" if seconds > 0.01 else ""
        trained = f"trained in {_duration(result['train_seconds'])}"
        progress.say(f"[{number}/{len(todo)}] {piece.title}: {trained}{left}")
    if "skip-thought" in results.systems:
        remove_ours(job.word2vec_folder, MODEL_FILES)  # it waited for this alone
    return results


def planned_seconds(parts: Collection[str], job: Job) -> float:
    """How long all pieces might take, finished ones too: the total of the progress bar."""
    return sum(job.seconds(piece) for piece, _ in planned(parts, job))


def planned(parts: Collection[str], job: Job) -> Iterator[tuple[Piece, Place]]:
    """Each piece with a function that puts its result where it belongs."""
    wanted = {key for part in parts for key in PARTS[part]}
    for key in [key for key in dict.fromkeys(sum(PARTS.values(), ())) if key in wanted]:
        yield job.system(key), _place("systems", key)
    for key, recipe_name in RECIPES.items():
        base = job.system(key).recipe
        if "figure3" in parts and key == "siamese":  # the other recipe takes its negatives from the batch
            for n in job.scale.negatives:
                title = f"{n} negative{'s' if n > 1 else ''}"
                yield (
                    Piece("point", f"{key}-negatives-{n}", title, replace(base, negatives=n)),
                    _place("negatives", key, n),
                )
        if "figure4" in parts:
            for dim in job.scale.dims:
                title = f"{dim} dimensions, {recipe_name}"
                yield Piece("point", f"{key}-dim-{dim}", title, replace(base, dim=dim)), _place("dims", key, dim)
        if "figure2" in parts:
            title = f"{job.scale.curve_epochs} epochs, {recipe_name}"
            yield Piece("curve", key, title, replace(base, epochs=job.scale.curve_epochs)), _place("curves", key)


def _place(where: str, *keys: Any) -> Place:
    def place(results: Results, result: dict[str, Any]) -> None:
        target = getattr(results, where)
        for key in keys[:-1]:
            target = target.setdefault(key, {})
        target[keys[-1]] = result

    return place


def _cached(piece: Piece, job: Job, cache: Cache) -> dict[str, Any] | None:
    """The finished piece, or, for a point, the system of the very same recipe, which holds all that a point does."""
    result = cache.get(piece.name, job.about(piece))
    if result is None and piece.kind == "point":
        system = job.system(piece.key.partition("-")[0])
        if system.recipe == piece.recipe and (known := cache.get(system.name, job.about(system))):
            return {"train_seconds": known["train_seconds"], "pearsons": pearsons(known["cosines"], job.sets)}
    return result


def _computed(piece: Piece, job: Job, cache: Cache, progress: Progress) -> dict[str, Any]:
    if piece.kind == "point" and (known := _cached(piece, job, cache)) is not None:  # a system trained just now
        progress.advance(job.seconds(piece))
        return known
    result = compute(piece, job, progress)
    cache.put(piece.name, job.about(piece), result)
    remove_ours(job.run_folder(piece), _PART_FILES)
    return result


def _duration(seconds: float) -> str:
    """`_duration(93)` -> "93 s"; `_duration(1000)` -> "17 minutes"; `_duration(9000)` -> "2.5 hours"."""
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


class Cache:
    """The finished pieces of one report: `cache.get(name, about)` -> the result, or None."""

    def __init__(self, folder: Path, *, progress: Progress = SILENT) -> None:
        self._folder, self._progress = folder, progress

    def get(self, name: str, about: dict[str, Any]) -> dict[str, Any] | None:
        """The result of a piece that is finished; None if it has to be computed."""
        path = self._path(name, about)
        if not path.exists():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content.get("format_version", FORMAT_VERSION) != FORMAT_VERSION:
                raise ValueError(f"format version {content['format_version']!r}; {what_reads(content)}")
            if content["about"] != json.loads(json.dumps(about)):
                raise ValueError("it is about something else")
            result: dict[str, Any] = content["result"]
            if not isinstance(result, dict):
                raise ValueError("it holds no result")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._progress.say(f"{path} can't be used ({type(error).__name__}: {error}); {name} is computed again")
            return None
        return result

    def put(self, name: str, about: dict[str, Any], result: dict[str, Any]) -> None:
        """Keeps a result: whole, or not at all."""
        with atomic_file(self._path(name, about)) as file:
            head = {"format_version": FORMAT_VERSION, "written_by": written_by()}
            content = {**head, "about": about, "result": result}
            file.write_text(json.dumps(content, allow_nan=False), encoding="utf-8")

    def clear(self) -> None:
        """Forgets everything; what is not ours stays, and is said."""
        for name in remove_ours(self._folder, CACHE_FILES):
            self._progress.say(f"{self._folder / name} is not part of the cache; it stays")

    def _path(self, name: str, about: dict[str, Any]) -> Path:
        return self._folder / f"{name}-{fingerprint(about)}.json"
