"""The paper's claims about time (4.3), single words (4.4) and model size (5), tested on this run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from siamese_cbow.evaluation.verdicts import FAILS, HOLDS, NEAR, UNDECIDED, Decision, decide_by_runs
from siamese_cbow.paper.document import Claim, because
from siamese_cbow.paper.paper_figures import paper
from siamese_cbow.paper.recipes import PUBLISHED, READINGS, SYSTEMS, WORD2VEC, label_of
from siamese_cbow.paper.system_tables import seconds
from siamese_cbow.paper.treatments import FREQUENT
from siamese_cbow.paper.view import View
from siamese_cbow.paper.work_plan import Run

MANY = 6  # of the paper's ten words


def norms(view: View) -> Iterator[Claim]:
    """Which words have the shortest and the longest vectors."""
    for key in _readings(view):
        for end, claim in (
            ("lowest", "Words that carry little meaning have the shortest vectors"),
            ("highest", "Many of the longest vectors belong to personal pronouns"),
        ):
            wanted = set(paper()[f"{end}_norm"])
            runs = [run["words"]["norms"]["all"][end] for run in view.results.systems[key]]
            counts = [sum(word.lower() in wanted for word, _ in run) for run in runs]
            frequent = view.results.systems[key][0]["words"]["norms"]["frequent"][end]
            n_frequent = sum(word.lower() in wanted for word, _ in frequent)
            decision = decide_by_runs(counts, above=MANY - 0.5)
            yield Claim(
                f"norms-{end}-{key}",
                f"{claim}: {' '.join(paper()[f'{end}_norm'])} (4.4)",
                f"{', '.join(map(str, counts))} of ten are on the paper's list in {len(counts)} runs; in the first "
                f"run: {' '.join(word for word, _ in runs[0])}. Among the {FREQUENT:,} most frequent words: "
                f"{n_frequent} of ten. The claim holds if every run has at least {MANY} of ten",
                decision.verdict,
                _named(key),
            )


def related(view: View) -> Iterator[Claim]:
    """The nearest neighbours of her and me."""
    wanted = paper()["related"]
    for key in _readings(view):
        runs = view.results.systems[key]
        if not all(word in run["words"]["related"] for word in wanted for run in runs):
            continue
        her = [{word for word, _ in run["words"]["related"]["her"]["near"]} for run in runs]
        right = [float(near == set(wanted["her"]["siamese"])) for near in her]
        yield Claim(
            f"related-her-{key}",
            "The only word with a cosine above .6 to her is she (4.4)",
            "; ".join(
                " ".join(sorted(near)) or f"none, nearest {_nearest(run, 'her')}"
                for near, run in zip(her, runs, strict=True)
            ),
            decide_by_runs(right, above=0.5).verdict,
            _named(key),
        )
        tops = [[word for word, _ in run["words"]["related"]["me"]["top"][:2]] for run in runs]
        right = [float(set(top) == set(wanted["me"]["siamese"])) for top in tops]
        yield Claim(
            f"related-me-{key}",
            "The words most closely related to me are I and my (4.4)",
            "; ".join(" ".join(top) for top in tops),
            decide_by_runs(right, above=0.5).verdict,
            _named(key),
        )
    for key in view.among(WORD2VEC):
        runs = view.results.systems[key]
        if not all(word in run["words"]["related"] for word in wanted for run in runs):
            continue
        lists = [[word for word, _ in run["words"]["related"]["her"]["top"][:4]] for run in runs]
        shared = [len(set(words) & set(wanted["her"]["word2vec"])) for words in lists]
        decision = _unless_collapsed(view, key, decide_by_runs(shared, above=1.5))
        yield Claim(
            f"related-{key}",
            "In word2vec space the words related to her are she, his, my and hers (4.4; two of them are enough)",
            f"the four nearest: {'; '.join(' '.join(words) for words in lists)}{because(decision)}",
            decision.verdict,
            label_of(key),
        )
        first = [run["words"]["related"]["me"]["top"][0][0] for run in runs]
        right = [float([word] == wanted["me"]["word2vec"]) for word in first]
        decision = _unless_collapsed(view, key, decide_by_runs(right, above=0.5))
        yield Claim(
            f"related-me-{key}",
            "In word2vec space the word most closely related to me is him (4.4)",
            f"{'; '.join(first)}{because(decision)}",
            decision.verdict,
            label_of(key),
        )


def _unless_collapsed(view: View, key: str, decision: Decision) -> Decision:
    """The words of a collapsed system neither support nor refute the paper."""
    why = view.collapsed(key)
    return Decision(UNDECIDED, decision.value, decision.interval, why) if why else decision


def strictness(view: View) -> Iterator[Claim]:
    """Whether Siamese CBOW relates fewer words to each other than word2vec does."""

    def near(key: str) -> list[float]:
        runs = view.results.systems[key]
        return [float(np.mean([each["n_near"] for each in run["words"]["related"].values()] or [0])) for run in runs]

    for key, rival in product(_readings(view), view.among(WORD2VEC)):
        ours, theirs = near(key), near(rival)
        differences = [their - our for our, their in product(ours, theirs)]
        decision = _unless_collapsed(view, rival, decide_by_runs(differences, above=0))
        if not any(ours):
            decision = decision.but("its vectors have hardly moved from random, so it relates no words")
        yield Claim(
            f"strictness-{key}-{rival}",
            "Siamese CBOW is stricter than word2vec about which words it relates to each other (4.4)",
            f"mean number of words with a cosine above {NEAR} to a pronoun: {np.mean(ours):,.1f}, {label_of(rival)} "
            f"{np.mean(theirs):,.1f}{because(decision)}",
            decision.verdict,
            f"{_named(key)}; {SYSTEMS[rival].short}",
        )


def parameters(view: View) -> Iterator[Claim]:
    """FastSent learns two matrices."""
    ours, theirs = (view.results.systems[key][0] for key in ("siamese", "fastsent"))
    once, twice = ours["n_words"] * ours["dim"], 2 * theirs["n_words"] * theirs["dim"]
    yield Claim(
        "parameters",
        "FastSent has twice as many parameters, as it learns input and output vectors (5)",
        f"{twice:,} against {once:,}",
        HOLDS if twice == 2 * once else FAILS,
    )


def _readings(view: View) -> list[str]:
    """Both readings of the paper's recipe, and the authors' program."""
    return view.among((*PUBLISHED, "program-matched"))


def _named(key: str) -> str:
    return READINGS.get(key, SYSTEMS[key].short)


def _nearest(run: Run, word: str) -> str:
    nearest = run["words"]["related"][word]["nearest"]
    return f"{nearest[0]} {nearest[1]:.2f}" if nearest else "none"


# Operations are counted by running the paper's equations on values that record what is done to them.

FASTER = 10  # times: the factor that counts as far faster
ADDED, MULTIPLIED, ELEMENTWISE, MATRIX, SCALED = (
    "vector additions",
    "element-wise multiplications",
    "element-wise functions",
    "matrix multiplications",
    "scalar multiplications",
)


@dataclass(frozen=True)
class Tallied:
    """A vector without numbers, which only counts the operations done to it and to its peers."""

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
        """A sigmoid or tanh of every element."""
        return self._did(ELEMENTWISE)


def averaging(n_words: int) -> Counter[str]:
    """The operations to average `n_words` words: `averaging(5)` -> 4 additions, 1 scalar multiplication."""
    tally: Counter[str] = Counter()
    words = [Tallied(tally) for _ in range(n_words)]
    total = words[0]
    for word in words[1:]:
        total = total + word
    _ = total * (1 / n_words)
    return tally


def skip_thought(n_words: int) -> Counter[str]:
    """The operations of the paper's GRU equations over `n_words` words."""
    tally: Counter[str] = Counter()
    h = Tallied(tally)
    for x in [Tallied(tally) for _ in range(n_words)]:
        r = ("W_r" @ x + "U_r" @ h).squashed()
        z = ("W_z" @ x + "U_z" @ h).squashed()
        candidate = ("W" @ x + "U" @ (r * h)).squashed()
        h = (1 - z) * h + z * candidate
    return tally


