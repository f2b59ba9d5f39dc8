r"""From a raw block to finished lines: valid UTF-8, `\n` only, one sentence a line, an empty line at each boundary.

Where lines are sentences already, everything is done on the whole block at once, at several GB/s: look for what
is rare (`\r`, bytes above 127, blank lines with spaces) and touch the block only when it is there.
"""

from __future__ import annotations

import re

from siamese_cbow.text.groups import group_lines
from siamese_cbow.text.records import MARK, Lines, RawBlock, TextSettings
from siamese_cbow.text.sentences import split_lines
from siamese_cbow.text.utf8 import valid_utf8

_SPACED_BLANK = re.compile(rb"\n(?:[ \t\x0b\x0c\x1c-\x1f]|\xc2\xa0|\xe3\x80\x80)+(?=\n)")  # empty, but not quite
_BLANKS = re.compile(rb"\n\n+")


def finished_lines(block: RawBlock, settings: TextSettings) -> Lines:
    """The sentences of a block. Pure: the same block gives the same lines, in any thread."""
    if settings.kind == "groups":
        return group_lines(block, settings.n_columns)
    text, n_broken = valid_utf8(block.data)
    text = normal_line_ends(text)
    n_cut = block.n_cut
    if block.layout == "sentences":
        if not block.blank_ends_document and settings.boundary == "document":
            text = _BLANKS.sub(b"\n", text).lstrip(b"\n")
    else:
        text, n_long = _split(text, block, settings)
        n_cut += n_long
    return Lines(text.replace(MARK, b"\n") if b"\0" in text else text, n_broken=n_broken, n_cut=n_cut)


def _split(text: bytes, block: RawBlock, settings: TextSettings) -> tuple[bytes, int]:
    """Running text -> a sentence a line, an empty line after each paragraph if those are boundaries, marks kept."""
    if block.layout == "wrapped":
        text = _unwrapped(text)
    else:
        text = _BLANKS.sub(b"\n\0\n" if block.blank_ends_document else b"\n", b"\n" + text)[1:]
    return split_lines(text, settings.language, end="\n" if settings.boundary == "document" else "\n\n")


def _unwrapped(text: bytes) -> bytes:
    r"""A line per paragraph: `b"It\nrains.\n\nWe\nstay.\n"` -> `b"It rains.\nWe stay.\n"`."""
    paragraphs = _BLANKS.split(text.replace(MARK, b"\n\n" + MARK + b"\n").strip(b"\n"))
    return b"\n".join(paragraph.replace(b"\n", b" ") for paragraph in paragraphs if paragraph)


def normal_line_ends(text: bytes) -> bytes:
    r"""`\r\n` -> `\n`, any other `\r` -> a space, and lines of nothing but white space become empty."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b" ")
    if text[:1] in b" \t\x0b\x0c\x1c\x1d\x1e\x1f\xc2\xe3" or _SPACED_BLANK.search(text):
        text = _SPACED_BLANK.sub(b"\n", b"\n" + text)[1:]
    return text
