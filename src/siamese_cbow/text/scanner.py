"""The tokenizer at the speed of the memory: UTF-8 bytes in, word ids out, without making a string.

Equal to `Tokenizer.words` on every text, which tests prove. A word is known by a 64-bit hash of its folded
characters; with a million different words, the chance that any two of them share one is below one in ten million.

Text comes as lines, each ending in a newline (so no loop has to look for the end of the array). A line is a
sentence. Text must be valid UTF-8: whoever reads it from outside has checked that.

    hashes   a word's hash starts at SEED and takes in one folded character after another (FNV-1a)
    slots    (capacity, 2) uint64, open addressing, capacity a power of two: [hash, id + 1], 0 where free
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.arrays import Bytes, Counts, Ids, Offsets
from siamese_cbow.text import characters
from siamese_cbow.text.characters import APOSTROPHE, DIGIT, LETTER, MARK, NEWLINE, POINT, SINGLE
from siamese_cbow.text.tokenizer import Tokenizer

Slots: TypeAlias = NDArray[np.uint64]

SEED = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)
HALF = np.uint64(32)
NEWLINE_BYTE = np.uint8(ord("\n"))


class Tables(NamedTuple):
    """A tokenizer as arrays."""

    kinds: NDArray[np.uint8]  # (0x110000,) kind of each code point
    folds: NDArray[np.int32]  # (0x110000,) what it is written as; -1 for the one letter that becomes two
    word_bytes: NDArray[np.uint8]  # (256,) the folded byte where an ASCII letter or digit goes on a word, else 0
    punctuation: bool  # whether a point, comma or apostrophe on its own is a word


@cache
def tables(tokenizer: Tokenizer) -> Tables:
    """The arrays that make the scanner cut text as `tokenizer` does."""
    words = tokenizer.kind == "words"
    folds = characters.folds(lowercase=tokenizer.lowercase, words=words)
    # What counts is the kind of the folded character: a capital may be newer than the table, its small letter older.
    folded = np.where(folds < 0, ord("i"), folds)
    kinds = characters.kinds(words=words, punctuation=tokenizer.punctuation)[folded]
    word_bytes = np.zeros(256, np.uint8)
    plain = np.isin(kinds[:128], (LETTER, DIGIT))
    word_bytes[:128][plain] = folds[:128][plain]
    return Tables(kinds, folds, word_bytes, tokenizer.punctuation)


@njit(inline="always")
def _mix(hashed: Any, code_point: Any) -> Any:
    return (hashed ^ np.uint64(code_point)) * PRIME


@njit(inline="always")
def _decode(text: Bytes, i: int) -> Any:
    """The code point at byte `i` of valid UTF-8, and its length in bytes."""
    first = np.int64(text[i])
    if first < 0x80:
        return first, 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | (text[i + 1] & 0x3F), 2
    if first < 0xF0:
        return (first & 0x0F) << 12 | np.int64(text[i + 1] & 0x3F) << 6 | (text[i + 2] & 0x3F), 3
    high = (first & 0x07) << 18 | np.int64(text[i + 1] & 0x3F) << 12
    return high | np.int64(text[i + 2] & 0x3F) << 6 | (text[i + 3] & 0x3F), 4


@njit(nogil=True, cache=True)
def _number(text: Bytes, i: int, kinds: NDArray[np.uint8]) -> tuple[int, Any]:
    """End and hash of a number with inner points or commas that starts at `i`; end is `i` where there is none.

    "3.14 apples" -> 4; "3 apples" -> 0; "3.x" -> 0
    """
    start, hashed, groups = i, SEED, 0
    while True:
        while kinds[text[i]] == DIGIT:
            hashed = _mix(hashed, text[i])
            i += 1
        if text[i] < 0x80 and kinds[text[i]] == POINT and text[i + 1] < 0x80 and kinds[text[i + 1]] == DIGIT:
            hashed = _mix(hashed, text[i])
            i += 1
            groups += 1
        else:
            return (i if groups else start), hashed


@njit(nogil=True, cache=True)
def _word_beyond_ascii(text: Bytes, i: int, hashed: Any, tables: Tables) -> tuple[int, Any]:
    """Goes on with a word at a byte that is no plain letter: the next place and hash, or the same place at its end."""
    code_point, size = _decode(text, i)
    kind = tables.kinds[code_point]
    if kind == APOSTROPHE:
        after, _ = _decode(text, i + size)
        if tables.kinds[after] != LETTER and tables.kinds[after] != DIGIT:
            return i, hashed
    elif kind != LETTER and kind != MARK:
        return i, hashed
    folded = tables.folds[code_point]
    if folded < 0:  # the dotted capital I
        return i + size, _mix(_mix(hashed, 0x69), 0x307)
    return i + size, _mix(hashed, folded)


@njit(inline="always")
def _next_word(text: Bytes, i: int, tables: Tables) -> tuple[int, int, Any]:
    """Start, end and hash of the first word at or after `i`; start == end at the newline before which there is none."""
    while True:
        code_point, size = np.int64(text[i]), 1
        if code_point >= 0x80:
            code_point, size = _decode(text, i)
        kind = tables.kinds[code_point]
        if kind == SINGLE or (tables.punctuation and (kind == POINT or kind == APOSTROPHE)):
            return i, i + size, _mix(SEED, tables.folds[code_point])
        if kind == NEWLINE:
            return i, i, SEED
        if kind == LETTER or kind == DIGIT:
            break
        i += size  # a separator, or a mark without a letter before it
    start, hashed = i, SEED
    if kind == DIGIT:
        i, hashed = _number(text, i, tables.kinds)
        if i > start:
            return start, i, hashed
        hashed = SEED
    while True:
        byte = tables.word_bytes[text[i]]
        while byte:
            hashed = _mix(hashed, byte)
            i += 1
            byte = tables.word_bytes[text[i]]
        before = i
        if text[i] >= 0x80 or tables.kinds[text[i]] == APOSTROPHE:
            i, hashed = _word_beyond_ascii(text, i, hashed, tables)
        if i == before:
            return start, i, hashed


@njit(inline="always")
def _slot(slots: Slots, hashed: Any) -> Any:
    """Where a hash stands, or the free place where it belongs."""
    mask = np.uint64(len(slots) - 1)
    place = (hashed ^ (hashed >> HALF)) & mask
    while slots[place, 1] != 0 and slots[place, 0] != hashed:
        place = (place + np.uint64(1)) & mask
    return place


@njit(nogil=True, cache=True)
def look_up(text: Bytes, tables: Tables, slots: Slots, ids: Ids, ends: Offsets) -> int:
    """Ids of the known words of each line: `ids` is filled, `ends[line]` is the number of ids up to its end.

    Returns the number of ids. `ids` has room for `len(text)` of them, `ends` for every line.
    """
    i, n_ids, line = 0, 0, 0
    while i < len(text):
        start, i, hashed = _next_word(text, i, tables)
        if start == i:
            ends[line] = n_ids
            line += 1
            i += 1
            continue
        known = slots[_slot(slots, hashed), 1]
        if known != 0:
            ids[n_ids] = np.int32(known - np.uint64(1))
            n_ids += 1
    return n_ids


class Progress(NamedTuple):
    """How far `count` came: it stops early where a table is full, and goes on from here after that has grown."""

    position: int
    n_ids: int
    n_lines: int
    n_words: int
    n_letters: int


@njit(nogil=True, cache=True)
def count(
    text: Bytes,
    tables: Tables,
    slots: Slots,
    counts: Counts,  # (room for words,) how often word i was seen
    letters: Bytes,  # the words written one after another, folded
    starts: Offsets,  # (room for words + 1,): word i is letters[starts[i] : starts[i + 1]]
    ids: Ids,
    ends: Offsets,
    done: Progress,
) -> Progress:
    """Like `look_up`, but a word that was never seen gets the next id, and each word is counted.

    The end of an empty line, which is a boundary and no sentence, is kept as -1 - (number of ids).
    """
    i, n_ids, line, n_words, n_letters = done
    while i < len(text):
        start, end, hashed = _next_word(text, i, tables)
        if start == end:
            empty = end == 0 or text[end - 1] == NEWLINE_BYTE
            ends[line] = -1 - n_ids if empty else n_ids
            line += 1
            i = end + 1
            continue
        place = _slot(slots, hashed)
        if slots[place, 1] == 0:
            # At most half full, so that a search for a free place stays short; a word may grow by half when
            # it is folded (Ⱥ has two bytes, its lower case three).
            full = 2 * (n_words + 1) > len(slots) or n_words == len(counts)
            if full or n_letters + 2 * (end - start) > len(letters):
                return Progress(start, n_ids, line, n_words, n_letters)
            slots[place, 0], slots[place, 1] = hashed, np.uint64(n_words + 1)
            n_letters = _write_folded(text, start, end, tables.folds, letters, n_letters)
            n_words += 1
            starts[n_words] = n_letters
        word = np.int64(slots[place, 1]) - 1
        counts[word] += 1
        ids[n_ids] = np.int32(word)
        n_ids += 1
        i = end
    return Progress(i, n_ids, line, n_words, n_letters)


@njit(nogil=True, cache=True)
def _write_folded(text: Bytes, i: int, end: int, folds: NDArray[np.int32], letters: Bytes, n: int) -> int:
    """Writes text[i:end], folded, to letters[n:] and returns the new end."""
    while i < end:
        code_point, size = _decode(text, i)
        folded = np.int64(folds[code_point])
        i += size
        if folded < 0:
            letters[n], letters[n + 1], letters[n + 2] = 0x69, 0xCC, 0x87
            n += 3
        elif folded < 0x80:
            letters[n] = folded
            n += 1
        elif folded < 0x800:
            letters[n], letters[n + 1] = 0xC0 | folded >> 6, 0x80 | folded & 0x3F
            n += 2
        elif folded < 0x10000:
            letters[n], letters[n + 1] = 0xE0 | folded >> 12, 0x80 | folded >> 6 & 0x3F
            letters[n + 2] = 0x80 | folded & 0x3F
            n += 3
        else:
            letters[n], letters[n + 1] = 0xF0 | folded >> 18, 0x80 | folded >> 12 & 0x3F
            letters[n + 2], letters[n + 3] = 0x80 | folded >> 6 & 0x3F, 0x80 | folded & 0x3F
            n += 4
    return n


@njit(nogil=True, cache=True)
def hash_words(letters: Bytes, starts: Offsets, hashes: NDArray[np.uint64]) -> None:
    """The hash of each word of a list written one after another; words are taken as they are, nothing is folded."""
    for word in range(len(starts) - 1):
        i, hashed = starts[word], SEED
        while i < starts[word + 1]:
            code_point, size = _decode(letters, i)
            hashed = _mix(hashed, code_point)
            i += size
        hashes[word] = hashed


@njit(nogil=True, cache=True)
def fill_slots(slots: Slots, hashes: NDArray[np.uint64]) -> int:
    """Puts word i with hashes[i] into the empty `slots`; returns the first word whose hash was there already, or -1."""
    for word in range(len(hashes)):
        place = _slot(slots, hashes[word])
        if slots[place, 1] != 0:
            return word
        slots[place, 0], slots[place, 1] = hashes[word], np.uint64(word + 1)
    return -1


def empty_slots(n_words: int) -> Slots:
    """Room for `n_words` words, at most half full; `empty_slots(100).shape` -> (256, 2)."""
    return np.zeros((1 << max(8, int(2 * n_words - 1).bit_length()), 2), np.uint64)
