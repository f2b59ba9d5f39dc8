"""Lines of evaluation files, checked one by one: an error names file and line.

Lines end at \\n only (also \\r\\n): `str.splitlines` would also cut at characters that stand inside sentences.
"""

from __future__ import annotations

import math
from pathlib import Path

from siamese_cbow.errors import InputError
from siamese_cbow.evaluation.pair_sets import HIGHEST, LOWEST


def read_lines(path: Path) -> list[str]:
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


def fields(path: Path, number: int, line: str, least: int) -> list[str]:
    """The tab-separated fields of line `number`, at least so many: "a\\tb" -> ["a", "b"]."""
    found = line.split("\t")
    if len(found) < least:
        raise InputError(
            f"{path}, line {number}: expected at least {least} fields with a tab between them, found {len(found)}: "
            f"{line[:60]!r}"
        )
    return found


def gold_score(path: Path, number: int, text: str) -> float:
    """A gold score: "4.5" -> 4.5; nothing at all -> NaN, a pair without a score."""
    if not text.strip():
        return math.nan
    try:
        score = float(text)
    except ValueError:
        raise InputError(f"{path}, line {number}: gold score {text[:40]!r} is not a number") from None
    if not LOWEST <= score <= HIGHEST:
        raise InputError(f"{path}, line {number}: gold score {text.strip()} is not within 0 to 5")
    return score
