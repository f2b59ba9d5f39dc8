r"""Decides which layout a text has, by counting in a sample: sentences, paragraphs or wrapped lines.

The sample comes from all over the file if possible: the beginning may be a title, a table or a preface.

wrapped     lines are full (the first word of the next line would not have fitted) and end inside sentences, and
            sentences end in the middle of some lines; `unwrapped` restores one line per paragraph
paragraphs  there are many sentence ends in the middle of lines: "... in May. The ..."
sentences   everything else, such as "he said . then he left ." (lower-cased and tokenised corpora)

Does not split sentences: see `splitters`.
"""

from __future__ import annotations

import itertools
import operator
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from siamese_cbow.text.records import MARK, SAMPLE_BYTES, TextLayout

_NARROWEST, _WIDEST = 40, 120  # no one wraps lines narrower or wider
_MANY_LINES = 50
_CHINESE = "\u2e80"  # from here on, characters are wide and words have no spaces between them
_WINDOW = 400  # lines measured together: a file may hold several books
_MOST_ENDS = 5  # counted per line: a single long paragraph says nothing about the others
# A mark after three letters (not "Dr. ", not "J. "), white space, a letter; whether it is lower case is checked later.
# French has white space before some marks and inside its quotation marks, and a dash before speech. The marks of the
# second line never end abbreviations.
_INNER_END = re.compile(
    r"""[.!?…](?:(?<=[^\W\d_]{3}.)|(?<=[^\W\d_]{3}\s.))[.!?…]*\s?["'”’»)\]]*\s+["'“‘«„(\[¿¡—–-]*\s?([^\W\d_])"""
    r"""|[؟۔।॥။።][؟۔।॥။።!]*["'”’»)\]]*\s+["'“‘«(\[]*([^\W\d_])"""
    r"""|[。！？][”’」』）]*([^\s。！？”’」』）])"""
)
_LAST_END = re.compile(r"""[.!?…؟۔।॥။።。！？]\s?["'”’»)\]」』）]*$""")


class Evidence(NamedTuple):
    """Counts over the lines of a sample."""

    n_lines: int = 0
    n_inner_ends: int = 0  # sentence ends in the middle of lines, at most five of each
    n_pairs: int = 0  # lines followed by another line of the same paragraph
    n_full: int = 0  # of those, lines that the next word would have made too long
    n_unfinished: int = 0  # of those, lines that end inside a sentence

    @property
    def layout(self) -> TextLayout:
        """The layout that explains the counts."""
        is_full = self.n_full > 0.5 * self.n_pairs and self.n_unfinished > 0.3 * self.n_pairs
        if self.n_pairs >= 8 and is_full and self.n_inner_ends > 0.02 * self.n_lines:
            return "wrapped"
        return "paragraphs" if self.n_inner_ends > 0.35 * self.n_lines else "sentences"


class LayoutPool:
    """Chooses the layouts of files, one after the other: a sample of few lines is pooled with earlier ones."""

    def __init__(self) -> None:
        self._few = Evidence()

    def layout(self, evidence: Evidence) -> TextLayout:
        """The layout of the next file."""
        if evidence.n_lines < _MANY_LINES:
            evidence = self._few = Evidence(*map(operator.add, self._few, evidence))
        return evidence.layout


def sample_evidence(sample: bytes) -> Evidence:
    """Counts over the first megabyte of a sample; if the sample is longer, the last line may be cut and is ignored.

    `sample_evidence(b"A cat sat. It slept.").n_inner_ends` -> 1
    """
    text = sample.replace(MARK, b"\n")
    lines = _with_letters_only(text[:SAMPLE_BYTES].decode("utf-8", "replace")).split("\n")
    if len(text) >= SAMPLE_BYTES and len(lines) > 1:
        del lines[-1]
    lines = [line.strip() for line in lines]
    texts = [line for line in lines if line]
    windows = [_full_lines(lines[i : i + _WINDOW]) for i in range(0, len(lines), _WINDOW)]
    return Evidence(len(texts), sum(map(_n_inner_ends, texts)), *map(sum, zip(*windows, strict=True)))


def _with_letters_only(text: str) -> str:
    """The text with vowel signs and accents replaced by letters: in Hindi, every third character is one."""
    marks = [each for each in set(text) if each > "\u02ff" and unicodedata.category(each).startswith("M")]
    return text.translate(dict.fromkeys(map(ord, marks), "a")) if marks else text


def _n_inner_ends(line: str) -> int:
    return min(sum(not match[match.lastindex or 1].islower() for match in _INNER_END.finditer(line)), _MOST_ENDS)


def _full_lines(lines: list[str]) -> tuple[int, int, int]:
    """(lines followed by another, full ones, full ones that end inside a sentence); 98% of lines keep to the width."""
    lengths = sorted(_width(line) for line in lines if line)
    width = lengths[int(0.98 * len(lengths))] if lengths else 0
    if not _NARROWEST <= width <= _WIDEST:
        return 0, 0, 0
    pairs = [(line, after) for line, after in itertools.pairwise(lines) if line and after]
    full = [line for line, after in pairs if _width(line) + _first_width(after) > width]
    return len(pairs), len(full), sum(not _LAST_END.search(line) for line in full)


