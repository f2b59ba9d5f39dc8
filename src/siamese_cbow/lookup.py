"""Bulk text -> ids: many sentences at once, through the scanner, which holds no lock: several threads can call it.

Loads numba, so it is imported only where bulk work is to be done; small calls use `Tokenizer.words` and
`Vocabulary.index`, with the same result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from siamese_cbow.arrays import Bytes, Ids, Offsets
from siamese_cbow.errors import InputError
from siamese_cbow.fallback import Fallback, NearestLookup
from siamese_cbow.text import scanner
from siamese_cbow.text.json_tokenizer import JsonLookup, JsonTokenizer
from siamese_cbow.text.tokenizer import Tokenizer
from siamese_cbow.text.word_hash import hash_words
from siamese_cbow.vocabulary import Vocabulary

# Small enough for a piece's text and ids to stay in the second-level cache, large enough to hide the call.
PIECE_BYTES = 1 << 18
NEWLINE = ord("\n")


class Lookup:
    """A vocabulary and a tokenizer, ready for bulk."""

    def __init__(self, vocabulary: Vocabulary, tokenizer: Tokenizer) -> None:
        self._tables = scanner.tables(tokenizer)
        self._slots = word_slots(vocabulary)

    def ids(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """Ids of the known words: text i has `ids[offsets[i]:offsets[i + 1]]`.

        vocabulary the, cat: `ids(["the the", "?", "a cat"])` -> [0, 0, 1], [0, 2, 2, 3]
        """
        if not len(texts):
            return np.empty(0, np.int32), np.zeros(1, np.int64)
        offsets = np.zeros(len(texts) + 1, np.int64)
        lines = as_lines(texts)
        line, found = 1, []
        for piece in _pieces(lines):
            ends = offsets[line : line + np.count_nonzero(piece == NEWLINE)]
            found.append(self._look_up(piece, ends))
            ends += offsets[line - 1]
            line += len(ends)
        return np.concatenate(found), offsets

    def _look_up(self, piece: Bytes, ends: Offsets) -> Ids:
        waiting = np.empty(scanner.AHEAD, np.uint64)
        ids = np.empty(len(piece), np.int32)
        return ids[: scanner.look_up(piece, self._tables, self._slots, waiting, ids, ends)].copy()


AnyLookup: TypeAlias = Lookup | JsonLookup | NearestLookup


def lookup_of(vocabulary: Vocabulary, tokenizer: Tokenizer, fallback: Fallback = "none") -> AnyLookup:
    """The way to ids that fits the tokenizer: our scanner, or the library that a foreign tokenizer comes from."""
    if fallback == "prefix":
        return NearestLookup(vocabulary, tokenizer)
    return (
        JsonLookup(vocabulary.index, tokenizer)
        if isinstance(tokenizer, JsonTokenizer)
        else Lookup(vocabulary, tokenizer)
    )


def word_slots(vocabulary: Vocabulary) -> scanner.Slots:
    """The scanner's hash table for a vocabulary."""
    encoded = [word.encode("utf-8", "replace") for word in vocabulary.words]
    starts = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=starts[1:])
    hashes = np.empty(len(encoded), np.uint64)
    hash_words(np.frombuffer(b"".join(encoded) + b"\n", np.uint8), starts, hashes)
    slots = scanner.empty_slots(len(encoded))
    clash = scanner.fill_slots(slots, hashes)
    if clash >= 0:
        raise InputError(f"the word {vocabulary.words[clash]!r} stands twice in the vocabulary; remove one")
    return slots


def as_lines(texts: Sequence[str]) -> Bytes:
    """Texts as UTF-8 lines. A newline inside a text becomes a space, and so does half of a surrogate pair:

    neither is part of a word, so the words stay the same.
    """
    lines = _encoded("\n".join(texts))
    if np.count_nonzero(lines == NEWLINE) != len(texts):
        lines = _encoded("\n".join(text.replace("\n", " ") for text in texts))
    return lines


def _encoded(joined: str) -> Bytes:
    try:
        encoded = joined.encode() + b"\n"
    except UnicodeEncodeError:
        encoded = re.sub("[\ud800-\udfff]", " ", joined).encode() + b"\n"
    return np.frombuffer(encoded, np.uint8)


def _pieces(lines: Bytes) -> list[Bytes]:
    """Cuts at line ends into pieces of about PIECE_BYTES."""
    pieces, start = [], 0
    while start < len(lines):
        end = min(start + PIECE_BYTES, len(lines))
        while lines[end - 1] != NEWLINE:
            ahead = np.flatnonzero(lines[end : end + PIECE_BYTES] == NEWLINE)
            end = end + int(ahead[0]) + 1 if len(ahead) else min(end + PIECE_BYTES, len(lines))
        pieces.append(lines[start:end])
        start = end
    return pieces
