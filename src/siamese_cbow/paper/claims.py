"""What the paper says of systems against each other, held against this run. Every verdict is computed.

A claim needs a part of the report and some systems (CHECKS); where they were not part of the run, it is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from siamese_cbow.evaluation.score_tables import number
from siamese_cbow.paper import claims_on_settings as settings
from siamese_cbow.paper.document import Claim, Verdict, verdict
from siamese_cbow.paper.recipes import BASELINES, label_of
from siamese_cbow.paper.view import View, is_dagger, paper

P = 0.05  # of Williams' test, as its sentence says


def claims(view: View) -> tuple[Claim, ...]:
    """All that can be said of this run, in the order of the paper."""
    checks = (check for part, systems, check in CHECKS if part in {*view.parts, ""} and view.has(*systems))
    return tuple(claim for check in checks for claim in check(view))


def _majority(view: View) -> Iterator[Claim]:
    rivals = view.among(BASELINES)
    if not rivals:
        return
    n, whole = view.n_ahead("siamese", rivals, "paper")
    yield Claim(
        "majority",
        "Siamese CBOW outperforms word2vec and skip-thought on the majority of sets, 14 of 20",
        f"it is the best of the {len(rivals) + 1} on {n} of {whole} sets (protocol paper)",
        verdict(n > whole / 2),
    )


def _better_than_cbow(view: View) -> Iterator[Claim]:
    n, whole = view.n_ahead("siamese", ["cbow"], "paper")
    theirs = sum(row["siamese"][0] > row["cbow"][0] for row in paper()["table1"])
    yield Claim(
        "cbow",
        f"Vectors trained to be averaged are better at it than word2vec's: ahead of CBOW on {theirs} of 20 sets",
        f"ahead of CBOW on {n} of {whole} sets (protocol paper). {_really(view, 'siamese')}",
        verdict(n > whole / 2),
    )
    daggers = [is_dagger(row["siamese"], row["cbow"]) for _, row in view.rows("paper")]
    in_paper = sum(row["dagger"] for row in paper()["table1"])
    yield Claim(
        "daggers",
        f"Its cosines differ significantly from CBOW's on {in_paper} of 20 sets (Wilcoxon, p < .0001)",
        f"on {sum(daggers)} of {len(daggers)} sets; but the test compares cosines, not quality",
        verdict(sum(daggers) > len(daggers) / 2),
    )


def _really(view: View, key: str) -> str:
    """What Williams' test says of the differences, in words."""
    sets = view.comparison(key, "cbow").sets
    sure = [row.difference or 0.0 for row in sets if row.williams_p is not None and row.williams_p < P]
    better, worse = sum(x > 0 for x in sure), sum(x < 0 for x in sure)
    return f"Williams' test (p < .05, protocol official) is sure of {better} sets, and of the opposite on {worse}"


def _random(view: View) -> Iterator[Claim]:
    chance = view.scores("random").mean_pearson
    against = {key: _against_random(view, key) for key in view.columns if key != "random"}
    if "siamese" in against:
        judged, text = against.pop("siamese")
        yield Claim(
            "random-siamese",
            "Not in the paper: Siamese CBOW is ahead of random vectors, which only see words in common",
            f"{text} against {number(chance)} of random vectors (protocol official)",
            judged,
            "us",
        )
    if against:
        good = [key for key, (judged, _) in against.items() if judged == "holds"]
        yield Claim(
            "random-others",
            "The other systems are ahead of random vectors",
            "; ".join(f"{label_of(key)} {text}" for key, (_, text) in against.items()),
            verdict(len(good) == len(against), good),
            "us",
        )


def _against_random(view: View, key: str) -> tuple[Verdict, str]:
    n, whole = view.n_ahead(key, ["random"])
    mean, chance = (view.scores(other).mean_pearson for other in (key, "random"))
    higher = mean is not None and chance is not None and mean > chance
    judged = verdict(higher and n > whole / 2, higher or n > whole / 2)
    return judged, f"ahead on {n} of {whole} sets, mean Pearson {number(mean)}"


def _contrastive(view: View) -> Iterator[Claim]:
    rivals = view.among((*BASELINES, "fastsent", "siamese"))
    if not rivals:
        return
    counts = {key: view.n_ahead("contrastive", [key]) for key in rivals}
    ahead = [key for key, (n, whole) in counts.items() if n > whole / 2]
    listed = ", ".join(f"{label_of(key)} on {n} of {whole}" for key, (n, whole) in counts.items())
    sure = f". {_really(view, 'contrastive').replace('sure of', 'sure against CBOW of')}" if view.has("cbow") else ""
    yield Claim(
        "contrastive",
        "The contrastive recipe is ahead of every system above on most sets",
        f"ahead of {listed} (protocol official){sure}",
        verdict(len(ahead) == len(rivals), ahead),
        "us",
    )


def _overlap(view: View) -> Iterator[Claim]:
    keys = [key for key in view.columns if key != "random"]
    if not keys or len(view.sets) < 4:
        return
    rows = sorted(view.rows("official"), key=lambda row: row[0].text().overlap)[:2]
    means = {key: mean for key in keys if (mean := view.scores(key).mean_pearson) is not None}
    figures = {key: [r for _, scores in rows if (r := scores[key].pearson) is not None] for key in means}
    below = [key for key in means if len(figures[key]) == 2 and max(figures[key]) < means[key]]
    yield Claim(
        "overlap",
        "All methods have trouble with the sets of little lexical overlap (2013 FNWN, 2015 answers-forums)",
        f"least overlap: {' and '.join(pair_set.name for pair_set, _ in rows)}; both are below a system's own mean for "
        f"{len(below)} of {len(keys)} systems",
        verdict(len(below) == len(keys), below),
    )


def _fastsent(view: View) -> Iterator[Claim]:
    rows = [scores for pair_set, scores in view.rows() if pair_set.group == "2014"]
    if not rows:
        return
    figures = [(row["siamese"].pearson, row["fastsent"].pearson) for row in rows]
    n = sum(a is not None and b is not None and a > b for a, b in figures)
    yield Claim(
        "fastsent",
        "FastSent and Siamese CBOW each outperform the other on half of the sets of 2014, 3 of 6",
        f"Siamese CBOW is ahead on {n} of {len(rows)}, FastSent on {len(rows) - n}",
        verdict(abs(2 * n - len(rows)) <= 1, 0 < n < len(rows)),
    )


# part of the report ("": whatever there is) -> the systems that are compared, and the claims about them
CHECKS: tuple[tuple[str, tuple[str, ...], Callable[[View], Iterator[Claim]]], ...] = (
    ("table1", ("siamese",), _majority),
    ("table1", ("siamese", "cbow"), _better_than_cbow),
    ("analysis", (), _overlap),
    ("table2", ("fastsent", "siamese"), _fastsent),
    ("", (), settings.epochs),
    ("", (), settings.negatives),
    ("", (), settings.dimensions),
    ("table3", ("siamese", "skip-thought"), settings.time),
    ("words", ("siamese",), settings.norms),
    ("words", ("siamese", "cbow"), settings.strictness),
    ("table1", ("random",), _random),
    ("table1", ("contrastive",), _contrastive),
)
