r"""Where sentences end in running text. The work is done by sentencex; this module feeds it well.

    split_sentences("Dr. Smith came. He sat down.")  ->  ["Dr. Smith came.", "He sat down."]

Why sentencex: of blingfire, pysbd and sentencex it has the most of our hard cases right and is the fastest
(benchmarks/sentence_splitting.py; the table is in docs/text.md). What it needs from us:
- many paragraphs in one call (+20%), but not all: it holds the interpreter's lock, so 64 KB, which is about 1 ms
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

import numpy as np

_BATCH = 1 << 16
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


def split_sentences(paragraph: str, language: str = "en") -> list[str]:
    """The sentences of one paragraph: "It rains. We stay." -> ["It rains.", "We stay."]."""
    text, _ = split_lines(" ".join(paragraph.split()).encode("utf-8", "replace"), language)
    return [line.strip() for line in text.decode().split("\n") if line.strip()]


def split_lines(text: bytes, language: str) -> tuple[bytes, int]:
    r"""A paragraph a line -> a sentence a line, an empty line (or several) after each paragraph.

    `b"It rains. We stay.\nYes.\n"` -> `b"It rains. \nWe stay.\n\n\n\nYes.\n..."`; the number counts the places
    where a paragraph was so long without any clear sentence end that it was cut at white space. A sentence keeps
    the space that followed it: nothing minds it, and taking it off would cost 15% of the time.
    """
    if _STOP_AFTER_WIDE_SPACE.search(text):
        text = _WIDE_SPACE.sub(b" ", text)
    text, n_cut = _without_endless(text)
    # Bytes become strings batch by batch: most batches are then plain ASCII, which Python handles far faster.
    batches = ("\n".join(_segment(batch.replace(b"\n", b"\n\n").decode(), language)) for batch in _batches(text))
    return b"\n".join(batch.encode() for batch in batches), n_cut


def _batches(text: bytes) -> Iterator[bytes]:
    """Whole paragraphs, about 64 KB each."""
    start = 0
    while start < len(text):
        end = text.rfind(b"\n", start, start + _BATCH) + 1 or text.find(b"\n", start + _BATCH) + 1 or len(text)
        yield text[start:end]
        start = end


def _segment(text: str, language: str) -> list[str]:
    from sentencex import segment

    try:
        sentences: list[str] = segment(language, text)
        return [_again(sentence) if len(sentence) > _LONG_SENTENCE else sentence for sentence in sentences]
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust; not an Exception, and can't be imported
            raise
    # No input is known that leads here; an ordinary rule for this batch is better than losing the whole run.
    return [_again(text)]


def _again(text: str) -> str:
    return _CLEAR_END.sub(lambda end: end[0].rstrip() + "\n", text)


def _without_endless(text: bytes) -> tuple[bytes, int]:
    """Paragraphs of a length that sentencex can't take are cut at clear sentence ends."""
    ends = np.append(np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n")), len(text))
    starts = np.append(0, ends[:-1] + 1)
    pieces: list[bytes] = []
    n_cut = done = 0
    for i in np.flatnonzero(ends - starts > 2 * _LONG_WITHOUT_SPACES).tolist():
        start, end = int(starts[i]), int(ends[i])
        limit = _longest(text.count(b" ", start, end), end - start)
        if end - start > 2 * limit:
            pieces.append(text[done:start])
            for piece, is_cut in _cut(text[start:end].decode(), limit):
                pieces += (piece.encode(), b"\n")
                n_cut += is_cut
            done = end + 1
    return (b"".join((*pieces, text[done:])), n_cut) if pieces else (text, 0)


def _longest(n_spaces: int, n_bytes: int) -> int:
    return _LONG_WITHOUT_SPACES if n_spaces * 50 < n_bytes else _LONG


def _cut(paragraph: str, limit: int) -> Iterator[tuple[str, bool]]:
    """Pieces of `limit` to twice as many characters, and of each whether it ends in the middle of a sentence."""
    start = 0
    while len(paragraph) - start > 2 * limit:
        last = start + 2 * limit
        clear = _CLEAR_END.search(paragraph, start + limit, last)
        end = clear.end() if clear else paragraph.rfind(" ", start + limit, last) + 1 or last
        yield paragraph[start:end], clear is None
        start = end
    yield paragraph[start:], False
