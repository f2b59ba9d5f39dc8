"""Tables 1 and 2 of the paper, and the tests behind the daggers.

Table 1 shows Pearson (Spearman) of every system on every set, under both protocols and in each treatment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from siamese_cbow.evaluation.correlation import Interval
from siamese_cbow.evaluation.pair_sets import Protocol
from siamese_cbow.evaluation.score_tables import both_numbers, probability, signed
from siamese_cbow.evaluation.scores import mean
from siamese_cbow.evaluation.sts import WHERE
from siamese_cbow.paper.document import Cell, Row, Section, Table, text_row
from siamese_cbow.paper.paper_figures import paper_figure, paper_row, paper_sets
from siamese_cbow.paper.recipes import ALIKE, PARTS, PUBLISHED, SYSTEMS, label_of
from siamese_cbow.paper.system_tables import best_alike, overview
from siamese_cbow.paper.treatments import LABELS, TREATMENTS, Treatment
from siamese_cbow.paper.view import SIAMESE, View, is_dagger

MISSING = "–"
MEASURES = ("pearson", "spearman")


def table1(view: View) -> Section:
    """All systems on all sets in each treatment, the tests, and what a reader has to know."""
    absent = [
        f"{year} {name} is missing: {WHERE.get((year, name), 'see `siamese-cbow download sts`')}."
        for year, name in view.absent
    ]
    tables = [overview(view), _table1(view, "paper", "learnt"), _table1(view, "official", "learnt")]
    tables += [_table1(view, "official", treatment) for treatment in TREATMENTS[1:] if len(view.treated(treatment)) > 1]
    if view.has("cbow"):
        duels = [(key, treatment) for key in view.among(PUBLISHED) for treatment in ALIKE]
        duels += [("contrastive", "full")] if view.has("contrastive") else []
        tables += [_tests(view, key, treatment) for key, treatment in duels if view.among(["cbow"], treatment)]
    return Section(
        "table1",
        "Table 1: all sets, all systems",
        (
            "Pearson (Spearman) between cosines and human judgements, averaged over runs with different seeds. The "
            "best Pearson in each row is bold, the contrastive recipe left aside: it adds stems, finishing and "
            "vectors for unknown words, which the others get in the last table only. † marks a Siamese CBOW whose "
            "cosines differ from those of word2vec CBOW in the paper's test (Wilcoxon, p < .0001, first run); the "
            f"test does not say which of the two is better{_crowded(view)}.",
            "As published: the paper's settings with its learning rate of .0001. The paper's text made 740,042 "
            "batches; on a smaller text, the same rate moves the vectors less. Updates matched: the same settings "
            "with the rate multiplied by 740,042 / batches here, so that rate times batches is the paper's.",
            *absent,
        ),
        tuple(tables),
    )


def _crowded(view: View) -> str:
    """What to add about the dagger if word2vec CBOW has collapsed."""
    why = view.collapsed("cbow") if view.has("cbow") else ""
    return f", and here word2vec CBOW has {why}" if why else ""


def _table1(view: View, protocol: Protocol, treatment: Treatment) -> Table:
    """Table 1 in one treatment; under the paper's protocol its own figures stand below ours."""
    keys = view.treated(treatment)
    if treatment == "full" and view.has("contrastive"):
        keys.append("contrastive")  # as it is: it trains with all of it
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    scores = {(pair_set.year, pair_set.dataset): i for i, pair_set in enumerate(view.sets)}
    for year, dataset in _places(view):
        if not records or records[-1]["year"] != year:
            rows.append(text_row(str(year), *[""] * (len(keys) + 1), kind="head"))
        row, record = _line(view, protocol, treatment, keys, (year, dataset), scores.get((year, dataset)))
        rows.append(row)
        records.append(record)
    titles = {
        "paper": "The paper's protocol: all released pairs, with 0 where there is no gold score",
        "official": "The official protocol, which other publications use: pairs with a gold score",
    }
    captions = {
        "paper": "The paper's own figures stand below ours in small print. Its systems were trained on another text, "
        "the Toronto Book Corpus with 1,057 million tokens, so compare columns with each other rather than with the "
        "paper.",
        "official": "The same cosines as above; only 2015 differs, where 3,000 of the 8,500 released pairs have a gold "
        "score.",
    }
    alike = {
        "finished": ("The same finishing for all", "After training, every system has its words weighted by their "
                     "information, lengths replaced by their square root and two common directions removed. The "
                     "differences that remain are due to how the systems are trained."),
        "full": ("Stems, finishing and n-grams for all", "In addition, words with the same stem share a "
                 "component, rare words move towards the vectors of their n-grams, and unknown words get vectors from "
                 "their n-grams. The contrastive recipe trains with all of it."),
    }  # fmt: skip
    title, caption = alike.get(treatment, (titles[protocol], captions[protocol]))
    return Table(
        f"table1-{protocol}" if treatment == "learnt" else f"table1-{treatment}",
        title,
        caption,
        ("set", "pairs", *map(label_of, keys)),
        (*rows, *_means(view, protocol, treatment, keys)),
        tuple(records),
        folded=treatment != "learnt",
    )


