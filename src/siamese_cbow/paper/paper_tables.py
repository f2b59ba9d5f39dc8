"""Tables 1, 2 and 3 of the paper, the tests behind the daggers, and what was trained how.

Table 1 has every set and every system, Pearson (Spearman), under either protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from siamese_cbow.evaluation.correlation import Interval
from siamese_cbow.evaluation.pair_sets import Protocol
from siamese_cbow.evaluation.score_tables import best_of, both_numbers, probability, signed
from siamese_cbow.evaluation.scores import SetScore
from siamese_cbow.evaluation.sts import WHERE
from siamese_cbow.paper.document import Cell, Row, Section, Table, text_row
from siamese_cbow.paper.recipes import PARTS, SYSTEMS, label_of
from siamese_cbow.paper.view import SIAMESE, View, is_dagger, paper, paper_figure, paper_row, paper_sets

MISSING = "–"
# What a reader wants to know of a recipe, in this order.
SETTINGS = (
    *("objective", "algorithm", "kind", "epochs", "negatives", "negative", "batch_size", "temperature", "optimizer"),
    *("learning_rate", "alpha", "subsample", "sample", "window", "max_tokens"),
)


def table1(view: View) -> Section:
    """Both tables, the tests, and what a reader has to know."""
    absent = [
        f"{year} {name} is missing here: {WHERE.get((year, name), 'see download sts')}." for year, name in view.absent
    ]
    tables = [_table1(view, "paper"), _table1(view, "official")]
    if view.has("cbow"):
        tables += [_tests(view, key) for key in view.among(SIAMESE)]
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


def _table1(view: View, protocol: Protocol) -> Table:
    """One of the two; under the paper's protocol its own figures stand below ours."""
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    scores = {(pair_set.year, pair_set.dataset): row for pair_set, row in view.rows(protocol)}
    for year, dataset in _places(view):
        if not records or records[-1]["year"] != year:
            rows.append(text_row(str(year), *[""] * (len(view.columns) + 1), kind="head"))
        row, record = _line(view, protocol, year, dataset, scores.get((year, dataset)))
        rows.append(row)
        records.append(record)
    titles = {
        "paper": "Against the paper: every released pair counts, one without a gold score as 0",
        "official": "As everybody else reports it: pairs with a gold score",
    }
    captions = {
        "paper": "Below each figure, in small letters, the paper's own. It was trained on another text, the Toronto "
        "Book Corpus of 1,057 million tokens: compare columns with each other rather than with the small figures.",
        "official": "The same cosines as above; only 2015 differs, where 3,000 of the 8,500 released pairs have a "
        "score.",
    }
    return Table(
        f"table1-{protocol}",
        titles[protocol],
        captions[protocol],
        ("set", "pairs", *map(label_of, view.columns)),
        (*rows, *_means(view, protocol)),
        tuple(records),
    )


def _places(view: View) -> list[tuple[int, str]]:
    """Year and name of each line: the sets there are, and between them those of the paper that are missing."""
    there = [(pair_set.year, pair_set.dataset) for pair_set in view.sets]
    order = {place: i for i, place in enumerate(dict.fromkeys([*paper_sets(), *there]))}
    return sorted([*there, *view.absent], key=lambda place: (place[0], order[place]))


def _line(
    view: View, protocol: Protocol, year: int, dataset: str, scores: dict[str, SetScore] | None
) -> tuple[Row, dict[str, Any]]:
    """One set, which may be missing: its row, and its record."""
    smalls = {key: _paper(protocol, year, dataset, key) for key in view.columns}
    record: dict[str, Any] = {"year": year, "dataset": dataset}
    if scores is None:
        cells = [Cell(MISSING, small=small) for small in smalls.values()]
        return Row((Cell(dataset), Cell("missing"), *cells)), {**record, "n_pairs": 0}
    daggers = {key: is_dagger(scores[key], scores["cbow"]) for key in SIAMESE if key in scores and "cbow" in scores}
    marks = {key: "†" for key, differs in daggers.items() if differs}
    record["n_pairs"] = next(iter(scores.values())).n_pairs
    for key in view.columns:
        record |= {f"{key}_pearson": scores[key].pearson, f"{key}_spearman": scores[key].spearman}
        if key in daggers:
            record[f"{key}_dagger"] = daggers[key]
        if protocol == "paper" and (theirs := paper_figure(year, dataset, key)):
            record |= {f"paper_{key}_pearson": theirs[0], f"paper_{key}_spearman": theirs[1]}
    figures = {key: (scores[key].pearson, scores[key].spearman) for key in view.columns}
    return Row((Cell(dataset), Cell(f"{record['n_pairs']:,}"), *_figure_cells(figures, marks, smalls))), record


