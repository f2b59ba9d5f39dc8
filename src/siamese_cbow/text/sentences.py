r"""Turns raw blocks into lines of sentences, in valid UTF-8 with `\n` only, and keeps boundaries.

    RawBlock(b"Dr. A came. He sat.\n", ...)          ->  Dr. A came. \n He sat.
    [NP] ||| the cat ||| a cat ||| features ...      ->  the cat \n a cat \n (empty line)
    A dog runs. \t A dog is running. \t Run, dog!    ->  A dog runs. \n A dog is running. \n Run, dog! \n (empty line)

The last two are groups of paraphrases: PPDB files and tab-separated lines, two or more phrases per line, in any
languages. A line with fewer than two phrases is skipped and counted; a file whose first megabyte has only such lines is
an error. If the columns are languages, lines with more or fewer columns, or with an empty one, are skipped, too.

Does not decide where a sentence ends: see `splitters`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.errors import InputError
from siamese_cbow.text.chunks import valid_utf8
from siamese_cbow.text.languages import AUTO, detect, language
from siamese_cbow.text.layout import BLANKS, rejoined, unwrapped
from siamese_cbow.text.records import MARK, GroupLayout, Lines, RawBlock, TextSettings
from siamese_cbow.text.splitters import WIDE_SPACE, split_lines

Split: TypeAlias = Callable[..., tuple[bytes, int]]  # `split_lines`, or the same in another process

_SPACED_BLANK = re.compile(rb"\n(?:[ \t\x0b\x0c\x1c-\x1f]|\xc2\xa0|\xe3\x80\x80)+(?=\n)")  # blank, with spaces
_SOLID = np.array([not chr(byte).isspace() and byte > 0 for byte in range(128)] + [True] * 128)


def sentence_lines(block: RawBlock, settings: TextSettings, split: Split = split_lines) -> Lines:
    r"""The sentences of a block, one per line, an empty line at each boundary. Pure, so any thread may call it.

    If lines are sentences already, the whole block is processed at once, at several GB/s: rare things (`\r`, bytes
    above 127, blank lines with spaces) are searched for, and the block changes only if there are any.
    """
    text, n_broken = valid_utf8(block.data, block.source)
    text = _normal_line_ends(text)
    n_cut = block.n_cut
    if block.layout == "sentences":
        if not block.blank_ends_document and settings.boundary == "document":
            text = BLANKS.sub(b"\n", text).lstrip(b"\n")
    else:
        text, n_long = _split_running(text, block, settings, split)
        n_cut += n_long
    if b"\0" in text:
        text = b"".join(text.split(b"\0"))  # leaves an empty line for each mark; 10 times as fast as `replace`
    return Lines(text, n_broken=n_broken, n_cut=n_cut)


def _split_running(text: bytes, block: RawBlock, settings: TextSettings, split: Split) -> tuple[bytes, int]:
    """Running text -> one sentence per line, an empty line after each paragraph if those are boundaries, marks kept."""
    if block.layout == "wrapped":
        text = unwrapped(rejoined(text))
    else:
        mark = MARK if block.blank_ends_document else b""
        lines = text.lstrip(b"\n")
        begin = b"" if lines is text else mark
        text = begin + (BLANKS.sub(b"\n" + mark, lines) if b"\n\n" in lines else lines)
    # Views know the language of the whole text; without them, it is detected from the block.
    found = detect([text]).language if settings.language == AUTO else language(settings.language)
    return split(text, found.splitter, end="\n" if settings.boundary == "document" else "\n\n")


def paragraph_lines(block: RawBlock) -> bytes:
    r"""The paragraphs of a block, one per line: the lines between empty lines, unwrapped.

    `paragraph_lines(RawBlock(b"It\nrains.\n\nYes.\n", "a.txt", "wrapped", 16))` -> b"It rains.\nYes."
    """
    return unwrapped(wrapped_text(block)).replace(b"\0", b"")


def wrapped_text(block: RawBlock) -> bytes:
    """The text of a block, in which `line_of_each` finds the lines of its sentences or paragraphs."""
    text = _normal_line_ends(valid_utf8(block.data, block.source)[0])
    return rejoined(text) if block.layout == "wrapped" else text


def _normal_line_ends(text: bytes) -> bytes:
    r"""`\r\n` becomes `\n`, any other `\r` a space, and lines of white space only become empty."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b" ")
    if text[:1] in b" \t\x0b\x0c\x1c\x1d\x1e\x1f\xc2\xe3" or _SPACED_BLANK.search(text):
        text = _SPACED_BLANK.sub(b"\n", b"\n" + text)[1:]
    return text


