"""Scripts without spaces: the tokenizer's syllables compared with words, and with one token per phrase.

    python -m benchmarks.syllables DIR [--write]

DIR holds CODE.txt for th, lo, km and my: running text, one phrase per line. The words are those that ICU's dictionaries
find in it (its C library, version 60 or later, must be installed). Tokens shorter than words do no harm to a mean of
vectors, because a word is always split the same way, unless a token crosses a word boundary. So the table shows the
share of word boundaries that are token boundaries (recall), the reverse (precision), and the share of words made of
whole tokens.

With --write, the table becomes a section of results/word_rules.md.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from ctypes.util import find_library
from pathlib import Path

from benchmarks.tables import arguments, markdown, write_section
from siamese_cbow import Tokenizer

SECTION = "Scripts without spaces"
SCRIPTS = {"th": "Thai", "lo": "Lao", "km": "Khmer", "my": "Burmese"}
RANGES = {"th": "\u0e01-\u0e4e", "lo": "\u0e81-\u0ecd", "km": "\u1780-\u17d3", "my": "\u1000-\u1049"}
ZERO_WIDTH_SPACE = "\u200b"  # some writers put it between words; no system gets it
WORDS = 1  # ICU's word iterator, UBRK_WORD


class Icu:
    """The word segmenter of ICU's C library: `Icu("th").ends(text)` -> where words end."""

    def __init__(self, language: str) -> None:
        name = find_library("icuuc")
        if name is None:
            raise SystemExit("ICU is not installed; install libicu, or leave this benchmark out")
        library = ctypes.CDLL(name)
        version = next(n for n in range(60, 100) if hasattr(library, f"ubrk_open_{n}"))
        self._open, self._next = (getattr(library, f"ubrk_{verb}_{version}") for verb in ("open", "next"))
        self._close = getattr(library, f"ubrk_close_{version}")
        self._open.restype = ctypes.c_void_p
        self._next.argtypes = self._close.argtypes = [ctypes.c_void_p]
        self._language = language

    def ends(self, text: str) -> set[int]:
        units = text.encode("utf-16-le")
        status = ctypes.c_int(0)
        language = self._language.encode()
        cutter = self._open(WORDS, language, ctypes.c_char_p(units), len(units) // 2, ctypes.byref(status))
        if status.value > 0:
            raise SystemExit(f"ICU can't cut {self._language}: error {status.value}")
        starts = set()
        while (end := self._next(cutter)) >= 0:
            starts.add(end)
        self._close(cutter)
        return starts


def token_ends(tokenizer: Tokenizer, run: str) -> set[int]:
    """Where the tokens of a run of letters end."""
    place, ends = 0, set()
    for token in tokenizer.words(run):
        start = run.find(token, place)
        place = max(place, start + len(token)) if start >= 0 else place
        ends.add(place)
    return ends


def row(code: str, path: Path, rule: int, name: str) -> list[str]:
    tokenizer, icu = Tokenizer(punctuation=False, rule=rule), Icu(code)
    n_words = n_tokens = n_common = n_whole = n_all = 0
    for line in path.read_text("utf-8").splitlines():
        for run in re.findall(f"[{RANGES[code]}]+", unicodedata.normalize("NFC", line.replace(ZERO_WIDTH_SPACE, ""))):
            words, tokens = sorted(icu.ends(run)), token_ends(tokenizer, run)
            starts = [0, *words[:-1]]
            n_whole += sum((a == 0 or a in tokens) and b in tokens for a, b in zip(starts, words, strict=True))
            n_all += len(words)
            inside, ours = set(words) - {len(run)}, tokens - {len(run)}
            n_words, n_tokens, n_common = n_words + len(inside), n_tokens + len(ours), n_common + len(inside & ours)
    recall, precision = n_common / max(1, n_words), n_common / max(1, n_tokens)
    f1 = 2 * recall * precision / max(1e-12, recall + precision)
    cells = [f"{recall:.3f}", f"{precision:.3f}" if n_tokens else "", f"{f1:.3f}", f"{n_whole / n_all:.3f}"]
    return [SCRIPTS[code], f"{n_all:,}", name, *cells]


def main() -> None:
    parser = arguments(__doc__, "folder")
    options = parser.parse_args()
    ways = ((1, "one token per phrase (rule 1)"), (2, "syllables (rule 2)"))
    rows = [row(code, options.folder / f"{code}.txt", rule, name) for code in SCRIPTS for rule, name in ways]
    header = ["script", "words", "tokens are", "recall", "precision", "F1", "words made of whole tokens"]
    section = (
        "Token boundaries against the word boundaries that ICU's dictionaries find inside phrases (`python -m "
        "benchmarks.syllables DIR`). Tokens may be shorter than words, but none should cross a word boundary: see "
        f"the last column.\n\n{markdown(header, rows)}\n"
    )
    print(section)
    if options.write:
        write_section("word_rules", SECTION, section)


if __name__ == "__main__":
    main()
