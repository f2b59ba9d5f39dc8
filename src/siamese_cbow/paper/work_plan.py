"""The plan of a report: the pieces of work that its parts need, computed one by one and cached as soon as they finish.

    cache/system-cbow-5f0c...json      {"about": {...}, "result": {...}}

Each piece is a JSON file named after the piece and the fingerprint of everything it depends on. An entry that can't be
read is reported and recomputed; nothing in the cache is trusted beyond its fingerprint.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from siamese_cbow.base.disk import remove_ours, what_reads, written_by
from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import MissingExtra, SettingsError
from siamese_cbow.model.storage import MODEL_FILES
from siamese_cbow.paper.durations import measured_seconds, weight
from siamese_cbow.paper.pieces import compute
from siamese_cbow.paper.recipes import PARTS, PUBLISHED, RECIPES, label_of
from siamese_cbow.paper.work_pieces import Job, Piece, fingerprint
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.training.checkpoint import CHECKPOINT_FILES

_HASH = 24 * "[0-9a-f]"
_KEPT = f"*-{_HASH}.json"
_PART_FILES = tuple(f"*/{name}" for name in CHECKPOINT_FILES)
FORMAT_VERSION = 1  # of a cached piece; version 0.1.0 wrote none
CACHE_FILES = (  # everything a cache can hold, including leftovers of a killed process
    *(_KEPT, f".{_KEPT}.*.tmp/*"),
    *(f"*-run-{_HASH}/{name}" for name in _PART_FILES),
    *(
        f"{folder}/{name}"
        for folder in (f"skipgram-model-{_HASH}", ".skipgram-model-*.tmp/new")
        for name in MODEL_FILES
    ),
)


Run: TypeAlias = dict[str, Any]  # the result of a piece: one training run


@dataclass
class Results:
    """The results of all pieces, grouped by use; each entry lists its runs, seed by seed."""

    systems: dict[str, list[Run]] = field(default_factory=dict)  # by key of SYSTEMS
    negatives: dict[str, dict[int, list[Run]]] = field(default_factory=dict)  # recipe -> negatives -> points
    dims: dict[str, dict[int, list[Run]]] = field(default_factory=dict)  # recipe -> dim -> points
    curves: dict[str, list[Run]] = field(default_factory=dict)  # recipe -> curves
    unavailable: dict[str, str] = field(default_factory=dict)  # systems whose library is missing -> the error
    left_out: list[Piece] = field(default_factory=list)  # not computed, in a report on finished work
    n_pieces: int = 0  # planned, including those left out


Place: TypeAlias = Callable[[Results, dict[str, Any]], None]  # puts a result where it belongs


def checked_parts(only: Collection[str] | None) -> tuple[str, ...]:
    """The parts to make, in order: None -> all of them; an unknown part raises an error that lists them."""
    if only is not None and not isinstance(only, list | tuple | set | frozenset):
        raise SettingsError(f"only is {only!r:.60}; expected a list of parts: {', '.join(PARTS)}")
    wanted = only or PARTS
    if unknown := [part for part in wanted if part not in PARTS]:
        raise SettingsError(f"a report has no part {unknown[0]!r}; expected some of {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in wanted)


def run_plan(
    parts: Collection[str], job: Job, cache: Cache, progress: Progress, *, finished_only: bool = False
) -> Results:
    """Compute the pieces of these parts, reusing cached ones. `progress` advances to `planned_work` in total.

    finished_only  train nothing: pieces that are not in the cache are left out and listed in the results
    """
    results = Results()
    todo: list[tuple[Piece, Place]] = []
    for piece, place in planned(parts, job):
        results.n_pieces += 1
        known = cache.get(piece.name, job.about(piece))
        if known is not None:
            place(results, known)
            progress.advance(weight(piece, job))
        else:
            todo.append((piece, place))
    if finished_only:
        results.left_out = [piece for piece, _ in todo]
        return results
    if todo:
        seconds = measured_seconds([piece for piece, _ in todo], job)
        progress.say(
            f"{len(todo)} training runs to do; about {_duration(seconds)}, estimated from a short run of each kind"
        )
    began, whole, done = time.perf_counter(), sum(weight(piece, job) for piece, _ in todo), 0.0
    for number, (piece, place) in enumerate(todo, start=1):
        done += weight(piece, job)
        try:
            result = _computed(piece, job, cache, progress)
        except MissingExtra as error:
            if piece.key not in results.unavailable:
                results.unavailable[piece.key] = str(error)
                progress.say(f"{label_of(piece.key)} is left out: {error}")
            continue
        place(results, result)
        seconds = (whole - done) * (time.perf_counter() - began) / done  # extrapolated; as good as the weights are
        left = f", about {_duration(seconds)} left" if seconds > 0.01 else ""
        trained = f"trained in {_duration(result['train_seconds'])}"
        progress.say(f"[{number}/{len(todo)}] {piece.title}: {trained}{left}")
    if "skip-thought" in results.systems:
        remove_ours(job.word2vec_folder, MODEL_FILES)  # only skip-thought needed it
    return results


def planned_work(parts: Collection[str], job: Job) -> float:
    """The weights of all pieces, including finished ones: the total of the progress bar."""
    return sum(weight(piece, job) for piece, _ in planned(parts, job))


def plan_fingerprint(parts: Collection[str], job: Job) -> str:
    """A hash of everything a report depends on: with the same hash, a second report would be identical."""
    return fingerprint({"pieces": [job.about(piece) for piece, _ in planned(parts, job)], "parts": list(parts)})


def planned(parts: Collection[str], job: Job) -> Iterator[tuple[Piece, Place]]:
    """Each piece with a function that puts its result where it belongs."""
    wanted = {key for part in parts for key in PARTS[part]}
    for key in [key for key in dict.fromkeys(sum(PARTS.values(), ())) if key in wanted]:
        for piece in job.systems(key):
            yield piece, _place("systems", key)
    for seed in job.seeds[: job.scale.n_figure_seeds]:
        for key, recipe_name in RECIPES.items():
            yield from _figures(parts, job, key, recipe_name, seed)


def _figures(parts: Collection[str], job: Job, key: str, recipe_name: str, seed: int) -> Iterator[tuple[Piece, Place]]:
    """The points and the curve of one recipe and seed."""
    # No vectors for unknown words: they are fitted for every point and take longer than the training itself.
    base, which = replace(job.system(key, seed).recipe, fallback="none"), f"{recipe_name}, seed {seed}"
    if "figure3" in parts and key in PUBLISHED:  # the other recipe takes its negatives from the batch
        for n in job.scale.negatives:
            title = f"{n} negative{'s' if n > 1 else ''}, {which}"
            yield Piece("point", f"{key}-negatives-{n}", title, replace(base, negatives=n)), _place("negatives", key, n)
    if "figure4" in parts:
        for dim in job.scale.dims:
            title = f"{dim} dimensions, {which}"
            yield Piece("point", f"{key}-dim-{dim}", title, replace(base, dim=dim)), _place("dims", key, dim)
    if "figure2" in parts:
        epochs = job.scale.curve_epochs * base.epochs
        title = f"{epochs} epochs, {which}"
        yield Piece("curve", key, title, replace(base, epochs=epochs)), _place("curves", key)


def _place(where: str, *keys: Any) -> Place:
    def place(results: Results, result: Run) -> None:
        target = getattr(results, where)
        for key in keys[:-1]:
            target = target.setdefault(key, {})
        target.setdefault(keys[-1], []).append(result)

    return place


def _computed(piece: Piece, job: Job, cache: Cache, progress: Progress) -> Run:
    result = compute(piece, job, progress, weight(piece, job))
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
        """The cached result of a piece; None if it has to be computed."""
        path = self._path(name, about)
        if not path.exists():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content.get("format_version", FORMAT_VERSION) != FORMAT_VERSION:
                raise ValueError(f"format version {content['format_version']!r}; {what_reads(content)}")
            if content["about"] != json.loads(json.dumps(about)):
                raise ValueError("it describes another piece")
            result: dict[str, Any] = content["result"]
            if not isinstance(result, dict):
                raise ValueError("it holds no result")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._progress.say(f"{path} can't be used ({type(error).__name__}: {error}); {name} is computed again")
            return None
        return result

    def put(self, name: str, about: dict[str, Any], result: dict[str, Any]) -> None:
        """Store a result atomically."""
        with atomic_file(self._path(name, about)) as file:
            head = {"format_version": FORMAT_VERSION, "written_by": written_by()}
            content = {**head, "about": about, "result": result}
            file.write_text(json.dumps(content, allow_nan=False), encoding="utf-8")

    def clear(self) -> None:
        """Delete all cached results; foreign files stay and are reported."""
        for name in remove_ours(self._folder, CACHE_FILES):
            self._progress.say(f"{self._folder / name} is not part of the cache and is kept")

    def _path(self, name: str, about: dict[str, Any]) -> Path:
        return self._folder / f"{name}-{fingerprint(about)}.json"
