"""Read the STS sets as released: SemEval folders of 2012-2016, STS-Benchmark and SICK files.

    data/sts/2012/STS.input.MSRpar.txt      two sentences per line, a tab between them (further fields are ignored)
    data/sts/2012/STS.gs.MSRpar.txt         one score from 0 to 5 per line; an empty line is an unscored pair

The year comes from the folder's name (`2012`, `STS12-en-test`), from the file's (`STS2016.input...`), or, in a folder
such as `test-gold`, from the names of the sets. Folders of training data and the files `ALL` are left out.

    sts-test.csv                       STS-Benchmark: genre, file, year, number, score, sentence, sentence; no header,
                                       tabs despite the name, and literal quotation marks
    SICK.txt, SICK_test_annotated.txt  two layouts with a header; columns are found by name

Every line is checked, and an error names file and line. Only \\n and \\r\\n end a line: `str.splitlines` would also
split at characters inside sentences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from siamese_cbow.base.disk import as_path
from siamese_cbow.errors import InputError
from siamese_cbow.evaluation.pair_sets import HIGHEST, LOWEST, Collection, PairSet
from siamese_cbow.progress import SILENT, Progress, shown

TUNING = (  # disclosure about our own recipe, shown with its scores on every page
    "Settings were chosen on the STS sets of 2012 and 2013; scores of 2014 and 2015 were seen along the way, so these "
    "are not an untouched test."
)

FILE = re.compile(r"STS(?P<year>20\d\d)?\.(?P<role>input|gs)\.(?:surprise\.)?(?P<dataset>.+)\.txt")
STS_BENCHMARK = {"sts-train.csv": "train", "sts-dev.csv": "dev", "sts-test.csv": "test"}
SICK = {"SICK_train.txt": "train", "SICK_trial.txt": "trial", "SICK_test_annotated.txt": "test", "SICK.txt": ""}
# year -> the test sets that SemEval released, in its order, and how many of their pairs have a gold score
RELEASES = {
    2012: {"MSRpar": 750, "MSRvid": 750, "OnWN": 750, "SMTeuroparl": 459, "SMTnews": 399},
    2013: {"FNWN": 189, "OnWN": 561, "SMT": 750, "headlines": 750},
    2014: {"OnWN": 750, "deft-forum": 450, "deft-news": 300, "headlines": 750, "images": 750, "tweet-news": 750},
    2015: {"answers-forums": 375, "answers-students": 750, "belief": 375, "headlines": 750, "images": 750},
    2016: {"answer-answer": 254, "headlines": 249, "plagiarism": 230, "postediting": 244, "question-question": 209},
}
ORDER = {key: place for place, key in enumerate((year, name) for year, names in RELEASES.items() for name in names)}
WHERE = {
    (2013, "SMT"): (
        "its sentences are available only from the Linguistic Data Consortium, as LDC2013T18 "
        "(https://catalog.ldc.upenn.edu/LDC2013T18); save them as STS.input.SMT.txt next to STS.gs.SMT.txt"
    )
}


def sts(path: str | Path, *, progress: Progress | bool = SILENT) -> list[PairSet]:
    """Every set found at `path`: a folder that holds years, one year's folder, or an STS-Benchmark or SICK file.

    `sts("data/sts")` -> [PairSet(2012, "MSRpar", ...), ..., PairSet(2015, "images", ...)]

    For STS-Benchmark and SICK, a folder gives the test part; to read another part, name its file. Sets missing from a
    year are reported through `progress` and listed by `missing_sets`.
    """
    with shown(progress, "reading", None) as reporter:
        return _sets(as_path(path), reporter)


def _sets(path: Path, progress: Progress) -> list[PairSet]:
    if path.is_file():
        return list(_read_benchmark(path))
    if not path.is_dir():
        raise InputError(f"no folder {path}; download the sets: siamese-cbow download sts --to {path}")
    every = _find(path)
    sets = [_read(files) for files in every if files.input and files.gold]
    sets.sort(
        key=lambda pair_set: (pair_set.year, ORDER.get((pair_set.year, pair_set.dataset), len(ORDER)), pair_set.dataset)
    )
    for file in _files(path):
        if is_benchmark(file):
            sets += [part for part in _read_benchmark(file) if part.dataset == "test"]
    if not sets:
        raise InputError(
            f"{path} contains no STS sets; expected files such as {path}/2012/STS.input.MSRpar.txt and "
            f"STS.gs.MSRpar.txt; to download them: siamese-cbow download sts --to {path}"
        )
    for message in _remarks(sets, every):
        progress.say(message)
    return sets


def missing_sets(sets: Iterable[PairSet]) -> list[str]:
    """The released sets missing from the years that are present, each with where to get it.

    Without 2013's SMT -> ["2013 SMT is missing: its sentences are available only from ..."]
    """
    there = {(pair_set.year, pair_set.dataset) for pair_set in sets if pair_set.collection == "STS"}
    years = {year for year, _ in there}
    absent = [key for key in ORDER if key[0] in years and key not in there]
    advice = "to download it: siamese-cbow download sts"
    return [f"{year} {dataset} is missing: {WHERE.get((year, dataset), advice)}" for year, dataset in absent]


@dataclass
class _Files:
    """The two files of one set."""

    year: int
    dataset: str
    input: Path | None = None
    gold: Path | None = None


def _files(folder: Path) -> list[Path]:
    """The files of a folder and its subfolders, three levels deep, in the same order on every machine."""
    deep = [file for pattern in ("*", "*/*", "*/*/*") for file in folder.glob(pattern) if file.is_file()]
    return sorted(file for file in deep if not re.search("train|trial", str(file.parent.relative_to(folder)), re.I))


def _find(folder: Path) -> list[_Files]:
    matches = [(file, match) for file in _files(folder) if (match := FILE.fullmatch(file.name))]
    matches = [(file, match) for file, match in matches if match["dataset"] != "ALL"]
    names: dict[Path, set[str]] = {}
    for file, match in matches:
        names.setdefault(file.parent, set()).add(match["dataset"])
    every: dict[tuple[int, str], _Files] = {}
    for file, match in matches:
        year = int(match["year"] or _year(file.parent, names[file.parent]))
        files = every.setdefault((year, match["dataset"]), _Files(year, match["dataset"]))
        role = "input" if match["role"] == "input" else "gold"
        if other := getattr(files, role):
            raise InputError(f"{year} {match['dataset']} exists twice, as {other} and {file}; remove one of them")
        setattr(files, role, file)
    return list(every.values())


def _year(folder: Path, datasets: set[str]) -> int:
    """The year of a folder, from its name or its parent's, or from the names of its sets."""
    for name in (folder.resolve().name, folder.resolve().parent.name):
        if match := re.search(r"(?:20|STS[-_]?)(1[2-6])(?!\d)", name, re.IGNORECASE):
            return 2000 + int(match[1])
    fitting = [year for year, released in RELEASES.items() if datasets <= released.keys()]
    if len(fitting) != 1:
        raise InputError(
            f"can't tell the year of the STS sets in {folder}; rename the folder to its year, such as 2014"
        )
    return fitting[0]


