"""Bulk text -> ids: many sentences at once, through the scanner, on several threads.

Loads numba, so it is imported only where bulk work is to be done; small calls use `Tokenizer.words` and
`Vocabulary.index`, with the same result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from siamese_cbow.arrays import Bytes, Ids, Offsets
from siamese_cbow.errors import InputError
from siamese_cbow.text import scanner
from siamese_cbow.text.tokenizer import Tokenizer
from siamese_cbow.vocabulary import Vocabulary

# Small enough for a piece's text and ids to stay in the second-level cache, large enough to hide the call.
PIECE_BYTES = 1 << 18


class Lookup:
    """A vocabulary and a tokenizer, ready for bulk."""

    def __init__(self, vocabulary: Vocabulary, tokenizer: Tokenizer) -> None:
        self._tables = scanner.tables(tokenizer)
        self._slots = word_slots(vocabulary)

    def ids(self, texts: Sequence[str], *, threads: int = 1) -> tuple[Ids, Offsets]:
        """Ids of the known words: text i has `ids[offsets[i]:offsets[i + 1]]`.

        vocabulary the, cat: `ids(["the the", "?", "a cat"])` -> [0, 0, 1], [0, 2, 2, 3]
        """
        if not len(texts):
            return np.empty(0, np.int32), np.zeros(1, np.int64)
        lines = as_lines(texts)
        pieces = _pieces(lines)
        if threads == 1 or len(pieces) == 1:
            found = [self._look_up(piece) for piece in pieces]
        else:
            with ThreadPoolExecutor(threads) as pool:
                found = list(pool.map(self._look_up, pieces))
        offsets = np.zeros(len(texts) + 1, np.int64)
        line = n_ids = 0
        for ids, ends in found:
            np.add(ends, n_ids, out=offsets[line + 1 : line + 1 + len(ends)])
            line, n_ids = line + len(ends), n_ids + len(ids)
        return np.concatenate([ids for ids, _ in found]), offsets

    def _look_up(self, piece: Bytes) -> tuple[Ids, Offsets]:
        ids = np.empty(len(piece), np.int32)
        ends = np.empty(np.count_nonzero(piece == ord("\n")), np.int64)
        n_ids = scanner.look_up(piece, self._tables, self._slots, ids, ends)
        return ids[:n_ids].copy(), ends


def word_slots(vocabulary: Vocabulary) -> scanner.Slots:
    """The scanner's hash table for a vocabulary."""
    encoded = [word.encode("utf-8", "replace") for word in vocabulary.words]
    starts = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=starts[1:])
    hashes = np.empty(len(encoded), np.uint64)
    scanner.hash_words(np.frombuffer(b"".join(encoded) + b"\n", np.uint8), starts, hashes)
    slots = scanner.empty_slots(len(encoded))
    clash = scanner.fill_slots(slots, hashes)
    if clash >= 0:
        raise InputError(f"the word {vocabulary.words[clash]!r} stands twice in the vocabulary; remove one")
    return slots


def as_lines(texts: Sequence[str]) -> Bytes:
    """Texts as UTF-8 lines. A newline inside a text becomes a space, and so does half of a surrogate pair:

    neither is part of a word, so the words stay the same.
    """
    joined = "\n".join(texts)
    if joined.count("\n") != len(texts) - 1:
        joined = "\n".join(text.replace("\n", " ") for text in texts)
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
        while lines[end - 1] != ord("\n"):
            ahead = np.flatnonzero(lines[end : end + PIECE_BYTES] == ord("\n"))
            end = end + int(ahead[0]) + 1 if len(ahead) else min(end + PIECE_BYTES, len(lines))
        pieces.append(lines[start:end])
        start = end
    return pieces
