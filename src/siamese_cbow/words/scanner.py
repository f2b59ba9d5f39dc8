"""The tokenizer at memory speed: UTF-8 bytes in, word ids out, without making a string.

Tests check that it equals `Tokenizer.words` on every text. A word is identified by a 64-bit hash (`hash_table`).

Text comes as lines in their normal form (`normal_lines`), each ending in a newline. A line is a sentence. Text must be
valid UTF-8, which is not checked here: the code that reads it does so.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Counts, Ids, Offsets
from siamese_cbow.errors import SettingsError
from siamese_cbow.machine.compiling import INLINE, LEAN, inner
from siamese_cbow.machine.intrinsics import eight_bytes, prefetch_item
from siamese_cbow.text.languages import DOTLESS, ELISIONS
from siamese_cbow.words import characters, hash_table, word_parts
from siamese_cbow.words.characters import APOSTROPHE, DIGIT, LETTER, MARK, POINT, Tables
from siamese_cbow.words.cutting import CONTINUES_AFTER_DIGITS, ENDS, LOOK, MAY_CONTINUE, next_word
from siamese_cbow.words.hash_table import NOTHING, SEED, Hashes, Slots, slot_of
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.unknown_words import CUT, UnknownWords

AHEAD = 64  # words that wait for their slots to arrive
NEWLINE_BYTE, COLON, SLASH = (np.uint8(ord(each)) for each in "\n:/")
COLONS = np.uint64(ord(":") * hash_table.ONES)


@cache
def tables(tokenizer: Tokenizer) -> Tables:
    """The arrays that make the scanner split text as `tokenizer` does."""
    if type(tokenizer) is not Tokenizer:
        raise SettingsError(
            f"can't count words with {tokenizer!r}; expected a siamese_cbow.Tokenizer, such as Tokenizer()"
        )
    words, rule = tokenizer.kind == "words", tokenizer.rule
    folds = characters.folds(lowercase=tokenizer.lowercase, words=words, rule=rule)
    # The kind is that of the folded character: a capital may be newer than the table, its lower case older.
    folded = np.where(folds < 0, ord("i"), folds)
    kinds = characters.kinds(words=words, punctuation=tokenizer.punctuation, rule=rule)[folded]
    after_letters = np.full(256, MAY_CONTINUE, np.uint8)
    after_letters[:128] = np.where(np.isin(kinds[:128], (LETTER, DIGIT, MARK, APOSTROPHE)), MAY_CONTINUE, ENDS)
    after_letters[:128][kinds[:128] == POINT] = CONTINUES_AFTER_DIGITS
    is_new = words and rule > 1
    if is_new:
        after_letters[list(b"._%+-@")] = LOOK
        after_letters[ord("#")] = MAY_CONTINUE
    elisions = ELISIONS.get(tokenizer.language, "").split() if words else []
    keys = np.array([int.from_bytes(word.encode(), "little") for word in elisions], np.uint64)
    flags = characters.flags() if rule > 1 else np.zeros(1, np.uint8)
    return Tables(kinds, folds, after_letters, flags, keys, words, tokenizer.lowercase, tokenizer.punctuation, is_new)


def normal_lines(text: Bytes, tokenizer: Tokenizer) -> Bytes:
    """Lines in their normal form; `Tokenizer.normal` is applied to those that may need it."""
    if tokenizer.rule == 1:
        return text
    if tokenizer.lowercase and tokenizer.language in DOTLESS:  # every capital I needs it
        return _normal(text, tokenizer)
    bounds = np.empty((1024, 2), np.int64)
    pieces, done = [], 0
    while done < len(text):
        n, seen = unstable_lines(text, done, characters.flags(), bounds)
        if n and 4 * int((bounds[:n, 1] - bounds[:n, 0]).sum()) > seen - done:
            pieces.append(_normal(text[done:seen], tokenizer))
        else:
            for start, end in bounds[:n].tolist():
                pieces += (text[done:start], _normal(text[start:end], tokenizer))
                done = end
            pieces.append(text[done:seen])
        done = seen
    if len(pieces) == 1:
        return pieces[0]
    return np.frombuffer(b"".join(piece.data for piece in pieces), np.uint8)  # read-only, like all texts


def _normal(lines: Bytes, tokenizer: Tokenizer) -> Bytes:
    return np.frombuffer(tokenizer.normal(lines.tobytes().decode()).encode(), np.uint8)


@inner(**INLINE)
def _beyond(eight: Any) -> Any:
    """Not 0 if one of eight bytes is a colon or not ASCII."""
    colons = eight ^ COLONS
    return (eight | ((colons - np.uint64(hash_table.ONES)) & ~colons)) & hash_table.TOP


@njit(**LEAN)
def unstable_lines(text: Bytes, i: int, flags: NDArray[np.uint8], bounds: Offsets) -> tuple[int, int]:
    """Lines from `i` on that may not be in normal form; `bounds` (n, 2) receives their starts and ends.

    Returns their number and how far the search got: the end of the text, or of the last line that fits `bounds`.
    """
    n = 0
    while i < len(text):
        while i + 16 <= len(text) and (_beyond(eight_bytes(text, i)) | _beyond(eight_bytes(text, i + 8))) == NOTHING:
            i += 16
        if i == len(text):
            break
        byte = text[i]
        if byte < 0x80:
            found = byte == COLON and text[i + 1] == SLASH and text[i + 2] == SLASH
            size = 1
        else:
            code_point, size = hash_table.decode(text, i)
            found = flags[code_point] & characters.UNSTABLE != 0
        i += size
        if not found:
            continue
        start = i - size
        while start > 0 and text[start - 1] != NEWLINE_BYTE:
            start -= 1
        while text[i - 1] != NEWLINE_BYTE:
            i += 1
        bounds[n, 0], bounds[n, 1] = start, i
        n += 1
        if n == len(bounds):
            return n, i
    return n, len(text)


# Words


class ScanScratch(NamedTuple):
    """Working memory of `look_up` and `count`."""

    waiting: NDArray[np.uint64]  # (AHEAD, 3) hash, start and end of words whose slots are being fetched
    hashes: Hashes  # (word_parts.N_BEGINNINGS,) of an out-of-vocabulary word
    points: Offsets  # (CUT + 2,) its characters


def scratch() -> ScanScratch:
    """New memory, for one thread."""
    hashes = np.empty(word_parts.N_BEGINNINGS, np.uint64)
    return ScanScratch(np.empty((AHEAD, 3), np.uint64), hashes, np.empty(CUT + 2, np.int64))


@inner(**INLINE)
def _ask(slots: Slots, hashed: np.uint64, start: int, end: int, waiting: NDArray[np.uint64], n_waiting: int) -> int:
    """Prefetches the slot of a word, which waits in the queue; returns how many words are waiting now."""
    prefetch_item(slots, 2 * np.int64(hash_table.place_of(slots, hashed)))
    waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2] = hashed, np.uint64(start), np.uint64(end)
    return n_waiting + 1


@njit(**LEAN)
def look_up(
    text: Bytes,
    tables: Tables,
    slots: Slots,
    beginnings: Slots,
    n_buckets: int,
    scratch: ScanScratch,
    ids: Ids,
    ends: Offsets,
    unknown: UnknownWords,
) -> int:
    """Ids of the known words of each line: `ids` is filled, `ends[line]` is the number of ids up to its end.

    Returns the number of ids. `ids` has room for `len(text)` of them, `ends` for every line. A word's slot is
    prefetched and read a few words later, when it has arrived. With `beginnings`, an unknown word counts as the known
    word with the same prefix; with buckets, it goes into `unknown`, which has room for PER_CHARACTER n-grams and one
    word per byte of the text.
    """
    i, n_ids, line, n_waiting, waiting, n_unknown, n_ngrams = 0, 0, 0, 0, scratch.waiting, 0, 0
    while i < len(text):
        start, i, hashed = next_word(text, i, tables, SEED)
        if start < i:
            n_waiting = _ask(slots, hashed, start, i, waiting, n_waiting)
            if n_waiting < AHEAD:
                continue
        for word in range(n_waiting):
            known = slots[slot_of(slots, waiting[word, 0]), 1]
            if known == 0 and len(beginnings):
                first, last = np.int64(waiting[word, 1]), np.int64(waiting[word, 2])
                known = word_parts.counts_as(text, first, last, tables.folds, beginnings, scratch.hashes)
            elif known == 0 and n_buckets:
                first, last = np.int64(waiting[word, 1]), np.int64(waiting[word, 2])
                n_ngrams, key = word_parts.hash_ngrams(
                    text, first, last, tables.folds, n_buckets, scratch.points, unknown.buckets, n_ngrams
                )
                unknown.keys[n_unknown] = key
                n_unknown += 1
                unknown.starts[n_unknown] = n_ngrams
            if known != 0:
                ids[n_ids] = np.int32(known - np.uint64(1))
                n_ids += 1
        n_waiting = 0
        if start == i:
            ends[line] = n_ids
            line += 1
            unknown.offsets[line] = n_unknown
            i += 1
    return n_ids


class WordTable(NamedTuple):
    """The words that `count` has seen, numbered in order of first occurrence, with room for more.

    In groups of translations each column has words of its own: English die and German die have two numbers.
    """

    slots: Slots
    counts: Counts  # (room for words,) how often word i was seen
    columns: NDArray[np.int16]  # (room for words,) its line in the group; 0 in running text
    starts: Offsets  # (room for words + 1,): word i is letters[starts[i] : starts[i + 1]]
    letters: Bytes  # the words written one after another, folded


def word_table(n_words: int) -> WordTable:
    """An empty table with room for words of eight bytes on average."""
    counts, columns, starts = np.zeros(n_words, np.int64), np.zeros(n_words, np.int16), np.zeros(n_words + 1, np.int64)
    return WordTable(hash_table.empty_slots(n_words), counts, columns, starts, np.zeros(8 * n_words, np.uint8))


class Cursor(NamedTuple):
    """How far `count` got: it stops when the table is full and continues from here once the table has grown."""

    position: int
    n_ids: int
    n_lines: int
    n_words: int
    n_letters: int


@njit(**LEAN)
def count(
    text: Bytes,
    tables: Tables,
    words: WordTable,
    seeds: Hashes,
    scratch: ScanScratch,
    ids: Ids,
    ends: Offsets,
    cursor: Cursor,
) -> Cursor:
    """Like `look_up`, but a new word gets the next id, and every word is counted.

    The end of an empty line, a boundary and not a sentence, is stored as -1 - (number of ids).

    seeds  (n_lines,) of the hashes in each line of a group, the empty one at its end included; (1,) in running text
    """
    slots, counts, columns, starts, letters = words
    i, n_ids, line, n_words, n_letters = cursor
    seed, n_waiting, waiting = seeds[line % len(seeds)], 0, scratch.waiting
    while i < len(text):
        start, i, hashed = next_word(text, i, tables, seed)
        if start < i:
            n_waiting = _ask(slots, hashed, start, i, waiting, n_waiting)
            if n_waiting < AHEAD:
                continue
        for position in range(n_waiting):
            place = slot_of(slots, waiting[position, 0])
            if slots[place, 1] == 0:
                # At most half full, so the search for a free slot stays short; a word may grow by half when
                # folded (Ⱥ has two bytes, its lower case three).
                first, last = np.int64(waiting[position, 1]), np.int64(waiting[position, 2])
                full = 2 * (n_words + 1) > len(slots) or n_words == len(counts)
                if full or n_letters + 2 * (last - first) > len(letters):
                    return Cursor(int(first), n_ids, line, n_words, n_letters)
                slots[place, 0], slots[place, 1] = waiting[position, 0], np.uint64(n_words + 1)
                columns[n_words] = line % len(seeds)
                n_letters = _write_folded(text, first, last, tables.folds, letters, n_letters)
                n_words += 1
                starts[n_words] = n_letters
            word = np.int64(slots[place, 1]) - 1
            counts[word] += 1
            ids[n_ids] = np.int32(word)
            n_ids += 1
        n_waiting = 0
        if start == i:
            empty = i == 0 or text[i - 1] == NEWLINE_BYTE
            ends[line] = -1 - n_ids if empty else n_ids
            line += 1
            seed = seeds[line % len(seeds)]
            i += 1
    return Cursor(i, n_ids, line, n_words, n_letters)


@inner(**LEAN)
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
