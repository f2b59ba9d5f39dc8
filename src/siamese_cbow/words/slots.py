"""Hash tables of the scanner: from the 64-bit hash of a word to its number.

slots    (capacity, 2) uint64, open addressing, capacity a power of two: [hash, id + 1], 0 where free
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from siamese_cbow.machine.compiling import INLINE, LEAN
from siamese_cbow.words.hash_table import HALF

Slots: TypeAlias = NDArray[np.uint64]


@njit(**INLINE)
def place_of(slots: Slots, hashed: Any) -> Any:
    """Where the search for a hash begins."""
    return (hashed ^ (hashed >> HALF)) & np.uint64(len(slots) - 1)


@njit(**INLINE)
def slot_of(slots: Slots, hashed: Any) -> Any:
    """Where a hash stands, or the free place where it belongs."""
    mask = np.uint64(len(slots) - 1)
    place = place_of(slots, hashed)
    while slots[place, 1] != 0 and slots[place, 0] != hashed:
        place = (place + np.uint64(1)) & mask
    return place


@njit(**LEAN)
def fill_slots(slots: Slots, hashes: NDArray[np.uint64]) -> int:
    """Puts word i with hashes[i] into the empty `slots`; returns the first word whose hash was there already, or -1."""
    for word in range(len(hashes)):
        place = slot_of(slots, hashes[word])
        if slots[place, 1] != 0:
            return word
        slots[place, 0], slots[place, 1] = hashes[word], np.uint64(word + 1)
    return -1


def empty_slots(n_words: int) -> Slots:
    """Room for `n_words` words, at most half full; `empty_slots(100).shape` -> (256, 2)."""
    return np.zeros((1 << max(8, int(2 * n_words - 1).bit_length()), 2), np.uint64)