def _width(line: str) -> int:
    """The width of a line in columns: Chinese characters take two."""
    return len(line) if line.isascii() else len(line) + sum(each >= _CHINESE for each in line)


def _first_width(line: str) -> int:
    """The width of the first word with a space before it; Chinese is broken between any two characters."""
    return 4 if line[0] >= _CHINESE else 1 + _width(line.split(None, 1)[0])


# From wrapped lines back to paragraphs

BLANKS = re.compile(rb"\n\n+")
_HYPHEN_END = re.compile(rb"(?:-|\xe2\x80\x90|\xc2\xad)[ \t]*\n")
_HYPHEN_LINE_END = re.compile(r"[-\u2010\u00ad][ \t]*\n")  # the same in a string
_BROKEN_WORD = re.compile(
    r"[ \t]*(?<![\w-])((?:[^\W_]+[-'’])*)([^\W_]+)([-\u2010\u00ad])[ \t]*\n[ \t]*([^\W_]+)(\S*)([ \t]*)"
)
_WORD = re.compile(r"[^\W_]+(?:[-\u2010][^\W_]+)*")
_WIDE_LINE_END = re.compile(  # Chinese and Japanese have no spaces between words; Korean has
    rb"(?<=[\xe3-\xe9][\x80-\xbf]{2})\n(?=[\xe3-\xe9])|(?<=\xef[\xbc\xbd][\x80-\xbf])\n(?=[\xe3-\xe9])"
    rb"|(?<=[\xe3-\xe9][\x80-\xbf]{2})\n(?=\xef[\xbc\xbd])"
)


def unwrapped(text: bytes) -> bytes:
    r"""A line per paragraph: `b"It\nrains.\n\nWe\nstay.\n"` -> `b"It rains.\nWe stay."`. After `rejoined`."""
    if not text.isascii():
        text = _WIDE_LINE_END.sub(b"", text)
    paragraphs = BLANKS.split(text.replace(MARK, b"\n\n" + MARK + b"\n").strip(b"\n"))
    return b"\n".join(paragraph.replace(b"\n", b" ") for paragraph in paragraphs if paragraph)


def rejoined(text: bytes) -> bytes:
    r"""Words broken at the end of a line, rejoined on the next one: `b"an exam-\nple"` -> `b"an \nexample"`.

    The form that occurs elsewhere in the text shows whether the hyphen belongs to the word. If neither form does, two
    words that both occur alone keep it ("well-known"), a very frequent second word stays alone ("pre- and post-war"),
    and everything else becomes one word. The number of lines does not change.
    """
    if not _HYPHEN_END.search(text):
        return text
    whole = text.decode()
    broken = list(_broken_words(whole))
    counts = Counter(map(str.lower, _WORD.findall(whole)))
    for match in broken:
        counts.subtract((match[2].lower(), match[4].lower()))
    often = max(3, counts.total() // 200)
    pieces: list[str] = []
    done = 0
    for match in broken:
        pieces += (whole[done : match.start()], _whole_word(match, counts, often))
        done = match.end()
    return "".join((*pieces, whole[done:])).encode()


def _broken_words(text: str) -> Iterator[re.Match[str]]:
    """The matches of `_BROKEN_WORD.finditer`, searching only the few lines that end in a hyphen."""
    done = 0
    for hyphen in _HYPHEN_LINE_END.finditer(text):
        if hyphen.start() < done:
            continue
        line, next_end = text.rfind("\n", 0, hyphen.start()) + 1, text.find("\n", hyphen.end())
        match = _BROKEN_WORD.search(text, max(done, line), len(text) if next_end < 0 else next_end)
        if match:
            done = match.end()
            yield match


def _whole_word(match: re.Match[str], counts: Counter[str], often: int) -> str:
    before, first, hyphen, second, end, space = match.groups()
    apart, together = f"{first}-{second}".lower(), (first + second).lower()
    is_small = second[0] == second[0].lower()
    if hyphen == "\u00ad" or (is_small and counts[together] > 0 and counts[together] >= counts[apart]):
        word = first + second
    elif not (is_small and (first[-1] + second[0]).isalpha()):
        word = f"{first}-{second}"  # Anglo-Saxon, 1990-1995
    elif counts[apart] > 0 or (counts[first.lower()] > 0 and counts[second.lower()] > 0):
        word = f"{first}-{second}"
    elif counts[second.lower()] >= often:
        return match[0]
    else:
        word = first + second
    if match.string[match.start() - 1 : match.start()] not in ("", "\n"):
        return f"\n{before}{word}{end}{space}"
    is_alone = match.string[match.end() : match.end() + 1] in ("", "\n")
    return match[0] if is_alone else f"{before}{word}{end}\n"
