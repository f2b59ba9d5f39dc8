"""What the paper says of settings, time and words, held against this run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from siamese_cbow.evaluation.score_tables import number
from siamese_cbow.paper.document import Claim, Verdict, verdict
from siamese_cbow.paper.paper_tables import seconds
from siamese_cbow.paper.pieces import FREQUENT, NEAR, PRONOUNS
from siamese_cbow.paper.recipes import PARTS, label_of
from siamese_cbow.paper.view import View, paper

LITTLE = 0.05  # of Pearson: a change below it counts as little, and the sentences say so
MANY = 5  # of ten words
STANDSTILL = 0.01  # of mean Pearson: training that changes less has hardly changed anything


def epochs(view: View) -> Iterator[Claim]:
    """Figure 2: stable over the epochs; and whether training changes anything at all."""
    if curve := view.results.curves.get("siamese"):
        ranges = _ranges(view, [_official(point) for point in curve["points"] if point["epoch"] >= 1])
        widest = max(ranges, key=lambda name: ranges[name], default="")
        course, rise = _from_to(view, curve)
        if abs(rise) < STANDSTILL:  # what does not move is stable anyway
            course += ". That is no feat: at this learning rate and on this much text, training hardly changes anything"
        yield Claim(
            "epochs",
            "Performance is stable over 5 epochs on the majority of sets",
            f"after the first epoch Pearson varies by less than .05 on {_little(ranges)} of "
            f"{len(ranges)} sets, most on {widest} (by {number(ranges.get(widest))}); {course}",
            _most(_little(ranges), len(ranges)),
        )
    if curve := view.results.curves.get("contrastive"):
        course, rise = _from_to(view, curve)
        yield Claim(
            "epochs-contrastive",
            "The contrastive recipe learns what counts: its vectors end better than they start",
            f"{course}; before training, random vectors have the recipe's stems and weights already",
            verdict(rise > 0),
            "us",
        )


def _from_to(view: View, curve: dict[str, Any]) -> tuple[str, float]:
    """Where the mean over sets starts and ends, in words, and by how much it rises; NaN where one is undefined."""
    first, last = (view.mean(_official(curve["points"][i])) for i in (0, -1))
    rise = float("nan") if first is None or last is None else last - first
    return f"mean over sets {number(first)} before any training, {number(last)} at the end", rise


def negatives(view: View) -> Iterator[Claim]:
    """Figure 3."""
    points = view.results.negatives.get("siamese")
    if not points:
        return
    ranges = _ranges(view, [_official(points[n]) for n in sorted(points)])
    yield Claim(
        "negatives",
        "The number of negative examples has limited effect; 1 or 2 suffice",
        f"from {min(points)} to {max(points)} negatives Pearson varies by less than .05 on "
        f"{_little(ranges)} of {len(ranges)} sets; mean over sets {_by_setting(view, points)}",
        _most(_little(ranges), len(ranges)),
    )


def dimensions(view: View) -> Iterator[Claim]:
    """Figure 4."""
    points = view.results.dims.get("siamese")
    if not points:
        return
    low, high = [dim for dim in points if dim <= 100], [dim for dim in points if dim > 100]
    if not low or not high:  # a quick report: the smallest against the largest
        low, high = [min(points)], [max(points)]
    pearsons = {dim: _official(point) for dim, point in points.items()}
    known = [i for i in range(len(view.sets)) if all(row[i] is not None for row in pearsons.values())]
    worse = [i for i in known if max(pearsons[dim][i] for dim in low) < max(pearsons[dim][i] for dim in high)]
    contrastive = view.results.dims.get("contrastive")
    more = f"; with the contrastive recipe {_by_setting(view, contrastive)}" if contrastive else ""
    yield Claim(
        "dimensions",
        "Too few dimensions (50 or 100) invariably lead to inferior results",
        f"the best of {_listed(low)} dimensions is below the best of {_listed(high)} on {len(worse)} of {len(known)} "
        f"sets; mean over sets {_by_setting(view, points)}{more}",
        verdict(bool(known) and len(worse) == len(known), worse),
    )


def time(view: View) -> Iterator[Claim]:
    """Table 3."""
    ours, theirs = (view.results.systems[key]["timing"] for key in ("siamese", "skip-thought"))
    ratio = theirs["one_by_one"] / ours["one_by_one"]
    in_paper = paper()["table3"]["skip-thought"]["all"] / paper()["table3"]["siamese"]["all"]
    yield Claim(
        "time",
        f"Averaging is far faster than skip-thought at prediction time: {in_paper:,.0f} times",
        f"{ratio:,.0f} times, one by one: {seconds(ours['one_by_one'] / ours['n_pairs'])} a pair against "
        f"{seconds(theirs['one_by_one'] / theirs['n_pairs'])} for a skip-thought of "
        f"{view.results.systems['skip-thought']['dim']} dimensions",
        verdict(ratio > 10, ratio > 1),
    )


def norms(view: View) -> Iterator[Claim]:
    """Which words are short, and which are long."""
    extremes = view.results.systems["siamese"]["words"]["norms"]
    little = paper()["lowest_norm"]
    shortest = f"Words that say little get the shortest vectors: {' '.join(little)}"
    for end, claim, wanted, what in (
        ("lowest", shortest, frozenset(little), "on the paper's list"),
        ("highest", "The longest vectors are those of personal pronouns, as in fiction", PRONOUNS, "pronouns"),
    ):
        words, frequent = ([word for word, _ in extremes[among][end]] for among in ("all", "frequent"))
        n, m = (sum(word.lower() in wanted for word in listed) for listed in (words, frequent))
        yield Claim(
            f"norms-{end}",
            claim,
            f"{' '.join(words)}: {n} of {len(words)} are {what}. Among the {FREQUENT:,} most frequent words: "
            f"{' '.join(frequent)}, {m} of {len(frequent)}",
            verdict(n >= MANY, m >= MANY),
        )


def strictness(view: View) -> Iterator[Claim]:
    """Whether Siamese CBOW relates fewer words to each other than word2vec does."""
    looks = {key: view.results.systems[key]["words"]["related"].values() for key in view.among(PARTS["words"])}
    counts = {key: [related["n_near"] for related in look] for key, look in looks.items()}
    if not counts["siamese"]:
        return
    means = {key: float(np.mean(values)) for key, values in counts.items()}
    moved = means["siamese"] > 0
    why = "" if moved else ". The paper's recipe relates none at all: its vectors hardly leave their random start"
    yield Claim(
        "strictness",
        "Siamese CBOW is stricter than word2vec in which words it relates to each other",
        f"words with a cosine above {NEAR} to a pronoun, on average: "
        + ", ".join(f"{label_of(key)} {mean:,.1f}" for key, mean in means.items())
        + why,
        ("holds" if moved else "holds in part") if means["siamese"] < means["cbow"] else "does not hold",
    )


def _official(point: dict[str, Any]) -> list[Any]:
    figures: list[Any] = point["pearsons"]["official"]
    return figures


def _ranges(view: View, rows: Sequence[Sequence[Any]]) -> dict[str, float]:
    """For each set with a figure in every row, the highest less the lowest."""
    columns = {name: [row[i] for row in rows] for i, name in enumerate(view.names)}
    return {name: max(column) - min(column) for name, column in columns.items() if column and None not in column}


def _little(ranges: dict[str, float]) -> int:
    return sum(value < LITTLE for value in ranges.values())


def _most(part: int, whole: int) -> Verdict:
    return verdict(part > whole / 2, part) if whole else "can't be told"


def _by_setting(view: View, points: dict[int, dict[str, Any]]) -> str:
    """`.40 with 50, .42 with 100`: the mean over sets for each value."""
    return ", ".join(f"{number(view.mean(_official(points[n])))} with {n}" for n in sorted(points))


def _listed(values: Sequence[int]) -> str:
    """`_listed([200, 300])` -> "200 and 300"."""
    names = [str(value) for value in sorted(values)]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