def line_of_each(sentences: bytes, text: bytes) -> NDArray[np.int64]:
    r"""The line of `text`, from 0, on which each of its sentences begins.

    `line_of_each(b"A.\nB.\nC.\n", b"A. B.\nC.\n")` -> [0, 0, 1]

    Found by counting the bytes that are not white space: splitting changes white space only.
    """
    ends, ends_of_sentences = _solid_ends(text), _solid_ends(sentences)
    if ends.max(initial=0) != ends_of_sentences.max(initial=0):  # splitting also changed multi-byte white space
        ends, ends_of_sentences = (_solid_ends(WIDE_SPACE.sub(b" ", each)) for each in (text, sentences))
    begins = np.append(0, ends_of_sentences)[:-1]
    return np.minimum(np.searchsorted(ends, begins, side="right"), len(ends) - 1)


def _solid_ends(text: bytes) -> NDArray[np.int64]:
    """The number of bytes up to the end of each line that are neither white space nor a mark."""
    data = np.frombuffer(text, np.uint8)
    ends: NDArray[np.int64] = np.cumsum(_SOLID[data])[data == ord("\n")]
    return ends


# Groups of paraphrases

_SHOWN = 3  # skipped lines that are named


def group_layout_of(sample: bytes, name: str, n_columns: int | None, *, marked: bool) -> GroupLayout:
    """PPDB or TSV, judging by the first lines of a file; or lists, whose records end with marks.

    An InputError if none of them holds two phrases (or as many as there are languages, n_columns).
    """
    records = sample.split(MARK if marked else b"\n")
    n_ppdb = sum(record.count(b" ||| ") >= 2 for record in records[:1000])
    layout: GroupLayout = "groups" if marked else "PPDB" if n_ppdb > len(records[:1000]) / 2 else "TSV"
    columns = [_COLUMNS[layout](record) for record in records]
    if any(_members(each, n_columns) for each in columns):
        return layout
    which = f"none of the first {'rows' if marked else 'lines'} of {name}"
    if n_columns is not None:
        raise InputError(
            f"{which} has {n_columns} phrases in {n_columns} columns, one per language (the most columns: "
            f"{max(map(len, columns))}); name the language of each column, or remove other columns: cut -f1,2"
        )
    lines = (
        "lines like 'phrase<tab>paraphrase' or PPDB's '[X] ||| phrase ||| paraphrase ||| ...'; "
        "for running text use --kind text"
    )
    expected = "a list of two or more strings in each row" if marked else lines
    raise InputError(f"{which} has two phrases; expected {expected}")


def group_lines(block: RawBlock, n_columns: int | None = None) -> Lines:
    """The members of each group on consecutive lines, an empty line after each group.

    n_columns  members that a group must have; by default two or more
    """
    text, n_broken = valid_utf8(block.data, block.source)
    groups: list[bytes] = []
    short: list[int] = []
    rows = text.removesuffix(MARK).split(MARK) if block.layout == "groups" else text.split(b"\n")
    for number, row in enumerate(rows, block.first):
        columns = _COLUMNS[block.layout](row)
        members = _members(columns, n_columns)
        if members:
            groups += (*members, b"")
        elif _filled(columns):
            short.append(number)
    where = "item" if block.layout == "groups" else "line"
    return Lines(
        b"\n".join((*groups, b"")) if groups else b"",
        n_broken=n_broken,
        n_short=len(short),
        short_at=tuple(f"{block.source} {where} {number:,}" for number in short[:_SHOWN]),
    )


_COLUMNS: dict[str, Callable[[bytes], list[bytes]]] = {  # of a line, or of a list
    "TSV": lambda line: line.split(b"\t"),
    "PPDB": lambda line: line.split(b"|||")[1:3],
    "groups": lambda row: row.removesuffix(b"\n").split(b"\n"),
}


def _members(columns: list[bytes], n_columns: int | None) -> list[bytes]:
    """The phrases of a group, or none if it is skipped."""
    members = _filled(columns)
    fits = len(members) >= 2 if n_columns is None else len(members) == len(columns) == n_columns
    return members if fits else []


def _filled(columns: list[bytes]) -> list[bytes]:
    return [member for member in map(bytes.strip, columns) if member and member != b"\0"]
