"""The tokenizer at the speed of the memory: UTF-8 bytes in, word ids out, without making a string.

Equal to `Tokenizer.words` on every text, which tests prove. A word is known by a 64-bit hash (`hash_table`).

Text comes as lines, each ending in a newline (so no loop has to look for the end of the array). A line is a
sentence. Text must be valid UTF-8: whoever reads it from outside has checked that.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Counts, Ids, Offsets
from siamese_cbow.errors import SettingsError
from siamese_cbow.machine.compiling import INLINE, LEAN
from siamese_cbow.machine.intrinsics import eight_bytes, prefetch_item
from siamese_cbow.words import characters, hash_table
from siamese_cbow.words.characters import APOSTROPHE, DIGIT, LETTER, MARK, NEWLINE, POINT, SINGLE
from siamese_cbow.words.hash_table import NOTHING, SEED, Hashes, Slots, slot_of
from siamese_cbow.words.tokenizer import Tokenizer

AHEAD = 64  # words that wait for their slots
NEWLINE_BYTE = np.uint8(ord("\n"))
ENDS, MAY_GO_ON, GOES_ON_AFTER_DIGITS = range(3)  # what a byte behind plain letters says about their word


class Tables(NamedTuple):
    """A tokenizer as arrays."""

    kinds: NDArray[np.uint8]  # (0x110000,) kind of each code point
    folds: NDArray[np.int32]  # (0x110000,) what it is written as; -1 for the one letter that becomes two
    after_letters: NDArray[np.uint8]  # (256,) ENDS, MAY_GO_ON or GOES_ON_AFTER_DIGITS, for each byte
    words: bool  # whether plain words are made of letters and digits, or of all that can be seen
    lowercase: bool
    punctuation: bool  # whether a point, comma or apostrophe on its own is a word


@cache
def tables(tokenizer: Tokenizer) -> Tables:
    """The arrays that make the scanner cut text as `tokenizer` does."""
    if type(tokenizer) is not Tokenizer:
        raise SettingsError(f"{tokenizer!r} can't count words; this needs a tokenizer of ours: siamese_cbow.Tokenizer")
    words = tokenizer.kind == "words"
    folds = characters.folds(lowercase=tokenizer.lowercase, words=words)
    # What counts is the kind of the folded character: a capital may be newer than the table, its small letter older.
    folded = np.where(folds < 0, ord("i"), folds)
    kinds = characters.kinds(words=words, punctuation=tokenizer.punctuation)[folded]
    after_letters = np.full(256, MAY_GO_ON, np.uint8)
    after_letters[:128] = np.where(np.isin(kinds[:128], (LETTER, DIGIT, MARK, APOSTROPHE)), MAY_GO_ON, ENDS)
    after_letters[:128][kinds[:128] == POINT] = GOES_ON_AFTER_DIGITS
    return Tables(kinds, folds, after_letters, words, tokenizer.lowercase, tokenizer.punctuation)


@njit(**LEAN)
def _number(text: Bytes, i: int, kinds: NDArray[np.uint8]) -> int:
    """End of a number with inner points or commas that starts at `i`; `i` itself where there is none.

    "3.14 apples" -> 4; "3 apples" -> 0; "3.x" -> 0
    """
    start, groups = i, 0
    while True:
        while kinds[text[i]] == DIGIT:
            i += 1
        if text[i] < 0x80 and kinds[text[i]] == POINT and text[i + 1] < 0x80 and kinds[text[i + 1]] == DIGIT:
            i += 1
            groups += 1
        else:
            return i if groups else start


@njit(**LEAN)
def _any_word(text: Bytes, i: int, tables: Tables, seed: Any) -> tuple[int, Any]:
    """End and hash of the word at `i`, whatever it is made of, one character at a time."""
    hashed, chunk, size = seed, NOTHING, 0
    number = _number(text, i, tables.kinds) if text[i] < 0x80 and tables.kinds[text[i]] == DIGIT else i
    if number > i:
        for j in range(i, number):
            hashed, chunk, size = hash_table.take(hashed, chunk, size, text[j])
        return number, hash_table.finish(hashed, chunk, size)
    while True:
        code_point, n = hash_table.decode(text, i)
        kind = tables.kinds[code_point]
        if kind == APOSTROPHE:
            after, _ = hash_table.decode(text, i + n)
            inside = tables.kinds[after] == LETTER or tables.kinds[after] == DIGIT
        else:
            inside = kind == LETTER or kind == DIGIT or kind == MARK
        if not inside:
            return i, hash_table.finish(hashed, chunk, size)
        hashed, chunk, size = hash_table.take(hashed, chunk, size, tables.folds[code_point])
        i += n


@njit(**INLINE)
def _next_word(text: Bytes, i: int, tables: Tables, seed: Any) -> tuple[int, int, Any]:
    """Start, end and hash of the first word at or after `i`; start == end at the newline before which there is none."""
    while True:
        code_point, size = np.int64(text[i]), 1
        if code_point >= 0x80:
            code_point, size = hash_table.decode(text, i)
        kind = tables.kinds[code_point]
        if kind == LETTER or kind == DIGIT:
            break
        if kind == SINGLE or (tables.punctuation and (kind == POINT or kind == APOSTROPHE)):
            hashed, chunk, length = hash_table.take(seed, NOTHING, 0, tables.folds[code_point])
            return i, i + size, hash_table.finish(hashed, chunk, length)
        if kind == NEWLINE:
            return i, i, seed
        i += size  # a separator, or a mark without a letter before it
    # Most words are plain ASCII and are read eight bytes at a time; a word that may not be is read anew.
    start, hashed = i, seed
    while i + 8 <= len(text):
        n, chunk = hash_table.plain_letters(eight_bytes(text, i), tables.words, tables.lowercase)
        if n:
            hashed = hash_table.mix(hashed, chunk)
            i += n
        if n < 8:
            after = tables.after_letters[text[i]]
            if after == ENDS or (after == GOES_ON_AFTER_DIGITS and kind == LETTER):
                return start, i, hash_table.mix(hashed, np.uint64(i - start))
            break
    end, hashed = _any_word(text, start, tables, seed)
    return start, end, hashed


class ScanScratch(NamedTuple):
    """What `look_up` works in."""

    waiting: NDArray[np.uint64]  # (AHEAD, 3) hash, start and end of words whose slots are asked for
    hashes: Hashes  # (hash_table.N_BEGINNINGS,) of a word out of the vocabulary


def scratch() -> ScanScratch:
    """New memory, for one thread."""
    return ScanScratch(np.empty((AHEAD, 3), np.uint64), np.empty(hash_table.N_BEGINNINGS, np.uint64))


@njit(**LEAN)
def look_up(
    text: Bytes, tables: Tables, slots: Slots, beginnings: Slots, scratch: ScanScratch, ids: Ids, ends: Offsets
) -> int:
    """Ids of the known words of each line: `ids` is filled, `ends[line]` is the number of ids up to its end.

    Returns the number of ids. `ids` has room for `len(text)` of them, `ends` for every line. A word's slot is
    asked for at once and looked at a few words later, when memory has answered. Where there are `beginnings`, an
    unknown word counts as the known word that begins alike.
    """
    i, n_ids, line, n_waiting, waiting = 0, 0, 0, 0, scratch.waiting
    while i < len(text):
        start, i, hashed = _next_word(text, i, tables, SEED)
        if start < i:
            prefetch_item(slots, 2 * np.int64(hash_table.place_of(slots, hashed)))
            waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2] = hashed, np.uint64(start), np.uint64(i)
            n_waiting += 1
            if n_waiting < AHEAD:
                continue
        for word in range(n_waiting):
            known = slots[slot_of(slots, waiting[word, 0]), 1]
            if known == 0 and len(beginnings):
                first, last = np.int64(waiting[word, 1]), np.int64(waiting[word, 2])
                known = hash_table.counts_as(text, first, last, tables.folds, beginnings, scratch.hashes)
            if known != 0:
                ids[n_ids] = np.int32(known - np.uint64(1))
                n_ids += 1
        n_waiting = 0
        if start == i:
            ends[line] = n_ids
            line += 1
            i += 1
    return n_ids


class WordTable(NamedTuple):
    """The words that `count` has met, numbered in the order of first sight, with room for more.

    In groups of translations each column has words of its own: English die and German die have two numbers.
    """

    slots: Slots
    counts: Counts  # (room for words,) how often word i was seen
    columns: NDArray[np.int16]  # (room for words,) the line of its group that it stands in; 0 in running text
    starts: Offsets  # (room for words + 1,): word i is letters[starts[i] : starts[i + 1]]
    letters: Bytes  # the words written one after another, folded


def word_table(n_words: int) -> WordTable:
    """An empty table with room for words of eight bytes on average."""
    counts, columns, starts = np.zeros(n_words, np.int64), np.zeros(n_words, np.int16), np.zeros(n_words + 1, np.int64)
    return WordTable(hash_table.empty_slots(n_words), counts, columns, starts, np.zeros(8 * n_words, np.uint8))


class Cursor(NamedTuple):
    """How far `count` came: it stops early where the table is full, and goes on from here after that has grown."""

    position: int
    n_ids: int
    n_lines: int
    n_words: int
    n_letters: int


@njit(**LEAN)
def count(
    text: Bytes, tables: Tables, words: WordTable, seeds: Hashes, ids: Ids, ends: Offsets, cursor: Cursor
) -> Cursor:
    """Like `look_up`, but a word that was never seen gets the next id, and each word is counted.

    The end of an empty line, which is a boundary and no sentence, is kept as -1 - (number of ids).

    seeds  (n_lines,) of the hashes in each line of a group, the empty one at its end included; (1,) in running text
    """
    slots, counts, columns, starts, letters = words
    i, n_ids, line, n_words, n_letters = cursor
    seed = seeds[line % len(seeds)]
    while i < len(text):
        start, end, hashed = _next_word(text, i, tables, seed)
        if start == end:
            empty = end == 0 or text[end - 1] == NEWLINE_BYTE
            ends[line] = -1 - n_ids if empty else n_ids
            line += 1
            seed = seeds[line % len(seeds)]
            i = end + 1
            continue
        place = slot_of(slots, hashed)
        if slots[place, 1] == 0:
            # At most half full, so that a search for a free slot stays short; a word may grow by half when
            # it is folded (Ⱥ has two bytes, its lower case three).
            full = 2 * (n_words + 1) > len(slots) or n_words == len(counts)
            if full or n_letters + 2 * (end - start) > len(letters):
                return Cursor(start, n_ids, line, n_words, n_letters)
            slots[place, 0], slots[place, 1] = hashed, np.uint64(n_words + 1)
            columns[n_words] = line % len(seeds)
            n_letters = _write_folded(text, start, end, tables.folds, letters, n_letters)
            n_words += 1
            starts[n_words] = n_letters
        word = np.int64(slots[place, 1]) - 1
        counts[word] += 1
        ids[n_ids] = np.int32(word)
        n_ids += 1
        i = end
    return Cursor(i, n_ids, line, n_words, n_letters)


@njit(**LEAN)
def _write_folded(text: Bytes, i: int, end: int, folds: NDArray[np.int32], letters: Bytes, n: int) -> int:
    """Writes text[i:end], folded, to letters[n:] and returns the new end."""
    while i < end:
        code_point, size = hash_table.decode(text, i)
        i += size
        packed, size = hash_table.utf8(np.int64(folds[code_point]))
        for _ in range(size):
            letters[n] = packed & 0xFF
            packed >>= 8
            n += 1
    return n
