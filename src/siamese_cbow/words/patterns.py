r"""The shape of a word as regular expressions: for Python, and for the `tokenizers` library (Oniguruma).

One function writes both, from the contents of character classes. The first matching alternative wins:

    mail        anna.b@example.org
    number      3.14, 1,000, 2.19.0
    sharp       C#
    elision     l' of l'homme, in languages that have it
    word        letters, digits and marks; inside also ' and ·, and " between Hebrew letters; then .digits after a
                digit (v2.19) or ++ (C++)
    syllable    of Thai, Lao, Khmer, Burmese: a consonant with its vowels and signs
    picture     a flag (two letters), an emoji, a Han or Hiragana character
    handle      @anna_b
    .net        the only word that begins with a point
    mark        , ! and so on, if punctuation counts

Rule 1 has only numbers, words (without a final ++), Han and Hiragana characters, and marks. Repetitions are bounded
or possessive, so no text takes more than linear time. The patterns expect text as `Tokenizer.spelled` returns it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from siamese_cbow.words import characters
from siamese_cbow.words.characters import among

# A URL counts as its words, without these. Compiled on use: most short texts don't need it.
SCHEME = r"(?<![a-zA-Z0-9])(?:[hH][tT][tT][pP][sS]?|[fF][tT][pP])://(?:[wW][wW][wW]\.)?"


class _Classes(NamedTuple):
    """The contents of character classes."""

    letter: str  # digits too
    mark: str
    single: str  # Han and Hiragana
    symbol: str
    emoji: str = ""
    syllabic: str = ""  # without the leading vowels
    final: str = ""  # those that may end a syllable without a sign


def _rule_1(of: _Classes, punctuation: bool) -> str:
    run = f"[{of.letter}][{of.letter}{of.mark}]*"
    single = of.single + (of.symbol if punctuation else "")
    return f"[0-9]+(?:[.,][0-9]+)+|{run}(?:'{run})*" + (f"|[{single}]" if single else "")


def _rule_2(of: _Classes, punctuation: bool, elisions: str, name: Callable[[str], str], *, special: bool) -> str:
    """special  False omits the alternatives that need an @, # and the like in the text (`is_special`)"""
    run = f"[{of.letter}][{of.letter}{of.mark}]*"
    hebrew = name(characters.HEBREW_LETTERS)
    joint = f"""(?:['{name(characters.MIDDLE_DOT)}]|(?<=[{hebrew}])"(?=[{hebrew}]))""" if of.syllabic else "'"
    label = "[a-zA-Z0-9]+(?:-+[a-zA-Z0-9]+)*"
    mail = rf"(?>[a-zA-Z0-9]+(?:[._%+-]+[a-zA-Z0-9]+){{0,8}})@{label}(?:\.{label})+"
    words = [
        *([mail] if special else []),
        "[0-9]+(?:[.,][0-9]+)+",
        *([f"[a-zA-Z]#(?![{of.letter}{of.mark}#])"] if special else []),
        *(f"{_any_case(word)}'(?=[{of.letter}])" for word in elisions.split()),
        f"{run}(?:{joint}{run})*" + (r"(?:(?<=[0-9])(?:\.[0-9]+)+|\+\+(?!\+))?" if special else ""),
    ]
    if of.syllabic:
        leading, stackers = name(characters.LEADING_VOWELS), name(characters.STACKERS)
        sign = f"[{of.mark}{name(characters.TRAILING_VOWELS)}]"
        closed = f"(?=[{name(characters.BURMESE_DOT)}]?[{name(characters.CLOSERS)}])"
        inside = f"[{stackers}][{of.syllabic}]|{sign}|[{of.syllabic}]{closed}"
        words.append(f"[{leading}]{{0,2}}[{of.syllabic}](?:{inside})*(?:[{of.final}](?!{sign}))?|[{leading}]")
        words.append(f"[{name(characters.FLAGS)}]{{2}}")
    words += [f"[{of.emoji}{of.single}]"] if of.emoji else []
    if special:
        words += [r"(?<![a-zA-Z0-9_])@[a-zA-Z_][a-zA-Z0-9_]*", rf"\.[nN][eE][tT](?![{of.letter}{of.mark}])"]
    return "|".join([*words, f"[{of.symbol}]"] if punctuation else words)


