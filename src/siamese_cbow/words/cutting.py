"""Finds the end of the next word, in kernels: the shapes of `patterns` over UTF-8 bytes, with the hash of the word.

Text is valid UTF-8 in its normal form, in lines that each end in a newline (so no loop has to look for the end of the
array). Most words are plain ASCII letters and digits and are read eight bytes at a time (`next_word`); one that may not
be is read again, character by character (`_any_word`); `_special` reads words that begin with anything else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes
from siamese_cbow.machine.compiling import INLINE, LEAN, inner
from siamese_cbow.machine.intrinsics import eight_bytes
from siamese_cbow.words import characters as of
from siamese_cbow.words import hash_table
from siamese_cbow.words.characters import CLOSER, DOT_BELOW, HEBREW, OPEN, STACKER, Tables
from siamese_cbow.words.hash_table import NOTHING

SEPARATOR, LETTER, DIGIT, MARK, SINGLE = of.SEPARATOR, of.LETTER, of.DIGIT, of.MARK, of.SINGLE
APOSTROPHE, QUOTE, POINT, AT, NEWLINE = of.APOSTROPHE, of.QUOTE, of.POINT, of.AT, of.NEWLINE
FLAG, SYLLABIC, LEADING, TRAILING = of.FLAG, of.SYLLABIC, of.LEADING, of.TRAILING
ENDS, MAY_CONTINUE, CONTINUES_AFTER_DIGITS, LOOK = range(4)  # what a byte after plain letters says about their word
DOT, HASH, PLUS, HYPHEN, UNDERSCORE, PERCENT, COMMERCIAL_AT = (np.uint8(ord(each)) for each in ".#+-_%@")
STRAIGHT_APOSTROPHE = ord("'")
N_ELISION, N_LINKS = 8, 8  # bytes of a key; signs between the letters in the first part of a mail address


@inner(**INLINE)
def _is_plain(byte: Any) -> bool:
    """An ASCII letter or digit."""
    return (byte | 0x20 >= 0x61 and byte | 0x20 <= 0x7A) or (byte >= 0x30 and byte <= 0x39)


@inner(**INLINE)
def _is_digit(byte: Any) -> bool:
    return byte >= 0x30 and byte <= 0x39


@inner(**LEAN)
def _number(text: Bytes, i: int, kinds: NDArray[np.uint8]) -> int:
    """End of a number with inner points or commas that starts at `i`; `i` itself if there is none.

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


@inner(**LEAN)
def _label(text: Bytes, i: int) -> int:
    """End of letters and digits with hyphens between them: "my-site.org" -> 7; `i` itself if there are none."""
    while _is_plain(text[i]):
        i += 1
        j = i
        while text[j] == HYPHEN:
            j += 1
        if j > i and _is_plain(text[i - 1]) and _is_plain(text[j]):
            i = j
    return i


@inner(**LEAN)
def _mail(text: Bytes, i: int) -> int:
    """End of a mail address that starts at `i`; `i` itself if there is none: "anna.b@my-site.org," -> 18."""
    start, links = i, 0
    if not hash_table.has_at(text, i):
        return start
    while _is_plain(text[i]):
        i += 1
    while True:
        j = i
        while text[j] == DOT or text[j] == UNDERSCORE or text[j] == PERCENT or text[j] == PLUS or text[j] == HYPHEN:
            j += 1
        if j == i or links == N_LINKS or not _is_plain(text[j]):
            break
        i = j
        links += 1
        while _is_plain(text[i]):
            i += 1
    if i == start or text[i] != COMMERCIAL_AT:
        return start
    i += 1
    end = _label(text, i)
    if end == i or text[end] != DOT or not _is_plain(text[end + 1]):
        return start
    while text[end] == DOT and _is_plain(text[end + 1]):
        end = _label(text, end + 1)
    return end


@inner(**LEAN)
def _goes_on(text: Bytes, start: int, i: int) -> bool:
    """Whether the plain letters text[start:i] are only part of a word: a mail address, v2.19 or C++."""
    byte, after = text[i], text[i + 1]
    if byte == PLUS and after == PLUS:
        return True
    if byte == DOT and _is_digit(after) and _is_digit(text[i - 1]):
        return True
    return _mail(text, start) > start


