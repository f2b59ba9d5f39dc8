r"""From raw blocks to sentences: one per line, in valid UTF-8 with `\n` only, boundaries kept.

    split_lines(b"Dr. Smith came. He sat down.\n", "en")   ->   b"Dr. Smith came. \nHe sat down.\n"

Running text is split by sentencex: of blingfire, pysbd and sentencex it has the most of our hard cases right and is the
fastest (benchmarks/sentence_splitting.py; the table is in docs/text.md). What it needs from us:
- many paragraphs in one call (+20%), but not too many: from 10 KB on it loses some of the breaks between them
- no endless paragraphs: its time grows with the square of a paragraph's length where there are no spaces
  (Chinese: 4,000 characters 5 ms, 64,000 characters 1.1 s) or many quotes
- no white space of several bytes before a full stop (`A\u00a0.`): sentencex 1.0 panics there
- a second look at what it keeps whole: a quotation stays one sentence however long the speech is. Sentences of more
  than 300 characters are split again at clear ends, which halves the words in sentences of over 60 words in novels
  (22% -> 11% of all words) and costs 5% of the time
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.text.chunks import valid_utf8
from siamese_cbow.text.languages import AUTO, detect, language
from siamese_cbow.text.layout import rejoined, unwrapped
from siamese_cbow.text.records import MARK, Lines, RawBlock, TextSettings

_SPACED_BLANK = re.compile(rb"\n(?:[ \t\x0b\x0c\x1c-\x1f]|\xc2\xa0|\xe3\x80\x80)+(?=\n)")  # empty, but not quite
_BLANKS = re.compile(rb"\n\n+")
_BREAK = "\n\n"  # what sentencex takes, and gives back, between paragraphs
_BATCH = 1 << 13
_LONG = 10_000  # characters after which a paragraph is cut at the next clear sentence end
_LONG_WITHOUT_SPACES = 500
_LONG_SENTENCE = 300
# A mark after three letters (not "Dr. ", not "J. "), white space, and a letter that is no small one; the mark comes
# first in the pattern because that is quick to look for: 8 times as fast as starting with the letters.
_CLEAR_END = re.compile(
    r"""[.!?…](?<=[^\W\d_]{3}.)[.!?…]*["'”’»)\]]*\s+(?=["'“‘«(\[¿¡]*[^\W\d_a-z])"""
    r"""|[。！？][”’」』）]*(?![。！？”’」』）])"""
)
_WIDE_SPACE = re.compile(rb"\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2(?:\x80[\x80-\x8a\xa8\xa9\xaf]|\x81\x9f)|\xe3\x80\x80")
# Starts with the full stop, which is quick to look for, and then looks back: 1.2 GB/s instead of 0.1.
_STOP_AFTER_WIDE_SPACE = re.compile(
    rb"\.(?:(?<=\xc2[\x85\xa0]\.)|(?<=\xe2\x80[\x80-\x8a\xa8\xa9\xaf]\.)|(?<=\xe2\x81\x9f\.)|(?<=\xe1\x9a\x80\.)"
    rb"|(?<=\xe3\x80\x80\.))"
)
_SOLID = np.array([not chr(byte).isspace() and byte > 0 for byte in range(128)] + [True] * 128)


def sentence_lines(block: RawBlock, settings: TextSettings) -> Lines:
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
        text, n_long = _split_running(text, block, settings)
        n_cut += n_long
    return Lines(text.replace(MARK, b"\n") if b"\0" in text else text, n_broken=n_broken, n_cut=n_cut)


def _split_running(text: bytes, block: RawBlock, settings: TextSettings) -> tuple[bytes, int]:
    """Running text -> one sentence per line, an empty line after each paragraph if those are boundaries, marks kept."""
    if block.layout == "wrapped":
        text = unwrapped(rejoined(text))
    else:
        text = _BLANKS.sub(b"\n\0\n" if block.blank_ends_document else b"\n", b"\n" + text)[1:]
    # Views know the language of the whole text; a block that comes without one is looked at alone.
    found = detect([text]).language if settings.language == AUTO else language(settings.language)
    return split_lines(text, found.splitter, end="\n" if settings.boundary == "document" else "\n\n")


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
        ends, ends_of_sentences = (_solid_ends(_WIDE_SPACE.sub(b" ", each)) for each in (text, sentences))
    begins = np.append(0, ends_of_sentences)[:-1]
    return np.minimum(np.searchsorted(ends, begins, side="right"), len(ends) - 1)