def _any_case(word: str) -> str:
    return "".join(f"[{letter}{letter.upper()}]" for letter in word)


_ASCII = _Classes("a-zA-Z0-9", "", "", r"!-/:-@\[-`{-~")


@cache
def dropped() -> re.Pattern[str]:
    """Invisible characters that separate no words: soft hyphens, joiners, directions, variants, skin tones."""
    return re.compile(f"[{among(characters.DROPPED)}]")


@cache
def pattern(kind: str, punctuation: bool, rule: int, elisions: str, ascii_only: bool, special: bool) -> re.Pattern[str]:
    """The pattern that finds words in normal, folded text, from our own table.

    `pattern("words", True, 2, "", True, False).findall("it's 3.14!")` -> ["it's", "3.14", "!"]

    For most texts, which are ASCII or contain nothing special, it is shorter and finds the same words in half the time.
    """
    if kind == "whitespace":
        return re.compile(r"[^\x00\t-\r ]+" if ascii_only else rf"[^\x00{among('space')}\ud800-\udfff]+")
    if ascii_only:
        classes = _ASCII
    else:
        others = () if rule == 1 else ("syllabic",)
        classes = _Classes(
            among("letter", *others), among("mark"), among("ideograph"), among("symbol"),
            among("emoji"), among("syllabic", characters.LEADING_VOWELS),
            among("syllabic", characters.LEADING_VOWELS, characters.OPEN_LETTERS),
        )  # fmt: skip
    if rule == 1:
        return re.compile(_rule_1(classes, punctuation))
    return re.compile(_rule_2(classes, punctuation, elisions, among, special=special))


def is_special(text: str) -> bool:
    """Whether a text may have an address, a name such as C++ or .NET, or a version after letters.

    `is_special("It ends.")` -> False; `is_special("v2.19")` -> True
    """
    if "@" in text or "#" in text or "+" in text:
        return True
    return "." in text[:-1] and _AFTER_POINT.search(text) is not None  # most sentences only end with a point


# The conditions on the characters before the point exclude most decimals.
_AFTER_POINT = re.compile(r"\.(?:[nN]|(?:(?<=[^ 0-9][0-9]\.)|(?<=[^ 0-9][0-9]{2}\.)|(?<=[0-9]{3}\.))[0-9])")


# For the library, which knows Unicode properties by name


def named(entries: str, *without: str) -> str:
    r"""`named("41-43 61")` -> '\x{41}-\x{43}\x{61}-\x{61}'."""
    pairs = re.findall(r"\\U(\w{8})-\\U(\w{8})", among(entries, *without))
    return "".join(rf"\x{{{int(first, 16):x}}}-\x{{{int(last, 16):x}}}" for first, last in pairs)


@cache
def oniguruma(kind: str, punctuation: bool, rule: int, elisions: str) -> str:
    """The same pattern in the syntax of the `tokenizers` library."""
    if kind == "whitespace":
        return r"[^\s\x{00}]+"
    symbol = r"[\p{P}\p{S}]&&[^\x{FFFD}]"
    if rule == 1:
        letter = r"[\p{L}\p{N}]&&[^\p{Han}\p{Hiragana}]"
        run = rf"[{letter}](?:[{letter}]|\p{{M}})*"
        single = r"[[\p{L}\p{N}]&&[\p{Han}\p{Hiragana}]]"
        return f"[0-9]+(?:[.,][0-9]+)+|{run}(?:'{run})*|{single}" + (f"|[{symbol}]" if punctuation else "")
    syllabic = named("syllabic", characters.LEADING_VOWELS)
    classes = _Classes(
        rf"[[\p{{L}}\p{{N}}]&&[^\p{{Han}}\p{{Hiragana}}{named('syllabic')}]]",
        r"\p{M}",
        r"[[\p{L}\p{N}]&&[\p{Han}\p{Hiragana}]]",
        symbol,
        named("emoji"),
        syllabic,
        named("syllabic", characters.LEADING_VOWELS, characters.OPEN_LETTERS),
    )
    return _rule_2(classes, punctuation, elisions, named, special=True)
