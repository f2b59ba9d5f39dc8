"""Hash tables of the scanner: a word is identified by its 64-bit hash and found without making a string.

    "cats"       one chunk: the bytes c a t s, and four zeros
    "elephants"  two chunks: elephant, then s and seven zeros

A hash starts from a seed, takes in the word's folded UTF-8 bytes chunk by chunk, and finally the number of bytes
(`finish`). Each step can be undone, so no two words of up to eight bytes and equal length share a hash. Among a
million distinct words, the chance that any two share one is below one in ten million.

Plain ASCII text is folded and cut at the end of the word eight bytes at a time, without a branch per letter
(`plain_letters`); everything else comes one character at a time (`take`).

A table uses open addressing and is at most half full. `word_parts` has a second one, of word beginnings.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Offsets
from siamese_cbow.machine.compiling import INLINE, LEAN, inner
from siamese_cbow.machine.intrinsics import eight_bytes, trailing_zeros

Slots: TypeAlias = NDArray[np.uint64]  # (capacity, 2), capacity a power of two: [hash, id + 1], 0 where free
Hashes: TypeAlias = NDArray[np.uint64]

SEED = np.uint64(0xCBF29CE484222325)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, so multiplication is invertible
HALF = np.uint64(32)
NOTHING = np.uint64(0)

# A byte repeated eight times, to compare eight bytes at once: adding 0x80 - x sets the top bit of bytes from x on.
ONES = 0x0101010101010101
TOP = np.uint64(0x80 * ONES)
LOW = np.uint64(0x7F * ONES)
FROM_0, FROM_COLON = np.uint64((0x80 - ord("0")) * ONES), np.uint64((0x80 - ord("9") - 1) * ONES)
FROM_A, FROM_BRACE = np.uint64((0x80 - ord("a")) * ONES), np.uint64((0x80 - ord("z") - 1) * ONES)
FROM_BANG, FROM_DELETE = np.uint64((0x80 - ord("!")) * ONES), np.uint64((0x80 - 0x7F) * ONES)
EACH, ATS, BANGS = np.uint64(ONES), np.uint64(ord("@") * ONES), np.uint64(ord("!") * ONES)
CASE = np.uint64(0x20 * ONES)  # the bit in which a lower-case letter differs from its capital
CASE_SHIFT = np.uint64(2)  # from the top bit to that one


# hashes


def seeds(n: int) -> Hashes:
    """The seeds for n vocabularies that share a table; the first is SEED."""
    return np.array([int(SEED) * pow(int(MULTIPLIER), i, 1 << 64) % (1 << 64) for i in range(n)], np.uint64)


@inner(**INLINE)
def mix(hashed: Any, chunk: Any) -> Any:
    """The hash after one more chunk (or, at the end, the number of bytes)."""
    hashed = (hashed ^ chunk) * MULTIPLIER
    return hashed ^ (hashed >> HALF)


@inner(**INLINE)
def plain_letters(eight: Any, words: bool, lowercase: bool) -> Any:
    """How many of eight bytes, from the first, continue a plain ASCII word; and these bytes, folded.

    "Cats, an" -> 4, "cats"; with `words`, letters and digits; otherwise all visible characters
    """
    low = eight & LOW
    small = low | CASE
    letters = (small + FROM_A) & ~(small + FROM_BRACE)
    inside = letters | ((low + FROM_0) & ~(low + FROM_COLON)) if words else (low + FROM_BANG) & ~(low + FROM_DELETE)
    outside = ~inside | eight
    outside &= TOP
    n = trailing_zeros(outside) >> np.uint64(3)
    if lowercase:
        eight |= (letters & TOP) >> CASE_SHIFT
    # If all eight do, the shift is by 64, which is undefined in one step; so shift in two.
    mask = (np.uint64(1) << (n << np.uint64(2)) << (n << np.uint64(2))) - np.uint64(1)
    return np.int64(n), eight & mask


@inner(**INLINE)
def has_at(text: Bytes, i: int) -> bool:
    """Whether there is an @ before the next white space; also True if the text is about to end.

    Eight bytes at a time: most words with a hyphen or an apostrophe are not mail addresses.
    """
    while i + 8 <= len(text):
        eight = eight_bytes(text, i)
        other = eight ^ ATS
        is_at, is_space = (other - EACH) & ~other & TOP, (eight - BANGS) & ~eight & TOP
        found = is_at | is_space
        if found != NOTHING:  # the lowest is right; above it, a carry may have set others
            return is_at & found & (NOTHING - found) != NOTHING
        i += 8
    return True


@inner(**INLINE)
def utf8(code_point: Any) -> Any:
    """The UTF-8 bytes of a folded code point as one number, the first byte lowest, and their number: é -> 0xA9C3, 2.

    -1 is the dotted capital I, folded: i and a combining dot
    """
    if code_point < 0x80:
        return (code_point, 1) if code_point >= 0 else (0x87CC69, 3)
    last = 0x80 | (code_point & 0x3F)
    if code_point < 0x800:
        return 0xC0 | code_point >> 6 | last << 8, 2
    middle = 0x80 | (code_point >> 6 & 0x3F)
    if code_point < 0x10000:
        return 0xE0 | code_point >> 12 | middle << 8 | last << 16, 3
    return 0xF0 | code_point >> 18 | (0x80 | (code_point >> 12 & 0x3F)) << 8 | middle << 16 | last << 24, 4


@inner(**INLINE)
def decode(text: Bytes, i: int) -> Any:
    """The code point at byte `i` of valid UTF-8, and its length in bytes; the opposite of `utf8`."""
    first = np.int64(text[i])
    if first < 0x80:
        return first, 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | (text[i + 1] & 0x3F), 2
    if first < 0xF0:
        return (first & 0x0F) << 12 | np.int64(text[i + 1] & 0x3F) << 6 | (text[i + 2] & 0x3F), 3
    high = (first & 0x07) << 18 | np.int64(text[i + 1] & 0x3F) << 12
    return high | np.int64(text[i + 2] & 0x3F) << 6 | (text[i + 3] & 0x3F), 4


@inner(**INLINE)
def take_byte(hashed: Any, chunk: Any, size: int, byte: Any) -> Any:
    """Takes in a byte; returns the hash of the full chunks, the chunk that is not full yet, the size in bytes."""
    chunk |= np.uint64(byte) << np.uint64(8 * (size & 7))
    size += 1
    if size & 7 == 0:
        hashed, chunk = mix(hashed, chunk), NOTHING
    return hashed, chunk, size


@inner(**INLINE)
def take(hashed: Any, chunk: Any, size: int, code_point: Any) -> Any:
    """Takes in one more folded character; returns the same as `take_byte`."""
    packed, n = utf8(np.int64(code_point))
    for _ in range(n):
        hashed, chunk, size = take_byte(hashed, chunk, size, packed & 0xFF)
        packed >>= 8
    return hashed, chunk, size


@inner(**INLINE)
def finish(hashed: Any, chunk: Any, size: int) -> Any:
    """The hash of a word whose characters are all taken in."""
    if size & 7:
        hashed = mix(hashed, chunk)
    return mix(hashed, np.uint64(size))


@njit(**LEAN)
def hash_words(letters: Bytes, starts: Offsets, hashes: Hashes) -> None:
    """The hash of each word in a list of concatenated words; nothing is folded.

    Word i is letters[starts[i] : starts[i + 1]].
    """
    for word in range(len(starts) - 1):
        i, end, hashed, chunk = starts[word], starts[word + 1], SEED, NOTHING
        size = end - i
        while i + 8 <= end:
            hashed = mix(hashed, eight_bytes(letters, i))
            i += 8
        for j in range(end - i):
            chunk |= np.uint64(letters[i + j]) << np.uint64(8 * j)
        hashes[word] = finish(hashed, chunk, size)


# words


@inner(**INLINE)
def place_of(slots: Slots, hashed: Any) -> Any:
    """Where the search for a hash begins."""
    return (hashed ^ (hashed >> HALF)) & np.uint64(len(slots) - 1)


@inner(**INLINE)
def slot_of(slots: Slots, hashed: Any) -> Any:
    """The slot that holds a hash, or the free slot where it belongs."""
    mask = np.uint64(len(slots) - 1)
    place = place_of(slots, hashed)
    while slots[place, 1] != 0 and slots[place, 0] != hashed:
        place = (place + np.uint64(1)) & mask
    return place


@njit(**LEAN)
def fill_slots(slots: Slots, hashes: Hashes) -> int:
    """Puts word i with hashes[i] into the empty `slots`; returns the first word whose hash was there already, or -1."""
    for word in range(len(hashes)):
        place = slot_of(slots, hashes[word])
        if slots[place, 1] != 0:
            return word
        slots[place, 0], slots[place, 1] = hashes[word], np.uint64(word + 1)
    return -1


def empty_slots(n_words: int) -> Slots:
    """Slots for `n_words` words, at most half full; `empty_slots(100).shape` -> (256, 2)."""
    return np.zeros((1 << max(8, int(2 * n_words - 1).bit_length()), 2), np.uint64)
