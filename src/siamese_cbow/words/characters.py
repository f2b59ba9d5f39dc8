"""What kind of character each code point is, and its lower case, from the table `unicode_tables.txt`.

The table was asked of the `tokenizers` library (`tools/unicode_tables.py`), not of Python: Python's Unicode version
changes with the interpreter, and a model must cut text the same way wherever it is loaded.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

# The kinds of characters that a scanner has to tell apart.
SEPARATOR, LETTER, DIGIT, MARK, SINGLE, APOSTROPHE, POINT, NEWLINE = range(8)

TYPOGRAPHIC_APOSTROPHE = 0x2019  # don’t and don't are one word
DOTTED_I = 0x130  # the one letter whose lower case is two characters: i and a combining dot (U+0307)
N_CODE_POINTS = 0x110000


@cache
def _table() -> dict[str, list[str]]:
    lines = (Path(__file__).parent / "unicode_tables.txt").read_text(encoding="ascii").splitlines()
    return {name: entries for name, *entries in map(str.split, lines)}


def ranges(name: str) -> list[tuple[int, int]]:
    """`ranges("space")` -> [(0x9, 0xd), (0x20, 0x20), ...]: first and last code point of each run."""
    bounds = [entry.partition("-") for entry in _table()[name]]
    return [(int(first, 16), int(last or first, 16)) for first, _, last in bounds]


@cache
def lower_cases() -> dict[int, str]:
    """`lower_cases()[ord("A")]` -> 'a'; in the form that `str.translate` takes."""
    pairs = (entry.split(":") for entry in _table()["lower"])
    return {int(upper, 16): "".join(chr(int(low, 16)) for low in lower.split("+")) for upper, lower in pairs}


def kinds(*, words: bool, punctuation: bool) -> NDArray[np.uint8]:
    """The kind of each code point, (N_CODE_POINTS,) uint8.

    With `words=False` everything but white space is a letter, as in corpora that come tokenised.
    """
    table = np.full(N_CODE_POINTS, SEPARATOR if words else LETTER, np.uint8)

    def fill(name: str, kind: int) -> None:
        for first, last in ranges(name):
            table[first : last + 1] = kind

    if words:
        fill("letter", LETTER)
        fill("mark", MARK)
        fill("ideograph", SINGLE)
        fill("symbol", SINGLE if punctuation else SEPARATOR)
        table[ord("0") : ord("9") + 1] = DIGIT
        table[[ord("'"), TYPOGRAPHIC_APOSTROPHE]] = APOSTROPHE
        table[[ord("."), ord(",")]] = POINT
    else:
        fill("space", SEPARATOR)
        table[0] = SEPARATOR
    table[ord("\n")] = NEWLINE
    return table


def folds(*, lowercase: bool, words: bool) -> NDArray[np.int32]:
    """The code point that each code point is written as, (N_CODE_POINTS,) int32; -1 stands for DOTTED_I's two."""
    table = np.arange(N_CODE_POINTS, dtype=np.int32)
    if lowercase:
        for upper, lower in lower_cases().items():
            table[upper] = ord(lower) if len(lower) == 1 else -1
    if words:
        table[TYPOGRAPHIC_APOSTROPHE] = ord("'")
    return table
