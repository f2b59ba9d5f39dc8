"""Read STS-Benchmark (`sts-test.csv`) and SICK (`SICK.txt`, `SICK_test_annotated.txt`), as released.

STS-Benchmark has no header: genre, file, year, number, score, sentence, sentence, with tabs between them in spite of
the name, and quotation marks that mean nothing. Both SICK layouts have a header; only the names in it are relied on.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from siamese_cbow.errors import InputError
from siamese_cbow.evaluation.pair_files import fields, gold_score, read_lines
from siamese_cbow.evaluation.pair_sets import Collection, PairSet

STS_BENCHMARK = {"sts-train.csv": "train", "sts-dev.csv": "dev", "sts-test.csv": "test"}
SICK = {"SICK_train.txt": "train", "SICK_trial.txt": "trial", "SICK_test_annotated.txt": "test", "SICK.txt": ""}


def is_benchmark(path: Path) -> bool:
    """Whether this is a file of one of the two, judged by its name."""
    return path.name in STS_BENCHMARK or path.name in SICK


def read_benchmark(path: Path) -> Iterator[PairSet]:
    """The sets of one file: `sts-test.csv` -> one PairSet "test"; `SICK.txt` -> one each for train, trial and test."""
    if path.name in STS_BENCHMARK:
        yield _sts_benchmark(path)
    elif path.name in SICK:
        yield from _sick(path)
    else:
        raise InputError(f"{path}: expected a folder, or a file {', '.join([*STS_BENCHMARK, *SICK])}")


def _sts_benchmark(path: Path) -> PairSet:
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        found = fields(path, number, line, least=7)
        rows.append((found[5], found[6], gold_score(path, number, found[4])))
    return _pair_set(path, 2017, "STS-Benchmark", STS_BENCHMARK[path.name], rows)


def _sick(path: Path) -> Iterator[PairSet]:
    lines = read_lines(path)
    header = {name: place for place, name in enumerate(lines[0].split("\t"))} if lines else {}
    wanted = ["sentence_A", "sentence_B", "relatedness_score"]
    if lacking := [name for name in wanted if name not in header]:
        raise InputError(f"{path}, line 1: the header has no {', '.join(lacking)}; give SICK with its gold scores")
    left, right, score = (header[name] for name in wanted)
    parts: dict[str, list[tuple[str, str, float]]] = {}
    for number, line in enumerate(lines[1:], start=2):
        found = fields(path, number, line, least=len(header))
        part = SICK[path.name] or found[header["SemEval_set"]].lower() if "SemEval_set" in header else SICK[path.name]
        parts.setdefault(part or "all", []).append((found[left], found[right], gold_score(path, number, found[score])))
    for part, rows in parts.items():
        yield _pair_set(path, 2014, "SICK", part, rows)


def _pair_set(path: Path, year: int, collection: Collection, part: str, rows: list[tuple[str, str, float]]) -> PairSet:
    pairs = tuple((left, right) for left, right, _ in rows)
    return PairSet(year, part, pairs, np.array([gold for *_, gold in rows]), collection, str(path))