def _read(files: _Files) -> PairSet:
    assert files.input
    assert files.gold
    pairs = []
    for number, line in enumerate(_read_lines(files.input), start=1):
        left, right = _fields(files.input, number, line, least=2)[:2]
        pairs.append((left, right))
    gold = [_gold_score(files.gold, number, line) for number, line in enumerate(_read_lines(files.gold), start=1)]
    if len(pairs) != len(gold):
        raise InputError(
            f"{files.input} has {len(pairs)} pairs but {files.gold} has {len(gold)} scores; expected the same number "
            "of lines in both: download them again"
        )
    return PairSet(files.year, files.dataset, tuple(pairs), np.array(gold), source=str(files.gold))


def _remarks(sets: list[PairSet], every: list[_Files]) -> Iterator[str]:
    yield from missing_sets(sets)
    for files in every:
        if files.input and not files.gold:
            yield f"skipped {files.input}: its gold scores are missing (STS.gs.{files.dataset}.txt)"
    for pair_set in sets:
        released = RELEASES.get(pair_set.year, {}) if pair_set.collection == "STS" else {}
        if (expected := released.get(pair_set.dataset, pair_set.n_scored)) != pair_set.n_scored:
            yield f"{pair_set.name} has {pair_set.n_scored} scored pairs; the released set has {expected}"


