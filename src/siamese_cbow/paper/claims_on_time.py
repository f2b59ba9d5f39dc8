"""What the paper says of time (4.3): operations, counted, and seconds, measured."""

from __future__ import annotations

from collections.abc import Iterator

from siamese_cbow.evaluation.verdicts import FAILS, HOLDS, UNDECIDED
from siamese_cbow.paper import operations as counts
from siamese_cbow.paper.document import Claim
from siamese_cbow.paper.system_tables import seconds
from siamese_cbow.paper.view import View, paper

FASTER = 10  # times: what counts as far faster


def operations(view: View) -> Iterator[Claim]:
    """Section 4.3: operations, by counting them."""
    n = 10
    averaged, recurrent = counts.averaging(n), counts.skip_thought(n)
    right = averaged[counts.ADDED] == n - 1 and averaged[counts.SCALED] == 1 and averaged.total() == n
    yield Claim(
        "operations-averaging",
        "Averaging |T| words takes |T| - 1 vector additions and 1 multiplication by a number (4.3)",
        f"of {n} words: {averaged[counts.ADDED]} additions, {averaged[counts.SCALED]} multiplication",
        HOLDS if right else FAILS,
    )
    wanted = {counts.ADDED: 5, counts.MULTIPLIED: 4, counts.ELEMENTWISE: 3, counts.MATRIX: 6}
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
