r"""Groups of paraphrases: PPDB files and tab separated lines, two or more phrases per line, in any two languages.

    [NP] ||| the cat ||| a cat ||| features ...      ->  the cat \n a cat \n (empty line)
    A dog runs. \t A dog is running. \t Run, dog!    ->  A dog runs. \n A dog is running. \n Run, dog! \n (empty line)

A line with fewer than two phrases is left out and counted; a file whose first megabyte has no other is an error.
Where the columns are languages, so is a line with more or fewer columns than languages, or with an empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from siamese_cbow.errors import InputError
from siamese_cbow.text.chunks import valid_utf8
from siamese_cbow.text.records import MARK, GroupLayout, Lines, RawBlock

_SHOWN = 3


def group_layout_of(sample: bytes, name: str, n_columns: int | None, *, marked: bool) -> GroupLayout:
    """PPDB or TSV by the first lines of a file, or lists, whose records end with marks.

    An InputError where none of them holds two phrases (or as many as there are languages, n_columns).
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

    n_columns  how many members a group must have; two or more unless said
    """
    text, n_broken = valid_utf8(block.data, block.source)
    groups: list[bytes] = []
    short: list[int] = []
    for number, columns in _rows(text, block):
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


def _rows(text: bytes, block: RawBlock) -> Iterator[tuple[int, list[bytes]]]:
    """(number of the line, columns) of every line, or of every document where the block comes from lists."""
    rows = text.removesuffix(MARK).split(MARK) if block.layout == "groups" else text.split(b"\n")
    for number, row in enumerate(rows, block.first):
        yield number, _COLUMNS[block.layout](row)


def _tab_columns(line: bytes) -> list[bytes]:
    return line.split(b"\t")


def _ppdb_columns(line: bytes) -> list[bytes]:
    return line.split(b"|||")[1:3]


def _list_columns(row: bytes) -> list[bytes]:
    return row.removesuffix(b"\n").split(b"\n")


_COLUMNS: dict[str, Callable[[bytes], list[bytes]]] = {
    "TSV": _tab_columns,
    "PPDB": _ppdb_columns,
    "groups": _list_columns,
}


def _members(columns: list[bytes], n_columns: int | None) -> list[bytes]:
    """The phrases of a group, or none if it is to be left out."""
    members = _filled(columns)
    fits = len(members) >= 2 if n_columns is None else len(members) == len(columns) == n_columns
    return members if fits else []


def _filled(columns: list[bytes]) -> list[bytes]:
    return [member for member in map(bytes.strip, columns) if member and member != b"\0"]
