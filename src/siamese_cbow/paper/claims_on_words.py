"""What the paper says of single words (4.4) and of the size of models (5), held against this run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from siamese_cbow.evaluation.verdicts import FAILS, HOLDS, NEAR, Decision, decide_by_runs
from siamese_cbow.paper.document import Claim
from siamese_cbow.paper.inspection import FREQUENT
from siamese_cbow.paper.recipes import PARTS, PUBLISHED, READINGS, SYSTEMS, label_of
from siamese_cbow.paper.view import View, paper
from siamese_cbow.paper.work_plan import Run

MANY = 6  # of ten words of the paper's


def norms(view: View) -> Iterator[Claim]:
    """Which words are short, and which are long."""
    for key in _readings(view):
        for end, claim in (
            ("lowest", "Words that say little have the shortest vectors"),
            ("highest", "At the other end are many personal pronouns"),
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
                f"{', '.join(map(str, counts))} of ten are on the paper's list in {len(counts)} trainings; the first: "
                f"{' '.join(word for word, _ in runs[0])}. Among the {FREQUENT:,} most frequent words {n_frequent} of "
                f"ten. It holds from {MANY} of ten on in every training",
                decision.verdict,
                _named(key),
            )


def related(view: View) -> Iterator[Claim]:
    """The words near to her and me."""
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
    for key in view.among(("cbow", "skipgram")):
        runs = view.results.systems[key]
        if not all(word in run["words"]["related"] for word in wanted for run in runs):
            continue
        lists = [[word for word, _ in run["words"]["related"]["her"]["top"][:4]] for run in runs]
        shared = [len(set(words) & set(wanted["her"]["word2vec"])) for words in lists]
        decision = decide_by_runs(shared, above=1.5).but(view.unsound(key))
        yield Claim(
            f"related-{key}",
            "In word2vec space the words related to her are she, his, my and hers (4.4; it holds from two of them on)",
            f"the nearest four: {'; '.join(' '.join(words) for words in lists)}{_why(decision)}",
            decision.verdict,
            label_of(key),
        )


def strictness(view: View) -> Iterator[Claim]:
    """Whether Siamese CBOW relates fewer words to each other than word2vec does."""
    means = {
        key: [float(np.mean([near["n_near"] for near in run["words"]["related"].values()] or [0])) for run in runs]
        for key in view.among(PARTS["words"])
        if (runs := view.results.systems[key])
    }
    listed = ", ".join(f"{label_of(key)} {np.mean(values):,.1f}" for key, values in means.items())
    for key in _readings(view):
        differences = [theirs - ours for ours in means[key] for theirs in means["cbow"]]
        decision = decide_by_runs(differences, above=0).but(view.unsound("cbow"))
        if not any(means[key]):
            decision = decision.but("its vectors have hardly left their random start, so it relates no words at all")
        yield Claim(
            f"strictness-{key}",
            "Siamese CBOW is very strict in which words it relates to each other, compared with word2vec (4.4)",
            f"words with a cosine above {NEAR} to a pronoun, on average: {listed}{_why(decision)}",
            decision.verdict,
            _named(key),
        )


def parameters(view: View) -> Iterator[Claim]:
    """FastSent learns two matrices."""
    ours, theirs = (view.results.systems[key][0] for key in ("siamese", "fastsent"))
    one, two = ours["n_words"] * ours["dim"], 2 * theirs["n_words"] * theirs["dim"]
    yield Claim(
        "parameters",
        "FastSent has twice as many parameters, as it learns input and output vectors (5)",
        f"{two:,} against {one:,}",
        HOLDS if two == 2 * one else FAILS,
    )


def _readings(view: View) -> list[str]:
    """The paper's recipe in both readings, and its program."""
    return view.among((*PUBLISHED, "program-matched"))


def _named(key: str) -> str:
    return READINGS.get(key, SYSTEMS[key].short)


def _nearest(run: Run, word: str) -> str:
    nearest = run["words"]["related"][word]["nearest"]
    return f"{nearest[0]} {nearest[1]:.2f}" if nearest else "none"


def _why(decision: Decision) -> str:
    return f" ({decision.why})" if decision.why else ""
