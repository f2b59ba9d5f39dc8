r"""From raw blocks to sentences: one per line, in valid UTF-8 with `\n` only, boundaries kept.

RawBlock(b"Dr. A came. He sat.\n", ...)   ->   Lines(b"Dr. A came. \nHe sat.\n")
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.text.chunks import valid_utf8
from siamese_cbow.text.languages import AUTO, detect, language
from siamese_cbow.text.layout import rejoined, unwrapped
from siamese_cbow.text.records import MARK, Lines, RawBlock, TextSettings
from siamese_cbow.text.splitters import WIDE_SPACE, split_lines

Split: TypeAlias = Callable[..., tuple[bytes, int]]  # `split_lines`, or what does the same elsewhere

_SPACED_BLANK = re.compile(rb"\n(?:[ \t\x0b\x0c\x1c-\x1f]|\xc2\xa0|\xe3\x80\x80)+(?=\n)")  # empty, but not quite
_BLANKS = re.compile(rb"\n\n+")
_SOLID = np.array([not chr(byte).isspace() and byte > 0 for byte in range(128)] + [True] * 128)


def sentence_lines(block: RawBlock, settings: TextSettings, split: Split = split_lines) -> Lines:
    r"""The sentences of a block, one per line, an empty line at each boundary. Pure, so for any thread.

    Where lines are sentences already, everything is done on the whole block at once, at several GB/s: look for what is
    rare (`\r`, bytes above 127, blank lines with spaces) and touch the block only when it is there.
    """
    text, n_broken = valid_utf8(block.data, block.source)
    text = _normal_line_ends(text)
    n_cut = block.n_cut
    if block.layout == "sentences":
        if not block.blank_ends_document and settings.boundary == "document":
            text = _BLANKS.sub(b"\n", text).lstrip(b"\n")
    else:
        text, n_long = _split_running(text, block, settings, split)
        n_cut += n_long
    if b"\0" in text:
        text = b"".join(text.split(b"\0"))  # what is left of each mark is an empty line; 10 times as fast as `replace`
    return Lines(text, n_broken=n_broken, n_cut=n_cut)


def _split_running(text: bytes, block: RawBlock, settings: TextSettings, split: Split) -> tuple[bytes, int]:
    """Running text -> one sentence per line, an empty line after each paragraph if those are boundaries, marks kept."""
    if block.layout == "wrapped":
        text = unwrapped(rejoined(text))
    else:
        mark = MARK if block.blank_ends_document else b""
        lines = text.lstrip(b"\n")
        begin = b"" if lines is text else mark
        text = begin + (_BLANKS.sub(b"\n" + mark, lines) if b"\n\n" in lines else lines)
    # Views know the language of the whole text; a block that comes without one is looked at alone.
    found = detect([text]).language if settings.language == AUTO else language(settings.language)
    return split(text, found.splitter, end="\n" if settings.boundary == "document" else "\n\n")


def paragraph_lines(block: RawBlock) -> bytes:
    """The paragraphs of a block, one per line: what stands between empty lines, unwrapped."""
    return unwrapped(wrapped_text(block)).replace(b"\0", b"")


def wrapped_text(block: RawBlock) -> bytes:
    """The text of a block, in which `line_of_each` finds the lines of its sentences or paragraphs."""
    text = _normal_line_ends(valid_utf8(block.data, block.source)[0])
    return rejoined(text) if block.layout == "wrapped" else text


def _normal_line_ends(text: bytes) -> bytes:
    r"""`\r\n` -> `\n`, any other `\r` -> a space, and lines of nothing but white space become empty."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b" ")
    if text[:1] in b" \t\x0b\x0c\x1c\x1d\x1e\x1f\xc2\xe3" or _SPACED_BLANK.search(text):
        text = _SPACED_BLANK.sub(b"\n", b"\n" + text)[1:]
    return text


def line_of_each(sentences: bytes, text: bytes) -> NDArray[np.int64]:
    """On which line of `text`, from 0, each of its sentences begins.

    Found by counting what is no white space: splitting may change that, but nothing else.
    """
    ends, ends_of_sentences = _solid_ends(text), _solid_ends(sentences)
    if ends.max(initial=0) != ends_of_sentences.max(initial=0):  # it has changed white space of several bytes, too
        ends, ends_of_sentences = (_solid_ends(WIDE_SPACE.sub(b" ", each)) for each in (text, sentences))
    begins = np.append(0, ends_of_sentences)[:-1]
    return np.minimum(np.searchsorted(ends, begins, side="right"), len(ends) - 1)


def _solid_ends(text: bytes) -> NDArray[np.int64]:
    """How many bytes up to the end of each line are no white space and no mark."""
    data = np.frombuffer(text, np.uint8)
    ends: NDArray[np.int64] = np.cumsum(_SOLID[data])[data == ord("\n")]
    return ends
