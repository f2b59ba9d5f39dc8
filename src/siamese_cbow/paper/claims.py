"""The paper's claims about systems against each other, tested on this run.

A claim needs one part of the report and some systems (CHECKS); if the run lacks them, the claim is skipped. Each claim
is decided for both readings of the paper's recipe (as published; updates matched) and, where systems are compared, both
as learnt and with the same finishing for all. `evaluation.verdicts` explains how.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from siamese_cbow.base.arrays import Floats
from siamese_cbow.evaluation.verdicts import Statistic, decide_by_runs, decide_statistic
from siamese_cbow.paper import claims_on_sets as sets
from siamese_cbow.paper import claims_on_settings
from siamese_cbow.paper import claims_on_words as words
from siamese_cbow.paper.document import Claim, because, count_of, listed, value_of
from siamese_cbow.paper.paper_figures import paper
from siamese_cbow.paper.recipes import ALIKE, BASELINES, PUBLISHED, READINGS, label_of
from siamese_cbow.paper.treatments import LABELS, TREATMENTS, Treatment
from siamese_cbow.paper.view import View, is_dagger


def claims(view: View) -> tuple[Claim, ...]:
    """Every claim this run can test, in the paper's order; none if no set has a defined score for all systems."""
    if not view.defined:
        return ()
    checks = (check for part, systems, check in CHECKS if part in {*view.parts, ""} and view.has(*systems))
    return tuple(claim for check in checks for claim in check(view))


def _wins(places: Sequence[int]) -> Statistic:
    """On how many of these sets the first system beats all others."""

    def statistic(first: Floats, *others: Floats) -> Floats:
        best = np.max([other[..., places] for other in others], axis=0)
        return (first[..., places] > best).sum(axis=-1).astype(np.float64)  # type: ignore[no-any-return]

    return statistic


def _majority(view: View) -> Iterator[Claim]:
    for key, treatment, setting in view.settings():
        rivals = view.rivals(BASELINES, treatment)
        if not rivals.compared:
            continue
        systems = [view.resampled(system, treatment) for system in (key, *rivals.compared)]
        decision = decide_statistic(_wins(view.defined), *systems, above=len(view.defined) / 2).but(rivals.why)
        yield Claim(
            f"majority-{key}-{treatment}",
            "Siamese CBOW outperforms word2vec and skip-thought on the majority of sets, 14 of 20 (4.1)",
            f"ahead of {listed(map(label_of, rivals.compared))} on {count_of(decision, len(view.defined))}"
            f"{rivals.note}",
            decision.verdict,
            setting,
        )


def _better_than_cbow(view: View) -> Iterator[Claim]:
    theirs = sum(row["siamese"][0] > row["cbow"][0] for row in paper()["table1"])
    for (key, treatment, setting), rival in product(view.settings(), view.among(("cbow", "cbow-tuned"))):
        decision = view.better(key, rival, treatment).but(view.unsound(rival, treatment))
        n, whole = view.n_ahead(key, [rival], "paper") if treatment == "learnt" else (0, 0)
        ahead = f"; ahead on {n} of {whole} sets under the paper's protocol" if whole else ""
        yield Claim(
            f"{rival}-{key}-{treatment}",
            "Vectors trained to be averaged make better averages than word2vec's (section 1, the research question; in "
            f"the paper, they are ahead of CBOW on {theirs} of 20 sets)",
            f"mean Pearson {value_of(decision)}{ahead}",
            decision.verdict,
            setting if rival == "cbow" else f"{setting}; CBOW tuned",
        )


def _daggers(view: View) -> Iterator[Claim]:
    in_paper = sum(row["dagger"] for row in paper()["table1"])
    for key, rival in product(view.among(PUBLISHED), view.among(("cbow", "cbow-tuned"))):
        pairs = list(zip(view.runs(key, "paper"), view.runs(rival, "paper"), strict=False))
        counts = [sum(is_dagger(a, b) for a, b in zip(first.sets, other.sets, strict=True)) for first, other in pairs]
        # Where vectors crowd, so do cosines, and any other system's differ from them.
        decision = decide_by_runs(counts, above=len(view.sets) / 2).but(view.collapsed(rival))
        yield Claim(
            f"daggers-{key}" if rival == "cbow" else f"daggers-{key}-{rival}",
            f"Its cosines differ significantly from word2vec CBOW's on {in_paper} of 20 sets (Table 1; Wilcoxon, p < "
            ".0001)",
            f"on {', '.join(map(str, counts))} of {len(view.sets)} sets in {len(counts)} runs{because(decision)}; note "
            "that the test compares cosines, not quality",
            decision.verdict,
            READINGS[key] if rival == "cbow" else f"{READINGS[key]}; CBOW tuned",
        )


