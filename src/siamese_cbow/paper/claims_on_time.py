"""What the paper says of time (4.3): operations, counted, and seconds, measured.

Operations are counted by running the paper's equations on values that note what is done with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from siamese_cbow.evaluation.verdicts import FAILS, HOLDS, UNDECIDED
from siamese_cbow.paper.document import Claim
from siamese_cbow.paper.system_tables import seconds
from siamese_cbow.paper.view import View, paper

FASTER = 10  # times: what counts as far faster
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


def operations(view: View) -> Iterator[Claim]:
    """Section 4.3: operations, by counting them."""
    n = 10
    averaged, recurrent = averaging(n), skip_thought(n)
    right = averaged[ADDED] == n - 1 and averaged[SCALED] == 1 and averaged.total() == n
    yield Claim(
        "operations-averaging",
        "Averaging |T| words takes |T| - 1 vector additions and 1 multiplication by a number (4.3)",
        f"of {n} words: {averaged[ADDED]} additions, {averaged[SCALED]} multiplication",
        HOLDS if right else FAILS,
    )
    wanted = {ADDED: 5, MULTIPLIED: 4, ELEMENTWISE: 3, MATRIX: 6}
    differs = [
        f"{recurrent[what] // n}|T| {what}, not {times}|T|"
        for what, times in wanted.items()
        if recurrent[what] != n * times
    ]
    told_here = "; ".join(f"{recurrent[what] // n}|T| {what}" for what in wanted)
    yield Claim(
        "operations-skip-thought",
        "Skip-thought takes 5|T| vector additions, 4|T| element-wise multiplications, 3|T| element-wise operations and "
        "6|T| matrix multiplications (4.3)",
        f"counted in its four equations: {told_here}" + (f". So {'; '.join(differs)}" if differs else ""),
        FAILS if differs else HOLDS,
    )


def time(view: View) -> Iterator[Claim]:
    """Table 3."""
    ours, theirs = (view.results.systems[key][0]["timing"] for key in ("siamese", "skip-thought"))
    in_paper = paper()["table3"]["skip-thought"]["all"] / paper()["table3"]["siamese"]["all"]
    ratios = sorted(slow / fast for slow in theirs["parts"] for fast in ours["parts"])
    ratio = theirs["one_by_one"] / ours["one_by_one"]
    yield Claim(
        "time",
        f"Averaging is far faster than skip-thought at prediction time: {in_paper:,.0f} times (4.3, Table 3)",
        f"{ratio:,.0f} times, {ratios[0]:,.0f} to {ratios[-1]:,.0f} in parts of the pairs, one by one: "
        f"{seconds(ours['one_by_one'] / ours['n_pairs'])} a pair against "
        f"{seconds(theirs['one_by_one'] / theirs['n_pairs'])} for a skip-thought of "
        f"{view.results.systems['skip-thought'][0]['dim']} dimensions; it holds above {FASTER} in every part",
        HOLDS if ratios[0] > FASTER else FAILS if ratios[-1] <= FASTER else UNDECIDED,
    )