@inner(**LEAN)
def _hash_of(text: Bytes, i: int, end: int, tables: Tables, seed: Any) -> Any:
    """The hash of text[i:end], folded."""
    hashed, chunk, size = seed, NOTHING, 0
    while i < end:
        code_point, n = hash_table.decode(text, i)
        hashed, chunk, size = hash_table.take(hashed, chunk, size, tables.folds[code_point])
        i += n
    return hash_table.finish(hashed, chunk, size)


@inner(**LEAN)
def _whole(text: Bytes, i: int, tables: Tables) -> int:
    """End of a number at `i`, or in rule 2 of a mail address or C#, each a single word; `i` itself if there is none."""
    if text[i] >= 0x80:
        return i
    if tables.is_new:
        end = _mail(text, i)
        if end > i:
            return end
        if text[i] >= 0x41 and text[i + 1] == HASH and text[i + 2] != HASH:
            code_point, _ = hash_table.decode(text, i + 2)
            kind = tables.kinds[code_point]
            if kind != LETTER and kind != DIGIT and kind != MARK:
                return i + 2
    return _number(text, i, tables.kinds) if tables.kinds[text[i]] == DIGIT else i


@inner(**LEAN)
def _is_elision(text: Bytes, start: int, i: int, joint: int, tables: Tables) -> bool:
    """Whether the letters text[start:i] before an apostrophe are a separate word in this language."""
    elisions = tables.elisions
    if not len(elisions) or i - start > N_ELISION or tables.folds[joint] != STRAIGHT_APOSTROPHE:
        return False
    key = NOTHING
    for j in range(start, i):
        key |= np.uint64(text[j] | 0x20) << np.uint64(8 * (j - start))
    n = 0
    while n < len(elisions) and elisions[n] != key:
        n += 1
    return n < len(elisions)


@inner(**LEAN)
def _any_word(text: Bytes, i: int, tables: Tables, seed: Any) -> tuple[int, Any]:
    """End and hash of the word at `i`, of any characters, one character at a time."""
    start, is_first, before = i, True, np.int64(0)  # the character before
    end = _whole(text, i, tables)
    if end > i:
        return end, _hash_of(text, i, end, tables, seed)
    while True:
        code_point, n = hash_table.decode(text, i)
        kind = tables.kinds[code_point]
        if kind == APOSTROPHE or (kind == QUOTE and tables.flags[before] & HEBREW):
            after, _ = hash_table.decode(text, i + n)
            inside = tables.kinds[after] == LETTER or tables.kinds[after] == DIGIT
            if kind == QUOTE:
                inside = tables.flags[after] & HEBREW != 0
            elif inside and is_first and _is_elision(text, start, i, code_point, tables):
                return i + n, _hash_of(text, start, i + n, tables, seed)
            is_first = False
        else:
            inside = kind == LETTER or kind == DIGIT or kind == MARK
        if not inside:
            break
        before = code_point
        i += n
    if tables.is_new:
        if text[i] == PLUS and text[i + 1] == PLUS and text[i + 2] != PLUS:
            i += 2
        elif _is_digit(text[i - 1]):
            while text[i] == DOT and _is_digit(text[i + 1]):
                i += 1
                while _is_digit(text[i]):
                    i += 1
    return i, _hash_of(text, start, i, tables, seed)


@inner(**LEAN)
def _handle(text: Bytes, i: int) -> int:
    """End of @anna_b at `i`; `i` itself if this is not a handle: after a letter, or without one following."""
    if i > 0 and (_is_plain(text[i - 1]) or text[i - 1] == UNDERSCORE):
        return i
    end = i + 1
    if _is_digit(text[end]):
        return i
    while _is_plain(text[end]) or text[end] == UNDERSCORE:
        end += 1
    return end if end > i + 1 else i


@inner(**LEAN)
def _dot_net(text: Bytes, i: int, kinds: NDArray[np.uint8]) -> int:
    """End of .net at `i`; `i` itself if it isn't there."""
    if text[i + 1] | 0x20 != 0x6E or text[i + 2] | 0x20 != 0x65 or text[i + 3] | 0x20 != 0x74:
        return i
    code_point, _ = hash_table.decode(text, i + 4)
    kind = kinds[code_point]
    return i if kind == LETTER or kind == DIGIT or kind == MARK else i + 4


