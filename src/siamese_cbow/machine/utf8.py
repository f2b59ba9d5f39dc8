"""Checks whether bytes are UTF-8, at memory speed and without holding the GIL; does not repair them.

`bytes.decode` blocks all other threads and makes a string that isn't needed; pyarrow is even faster, but it is a
dependency of 170 MB that reading text does not otherwise need.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from siamese_cbow.base.arrays import Bytes
from siamese_cbow.machine.compiling import LEAN
from siamese_cbow.machine.intrinsics import eight_bytes

HIGH_BITS = np.uint64(0x8080808080808080)


@njit(**LEAN)
def is_utf8(data: Bytes) -> bool:
    """Whether `data.decode()` works: no stray bytes, overlong forms, surrogates or code points beyond Unicode."""
    i, n = 0, len(data)
    while i < n:
        while i + 8 <= n and eight_bytes(data, i) & HIGH_BITS == 0:
            i += 8
        if i == n:
            return True
        first = data[i]
        if first < 0x80:
            i += 1
            continue
        length = 2 if 0xC2 <= first < 0xE0 else 3 if 0xE0 <= first < 0xF0 else 4 if 0xF0 <= first < 0xF5 else 0
        if length == 0 or i + length > n:
            return False
        lowest = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80  # below: a shorter form exists
        highest = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF  # above: surrogates, beyond Unicode
        if not lowest <= data[i + 1] <= highest:
            return False
        for k in range(i + 2, i + length):
            if data[k] & 0xC0 != 0x80:
                return False
        i += length
    return True
