"""Section 4.3's count of operations, made by counting: the paper's equations run on values that note what is done.

averaging      |T| - 1 additions of vectors, one multiplication by a number
skip-thought   its four equations for each of |T| words
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

ADDED, MULTIPLIED, ELEMENTWISE, MATRIX, SCALED = (
    "vector additions",
    "element-wise multiplications",
    "element-wise functions",
    "matrix multiplications",
    "multiplications by a number",
)


@dataclass(frozen=True)
class Tallied:
    """A vector that has no numbers, only a tally of what was done with it and its like."""

    tally: Counter[str]

    def _did(self, what: str) -> Tallied:
        self.tally[what] += 1
        return self

    def __add__(self, other: Tallied) -> Tallied:
        return self._did(ADDED)

    def __rsub__(self, one: float) -> Tallied:
        return self._did(ADDED)

    def __mul__(self, other: Tallied | float) -> Tallied:
        return self._did(MULTIPLIED if isinstance(other, Tallied) else SCALED)

    def __rmatmul__(self, matrix: str) -> Tallied:
        return self._did(MATRIX)

    def squashed(self) -> Tallied:
        """A sigmoid or a tanh of every element."""
        return self._did(ELEMENTWISE)


def averaging(n_words: int) -> Counter[str]:
    """What it takes to average so many words: `averaging(5)` -> 4 additions, 1 multiplication by a number."""
    tally: Counter[str] = Counter()
    words = [Tallied(tally) for _ in range(n_words)]
    total = words[0]
    for word in words[1:]:
        total = total + word
    _ = total * (1 / n_words)
    return tally


def skip_thought(n_words: int) -> Counter[str]:
    """The paper's equations of a GRU, for so many words."""
    tally: Counter[str] = Counter()
    h = Tallied(tally)
    for x in [Tallied(tally) for _ in range(n_words)]:
        r = ("W_r" @ x + "U_r" @ h).squashed()
        z = ("W_z" @ x + "U_z" @ h).squashed()
        candidate = ("W" @ x + "U" @ (r * h)).squashed()
        h = (1 - z) * h + z * candidate
    return tally