def _places(view: View) -> list[tuple[int, str]]:
    """Year and name of each row: the available sets, and among them those of the paper that are missing."""
    there = [(pair_set.year, pair_set.dataset) for pair_set in view.sets]
    order = {place: i for i, place in enumerate(dict.fromkeys([*paper_sets(), *there]))}
    return sorted([*there, *view.absent], key=lambda place: (place[0], order[place]))


def _line(
    view: View, protocol: Protocol, treatment: Treatment, keys: list[str], name: tuple[int, str], place: int | None
) -> tuple[Row, dict[str, Any]]:
    """The row and the record of one set, which may be missing."""
    year, dataset = name
    smalls = {key: _paper(protocol, year, dataset, key) if treatment == "learnt" else "" for key in keys}
    record: dict[str, Any] = {"year": year, "dataset": dataset}
    if place is None:
        cells = [Cell(MISSING, small=small) for small in smalls.values()]
        return Row((Cell(dataset), Cell("missing"), *cells)), {**record, "n_pairs": 0}
    of = {key: view.given(key, treatment) or "learnt" for key in keys}
    first = {key: view.scores(key, protocol, of[key]).sets[place] for key in keys}
    daggers = {key: is_dagger(first[key], first["cbow"]) for key in SIAMESE if key in first and "cbow" in first}
    marks = {key: "†" for key, differs in daggers.items() if differs}
    record["n_pairs"] = first[keys[0]].n_pairs
    figures = {
        key: (view.figures(key, protocol, of[key])[place], view.figures(key, protocol, of[key], "spearman")[place])
        for key in keys
    }
    for key, (pearson, spearman) in figures.items():
        record |= {f"{key}_pearson": pearson, f"{key}_spearman": spearman}
        if key in daggers:
            record[f"{key}_dagger"] = daggers[key]
        if protocol == "paper" and (theirs := paper_figure(year, dataset, key)):
            record |= {f"paper_{key}_pearson": theirs[0], f"paper_{key}_spearman": theirs[1]}
    return Row((Cell(dataset), Cell(f"{record['n_pairs']:,}"), *_figure_cells(figures, marks, smalls))), record


def _paper(protocol: Protocol, year: int, dataset: str, key: str) -> str:
    theirs = paper_figure(year, dataset, key) if protocol == "paper" else None
    mark = "†" if key in PUBLISHED and paper_row(year, dataset).get("dagger") else ""
    return both_numbers(*theirs, mark) if theirs else ""


def _figure_cells(
    figures: Mapping[str, tuple[float | None, float | None]],
    marks: Mapping[str, str] | None = None,
    smalls: Mapping[str, str] | None = None,
) -> list[Cell]:
    """Pearson (Spearman) of each system, the best in bold, optionally with a mark and small print below."""
    best = best_alike({key: pearson for key, (pearson, _) in figures.items()})
    return [
        Cell(both_numbers(*figure, (marks or {}).get(key, "")), best[key], (smalls or {}).get(key, ""))
        for key, figure in figures.items()
    ]


