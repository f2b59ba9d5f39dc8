"""The known word that begins like an unknown one, found by the scanner without making a string.

    known: plays, play, player     beginnings: pla, play, plays -> 0, playe, player -> 2, ...
    playful  ->  playful, playfu, playf: no beginning of a known word; play: 0, so it counts as plays

A table has the beginnings of all known words that leave over at most LEFT_OVER letters, each with the first of its
words, which is the most frequent. The definition, in plain Python, is `fallback.Nearest`; tests hold the two equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Offsets
from siamese_cbow.machine.compiling import LEAN
from siamese_cbow.words.hash_table import NOTHING, SEED, decode, finish, take
from siamese_cbow.words.slots import Slots, empty_slots, slot_of

IN_COMMON = 3  # letters, at least
LEFT_OVER = 4  # letters, at most, of the unknown word and of the known one
ROOM = LEFT_OVER + 1  # beginnings of a word
DOT = 0x307  # combining

NO_BEGINNINGS: Slots = np.zeros((0, 2), np.uint64)


def beginnings_of(letters: Bytes, starts: Offsets) -> Slots:
    """The table for words written one after another, the most frequent first: word i is letters[starts[i]:...]."""
    slots = empty_slots(2 * len(starts))
    while not _fill(slots, letters, starts, np.empty(ROOM, np.uint64)):
        slots = np.zeros((2 * len(slots), 2), np.uint64)
    return slots


@njit(**LEAN)
def _fill(slots: Slots, letters: Bytes, starts: Offsets, hashes: NDArray[np.uint64]) -> bool:
    """Fills an empty table; False where it is too small, as it may be half full at most."""
    n_taken = 0
    for word in range(len(starts) - 1):
        n = 0
        hashed, chunk, size, i = SEED, NOTHING, 0, starts[word]
        while i < starts[word + 1]:
            code_point, width = decode(letters, i)
            i += width
            hashed, chunk, size = take(hashed, chunk, size, code_point)
            n += 1
            hashes[n % ROOM] = finish(hashed, chunk, size)
        for length in range(n, max(IN_COMMON, n - LEFT_OVER) - 1, -1):
            place = slot_of(slots, hashes[length % ROOM])
            if slots[place, 1] == 0:
                slots[place, 0], slots[place, 1] = hashes[length % ROOM], np.uint64(word + 1)
                n_taken += 1
                if 2 * n_taken > len(slots):
                    return False
    return True


@njit(**LEAN)
def counts_as(
    text: Bytes, i: int, end: int, folds: NDArray[np.int32], beginnings: Slots, hashes: NDArray[np.uint64]
) -> Any:
    """The id + 1 of the known word that the word text[i:end] counts as; 0 where there is none.

    hashes  (ROOM,) to work in: the last beginnings of the word
    """
    n = 0
    hashed, chunk, size = SEED, NOTHING, 0
    while i < end:
        code_point, width = decode(text, i)
        i += width
        folded = np.int64(folds[code_point])
        if folded < 0:  # the dotted capital I becomes two characters
            hashed, chunk, size = take(hashed, chunk, size, 0x69)
            n += 1
            hashes[n % ROOM] = finish(hashed, chunk, size)
            folded = np.int64(DOT)
        hashed, chunk, size = take(hashed, chunk, size, folded)
        n += 1
        hashes[n % ROOM] = finish(hashed, chunk, size)
    for length in range(n, max(IN_COMMON, n - LEFT_OVER) - 1, -1):
        known = beginnings[slot_of(beginnings, hashes[length % ROOM]), 1]
        if known != 0:
            return known
    return NOTHING
