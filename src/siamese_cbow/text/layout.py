r"""Which layout a text has: sentences, paragraphs or wrapped lines. Looks at a sample, counts, decides.

wrapped     lines are as full as they can be (the next line's first word would not have fitted any more), and
            sentences end in the middle of some
paragraphs  many lines hold a sentence end in the middle: "... in May. The ..."
sentences   everything else, such as "he said . then he left ." (lower-cased and tokenised corpora)
"""

from __future__ import annotations

import itertools
import operator
import re
from typing import NamedTuple

from siamese_cbow.text.records import MARK, SAMPLE_BYTES, TextLayout

_NARROWEST, _WIDEST = 40, 120  # nobody wraps lines narrower or wider
_MANY_LINES = 50
# A mark after three letters (not "Dr. ", not "J. "), white space, a letter; whether it is a small one is asked later.
_INNER_END = re.compile(
    r"""[.!?…؟۔।](?:(?<=[^\W\d_]{3}.)|(?<=[^\W\d_]{3}\ .))[.!?…]*["'”’»)\]]*\s+["'“‘«(\[¿¡]*([^\W\d_])"""
    r"""|[。！？][”’」』）]*([^\s。！？”’」』）])"""
)


class Evidence(NamedTuple):
    """Counts over the lines of a sample."""

    n_lines: int = 0
    n_inner_end: int = 0  # lines with a sentence end in the middle
    n_pairs: int = 0  # lines followed by another line of the same paragraph
    n_full: int = 0  # of those, lines that the next word would have made too long

    def pooled(self, other: Evidence) -> Evidence:
        """The counts over both samples."""
        return Evidence(*map(operator.add, self, other))

    @property
    def is_enough(self) -> bool:
        """Whether this sample can decide alone."""
        return self.n_lines >= _MANY_LINES

    @property
    def layout(self) -> TextLayout:
        """The layout that explains the counts."""
        if self.n_pairs >= 8 and self.n_full > 0.5 * self.n_pairs and self.n_inner_end > 0.02 * self.n_lines:
            return "wrapped"
        return "paragraphs" if self.n_inner_end > 0.35 * self.n_lines else "sentences"


def sample_evidence(sample: bytes) -> Evidence:
    """What the first megabyte of a text, or of records, shows."""
    text = sample.replace(MARK, b"\n")
    return evidence_of(text[:SAMPLE_BYTES], is_whole=len(text) < SAMPLE_BYTES)


def evidence_of(sample: bytes, *, is_whole: bool) -> Evidence:
    """Count over a sample of text; of a sample that isn't the whole text the last line is left out."""
    lines = sample.decode("utf-8", "replace").split("\n")
    if not is_whole and len(lines) > 1:
        del lines[-1]
    lines = [line.strip() for line in lines]
    texts = [line for line in lines if line]
    n_pairs, n_full = _full_lines(lines)
    return Evidence(len(texts), sum(map(_has_inner_end, texts)), n_pairs, n_full)


def _has_inner_end(line: str) -> bool:
    return any(not (match[1] or match[2]).islower() for match in _INNER_END.finditer(line))


def _full_lines(lines: list[str]) -> tuple[int, int]:
    """(lines followed by another, those of them that are full): the width is what 98% of all lines keep to."""
    lengths = sorted(len(line) for line in lines if line)
    width = lengths[int(0.98 * len(lengths))] if lengths else 0
    if not _NARROWEST <= width <= _WIDEST:
        return 0, 0
    pairs = [(line, after) for line, after in itertools.pairwise(lines) if line and after]
    return len(pairs), sum(len(line) + 1 + len(after.split(None, 1)[0]) > width for line, after in pairs)
