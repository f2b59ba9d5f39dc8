"""Finished pieces on disk, each a JSON file named by what it is and by the fingerprint of everything it depends on.

    cache/system-cbow-5f0c...json      {"about": {...}, "result": {...}}

An entry that can't be read is said and computed again; nothing in the cache is ever trusted beyond its fingerprint.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from siamese_cbow.base.files import atomic_file
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.progress import SILENT, Progress

RESULTS_VERSION = 2  # raise it when a piece is computed in another way, or holds something else


class Cache:
    """The cache of one report: `cache.get(name, about)` -> the result, or None."""

    def __init__(self, folder: Path, *, progress: Progress = SILENT) -> None:
        self._folder, self._progress = folder, progress

    def get(self, name: str, about: dict[str, Any]) -> dict[str, Any] | None:
        """The result of a piece that is finished; None if it has to be computed."""
        path = self.path(name, about)
        if not path.exists():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["about"] != json.loads(json.dumps(about)):
                raise ValueError("it is about something else")
            result: dict[str, Any] = content["result"]
            if not isinstance(result, dict):
                raise ValueError("it holds no result")
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            self._progress.say(f"{path} can't be used ({type(error).__name__}: {error}); {name} is computed again")
            return None
        return result

    def put(self, name: str, about: dict[str, Any], result: dict[str, Any]) -> None:
        """Keeps a result: whole, or not at all."""
        with atomic_file(self.path(name, about)) as file:
            file.write_text(json.dumps({"about": about, "result": result}, allow_nan=False), encoding="utf-8")

    def path(self, name: str, about: dict[str, Any]) -> Path:
        """Where the entry is or will be."""
        return self._folder / f"{name}-{fingerprint(about)}.json"


def fingerprint(about: dict[str, Any]) -> str:
    """A hash of plain values: `fingerprint({"dim": 300})` -> 24 letters and digits."""
    return hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=12).hexdigest()


def code_version() -> str:
    """What the results depend on beside the data: `0.1.0/1`."""
    return f"{importlib.metadata.version('siamese-cbow')}/{RESULTS_VERSION}"


def sets_fingerprint(sets: Iterable[PairSet]) -> str:
    """A hash of all names, pairs and gold scores."""
    digest = hashlib.blake2b(digest_size=16)
    for one in sets:
        digest.update(json.dumps([one.collection, one.year, one.dataset, one.pairs]).encode())
        digest.update(one.gold.tobytes())
    return digest.hexdigest()
