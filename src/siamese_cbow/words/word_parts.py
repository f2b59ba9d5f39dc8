"""Beginnings and n-grams of words, hashed without making a string: for unknown words in bulk.

The definitions, in plain Python, are in `unknown_words`; tests check that the two agree. Beginnings are in a table:

    known: plays, play, player     beginnings: pla, play, plays -> 0, playe, player -> 2, ...
    playful  ->  playful, playfu, playf: no beginning of a known word; play: 0, so it counts as plays

It holds the beginnings of all known words that leave at most LEFT_OVER letters, each with the first, and so most
frequent, of its words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Ids, Offsets
from siamese_cbow.machine.compiling import INLINE, LEAN, inner
from siamese_cbow.words import characters
from siamese_cbow.words.hash_table import (
    NOTHING,
    SEED,
    Hashes,
    Slots,
    decode,
    empty_slots,
    finish,
    mix,
    slot_of,
    take,
)
from siamese_cbow.words.unknown_words import BEGIN, CUT, END, KEYS_ONLY, NINE, NONE, PER_CHARACTER, ZERO
from siamese_cbow.words.vocabulary import IN_COMMON, LEFT_OVER

N_BEGINNINGS = LEFT_OVER + 1  # of a word, the whole word included
NO_BEGINNINGS: Slots = np.zeros((0, 2), np.uint64)
SMALL_I, COMBINING_DOT = 0x69, 0x307


# beginnings of words


def beginnings_of(letters: Bytes, starts: Offsets) -> Slots:
    """The table for words written one after another, the most frequent first: word i is letters[starts[i]:...]."""
    as_it_is = characters.folds(lowercase=False, words=False)
    slots = empty_slots(2 * len(starts))
    while not _fill_beginnings(slots, letters, starts, as_it_is, np.empty(N_BEGINNINGS, np.uint64)):
        slots = np.zeros((2 * len(slots), 2), np.uint64)
    return slots


@njit(**LEAN)
def _fill_beginnings(slots: Slots, letters: Bytes, starts: Offsets, folds: NDArray[np.int32], hashes: Hashes) -> bool:
    """Fills an empty table; False if it is too small."""
    n_taken = 0
    for word in range(len(starts) - 1):
        n = _hash_beginnings(letters, starts[word], starts[word + 1], folds, hashes)
        for length in range(n, max(IN_COMMON, n - LEFT_OVER) - 1, -1):
            place = slot_of(slots, hashes[length % N_BEGINNINGS])
            if slots[place, 1] == 0:
                slots[place, 0], slots[place, 1] = hashes[length % N_BEGINNINGS], np.uint64(word + 1)
                n_taken += 1
                if 2 * n_taken > len(slots):
                    return False
    return True


@inner(**LEAN)
def counts_as(text: Bytes, i: int, end: int, folds: NDArray[np.int32], beginnings: Slots, hashes: Hashes) -> Any:
    """The id + 1 of the known word that the word text[i:end] counts as; 0 if there is none.

    hashes  (N_BEGINNINGS,) to work in
    """
    n = _hash_beginnings(text, i, end, folds, hashes)
    for length in range(n, max(IN_COMMON, n - LEFT_OVER) - 1, -1):
        known = beginnings[slot_of(beginnings, hashes[length % N_BEGINNINGS]), 1]
        if known != 0:
            return known
    return NOTHING


@inner(**LEAN)
def _hash_beginnings(text: Bytes, i: int, end: int, folds: NDArray[np.int32], hashes: Hashes) -> int:
    """The number n of letters of text[i:end], folded; also fills `hashes`.

    hashes[k % N_BEGINNINGS] becomes the hash of the first k letters, for the N_BEGINNINGS largest k up to n.
    """
    n = 0
    hashed, chunk, size = SEED, NOTHING, 0
    while i < end:
        code_point, width = decode(text, i)
        i += width
        folded = np.int64(folds[code_point])
        if folded < 0:  # the dotted capital I becomes two letters
            hashed, chunk, size = take(hashed, chunk, size, SMALL_I)
            n += 1
            hashes[n % N_BEGINNINGS] = finish(hashed, chunk, size)
            folded = np.int64(COMBINING_DOT)
        hashed, chunk, size = take(hashed, chunk, size, folded)
        n += 1
        hashes[n % N_BEGINNINGS] = finish(hashed, chunk, size)
    return n


# n-grams of words


@inner(**LEAN)
def hash_ngrams(
    text: Bytes, i: int, end: int, folds: NDArray[np.int32], n_buckets: int, points: Offsets, buckets: Ids, n: int
) -> tuple[int, Any]:
    """Writes the buckets of the n-grams of text[i:end], folded, to buckets[n:]; returns the new n and the word's key.

    points  (CUT + 2,) to work in
    """
    n_points, key, mask = 1, SEED, np.uint64(n_buckets - 1)
    points[0] = BEGIN
    while i < end:
        code_point, width = decode(text, i)
        i += width
        folded = np.int64(folds[code_point])
        if folded < 0:  # the dotted capital I becomes two letters
            key = mix(key, np.uint64(SMALL_I))
            if n_points <= CUT:
                points[n_points] = SMALL_I
                n_points += 1
            folded = np.int64(COMBINING_DOT)
        key = mix(key, np.uint64(folded))
        if n_points <= CUT:
            points[n_points] = folded
            n_points += 1
    if n_buckets == KEYS_ONLY:
        return n, key
    points[n_points] = END
    # Written out for 2 to 4 characters, and without a branch for digits: twice as fast as loops.
    for first in range(n_points):
        left = n_points - first
        hashed = mix(mix(SEED, np.uint64(points[first])), np.uint64(points[first + 1]))
        has_digit = _is_digit(points[first]) | _is_digit(points[first + 1])
        buckets[n] = NONE if has_digit else np.int32(hashed & mask)
        if left > 1:
            hashed = mix(hashed, np.uint64(points[first + 2]))
            has_digit |= _is_digit(points[first + 2])
            buckets[n + 1] = NONE if has_digit else np.int32(hashed & mask)
        if left > 2:
            hashed = mix(hashed, np.uint64(points[first + 3]))
            has_digit |= _is_digit(points[first + 3])
            buckets[n + 2] = NONE if has_digit else np.int32(hashed & mask)
        n += min(PER_CHARACTER, left)
    return n, key


@inner(**INLINE)
def _is_digit(point: Any) -> Any:
    return np.uint64(point - ZERO) <= np.uint64(NINE - ZERO)


def ngrams_of(letters: Bytes, starts: Offsets, n_buckets: int) -> tuple[Ids, Offsets, NDArray[np.uint64]]:
    """The buckets and keys of words written one after another, not folded: word k has buckets[ends[k] : ends[k + 1]].

    The same as `unknown_words.ngrams` and `key_of` for each word.
    """
    buckets, ends = np.empty(PER_CHARACTER * len(letters), np.int32), np.zeros(len(starts), np.int64)
    as_it_is, points = characters.folds(lowercase=False, words=False), np.empty(CUT + 2, np.int64)
    keys = np.zeros(len(starts) - 1, np.uint64)
    n = _ngrams_of(letters, starts, as_it_is, n_buckets, points, buckets, ends, keys)
    return buckets[:n], ends, keys


@njit(**LEAN)
def _ngrams_of(
    letters: Bytes,
    starts: Offsets,
    folds: NDArray[np.int32],
    n_buckets: int,
    points: Offsets,
    buckets: Ids,
    ends: Offsets,
    keys: NDArray[np.uint64],
) -> int:
    n = 0
    for word in range(len(starts) - 1):
        n, keys[word] = hash_ngrams(letters, starts[word], starts[word + 1], folds, n_buckets, points, buckets, n)
        ends[word + 1] = n
    return n
