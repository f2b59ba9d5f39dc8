r"""From a raw block to finished lines: valid UTF-8, `\n` only, one sentence a line, an empty line at each boundary.

Where lines are sentences already, everything is done on the whole block at once, at several GB/s: look for what
is rare (`\r`, bytes above 127, blank lines with spaces) and touch the block only when it is there.
"""

from __future__ import annotations

import re
import struct

from siamese_cbow.text.records import MARK, Lines, RawBlock, TextSettings
from siamese_cbow.text.sentences import split_paragraphs

_SPACED_BLANK = re.compile(rb"\n[ \t\r\x0b\x0c\x1c-\x1f]+(?=\n)")  # an empty line that isn't quite empty
_BLANKS = re.compile(rb"\n\n+")


def finished_lines(block: RawBlock, settings: TextSettings) -> Lines:
    """The sentences of a block. Pure: the same block gives the same lines, in any thread."""
    text, n_broken = valid_utf8(block.data)
    text = normal_line_ends(text)
    if block.layout == "sentences":
        text = _sentence_lines(text, block, settings)
    else:
        text = split_paragraphs(text, block, settings)
    return Lines(text, n_broken=n_broken, n_cut=block.n_cut)


def valid_utf8(data: bytes) -> tuple[bytes, int]:
    r"""`data` with broken UTF-8 replaced by U+FFFD, and the number of replacements.

    `valid_utf8(b"caf\xe9")` -> (b"caf\xef\xbf\xbd", 1)
    """
    if data.isascii() or _is_utf8(data):
        return data, 0
    repaired = data.decode("utf-8", "replace").encode()
    return repaired, repaired.count(b"\xef\xbf\xbd") - data.count(b"\xef\xbf\xbd")


def _is_utf8(data: bytes) -> bool:
    if len(data) < 1 << 16:
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
        return True
    # Arrow's check runs at 9 GB/s and lets other threads run, bytes.decode at 0.6 GB/s; the import is paid once.
    import pyarrow as pa

    offsets = pa.py_buffer(struct.pack("<2q", 0, len(data)))
    array = pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(data)])
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def normal_line_ends(text: bytes) -> bytes:
    r"""`\r\n` -> `\n`, and lines of nothing but white space become empty."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if _SPACED_BLANK.search(text) or text[:1].isspace():
        text = _SPACED_BLANK.sub(b"\n", b"\n" + text)[1:]
    return text


def _sentence_lines(text: bytes, block: RawBlock, settings: TextSettings) -> bytes:
    if not block.blank_ends_document and settings.boundary == "document":
        text = _BLANKS.sub(b"\n", text)
    return text.replace(MARK, b"\n") if b"\0" in text else text
