"""Which texts may come near a query: a cheap upper bound of each cosine, so that most texts need no mean at all.

    q       the query at length 1                    B   an orthonormal basis, (dim, COLUMNS), whose first vector is q
    v_w     the vector of word w                     s   the sum of v_w over the words of a text
    low     v_w B, a row of COLUMNS numbers a word

    cosine = q.s / |s|  <=  q.s / |s B|              as |s B| <= |s|; and q.s is the first number of s B

So a sum over rows of one cache line each bounds what would take rows of twenty. With a basis of the main directions of
such sums, a hundredth of a million sentences of Wikipedia is left after 16 columns, for which the mean is computed.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from siamese_cbow.base.arrays import Ids, Offsets, Vectors
from siamese_cbow.machine.compiling import LEAN
from siamese_cbow.machine.intrinsics import prefetch_item

COLUMNS = 16  # one cache line
AHEAD = 12  # words; rows lie all over the memory, and asking for them beforehand makes it 1.7 times as fast


@njit(**LEAN)
def promising(low: Vectors, ids: Ids, ends: Offsets, cutoff: float, total: Vectors, out: Ids) -> int:
    """Writes to `out` the texts whose cosine may reach `cutoff` and returns how many; texts without words never may.

    low    (n_words, COLUMNS) float32
    ends   (n_texts,) text i is ids[ends[i - 1] : ends[i]]
    total  (COLUMNS,) float32, scratch memory
    out    (n_texts,) int32
    """
    if len(ends) == 0:
        return 0
    n, start, last = 0, 0, ends[-1]
    for i in range(len(ends)):
        end = ends[i]
        if end > start:
            total[:] = 0
            for j in range(start, end):
                if j + AHEAD < last:
                    prefetch_item(low, np.int64(ids[j + AHEAD]) * COLUMNS)
                row = low[ids[j]]
                for d in range(COLUMNS):
                    total[d] += row[d]
            squares = np.float32(0)
            for d in range(COLUMNS):
                squares += total[d] * total[d]
            if cutoff <= 0 or (total[0] > 0 and total[0] * total[0] >= cutoff * cutoff * squares):
                out[n] = i
                n += 1
        start = end
    return n