def _paper(protocol: Protocol, year: int, dataset: str, key: str) -> str:
    theirs = paper_figure(year, dataset, key) if protocol == "paper" else None
    mark = "†" if key == "siamese" and paper_row(year, dataset).get("dagger") else ""
    return both_numbers(*theirs, mark) if theirs else ""


def _figure_cells(
    figures: Mapping[str, tuple[float | None, float | None]],
    marks: Mapping[str, str] | None = None,
    smalls: Mapping[str, str] | None = None,
) -> list[Cell]:
    """Pearson (Spearman) of each system, the best bold, perhaps with a mark and with small letters below."""
    best = best_of([pearson for pearson, _ in figures.values()])
    return [
        Cell(both_numbers(*figure, (marks or {}).get(key, "")), is_best, (smalls or {}).get(key, ""))
        for (key, figure), is_best in zip(figures.items(), best, strict=True)
    ]


def _means(view: View, protocol: Protocol) -> list[Row]:
    every = {key: view.scores(key, protocol).aggregates for key in view.columns}
    rows = []
    for place, group in enumerate(next(iter(every.values()), ())):
        figures = {key: (groups[place].mean_pearson, groups[place].mean_spearman) for key, groups in every.items()}
        label = group.label if place else f"{group.n_sets + group.n_undefined} sets"
        rows.append(Row((Cell(f"mean over {label}"), Cell(f"{group.n_pairs:,}"), *_figure_cells(figures)), "total"))
    return rows


def _tests(view: View, key: str) -> Table:
    """A Siamese CBOW against word2vec CBOW: the paper's test beside those that ask which one is better."""
    comparison = view.comparison(key, "cbow")
    rows, records = [], []
    for row in comparison.sets:
        values = (probability(row.williams_p), probability(row.bootstrap_p), probability(row.wilcoxon_p))
        rows.append(text_row(row.name, signed(row.difference), _interval(row.interval), *values))
        names = ("difference", "williams_p", "bootstrap_p", "wilcoxon_p")
        records.append({"set": row.name, **{name: getattr(row, name) for name in names}})
    mean = (signed(comparison.difference), _interval(comparison.interval), "", probability(comparison.bootstrap_p), "")
    return Table(
        f"tests-{key}",
        f"{label_of(key)} less word2vec CBOW: is the difference real?",
        "Difference of Pearson, protocol official. Williams and bootstrap ask whether the two correlate differently "
        "with people's judgement; Wilcoxon asks whether their cosines differ.",
        ("set", "difference", "95% interval", "p Williams", "p bootstrap", "p Wilcoxon"),
        (*rows, text_row("mean", *mean, kind="total")),
        tuple(records),
        folded=True,
    )


def _interval(bounds: Interval | None) -> str:
    return f"{signed(bounds.low)} to {signed(bounds.high)}" if bounds else ""


