"""Writes `src/siamese_cbow/words/unicode_tables.txt`: the kind of each code point, and its lower case.

The script asks the `tokenizers` library itself for both, because sentence-transformers and model2vec split text with
it: what we train on is then what they look up. Run it again when `tokenizers` moves to a newer Unicode;
`tests/words/test_tokenizer.py` fails when that has happened. A different table splits some texts into different words,
so it is a new rule: add it to `RULES` in `words/tokenizer.py`. The last rows are for rule 2 and later rules.

    python tools/unicode_tables.py
"""

from __future__ import annotations

import itertools
import unicodedata
from pathlib import Path

from tokenizers import Regex
from tokenizers.normalizers import NFC, Lowercase
from tokenizers.pre_tokenizers import Split

TARGET = Path(__file__).parents[1] / "src" / "siamese_cbow" / "words" / "unicode_tables.txt"

# Han and Hiragana have no spaces between words: each character counts as a word.
# U+FFFD replaces bytes that are not text, so it is not a word either.
PATTERNS = {
    "letter": r"[[\p{L}\p{N}]&&[^\p{Han}\p{Hiragana}]]",
    "mark": r"\p{M}",
    "ideograph": r"[[\p{L}\p{N}]&&[\p{Han}\p{Hiragana}]]",
    "symbol": r"[[\p{P}\p{S}]&&[^\x{FFFD}]]",
    "space": r"\s",
}
# Rule 2: pictures, without arrows and squares; letters of scripts without spaces, where each syllable is a word.
PICTURES = r"\x{231A}-\x{23FA}\x{2600}-\x{27BF}\x{2B50}\x{2B55}\x{1F000}-\x{1F3FA}\x{1F400}-\x{1FAFF}"
SYLLABIC = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}"
PATTERNS_2 = {
    "emoji": rf"[[\p{{Emoji}}]&&[\p{{S}}]&&[{PICTURES}]]",
    "syllabic": rf"[\p{{L}}&&[{SYLLABIC}]]",
}


def code_points(pattern: str, text: str) -> list[int]:
    """The characters of `text` that the pattern matches."""
    split = Split(Regex(pattern), behavior="removed", invert=True)
    return [ord(character) for character, _ in split.pre_tokenize_str(text)]


def ranges(points: list[int]) -> str:
    """`ranges([0x61, 0x62, 0x63, 0x78])` -> '61-63 78'."""
    runs = []
    for _, group in itertools.groupby(enumerate(points), lambda pair: pair[1] - pair[0]):
        run = [point for _, point in group]
        runs.append(f"{run[0]:x}-{run[-1]:x}" if len(run) > 1 else f"{run[0]:x}")
    return " ".join(runs)


def lower_cases(points: list[int]) -> str:
    """`lower_cases([0x41])` -> '41:61'. A letter with a lower case of two characters: '130:69+307'."""
    lowered = Lowercase().normalize_str("\n".join(map(chr, points))).split("\n")
    pairs = [(point, low) for point, low in zip(points, lowered, strict=True) if low != chr(point)]
    return " ".join(f"{point:x}:{'+'.join(f'{ord(letter):x}' for letter in low)}" for point, low in pairs)


def composing(points: list[int]) -> tuple[list[int], list[int]]:
    """Characters that NFC may change (alone, or after another character), and characters that it must leave alone.

    The library knows the combining characters of an old Unicode version, and Python those of its own. Characters that
    either of them doesn't know are left alone, so that all agree, now and later.
    """
    following = {*FIRST}
    following |= {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}
    changing, strange = [], []
    library = NFC()
    for point in points:
        letter = chr(point)
        known = unicodedata.category(letter) not in ("Cn",)
        texts = [letter, f"\u2603{letter}\u0316", f"\u2603\u0301{letter}", f"{letter}\u0307", f"\u1100{letter}"]
        texts += [f"{chr(first)}{letter}" for first in FIRST.get(point, ())]
        if not known or any(library.normalize_str(text) != unicodedata.normalize("NFC", text) for text in texts):
            strange.append(point)
        elif point in following or unicodedata.combining(letter) or unicodedata.normalize("NFC", letter) != letter:
            changing.append(point)
    return changing, strange


# What each character composes with.
FIRST: dict[int, list[int]] = {}
for _point in range(0x110000):
    _pair = unicodedata.decomposition(chr(_point)).split()
    if len(_pair) == 2 and not _pair[0].startswith("<"):
        FIRST.setdefault(int(_pair[1], 16), []).append(int(_pair[0], 16))


def main() -> None:
    """Write the table."""
    points = [point for point in range(0x110000) if not 0xD800 <= point <= 0xDFFF]
    text = "".join(map(chr, points))
    lines = [f"{name} {ranges(code_points(pattern, text))}" for name, pattern in PATTERNS.items()]
    lines.append("lower " + lower_cases([point for point in points if point != ord("\n")]))
    lines += [f"{name} {ranges(code_points(pattern, text))}" for name, pattern in PATTERNS_2.items()]
    changing, strange = composing(points)
    lines += [f"composing {ranges(changing)}", f"strange {ranges(strange)}"]
    TARGET.write_text("\n".join(lines) + "\n", encoding="ascii")
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
