"""Table 1: every set, every system, Pearson (Spearman), under either protocol; and the tests behind the daggers."""

from __future__ import annotations

from typing import Any

from siamese_cbow.evaluation.protocol import Protocol
from siamese_cbow.evaluation.releases import WHERE
from siamese_cbow.evaluation.score_tables import number, probability, signed
from siamese_cbow.evaluation.scores import SetScore
from siamese_cbow.evaluation.significance import DAGGER, wilcoxon
from siamese_cbow.paper.document import Cell, Row, Section, Table, best_of, text_row
from siamese_cbow.paper.figures import paper_figure, paper_row, paper_sets
from siamese_cbow.paper.recipes import label_of
from siamese_cbow.paper.view import SIAMESE, View

MISSING = "–"


def section(view: View) -> Section:
    """Both tables, the tests, and what a reader has to know."""
    absent = [
        f"{year} {name} is missing here: {WHERE.get((year, name), 'see download sts')}." for year, name in view.absent
    ]
    tables = [table(view, "paper"), table(view, "official")]
    if view.has("cbow"):
        tables += [tests(view, key) for key in SIAMESE if view.has(key)]
    return Section(
        "table1",
        "Table 1: all sets, all systems",
        (
            "Pearson (Spearman) between the cosines and people's judgement. The best Pearson of a row is bold. "
            "† marks a Siamese CBOW whose cosines differ from those of word2vec CBOW by the paper's test "
            "(Wilcoxon, p < .0001), which says nothing about which of them is better.",
            *absent,
        ),
        tuple(tables),
    )


def cell_text(pearson: float | None, spearman: float | None, mark: str = "") -> str:
    """`cell_text(.4379, .4311, "†")` -> ".4379† (.4311)"."""
    return "undefined" if pearson is None else f"{number(pearson)}{mark} ({number(spearman)})"


def table(view: View, protocol: Protocol) -> Table:
    """One of the two; under the paper's protocol its own figures stand below ours."""
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for year, dataset in _places(view):
        if not records or records[-1]["year"] != year:
            rows.append(text_row(str(year), *[""] * (len(view.columns) + 1), kind="head"))
        row, record = _line(view, protocol, year, dataset)
        rows.append(row)
        records.append(record)
    return Table(
        f"table1-{protocol}",
        "Against the paper: every released pair counts, one without a gold score as 0"
        if protocol == "paper"
        else "As everybody else reports it: pairs with a gold score",
        _caption(view, protocol),
        ("set", "pairs", *map(label_of, view.columns)),
        (*rows, *_means(view, protocol)),
        tuple(records),
    )


def _caption(view: View, protocol: Protocol) -> str:
    if protocol == "official":
        return "The same cosines as above; only 2015 differs, where 3,000 of the 8,500 released pairs have a score."
    return (
        "Below each figure, in small letters, the paper's own. It was trained on another text, the Toronto Book "
        "Corpus of 1,057 million tokens: compare columns with each other rather than with the small figures."
    )


def _places(view: View) -> list[tuple[int, str]]:
    """Year and name of each line: the sets there are, and between them those of the paper that are missing."""
    there = [(one.year, one.dataset) for one in view.sets]
    order = {place: i for i, place in enumerate(dict.fromkeys([*paper_sets(), *there]))}
    return sorted([*there, *view.absent], key=lambda place: (place[0], order[place]))


def _line(view: View, protocol: Protocol, year: int, dataset: str) -> tuple[Row, dict[str, Any]]:
    found = next((row for one, row in view.rows(protocol) if (one.year, one.dataset) == (year, dataset)), None)
    record: dict[str, Any] = {"year": year, "dataset": dataset}
    if found is None:
        cells = [Cell(MISSING, small=_paper(protocol, year, dataset, key)) for key in view.columns]
        return Row((Cell(dataset), Cell("missing"), *cells)), {**record, "n_pairs": 0}
    best = best_of([found[key].pearson for key in view.columns])
    record["n_pairs"] = next(iter(found.values())).n_pairs
    cells = []
    for key in view.columns:
        score = found[key]
        differs = key in SIAMESE and "cbow" in found and is_dagger(score, found["cbow"])
        is_best = score.pearson is not None and round(score.pearson, 4) == best
        text = cell_text(score.pearson, score.spearman, "†" if differs else "")
        cells.append(Cell(text, is_best, _paper(protocol, year, dataset, key)))
        record |= {f"{key}_pearson": score.pearson, f"{key}_spearman": score.spearman}
        if key in SIAMESE and "cbow" in found:
            record[f"{key}_dagger"] = differs
        if protocol == "paper" and (theirs := paper_figure(year, dataset, key)):
            record |= {f"paper_{key}_pearson": theirs[0], f"paper_{key}_spearman": theirs[1]}
    return Row((Cell(dataset), Cell(f"{record['n_pairs']:,}"), *cells)), record


def _paper(protocol: Protocol, year: int, dataset: str, key: str) -> str:
    theirs = paper_figure(year, dataset, key) if protocol == "paper" else None
    mark = "†" if key == "siamese" and paper_row(year, dataset).get("dagger") else ""
    return cell_text(*theirs, mark) if theirs else ""


def is_dagger(first: SetScore, second: SetScore) -> bool:
    """The paper's mark: the cosines differ, Wilcoxon p < .0001."""
    return wilcoxon(first.predictions, second.predictions) < DAGGER


def _means(view: View, protocol: Protocol) -> list[Row]:
    every = {key: view.scores(key, protocol).aggregates for key in view.columns}
    rows = []
    for place, group in enumerate(next(iter(every.values()), ())):
        figures = {key: (every[key][place].mean_pearson, every[key][place].mean_spearman) for key in view.columns}
        best = best_of([pearson for pearson, _ in figures.values()])
        cells = [
            Cell(cell_text(*figure), figure[0] is not None and round(figure[0], 4) == best)
            for figure in figures.values()
        ]
        n_sets = f"{group.n_sets + group.n_undefined} sets"
        label = f"mean over {n_sets}" if place == 0 else f"mean over {group.label}"
        rows.append(Row((Cell(label), Cell(f"{group.n_pairs:,}"), *cells), "total"))
    return rows


def tests(view: View, key: str) -> Table:
    """A Siamese CBOW against word2vec CBOW: the paper's test beside those that ask which one is better."""
    found = view.comparison(key, "cbow")
    rows, records = [], []
    for one in found.sets:
        interval = f"{signed(one.interval.low)} to {signed(one.interval.high)}" if one.interval else ""
        values = (probability(one.williams_p), probability(one.bootstrap_p), probability(one.wilcoxon_p))
        rows.append(text_row(one.name, signed(one.difference), interval, *values))
        records.append({"set": one.name, "difference": one.difference, "williams_p": one.williams_p,
                        "bootstrap_p": one.bootstrap_p, "wilcoxon_p": one.wilcoxon_p})  # fmt: skip
    interval = f"{signed(found.interval.low)} to {signed(found.interval.high)}" if found.interval else ""
    total = ("mean", signed(found.difference), interval, "", probability(found.bootstrap_p), "")
    return Table(
        f"tests-{key}",
        f"{label_of(key)} less word2vec CBOW: is the difference real?",
        "Difference of Pearson, protocol official. Williams and bootstrap ask whether the two correlate differently "
        "with people's judgement; Wilcoxon asks whether their cosines differ.",
        ("set", "difference", "95% interval", "p Williams", "p bootstrap", "p Wilcoxon"),
        (*rows, text_row(*total, kind="total")),
        tuple(records),
        folded=True,
    )