def table2(view: View) -> Section:
    """FastSent against Siamese CBOW on the sets of 2014."""
    columns = view.among(key for key in SYSTEMS if key in PARTS["table2"])
    rows, records = [], []
    for pair_set, scores in view.rows("official"):
        if pair_set.group != "2014":
            continue
        figures = {key: (scores[key].pearson, scores[key].spearman) for key in columns}
        theirs = {key: paper_figure(2014, pair_set.dataset, key, "table2") for key in columns}
        smalls = {key: both_numbers(*figure) for key, figure in theirs.items() if figure}
        rows.append(Row((Cell(pair_set.dataset), *_figure_cells(figures, smalls=smalls))))
        record: dict[str, Any] = {"year": pair_set.year, "dataset": pair_set.dataset}
        for key, (pearson, spearman) in figures.items():
            record |= {f"{key}_pearson": pearson, f"{key}_spearman": spearman}
        records.append(record)
    table = Table(
        "table2",
        "FastSent and Siamese CBOW on the sets of 2014",
        "Pearson (Spearman); in small letters the paper's figures, where those of FastSent are reprinted from its "
        "authors.",
        ("set", *map(label_of, columns)),
        tuple(rows),
        tuple(records),
    )
    note = () if rows else ("There is no set of 2014 here.",)
    return Section("table2", "Table 2: FastSent", note, (table,) if rows else ())


def table3(view: View) -> Section:
    """How long systems take to compare sentences."""
    rows, records, notes = [], [], []
    theirs = paper()["table3"]
    for key in view.among(PARTS["table3"]):
        result = view.results.systems[key]
        timing: dict[str, Any] = result["timing"]
        n, one_by_one, batched = timing["n_pairs"], timing["one_by_one"], timing["batched"]
        in_paper = (f"{theirs[key]['all']:,.1f} s", f"{theirs[key]['one']:g} s") if key in theirs else ("", "")
        times = map(seconds, (one_by_one, one_by_one / n, batched, batched / n))
        rows.append(text_row(f"{label_of(key)} ({result['dim']}d)", *times, *in_paper))
        shares = {"one_pair": one_by_one / n, "one_pair_batched": batched / n}
        records.append({"system": key, "dim": result["dim"], **timing, **shares})
        if timing["n_timed"] < n:
            notes.append(
                f"{label_of(key)} was timed on {timing['n_timed']:,} pairs, from which the rest is worked out."
            )
    table = Table(
        "table3",
        f"Time for all {records[0]['n_pairs'] if records else 0:,} pairs and for one",
        "CPU time on one thread, from text to cosine. One by one: each pair is handed over alone, as in the paper. "
        f"Batched: all pairs at once. The paper's figures are for {theirs['pairs']:,} pairs on its own machine.",
        ("system", "all pairs", "one pair", "all, batched", "one, batched", "paper: all", "paper: one"),
        tuple(rows),
        tuple(records),
    )
    return Section("table3", "Table 3: time", tuple(notes), (table,))


def systems(view: View) -> Section:
    """What was trained, how, and how long it took."""
    rows, records = [], []
    for key in view.among(SYSTEMS):
        result = view.results.systems[key]
        settings, took = result["settings"], result["train_cpu_seconds"]
        listed = ", ".join(f"{name} {settings[name]}" for name in SETTINGS if settings.get(name) not in (None, ""))
        rows.append(text_row(label_of(key), f"{result['dim']}", f"{result['n_words']:,}", seconds(took), listed))
        names = ("dim", "n_words", "train_seconds", "train_cpu_seconds")
        mean = {"mean_pearson_official": view.scores(key).mean_pearson}
        records.append({"system": key, **{name: result[name] for name in names}, **mean})
    left_out = tuple(f"{label_of(key)} is missing: {why}" for key, why in view.results.unavailable.items())
    table = Table(
        "systems",
        "What was trained",
        "All saw the same sentences and the same vocabulary. Skip-thought learns vectors for the most frequent words "
        "only; the others come from word2vec skip-gram by a linear map, as its authors did it. Training is in CPU time "
        "of all threads together.",
        ("system", "dimensions", "words", "training (CPU)", "settings"),
        tuple(rows),
        tuple(records),
    )
    return Section("systems", "The systems", left_out, (table,))


def seconds(value: float) -> str:
    """`seconds(0.00004)` -> "40 µs"; `seconds(7.7)` -> "7.7 s"; `seconds(98804)` -> "98,804 s"."""
    unit, size = ("s", 1.0) if value >= 1 else ("ms", 1e-3) if value >= 1e-3 else ("µs", 1e-6)
    return f"{value / size:,.0f} {unit}" if value / size >= 10 else f"{value / size:.1f} {unit}"