def operations(view: View) -> Iterator[Claim]:
    """Section 4.3: the number of operations, by counting them."""
    n = 10
    averaged, recurrent = averaging(n), skip_thought(n)
    right = averaged[ADDED] == n - 1 and averaged[SCALED] == 1 and averaged.total() == n
    yield Claim(
        "operations-averaging",
        "Averaging |T| words takes |T| - 1 vector additions and 1 scalar multiplication (4.3)",
        f"for {n} words: {averaged[ADDED]} additions, {averaged[SCALED]} multiplication",
        HOLDS if right else FAILS,
    )
    wanted = {ADDED: 5, MULTIPLIED: 4, ELEMENTWISE: 3, MATRIX: 6}
    differs = [
        f"{recurrent[what] // n}|T| {what}, not {times}|T|"
        for what, times in wanted.items()
        if recurrent[what] != n * times
    ]
    counts = "; ".join(f"{recurrent[what] // n}|T| {what}" for what in wanted)
    yield Claim(
        "operations-skip-thought",
        "Skip-thought takes 5|T| vector additions, 4|T| element-wise multiplications, 3|T| element-wise operations and "
        "6|T| matrix multiplications (4.3)",
        f"counted in its four equations: {counts}" + (f". That is {'; '.join(differs)}" if differs else ""),
        FAILS if differs else HOLDS,
    )


def time(view: View) -> Iterator[Claim]:
    """Table 3: time to compare sentences."""
    ours, theirs = (view.results.systems[key][0]["timing"] for key in ("siamese", "skip-thought"))
    in_paper = paper()["table3"]["skip-thought"]["all"] / paper()["table3"]["siamese"]["all"]
    ratio = theirs["one_by_one"] / ours["one_by_one"]
    ratios = sorted([ratio, *(slow / fast for slow in theirs["parts"] for fast in ours["parts"])])
    yield Claim(
        "time",
        f"Averaging is far faster than skip-thought at prediction time: {in_paper:,.0f} times (4.3, Table 3)",
        f"{ratio:,.0f} times ({ratios[0]:,.0f} to {ratios[-1]:,.0f} when thirds of the pairs are timed again), one "
        f"pair at a time: {seconds(ours['one_by_one'] / ours['n_pairs'])} per pair against "
        f"{seconds(theirs['one_by_one'] / theirs['n_pairs'])} for skip-thought with "
        f"{view.results.systems['skip-thought'][0]['dim']} dimensions; the claim holds above {FASTER} times in every "
        "timing",
        HOLDS if ratios[0] > FASTER else FAILS if ratios[-1] <= FASTER else UNDECIDED,
    )