def _fastsent(view: View) -> Iterator[Claim]:
    places = [i for i, pair_set in enumerate(view.sets) if pair_set.group == "2014" and i in view.defined]
    half, wins = len(places) / 2, _wins(places)
    for key, treatment, setting in view.settings() if places else ():
        systems = [view.resampled(system, treatment) for system in (key, "fastsent")]
        even = decide_statistic(lambda *r: -np.abs(wins(*r) - half), *systems, above=-(len(places) / 6 + 0.5))
        decision = even.but(view.unsound("fastsent", treatment))
        ahead = decide_statistic(wins, *systems, above=half)
        yield Claim(
            f"fastsent-{key}-{treatment}",
            "FastSent and Siamese CBOW each outperform the other on half of the 2014 sets, 3 of 6 (4.1; within 1 set)",
            f"Siamese CBOW is ahead on {count_of(replace(ahead, why=decision.why), len(places))}",
            decision.verdict,
            setting,
        )


def _random(view: View) -> Iterator[Claim]:
    for treatment in TREATMENTS:
        for key in view.among([each for each in view.columns if each not in ("random", "contrastive")], treatment):
            decision = view.better(key, "random", treatment)
            why = view.collapsed(key, treatment)
            yield Claim(
                f"random-{key}-{treatment}",
                f"{label_of(key)} beats random vectors, which only see shared words",
                f"mean Pearson {value_of(decision)}{f'; {why}' if why else ''}",
                decision.verdict,
                LABELS[treatment],
                "us",
            )


def _contrastive(view: View) -> Iterator[Claim]:
    """The contrastive objective and recipe against every system, all with the same treatment."""
    settings: list[tuple[str, Treatment]] = [("contrastive", "full"), *(("objective", each) for each in ALIKE)]
    for first, treatment in settings:
        given = view.given(first, treatment)
        if given is None:
            continue
        for key in view.among((*BASELINES, "fastsent", *PUBLISHED), treatment):
            decision = view.better(first, key, given, treatment).but(view.unsound(key, treatment))
            yield Claim(
                f"{first}-{key}-{treatment}",
                f"The contrastive {'objective' if first == 'objective' else 'recipe'} beats {label_of(key)}",
                f"mean Pearson {value_of(decision)}",
                decision.verdict,
                LABELS[treatment],
                "us",
            )


def _brings(view: View) -> Iterator[Claim]:
    """What training adds to stems, weights and n-grams: the recipe against random vectors that have all of these."""
    if not view.among(["random"], "full"):
        return
    decision = view.better("contrastive", "random", "learnt", "full")
    yield Claim(
        "contrastive-learns",
        "Training matters in the contrastive recipe: it beats random vectors with the same stems, weights and n-grams",
        f"mean Pearson {value_of(decision)}",
        decision.verdict,
        "",
        "us",
    )


# part of the report ("": any), the systems it compares, and the function that yields its claims
CHECKS: tuple[tuple[str, tuple[str, ...], Callable[[View], Iterator[Claim]]], ...] = (
    ("table1", ("siamese",), _majority),
    ("table1", ("siamese", "cbow"), _better_than_cbow),
    ("table1", ("siamese", "cbow"), _daggers),
    ("analysis", (), sets.facts),
    ("analysis", ("siamese",), sets.overlap),
    ("table1", ("siamese",), sets.named_sets),
    ("table2", ("fastsent", "siamese"), _fastsent),
    ("", (), claims_on_settings.epochs),
    ("", (), claims_on_settings.negatives),
    ("", (), claims_on_settings.dimensions),
    ("table3", (), words.operations),
    ("table3", ("siamese", "skip-thought"), words.time),
    ("words", ("siamese",), words.norms),
    ("words", ("siamese",), words.related),
    ("words", ("siamese", "cbow"), words.strictness),
    ("table2", ("siamese", "fastsent"), words.parameters),
    ("table1", ("random",), _random),
    ("table1", ("contrastive",), _contrastive),
    ("table1", ("contrastive", "random"), _brings),
)