# STS-Benchmark and SICK


def is_benchmark(path: Path) -> bool:
    """Whether this is a file of STS-Benchmark or SICK, judged by its name."""
    return path.name in STS_BENCHMARK or path.name in SICK


def _read_benchmark(path: Path) -> Iterator[PairSet]:
    """The sets of one file: `sts-test.csv` -> one PairSet "test"; `SICK.txt` -> one each for train, trial and test."""
    if path.name in STS_BENCHMARK:
        yield _sts_benchmark(path)
    elif path.name in SICK:
        yield from _sick(path)
    else:
        raise InputError(f"{path}: expected a folder, or a file {', '.join([*STS_BENCHMARK, *SICK])}")


def _sts_benchmark(path: Path) -> PairSet:
    rows = []
    for number, line in enumerate(_read_lines(path), start=1):
        cells = _fields(path, number, line, least=7)
        rows.append((cells[5], cells[6], _gold_score(path, number, cells[4])))
    return _pair_set(path, 2017, "STS-Benchmark", STS_BENCHMARK[path.name], rows)


def _sick(path: Path) -> Iterator[PairSet]:
    lines = _read_lines(path)
    header = {name: place for place, name in enumerate(lines[0].split("\t"))} if lines else {}
    wanted = ["sentence_A", "sentence_B", "relatedness_score"]
    if lacking := [name for name in wanted if name not in header]:
        raise InputError(f"{path}, line 1: the header has no {', '.join(lacking)}; use SICK with its gold scores")
    left, right, score = (header[name] for name in wanted)
    parts: dict[str, list[tuple[str, str, float]]] = {}
    for number, line in enumerate(lines[1:], start=2):
        cells = _fields(path, number, line, least=len(header))
        part = SICK[path.name] or cells[header["SemEval_set"]].lower() if "SemEval_set" in header else SICK[path.name]
        parts.setdefault(part or "all", []).append((cells[left], cells[right], _gold_score(path, number, cells[score])))
    for part, rows in parts.items():
        yield _pair_set(path, 2014, "SICK", part, rows)


def _pair_set(path: Path, year: int, collection: Collection, part: str, rows: list[tuple[str, str, float]]) -> PairSet:
    pairs = tuple((left, right) for left, right, _ in rows)
    return PairSet(year, part, pairs, np.array([gold for *_, gold in rows]), collection, str(path))


# Lines of any of these files


def _read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file without their ends: "a\\nb\\n" -> ["a", "b"]."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror}; check the path") from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {number}: not UTF-8 (byte {raw[error.start]:#04x}); convert the file") from None
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def _fields(path: Path, number: int, line: str, least: int) -> list[str]:
    """The tab-separated fields of line `number`; an error if there are fewer than `least`: "a\\tb" -> ["a", "b"]."""
    parts = line.split("\t")
    if len(parts) < least:
        raise InputError(
            f"{path}, line {number}: expected at least {least} tab-separated fields, got {len(parts)}: {line[:60]!r}"
        )
    return parts


def _gold_score(path: Path, number: int, text: str) -> float:
    """A gold score: "4.5" -> 4.5; an empty line -> NaN, a pair without a score."""
    if not text.strip():
        return math.nan
    try:
        score = float(text)
    except ValueError:
        raise InputError(f"{path}, line {number}: gold score {text[:40]!r} is not a number") from None
    if not LOWEST <= score <= HIGHEST:
        raise InputError(f"{path}, line {number}: gold score {text.strip()} is not within 0 to 5")
    return score