def _solid_ends(text: bytes) -> NDArray[np.int64]:
    """How many bytes up to the end of each line are no white space and no mark."""
    data = np.frombuffer(text, np.uint8)
    ends: NDArray[np.int64] = np.cumsum(_SOLID[data])[data == ord("\n")]
    return ends


# The splitter


def split_lines(text: bytes, language: str, *, end: Literal["\n", "\n\n"] = "\n") -> tuple[bytes, int]:
    r"""A paragraph per line -> a sentence per line; `end` comes after the last sentence of a paragraph. No empty lines.

    `b"It rains. We stay.\nYes.\n"` -> `b"It rains. \nWe stay.\nYes.\n"`; the number counts the places where a
    paragraph was so long without any clear sentence end that it was cut at white space. A sentence keeps the space
    that followed it: nothing minds it, and taking it off would cost 15% of the time.
    """
    if not text.isascii() and _STOP_AFTER_WIDE_SPACE.search(text):
        text = _WIDE_SPACE.sub(b" ", text)
    cuts: list[bool] = []
    text = _without_endless(text, cuts)
    # Bytes become strings batch by batch: most batches are then plain ASCII, which Python handles far faster.
    return b"".join(_split(batch, language, end) for batch in _batches(text)), sum(cuts)


def _split(batch: bytes, language: str, end: str) -> bytes:
    text = batch.removesuffix(b"\n").replace(b"\n", _BREAK.encode()).decode()
    sentences = _segment(text, language)
    if sum(map(len, sentences)) != len(text):  # breaks were lost after all
        sentences = [part for line in text.split(_BREAK) for part in (*_segment(line, language), _BREAK)][:-1]
    if end == "\n":
        sentences = [sentence for sentence in sentences if sentence != _BREAK]
    else:
        sentences = [sentence if sentence != _BREAK else "" for sentence in sentences]
    lines = [line if len(line) <= _LONG_SENTENCE else _split_again(line) for line in sentences]
    return ("\n".join(lines) + end).encode()


def _batches(text: bytes) -> Iterator[bytes]:
    """Whole paragraphs, at most 8 KB together."""
    start = 0
    while start < len(text):
        end = text.rfind(b"\n", start, start + _BATCH) + 1 or text.find(b"\n", start + _BATCH) + 1 or len(text)
        yield text[start:end]
        start = end


def _segment(text: str, language: str) -> list[str]:
    from sentencex import segment

    try:
        sentences: list[str] = segment(language, text)
        return sentences
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust; not an Exception, and can't be imported
            raise
    # No input is known that leads here; an ordinary rule for this batch is better than losing the whole run.
    return _CLEAR_END.sub(r"\g<0>\n", text).split("\n") if _BREAK not in text else []


def _split_again(sentence: str) -> str:
    return _CLEAR_END.sub(r"\g<0>\n", sentence).removesuffix("\n")


def _without_endless(text: bytes, cuts: list[bool]) -> bytes:
    """Paragraphs too long for sentencex are cut at clear sentence ends; `cuts` gets True for each that wasn't clear."""
    ends = np.append(np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")), len(text))
    starts = np.append(0, ends[:-1] + 1)
    pieces: list[bytes] = []
    done = 0
    for i in np.flatnonzero(ends - starts > 6 * _LONG_WITHOUT_SPACES).tolist():  # bytes; one character may be three
        start, end = int(starts[i]), int(ends[i])
        limit = _LONG_WITHOUT_SPACES if text.count(b" ", start, end) * 50 < end - start else _LONG
        if end - start > 2 * limit:
            pieces += (text[done:start], _cut(text[start:end].decode(), limit, cuts).encode())
            done = end
    return b"".join((*pieces, text[done:])) if pieces else text


def _cut(text: str, limit: int, cuts: list[bool]) -> str:
    """The text on lines of `limit` to twice as many characters."""
    start = 0
    pieces: list[str] = []
    while len(text) - start > 2 * limit:
        last = start + 2 * limit
        clear = _CLEAR_END.search(text, start + limit, last)
        end = clear.end() if clear else text.rfind(" ", start + limit, last) + 1 or last
        pieces.append(text[start:end])
        cuts.append(clear is None)
        start = end
    return "\n".join((*pieces, text[start:]))
