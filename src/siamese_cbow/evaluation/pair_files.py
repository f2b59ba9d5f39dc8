"""Your own test sets: a table of two texts and a score -> a set of pairs.

    pairs("tickets.csv")                                  # columns detected: three of them, or common names
    pairs("tickets.jsonl", columns="first,second,rating")

CSV, TSV, JSON lines, Parquet, or lines of text with tabs; with or without a header. Scores may have any scale, higher
meaning more similar. A pair without a score is skipped and counted; a score that is not a number, or a row with too
few or too many cells, is an error that names the row: a text cut at a comma would be scored as another text.

Does not read the public sets: `sts` does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from siamese_cbow.base.disk import as_path
from siamese_cbow.errors import InputError, SettingsError, counted
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.sts import is_benchmark
from siamese_cbow.progress import SILENT, Progress, shown
from siamese_cbow.text.json_files import table_rows
from siamese_cbow.text.records import TextSettings

# Common names of the two texts and of the score, in lower case and without "_", "-" and spaces.
TEXTS = (
    *((f"{name}1", f"{name}2") for name in ("sentence", "sent", "text", "s", "question", "phrase", "string")),
    *((f"{name}a", f"{name}b") for name in ("sentence", "text", "phrase")),
    ("a", "b"), ("left", "right"), ("first", "second"), ("premise", "hypothesis"), ("query", "document"),
    ("source", "target"), ("anchor", "positive"),
)  # fmt: skip
SCORES = (
    "score", "similarityscore", "relatednessscore", "similarity", "relatedness", "goldscore", "gold", "goldlabel",
    "rating", "sim", "label", "isduplicate",
)  # fmt: skip
LOOK_AT = 1000  # rows inspected to find the score column
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,(\d{1,2}|\d{4,})")  # "4,5"; "1,000" could be a thousand


def pairs(
    path: str | Path,
    *,
    columns: str | Sequence[str] = (),
    encoding: str | None = None,
    progress: Progress | bool = SILENT,
) -> list[PairSet]:
    """The set of pairs in a file, for `evaluate`: `evaluate(model, pairs("tickets.csv"))`.

    columns   names, or numbers from 1, of the two texts and the score: "first,second,rating" or ["1", "2", "3"]
    encoding  of the file; detected by default
    """
    with shown(progress, "reading", None) as reporter:
        return [_read(as_path(path), columns, encoding, reporter)]


def _read(path: Path, columns: str | Sequence[str], encoding: str | None, progress: Progress) -> PairSet:
    if not isinstance(columns, str | list | tuple):
        raise SettingsError(f"columns is {columns!r:.60}; expected three: 'text,text,score'")
    wanted = [name.strip() for name in columns.split(",")] if isinstance(columns, str) and columns else list(columns)
    if wanted and len(wanted) != 3:
        raise SettingsError(f"columns are {', '.join(map(str, wanted))}; expected three: text,text,score")
    decoding = TextSettings(encoding=encoding).decoding()
    rows, has_names = table_rows(path, decoding)
    for remark in decoding.remarks():
        progress.say(remark)
    if not rows:
        raise InputError(f"{path} is empty; expected two texts and a score in each row")
    names = rows[0] if has_names or _is_header(rows, wanted) else None
    places = _places(path, rows, names, wanted)
    first = 1 if names is None else 2  # the number of the first row of the file, a header counting as one
    body = rows if names is None else rows[1:]
    return _pair_set(path, body, places, len(rows[0]), first, progress)


def _is_header(rows: Sequence[Sequence[str]], wanted: Sequence[str]) -> bool:
    """Whether the first row of a file names its columns: it has the requested names, or no number where others do."""
    if any(name in rows[0] for name in wanted):
        return True
    return not any(_is_number(rows[0][place]) for place in _number_columns(rows[1:], len(rows[0])))


def _number_columns(rows: Sequence[Sequence[str]], n: int) -> list[int]:
    """Columns that contain only numbers or nothing: [["a", "4.5"], ["b", ""]] -> [1]."""
    some = [row for row in rows[:LOOK_AT] if len(row) == n]
    return [
        place
        for place in range(n)
        if any(row[place].strip() for row in some) and all(_is_number(row[place] or "0") for row in some)
    ]


def _places(
    path: Path, rows: Sequence[Sequence[str]], names: Sequence[str] | None, wanted: Sequence[str]
) -> tuple[int, int, int]:
    """Positions of the two texts and the score in a row."""
    n = len(rows[0])
    if wanted:
        left, right, score = (_place(path, name, names, n) for name in wanted)
        return left, right, score
    numbers = _number_columns(rows if names is None else rows[1:], n)
    if n == 3 and len(numbers) < 2:  # of two columns of numbers, one may be an id
        score = numbers[0] if numbers else 2
        left, right = (place for place in range(3) if place != score)
        return left, right, score
    plain = [re.sub(r"[\s_-]", "", name.lower()) for name in names or ()]
    texts = [pair for pair in TEXTS if plain.count(pair[0]) == 1 and plain.count(pair[1]) == 1]
    scores = [name for name in SCORES if plain.count(name) == 1]
    if texts and scores:
        return plain.index(texts[0][0]), plain.index(texts[0][1]), plain.index(scores[0])
    there = ", ".join(repr(name[:40]) for name in names) if names else f"{n} without names"
    known = "; STS-Benchmark and SICK are read by --sts" if is_benchmark(path) else ""
    raise InputError(
        f"{path} has the columns {there}, and it is unclear which hold the texts and the score; name them: "
        f"--columns text,text,score, by name or by number from 1{known}"
    )


def _place(path: Path, name: str, names: Sequence[str] | None, n: int) -> int:
    if names is not None and list(names).count(name) == 1:
        return list(names).index(name)
    if name.isdecimal() and 1 <= int(name) <= n:
        return int(name) - 1
    there = ", ".join(repr(each[:40]) for each in names) if names else f"numbers from 1 to {n}"
    raise InputError(f"{path} has no column {name!r}; it has {there}: choose with --columns text,text,score")


def _pair_set(
    path: Path, rows: Sequence[Sequence[str]], places: tuple[int, int, int], n: int, first: int, progress: Progress
) -> PairSet:
    left, right, score = places
    texts: list[tuple[str, str]] = []
    gold: list[float] = []
    for number, row in enumerate(rows, first):
        if len(row) != n:
            raise InputError(
                f"{path}, row {number:,}: {counted(len(row), 'cell')}, but the first row has {n}: {row}"[:300]
            )
        texts.append((row[left], row[right]))
        gold.append(_score(path, number, row[score]))
    n_empty = sum(not (a.strip() and b.strip()) for a, b in texts)
    n_missing = sum(map(math.isnan, gold))
    if n_missing:
        progress.say(f"{path.name}: skipped {counted(n_missing, 'pair')} without a score")
    if n_empty:
        progress.say(f"{path.name}: {counted(n_empty, 'pair')} with an empty text, with cosine 0")
    return PairSet(0, path.name, tuple(texts), np.array(gold), "pairs", str(path))


def _score(path: Path, number: int, cell: str) -> float:
    text = cell.strip()
    if text.lower() in ("", "nan", "null", "none", "na", "n/a"):
        return math.nan
    if not _is_number(text):
        raise InputError(
            f"{path}, row {number:,}: the score {text[:40]!r} is not a number; correct it, or leave it empty"
        )
    return float(text.replace(",", "."))


def _is_number(cell: str) -> bool:
    text = cell.strip()
    if _DECIMAL_COMMA.fullmatch(text):
        return True
    try:
        return math.isfinite(float(text)) and "_" not in text
    except ValueError:
        return False
