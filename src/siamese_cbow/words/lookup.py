"""Bulk text -> ids: many sentences at once, through the scanner; it holds no lock, so several threads can call it.

Loads numba, so it is imported only for bulk work; small calls use `Tokenizer.words` and `Vocabulary.index`, with the
same result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from siamese_cbow.base.arrays import Bytes, Ids, Offsets
from siamese_cbow.errors import InputError
from siamese_cbow.words import scanner
from siamese_cbow.words.hash_table import empty_slots, fill_slots, hash_words
from siamese_cbow.words.json_tokenizer import JsonLookup, JsonTokenizer
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.unknown_words import PER_CHARACTER, Fallback, LookedUp, UnknownWords, finder, no_unknown_words
from siamese_cbow.words.vocabulary import Vocabulary
from siamese_cbow.words.word_parts import NO_BEGINNINGS, beginnings_of

# A piece of text and its ids fit in the second-level cache, and are large enough to hide the cost of the call.
PIECE_BYTES = 1 << 18
NEWLINE = ord("\n")


class Lookup:
    """A vocabulary and a tokenizer, ready for bulk work.

    n_buckets  for the n-grams of unknown words; 0 if unknown words don't count, KEYS_ONLY if only their keys do
    """

    def __init__(
        self, vocabulary: Vocabulary, tokenizer: Tokenizer, fallback: Fallback = "none", n_buckets: int = 0
    ) -> None:
        self._n_buckets = n_buckets if fallback == "ngrams" else 0
        self._tokenizer, self._tables = tokenizer, scanner.tables(tokenizer)
        letters, starts = written_out(vocabulary.words)
        hashes = np.empty(len(vocabulary), np.uint64)
        hash_words(letters, starts, hashes)
        self._slots = empty_slots(len(vocabulary))
        clash = fill_slots(self._slots, hashes)
        if clash >= 0:
            raise InputError(f"the word {vocabulary.words[clash]!r} occurs twice in the vocabulary; remove one")
        self._beginnings = beginnings_of(letters, starts) if fallback == "prefix" else NO_BEGINNINGS

    def ids(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """Ids of the known words: text i has `ids[offsets[i]:offsets[i + 1]]`.

        vocabulary the, cat: `ids(["the the", "?", "a cat"])` -> [0, 0, 1], [0, 2, 2, 3]
        """
        return self.words(texts)[:2]

    def words(self, texts: Sequence[str]) -> tuple[Ids, Offsets, UnknownWords]:
        """The result of `ids`, and the unknown words, if these count."""
        pieces = list(self.pieces(texts))
        if not pieces:
            return np.empty(0, np.int32), np.zeros(1, np.int64), no_unknown_words(0)
        ids = np.concatenate([piece.ids for piece in pieces])
        return ids, _one_after_another([piece.offsets for piece in pieces]), _joined([p.unknown for p in pieces])

    def pieces(self, texts: Sequence[str]) -> Iterator[LookedUp]:
        """The result of `words`, some texts at a time, which avoids a copy of everything."""
        lines = as_lines(texts) if len(texts) else np.empty(0, np.uint8)
        line_ends = np.flatnonzero(lines == NEWLINE) + 1
        first, start = 0, 0  # a piece has lines first, ..., last
        while first < len(texts):
            last = min(int(np.searchsorted(line_ends, start + PIECE_BYTES)), len(texts) - 1)
            offsets = np.zeros(last - first + 2, np.int64)
            ids, unknown = self.look_up(lines[start : line_ends[last]], offsets[1:])
            yield LookedUp(first, last + 1, ids, offsets, unknown)
            first, start = last + 1, int(line_ends[last])

    def look_up(self, piece: Bytes, ends: Offsets) -> tuple[Ids, UnknownWords]:
        """The words of UTF-8 lines, all ended by a newline; `ends` (n_lines,) receives the end of each line's ids."""
        piece = scanner.normal_lines(piece, self._tokenizer)
        ids, room = np.empty(len(piece), np.int32), len(piece) if self._n_buckets else 0
        unknown = UnknownWords(
            np.empty(PER_CHARACTER * room, np.int32),
            np.empty(room + 1, np.int64),
            np.empty(room, np.uint64),
            np.zeros(len(ends) + 1, np.int64),
        )
        unknown.starts[0] = 0
        n = scanner.look_up(
            piece, self._tables, self._slots, self._beginnings, self._n_buckets, scanner.scratch(), ids, ends, unknown
        )
        n_unknown = int(unknown.offsets[-1])
        starts = unknown.starts[: n_unknown + 1]
        return ids[:n], UnknownWords(unknown.buckets[: starts[-1]], starts, unknown.keys[:n_unknown], unknown.offsets)


def _joined(pieces: Sequence[UnknownWords]) -> UnknownWords:
    """The unknown words of texts that were looked up piece by piece."""
    if len(pieces) == 1:
        return pieces[0]
    return UnknownWords(
        np.concatenate([piece.buckets for piece in pieces]),
        _one_after_another([piece.starts for piece in pieces]),
        np.concatenate([piece.keys for piece in pieces]),
        _one_after_another([piece.offsets for piece in pieces]),
    )


def _one_after_another(offsets: Sequence[Offsets]) -> Offsets:
    """The offsets of all pieces together: [0, 2, 3], [0, 1] -> [0, 2, 3, 4]."""
    steps = np.concatenate([np.diff(part) for part in offsets])
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(steps)])


AnyLookup: TypeAlias = Lookup | JsonLookup


def lookup_of(
    vocabulary: Vocabulary, tokenizer: Tokenizer, fallback: Fallback = "none", n_buckets: int = 0
) -> AnyLookup:
    """The lookup that fits the tokenizer: our scanner, or the library of a foreign tokenizer."""
    if isinstance(tokenizer, JsonTokenizer):
        return JsonLookup(finder(vocabulary, fallback), tokenizer)
    return Lookup(vocabulary, tokenizer, fallback, n_buckets)


def written_out(words: Sequence[str]) -> tuple[Bytes, Offsets]:
    """Words as UTF-8, one after another, and where each starts: cat, sat -> "catsat\\n", [0, 3, 6]."""
    encoded = [word.encode("utf-8", "replace") for word in words]
    starts = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=starts[1:])
    return np.frombuffer(b"".join(encoded) + b"\n", np.uint8), starts


def as_lines(texts: Sequence[str]) -> Bytes:
    r"""Texts as UTF-8 lines: ["a", "b\nc"] -> b"a\nb c\n".

    A newline inside a text becomes a space, and so does a lone surrogate: neither is part of a word, so the words stay
    the same.
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
