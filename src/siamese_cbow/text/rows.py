r"""Documents that come one by one, from tables and from Python, as raw blocks.

    ["A b. C d.", ["e f", "g h"]]   ->   b"A b. C d.\ne f\ng h\n\0\n"      (a line of one NUL ends a document)

An iterable of strings is read like the lines of a file: a string is a line, an empty string ends a document. A
string with line ends in it is a document of its own, and so is a list of strings.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siamese_cbow.errors import InputError
from siamese_cbow.text.records import BLOCK_BYTES, MARK

ITERABLE = "the iterable"
_LOOK_AT = 100  # documents that are looked at to tell sentences from words


@dataclass(frozen=True)
class Texts:
    """Says that strings are text where they could be mistaken for names of files: `Texts(["A cat.", "It purrs."])`."""

    texts: Iterable[str | Iterable[str]]

    def __iter__(self) -> Iterator[str | Iterable[str]]:
        return iter(self.texts)


def item_batches(items: Iterable[Any], *, groups: bool = False) -> Iterator[tuple[list[bytes], int]]:
    """Batches of about 4 MB of an iterable's items as bytes, and the size of each batch.

    Every document ends with a mark; strings that are lines of one document stand together before one.
    """
    batch: list[bytes] = []
    size = 0
    is_open = False  # lines were written and no mark after them
    for position, item in enumerate(items):
        text, is_document = _item_bytes(item, position, groups)
        batch += (MARK, text) if is_document and is_open else (text,)
        is_open = not is_document
        size += len(text)
        if size >= BLOCK_BYTES:
            yield batch, size
            batch, size = [], 0
    yield [*batch, MARK] if is_open else batch, size


def _item_bytes(item: Any, position: int, groups: bool) -> tuple[bytes, bool]:
    r"""An item and whether it is a document: "a b" -> (b"a b\n", False); ["a", "b"] -> (b"a\nb\n\0\n", True)."""
    if isinstance(item, str) and not groups:
        text = _encoded(item).strip(b"\n")
        if not text:
            return b"", True  # ends what came before it
        return (text + b"\n" + MARK, True) if b"\n" in text else (text + b"\n", False)
    if isinstance(item, list | tuple) and all(isinstance(line, str) for line in item):
        return lines_bytes(item) + MARK, True
    shown = repr(item)
    expected = "a list of two or more paraphrases" if groups else "a string or a list of strings (a document)"
    advice = "; give paths as a list" if isinstance(item, Path) else ""
    raise InputError(
        f"item {position:,} of the iterable is {type(item).__name__} {shown[:60]}{'...' if len(shown) > 60 else ''}; "
        f"expected {expected}{advice}"
    )


def lines_bytes(lines: Iterable[str]) -> bytes:
    r"""["a", "b\nc"] -> b"a\nb c\n": in a list, one item is one line."""
    return b"".join(_encoded(line).replace(b"\n", b" ") + b"\n" for line in lines)


def cell_bytes(cell: bytes) -> bytes:
    r"""One cell of a table, a document: b"a. b." -> b"a. b.\n\0\n"."""
    return cell.replace(b"\0", b" ") + b"\n" + MARK


def block_sized(batches: Iterable[tuple[list[bytes], int]]) -> Iterator[tuple[list[bytes], int]]:
    """The same documents in batches of at most about 4 MB; the last part of a batch carries its bytes of the file."""
    for documents, n_source_bytes in batches:
        start = size = 0
        for end, document in enumerate(documents, 1):
            size += len(document)
            if size >= BLOCK_BYTES and end < len(documents):
                yield documents[start:end], 0
                start, size = end, 0
        if documents or n_source_bytes:
            yield documents[start:], n_source_bytes


def checked_items(items: Iterable[Any]) -> Iterator[Any]:
    """The items, after a look at the first ones: lists of words would be read as documents of one-word sentences."""
    iterator = iter(items)
    first = list(itertools.islice(iterator, _LOOK_AT))
    lists = [item for item in first if isinstance(item, list | tuple) and item]
    words = [word for item in lists for word in item if isinstance(word, str)]
    if len(words) >= 10 and len(words) > len(lists) and all(word.isascii() and " " not in word for word in words):
        raise InputError(
            f"the lists look like words ({', '.join(map(repr, words[:4]))}, ...); expected a list of sentences per "
            "document: join the words of each sentence, ' '.join(words), and use the whitespace tokenizer"
        )
    return itertools.chain(first, iterator)


def check_is_iterable(items: Any) -> None:
    """Refuse what has no order or no texts in it: sets, mappings, bytes, numbers."""
    if isinstance(items, bytes | bytearray | Mapping | Set) or not hasattr(items, "__iter__"):
        raise InputError(
            f"the input is a {type(items).__name__}; expected paths, '-', or an iterable (with an order) of strings or "
            "of lists of strings"
        )


def _encoded(text: str) -> bytes:
    """UTF-8 without NULs; a lone surrogate becomes one broken byte, so that it is replaced and counted later."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = b"".join(b"\xff" if "\ud800" <= letter <= "\udfff" else letter.encode() for letter in text)
    return data.replace(b"\0", b" ") if b"\0" in data else data
