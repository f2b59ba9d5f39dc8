"""The kind of character that each code point is, and its lower case, from the table `unicode_tables.txt`.

The table comes from the `tokenizers` library (`tools/unicode_tables.py`), not from Python: Python's Unicode version
changes with the interpreter, and a model must split text the same way wherever it is loaded.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# The kinds of characters that the scanner distinguishes. The second line is new in rule 2.
SEPARATOR, LETTER, DIGIT, MARK, SINGLE, APOSTROPHE, POINT, NEWLINE = range(8)
AT, QUOTE, FLAG, SYLLABIC, LEADING, TRAILING = range(8, 14)
# Further properties that rule 2 needs; UNSTABLE: NFC may change the character or its neighbours, or drops it.
STACKER, CLOSER, DOT_BELOW, HEBREW, UNSTABLE, OPEN = 1, 2, 4, 8, 16, 32

TYPOGRAPHIC_APOSTROPHE = 0x2019  # don’t and don't are one word
DOTTED_I = 0x130  # the one letter whose lower case is two characters: i and a combining dot (U+0307)
N_CODE_POINTS = 0x110000

# Rule 2. Ranges as in the table; they become character classes of regular expressions.
DROPPED = "ad 34f 61c 640 180b-180f 200c-200f 202a-202e 2060-2064 2066-206f fe00-fe0f feff 1f3fb-1f3ff e0001-e01ef"
APOSTROPHES = "b4 2bc 2018-2019 5f3 ff07"  # all of them are written '
GERSHAYIM = "5f4"  # and this one "
HEBREW_LETTERS = "5d0-5ea"
MIDDLE_DOT = "b7"  # col·legi
FLAGS = "1f1e6-1f1ff"  # two of these letters are a flag
# In the syllabic scripts: vowels written before their consonant, vowels after it that are letters, signs that stack the
# next letter under the last one, and signs that make a letter the end of its syllable.
LEADING_VOWELS = "e40-e44 ec0-ec4 19b5-19b7 19ba aab5-aab6 aab9 aabb-aabc"
TRAILING_VOWELS = "e30 e32-e33 e45 eb0 eb2-eb3"
STACKERS = "1039 17d2 1a60"
CLOSERS = "e4c ecc 103a 1a7a"
BURMESE_DOT = "1037"  # may stand between a letter and what closes it
OPEN_LETTERS = "1000-109f a9e0-a9fe aa60-aa7f"  # Burmese: a letter that nothing closes has a vowel and is a syllable


@cache
def _table() -> dict[str, list[str]]:
    lines = (Path(__file__).parent / "unicode_tables.txt").read_text(encoding="ascii").splitlines()
    return {name: entries for name, *entries in map(str.split, lines)}


@cache
def ranges(entries: str) -> list[tuple[int, int]]:
    """`ranges("9-d 20")` -> [(0x9, 0xd), (0x20, 0x20)]: first and last code point of each run; or those of a row."""
    bounds = [entry.partition("-") for entry in _table().get(entries) or entries.split()]
    return [(int(first, 16), int(last or first, 16)) for first, _, last in bounds]


def among(entries: str, *without: str) -> str:
    r"""Ranges as the inside of a class of regular expressions: `among("41-43", "42")` -> '\U00000041-\U00000041...'."""
    left = ranges(entries)
    for first_out, last_out in (pair for other in without for pair in ranges(other)):
        parts = [((first, min(last, first_out - 1)), (max(first, last_out + 1), last)) for first, last in left]
        left = list(dict.fromkeys((first, last) for pair in parts for first, last in pair if first <= last))
    return "".join(rf"\U{first:08x}-\U{last:08x}" for first, last in left)


@cache
def lower_cases() -> dict[int, str]:
    """`lower_cases()[ord("A")]` -> 'a'; in the form that `str.translate` takes."""
    pairs = (entry.split(":") for entry in _table()["lower"])
    return {int(upper, 16): "".join(chr(int(low, 16)) for low in lower.split("+")) for upper, lower in pairs}


def kinds(*, words: bool, punctuation: bool, rule: int = 1) -> NDArray[np.uint8]:
    """The kind of each code point, (N_CODE_POINTS,) uint8.

    With `words=False` everything but white space is a letter, as in corpora that are already tokenised.
    """
    table = np.full(N_CODE_POINTS, SEPARATOR if words else LETTER, np.uint8)

    def fill(entries: str, kind: int) -> None:
        for first, last in ranges(entries):
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
    if words and rule > 1:
        fill("emoji", SINGLE)
        fill("syllabic", SYLLABIC)
        fill(LEADING_VOWELS, LEADING)
        fill(TRAILING_VOWELS, TRAILING)
        fill(FLAGS, FLAG)
        fill(MIDDLE_DOT, APOSTROPHE)
        table[ord("@")] = AT
        table[ord('"')] = QUOTE
    table[ord("\n")] = NEWLINE
    return table


@cache
def replacements(lowercase: bool, words: bool, rule: int) -> dict[int, str]:
    """What each character is written as, if not as itself; in the form that `str.translate` takes."""
    table = dict(lower_cases()) if lowercase else {}
    if lowercase and rule > 1:
        del table[DOTTED_I]  # the normal form has none
    if words:
        apostrophes = f"{TYPOGRAPHIC_APOSTROPHE:x}" if rule == 1 else APOSTROPHES
        table |= {point: "'" for first, last in ranges(apostrophes) for point in range(first, last + 1)}
        table |= {int(GERSHAYIM, 16): '"'} if rule > 1 else {}
    return table


def folds(*, lowercase: bool, words: bool, rule: int = 1) -> NDArray[np.int32]:
    """The code point that each code point is written as, (N_CODE_POINTS,) int32; -1 means DOTTED_I's two.

    `folds(lowercase=True, words=True)[ord("A")]` -> 97
    """
    table = np.arange(N_CODE_POINTS, dtype=np.int32)
    for point, written in replacements(lowercase, words, rule).items():
        table[point] = ord(written) if len(written) == 1 else -1
    return table


@cache
def flags() -> NDArray[np.uint8]:
    """STACKER, CLOSER and so on for each code point, (N_CODE_POINTS,) uint8."""
    table = np.zeros(N_CODE_POINTS, np.uint8)
    for entries, flag in (
        (STACKERS, STACKER),
        (CLOSERS, CLOSER),
        (BURMESE_DOT, DOT_BELOW),
        (HEBREW_LETTERS, HEBREW),
        (OPEN_LETTERS, OPEN),
        ("composing", UNSTABLE),
        (f"{DROPPED} {DOTTED_I:x}", UNSTABLE),
    ):
        for first, last in ranges(entries):
            table[first : last + 1] |= np.uint8(flag)
    return table


class Tables(NamedTuple):
    """A tokenizer as arrays."""

    kinds: NDArray[np.uint8]  # (0x110000,) kind of each code point
    folds: NDArray[np.int32]  # (0x110000,) what it is written as; -1 for the one letter that becomes two
    after_letters: NDArray[np.uint8]  # (256,) ENDS, MAY_CONTINUE, CONTINUES_AFTER_DIGITS or LOOK, for each byte
    flags: NDArray[np.uint8]  # (0x110000,) STACKER | CLOSER | ...; (1,) in rule 1
    elisions: NDArray[np.uint64]  # (n,) their letters, the first one lowest
    words: bool  # plain words are made of letters and digits; otherwise, of all visible characters
    lowercase: bool
    punctuation: bool  # a point, comma or apostrophe on its own is a word
    is_new: bool  # rule 2


# Composed characters (NFC)


@cache
def _strange() -> re.Pattern[str]:
    return re.compile(f"([{among('strange')}\ud800-\udfff]+)")


def composed(text: str) -> str:
    r"""The text in NFC: `composed("e\u0301")` -> 'é'. Characters that some Unicode version lacks are never changed."""
    import unicodedata  # not needed for ASCII

    if unicodedata.is_normalized("NFC", text):
        return text
    return "".join(
        part if number % 2 else unicodedata.normalize("NFC", part) for number, part in enumerate(_strange().split(text))
    )
