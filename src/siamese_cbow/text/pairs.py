r"""Groups of paraphrases: PPDB files and tab separated lines, two or more phrases a line, in any two languages.

    [NP] ||| the cat ||| a cat ||| features ...      ->  the cat \n a cat \n (empty line)
    A dog runs. \t A dog is running. \t Run, dog!    ->  A dog runs. \n A dog is running. \n Run, dog! \n (empty line)

A line with fewer than two phrases is left out and counted; a file whose first megabyte has no other is an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from siamese_cbow.errors import InputError
from siamese_cbow.text.records import MARK, GroupLayout, Lines, RawBlock
from siamese_cbow.text.utf8 import valid_utf8

_SHOWN = 3


def group_layout_of(head: bytes, name: str) -> GroupLayout:
    """PPDB or TSV, by the first lines of a file; an InputError when none of them holds two phrases."""
    lines = head.split(b"\n")
    layout: GroupLayout = (
        "PPDB" if sum(line.count(b" ||| ") >= 2 for line in lines[:1000]) > len(lines[:1000]) / 2 else "TSV"
    )
    if not any(len(members) >= 2 for members in map(_ROWS[layout], lines)):
        raise InputError(
            f"none of the first {len(lines):,} lines of {name} holds two phrases; expected lines like "
            "'phrase<tab>paraphrase' or PPDB's '[X] ||| phrase ||| paraphrase ||| ...'; "
            "for running text use --kind text"
        )
    return layout


def row_layout_of(rows: bytes, name: str) -> GroupLayout:
    """Lists as groups; an InputError when none of the first ones has two members."""
    if not any(len(_filled(row.split(b"\n"))) >= 2 for row in rows.split(MARK)):
        raise InputError(
            f"none of the first rows of {name} holds two phrases; expected a list of two or more strings in each row"
        )
    return "groups"


def group_lines(block: RawBlock) -> Lines:
    """The members of each group on consecutive lines, an empty line after each group."""
    text, n_broken = valid_utf8(block.data)
    groups: list[bytes] = []
    short: list[int] = []
    for number, members in _groups(text, block):
        if len(members) >= 2:
            groups += (*members, b"")
        elif members:
            short.append(number)
    where = "item" if block.layout == "groups" else "line"
    return Lines(
        b"\n".join((*groups, b"")) if groups else b"",
        n_broken=n_broken,
        n_short=len(short),
        short_at=tuple(f"{block.source} {where} {number:,}" for number in short[:_SHOWN]),
    )


def _groups(text: bytes, block: RawBlock) -> Iterator[tuple[int, list[bytes]]]:
    """(number of the line, members) of every line, or of every document where the block comes from lists."""
    if block.layout == "groups":
        for number, document in enumerate(text.removesuffix(MARK).split(MARK), block.first_line):
            yield number, _filled(document.split(b"\n"))
        return
    row = _ROWS["PPDB" if block.layout == "PPDB" else "TSV"]
    for number, line in enumerate(text.split(b"\n"), block.first_line):
        yield number, row(line)


def _tab_row(line: bytes) -> list[bytes]:
    return _filled(line.split(b"\t"))


def _ppdb_row(line: bytes) -> list[bytes]:
    return _filled(line.split(b"|||")[1:3])


_ROWS = {"TSV": _tab_row, "PPDB": _ppdb_row}


def _filled(members: list[bytes]) -> list[bytes]:
    return [member for member in map(bytes.strip, members) if member and member != b"\0"]
