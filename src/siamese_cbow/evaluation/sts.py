"""Read the STS sets: SemEval folders of 2012-2016 as released, STS-Benchmark and SICK files.

    data/sts/2012/STS.input.MSRpar.txt      two sentences a line with a tab between them (more fields are left alone)
    data/sts/2012/STS.gs.MSRpar.txt         a score from 0 to 5 a line; an empty line is a pair nobody scored

The year comes from the folder's name (`2012`, `STS12-en-test`), from the file's (`STS2016.input...`), or, in a folder
such as `test-gold`, from the names of the sets. Folders of training data and the files `ALL` are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from siamese_cbow.errors import InputError
from siamese_cbow.evaluation.benchmarks import is_benchmark, read_benchmark
from siamese_cbow.evaluation.pair_files import fields, gold_score, read_lines
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.releases import RELEASES, WHERE
from siamese_cbow.progress import SILENT, Progress

FILE = re.compile(r"STS(?P<year>20\d\d)?\.(?P<role>input|gs)\.(?:surprise\.)?(?P<dataset>.+)\.txt")
ORDER = {(release.year, release.dataset): place for place, release in enumerate(RELEASES)}


def sts(path: str | Path, *, progress: Progress = SILENT) -> list[PairSet]:
    """Every set found at `path`: a folder that holds years, one year's folder, or an STS-Benchmark or SICK file.

    `sts("data/sts")` -> [PairSet(2012, "MSRpar", ...), ..., PairSet(2015, "images", ...)]

    Of STS-Benchmark and SICK, a folder gives the test part; the other parts are read when their file is given.
    Sets that a year lacks are said through `progress` and listed by `missing_sets`.
    """
    path = Path(path)
    if path.is_file():
        return list(read_benchmark(path))
    if not path.is_dir():
        raise InputError(f"no folder {path}; fetch the sets with `siamese-cbow download sts --to {path}`")
    found = _find(path)
    sets = [_read(files) for files in found if files.input and files.gold]
    sets.sort(key=lambda one: (one.year, ORDER.get((one.year, one.dataset), len(ORDER)), one.dataset))
    for file in _files(path):
        if is_benchmark(file):
            sets += [part for part in read_benchmark(file) if part.dataset == "test"]
    if not sets:
        raise InputError(
            f"{path} holds no STS sets; expected files such as {path}/2012/STS.input.MSRpar.txt and STS.gs.MSRpar.txt "
            f"(`siamese-cbow download sts --to {path}` fetches them)"
        )
    for message in _remarks(sets, found):
        progress.say(message)
    return sets


def missing_sets(sets: Iterable[PairSet]) -> list[str]:
    """The released sets that are absent from the years that are there, each with where it is to be had.

    Without 2013's SMT -> ["2013 SMT is missing: its sentences are distributed by ..."]
    """
    there = {(one.year, one.dataset) for one in sets if one.collection == "STS"}
    years = {year for year, _ in there}
    absent = [key for key in ORDER if key[0] in years and key not in there]
    advice = "`siamese-cbow download sts` fetches it"
    return [f"{year} {dataset} is missing: {WHERE.get((year, dataset), advice)}" for year, dataset in absent]


@dataclass
class _Files:
    """The two files of one set."""

    year: int
    dataset: str
    input: Path | None = None
    gold: Path | None = None


def _files(folder: Path) -> list[Path]:
    """The files of a folder and of those below it, three levels deep; in one order on every machine."""
    deep = [file for pattern in ("*", "*/*", "*/*/*") for file in folder.glob(pattern) if file.is_file()]
    return sorted(file for file in deep if not re.search("train|trial", str(file.parent.relative_to(folder)), re.I))


def _find(folder: Path) -> list[_Files]:
    matches = [(file, match) for file in _files(folder) if (match := FILE.fullmatch(file.name))]
    matches = [(file, match) for file, match in matches if match["dataset"] != "ALL"]
    names: dict[Path, set[str]] = {}
    for file, match in matches:
        names.setdefault(file.parent, set()).add(match["dataset"])
    found: dict[tuple[int, str], _Files] = {}
    for file, match in matches:
        year = int(match["year"] or _year(file.parent, names[file.parent]))
        files = found.setdefault((year, match["dataset"]), _Files(year, match["dataset"]))
        role = "input" if match["role"] == "input" else "gold"
        if other := getattr(files, role):
            raise InputError(f"{year} {match['dataset']} is there twice, as {other} and {file}; move one of them away")
        setattr(files, role, file)
    return list(found.values())


def _year(folder: Path, datasets: set[str]) -> int:
    """The year of a folder, from its name or its parent's, or from the names of its sets."""
    for name in (folder.resolve().name, folder.resolve().parent.name):
        if match := re.search(r"(?:20|STS[-_]?)(1[2-6])(?!\d)", name, re.IGNORECASE):
            return 2000 + int(match[1])
    years = {year for year, _ in ORDER}
    fitting = [year for year in sorted(years) if datasets <= {name for other, name in ORDER if other == year}]
    if len(fitting) != 1:
        raise InputError(
            f"can't tell the year of the STS sets in {folder}; rename the folder to its year, such as 2014"
        )
    return fitting[0]


def _read(files: _Files) -> PairSet:
    assert files.input
    assert files.gold
    pairs = []
    for number, line in enumerate(read_lines(files.input), start=1):
        left, right = fields(files.input, number, line, least=2)[:2]
        pairs.append((left, right))
    gold = [gold_score(files.gold, number, line) for number, line in enumerate(read_lines(files.gold), start=1)]
    if len(pairs) != len(gold):
        raise InputError(
            f"{files.input} has {len(pairs)} pairs, {files.gold} has {len(gold)} scores; expected as many lines in both"
        )
    return PairSet(files.year, files.dataset, tuple(pairs), np.array(gold), source=str(files.gold))


def _remarks(sets: list[PairSet], found: list[_Files]) -> Iterator[str]:
    yield from missing_sets(sets)
    for files in found:
        if files.input and not files.gold:
            yield f"{files.input} has no gold scores beside it (STS.gs.{files.dataset}.txt); it was left out"
    released = {(release.year, release.dataset): release.n_scored for release in RELEASES}
    for one in sets:
        expected = released.get((one.year, one.dataset), one.n_scored) if one.collection == "STS" else one.n_scored
        if expected != one.n_scored:
            yield f"{one.name} has {one.n_scored} scored pairs, as released it has {expected}"