@inner(**LEAN)
def _syllable(text: Bytes, i: int, kind: int, tables: Tables) -> int:
    """End of the syllable of a script without spaces that starts at `i`."""
    _, size = hash_table.decode(text, i)
    kinds, flags, end_of_one = tables.kinds, tables.flags, i + size
    if kind == LEADING:
        i += size
        code_point, size = hash_table.decode(text, i)
        if kinds[code_point] == LEADING:
            i += size
            code_point, size = hash_table.decode(text, i)
        if kinds[code_point] != SYLLABIC and kinds[code_point] != TRAILING:
            return end_of_one
    i += size
    while True:
        code_point, size = hash_table.decode(text, i)
        kind = kinds[code_point]
        if kind != MARK and kind != TRAILING and kind != SYLLABIC:
            return i
        after, n = hash_table.decode(text, i + size)
        if kind == SYLLABIC:
            closing = after
            if flags[after] & DOT_BELOW:
                closing, _ = hash_table.decode(text, i + size + n)
            if not flags[closing] & CLOSER and not flags[after] & CLOSER:
                # The consonant that ends the syllable, unless it begins the next one.
                begins = kinds[after] == MARK or kinds[after] == TRAILING or flags[code_point] & OPEN
                return i if begins else i + size
        elif flags[code_point] & STACKER and (kinds[after] == SYLLABIC or kinds[after] == TRAILING):
            size += n
        i += size


@inner(**LEAN)
def _special(text: Bytes, i: int, kind: int, tables: Tables) -> int:
    """End of a word at `i` that is not single and begins with neither a letter nor a digit; `i` if there is none."""
    _, size = hash_table.decode(text, i)
    if kind == SYLLABIC or kind == LEADING or kind == TRAILING:
        return _syllable(text, i, kind, tables)
    if kind == FLAG:
        after, n = hash_table.decode(text, i + size)
        return i + size + n if tables.kinds[after] == FLAG else i + size
    if tables.is_new and (kind == AT or text[i] == DOT):
        end = _handle(text, i) if kind == AT else _dot_net(text, i, tables.kinds)
        if end > i:
            return end
    return i + size if tables.punctuation else i


@inner(**INLINE)
def next_word(text: Bytes, i: int, tables: Tables, seed: Any) -> tuple[int, int, Any]:
    """Start, end and hash of the first word at or after `i`; start == end at a newline if no word comes before it."""
    while True:
        code_point, size = np.int64(text[i]), 1
        if code_point >= 0x80:
            code_point, size = hash_table.decode(text, i)
        kind = tables.kinds[code_point]
        if kind == LETTER or kind == DIGIT:
            break
        if kind == NEWLINE:
            return i, i, seed
        if kind == SINGLE:  # Chinese and Japanese text is full of these
            letter, n = hash_table.utf8(np.int64(tables.folds[code_point]))
            return i, i + size, hash_table.finish(seed, np.uint64(letter), n)
        # A mark or a quote without a letter before it is not a word. Most points are not followed by an n.
        may_begin = kind != QUOTE and (kind != POINT or text[i + 1] | 0x20 == 0x6E)
        if kind != SEPARATOR and kind != MARK and (tables.punctuation or may_begin):
            end = _special(text, i, kind, tables)
            if end > i:
                return i, end, _hash_of(text, i, end, tables, seed)
        i += size
    # Most words are plain ASCII and are read eight bytes at a time; one that may not be is read again.
    start, hashed = i, seed
    while i + 8 <= len(text):
        n, chunk = hash_table.plain_letters(eight_bytes(text, i), tables.words, tables.lowercase)
        if n:
            hashed = hash_table.mix(hashed, chunk)
            i += n
        if n < 8:
            after = tables.after_letters[text[i]]
            ends = after == ENDS or (after == CONTINUES_AFTER_DIGITS and kind == LETTER)
            if ends or (after == LOOK and (text[i + 1] <= 0x20 or not _goes_on(text, start, i))):
                return start, i, hash_table.mix(hashed, np.uint64(i - start))
            break
    end, hashed = _any_word(text, start, tables, seed)
    return start, end, hashed