def _means(view: View, protocol: Protocol, treatment: Treatment, keys: list[str]) -> list[Row]:
    every = {
        key: [run.aggregates for run in view.runs(key, protocol, view.given(key, treatment) or "learnt")]
        for key in keys
    }
    rows = []
    for place, group in enumerate(every[keys[0]][0] if keys else ()):
        figures = {
            key: (
                mean(groups[place].mean_pearson for groups in runs),
                mean(groups[place].mean_spearman for groups in runs),
            )
            for key, runs in every.items()
        }
        label = group.label if place else f"{group.n_sets + group.n_undefined} sets"
        rows.append(Row((Cell(f"mean over {label}"), Cell(f"{group.n_pairs:,}"), *_figure_cells(figures)), "total"))
    return rows


def _tests(view: View, key: str, treatment: Treatment) -> Table:
    """A Siamese CBOW against word2vec CBOW: the paper's test beside tests of which one is better."""
    comparison, why = view.comparison(key, "cbow", treatment), view.unsound("cbow", treatment)
    alike = "" if treatment == "learnt" else f", {LABELS[treatment]}"
    rows, records = [], []
    for row in comparison.sets:
        values = (probability(row.williams_p), probability(row.bootstrap_p), probability(row.wilcoxon_p))
        rows.append(text_row(row.name, signed(row.difference), _interval(row.interval), *values))
        names = ("difference", "williams_p", "bootstrap_p", "wilcoxon_p")
        records.append({"set": row.name, **{name: getattr(row, name) for name in names}})
    total = (signed(comparison.difference), _interval(comparison.interval), "", probability(comparison.bootstrap_p), "")
    return Table(
        f"tests-{key}" if treatment == "learnt" else f"tests-{key}-{treatment}",
        f"{label_of(key)} against word2vec CBOW{alike}: is the difference significant?",
        "Difference in Pearson, official protocol, first run of each. Williams and the bootstrap test whether the two "
        "correlate differently with human judgements; Wilcoxon tests whether their cosines differ."
        + (f" Being ahead of word2vec CBOW proves nothing here: {why}." if why else ""),
        ("set", "difference", "95% interval", "p Williams", "p bootstrap", "p Wilcoxon"),
        (*rows, text_row("mean", *total, kind="total")),
        tuple(records),
        folded=True,
    )


def _interval(bounds: Interval | None) -> str:
    return f"{signed(bounds.low)} to {signed(bounds.high)}" if bounds else ""


def table2(view: View) -> Section:
    """FastSent against Siamese CBOW on the 2014 sets, as learnt and with the same finishing."""
    tables = tuple(table for treatment in ALIKE if (table := _table2(view, treatment)) is not None)
    note = () if tables else ("None of the 2014 sets is available.",)
    return Section("table2", "Table 2: FastSent", note, tables)


def _table2(view: View, treatment: Treatment) -> Table | None:
    columns = view.among((key for key in SYSTEMS if key in PARTS["table2"]), treatment)
    rows, records = [], []
    for place, pair_set in enumerate(view.sets):
        if pair_set.group != "2014":
            continue
        both = {what: {key: view.figures(key, treatment=treatment, what=what) for key in columns} for what in MEASURES}
        figures = {key: (both["pearson"][key][place], both["spearman"][key][place]) for key in columns}
        theirs = {key: paper_figure(2014, pair_set.dataset, key, "table2") for key in columns}
        smalls = {key: both_numbers(*figure) for key, figure in theirs.items() if figure and treatment == "learnt"}
        rows.append(Row((Cell(pair_set.dataset), *_figure_cells(figures, smalls=smalls))))
        record: dict[str, Any] = {"year": pair_set.year, "dataset": pair_set.dataset}
        for key, (pearson, spearman) in figures.items():
            record |= {f"{key}_pearson": pearson, f"{key}_spearman": spearman}
        records.append(record)
    if not rows or not columns:
        return None
    captions = {
        "learnt": "Pearson (Spearman), as learnt, averaged over runs. The paper's figures are in small print; it "
        "quotes those of FastSent from the FastSent authors. The contrastive recipe is left aside in marking the "
        "best: it has additions that the others lack.",
        "finished": "Pearson (Spearman), averaged over runs.",
    }
    return Table(
        "table2" if treatment == "learnt" else f"table2-{treatment}",
        "FastSent and Siamese CBOW on the 2014 sets" + ("" if treatment == "learnt" else f", {LABELS[treatment]}"),
        captions[treatment],
        ("set", *map(label_of, columns)),
        tuple(rows),
        tuple(records),
    )
