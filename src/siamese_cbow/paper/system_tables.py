"""The systems side by side: their means as learnt and treated alike, how each was trained, their time (Table 3), and
what they do beyond similarity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from siamese_cbow.base.arrays import Floats
from siamese_cbow.evaluation.score_tables import best_of, number
from siamese_cbow.evaluation.tasks import TaskScore
from siamese_cbow.evaluation.verdicts import Decision, decide, item_replicates
from siamese_cbow.paper.document import Cell, Claim, Row, Section, Table, text_row, told
from siamese_cbow.paper.recipes import PARTS, PUBLISHED, SYSTEMS, label_of
from siamese_cbow.paper.treatments import LABELS, TREATMENTS, Treatment
from siamese_cbow.paper.view import View, paper

# What a reader wants to know of a recipe, in this order.
SETTINGS = (
    *("objective", "algorithm", "kind", "epochs", "negatives", "negative", "batch_size", "temperature", "optimizer"),
    *("learning_rate", "alpha", "subsample", "sample", "window", "max_tokens"),
)


def overview(view: View) -> Table:
    """Mean Pearson of every system in every treatment, over trainings, and which of them can be compared with."""
    keys = view.among(SYSTEMS)
    cells: dict[Treatment, dict[str, Cell]] = {treatment: {} for treatment in TREATMENTS}
    records: list[dict[str, Any]] = []
    for treatment in TREATMENTS:
        figures = {key: view.means(key, given) for key in keys if (given := view.given(key, treatment))}
        best = best_of(mean for mean, _ in figures.values())
        for (key, (mean, spread)), is_best in zip(figures.items(), best, strict=True):
            text = number(mean) + ("" if spread is None else f" ± {number(spread)}")
            cells[treatment][key] = Cell(text, is_best)
            n = len(view.results.systems[key])
            records.append({"system": key, "treatment": treatment, "mean": mean, "spread": spread, "trainings": n})
    rows = tuple(
        Row(
            (
                Cell(label_of(key)),
                *(cells[treatment].get(key, Cell("")) for treatment in TREATMENTS),
                Cell(view.unsound(key) or "yes"),
            )
        )
        for key in keys
    )
    return Table(
        "overview",
        "Every system, as learnt and treated alike",
        "Mean Pearson over sets, pairs with a gold score; mean and standard deviation over trainings. The first column "
        "is what the paper compares; the others give to every system what the contrastive recipe has beside its "
        "objective, so that a difference within a column is the objective's and a difference along a row is the "
        "finishing's. The last column says which systems are no measure for others: vectors that have collapsed, or "
        "that are below random ones.",
        ("system", *(LABELS[treatment] for treatment in TREATMENTS), "to be compared with?"),
        rows,
        tuple(records),
    )


def table3(view: View) -> Section:
    """How long systems take to compare sentences."""
    rows, records, notes = [], [], []
    theirs = paper()["table3"]
    for key in view.among(PARTS["table3"]):
        result = view.results.systems[key][0]
        timing: dict[str, Any] = result["timing"]
        n, one_by_one, batched = timing["n_pairs"], timing["one_by_one"], timing["batched"]
        in_paper = (f"{theirs[key]['all']:,.1f} s", f"{theirs[key]['one']:g} s") if key in theirs else ("", "")
        times = map(seconds, (one_by_one, one_by_one / n, batched, batched / n))
        rows.append(text_row(f"{label_of(key)} ({result['dim']}d)", *times, *in_paper))
        shares = {"one_pair": one_by_one / n, "one_pair_batched": batched / n}
        plain = {name: value for name, value in timing.items() if name != "parts"}
        records.append({"system": key, "dim": result["dim"], **plain, **shares})
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
        runs = view.results.systems[key]
        result = runs[0]
        settings, took = result["settings"], result["train_cpu_seconds"]
        listed = ", ".join(f"{name} {settings[name]}" for name in SETTINGS if settings.get(name) not in (None, ""))
        ranks = [rank for run in runs for rank in run.get("next") or []]
        place = f"{sum(ranks) / len(ranks):.0%}" if ranks else ""
        crowded = "" if result.get("crowding") is None else f"{result['crowding']:.1%}"
        facts = (f"{len(runs)}", f"{result['dim']}", f"{result['n_words']:,}", seconds(took), crowded, place)
        rows.append(text_row(label_of(key), *facts, listed))
        names = ("dim", "n_words", "train_seconds", "train_cpu_seconds", "crowding")
        mean = {"mean_pearson_official": view.means(key)[0], "trainings": len(runs), "next_sentence": place}
        records.append({"system": key, **{name: result.get(name) for name in names}, **mean})
    left_out = tuple(f"{label_of(key)} is missing: {why}" for key, why in view.results.unavailable.items())
    table = Table(
        "systems",
        "What was trained",
        "All saw the same sentences and the same vocabulary. Skip-thought is trained once and learns vectors for the "
        "most frequent words only; the others come from word2vec skip-gram by a linear map, as its authors did it. "
        "Training is in CPU time of all threads together. Near words: the share of all pairs of words with a cosine "
        "above .6, a sign of collapse above 5%. Next sentence: where the next sentence of the text stands among 100 by "
        "cosine, 0% at best, 50% by chance.",
        ("system", "trainings", "dimensions", "words", "training (CPU)", "near words", "next sentence", "settings"),
        tuple(rows),
        tuple(records),
    )
    return Section("systems", "The systems", left_out, (table,))


def seconds(value: float) -> str:
    """`seconds(0.00004)` -> "40 µs"; `seconds(7.7)` -> "7.7 s"; `seconds(98804)` -> "98,804 s"."""
    unit, size = ("s", 1.0) if value >= 1 else ("ms", 1e-3) if value >= 1e-3 else ("µs", 1e-6)
    return f"{value / size:,.0f} {unit}" if value / size >= 10 else f"{value / size:.1f} {unit}"


SHOWN: tuple[Treatment, ...] = ("learnt", "full")
Measure = tuple[str, str, str]  # kind, task, measure


def tasks(view: View) -> Section:
    """Labels, retrieval and documents: a table for each treatment, with what needs no vectors below."""
    tables = tuple(table for treatment in SHOWN if (table := _table(view, treatment)) is not None)
    notes = (
        "The paper leaves supervised tasks and larger pieces of text to later work. Labels: logistic regression on "
        "frozen vectors, accuracy. Retrieval: documents ranked by cosine. Documents: halves that find each other, and "
        "passages whose nearest one is of the same document. Mean over trainings; the best figure of a system is bold.",
    )
    absent = ("No tasks were given: --tasks DIR.",)
    return Section("tasks", "Beyond similarity: labels, retrieval, documents", notes if tables else absent, tables)


def _table(view: View, treatment: Treatment) -> Table | None:
    every = {key: found for key in view.columns if (found := items(view, key, treatment))}
    if not every:
        return None
    measures = list(next(iter(every.values())))
    beside: dict[str, dict[Measure, TaskScore]] = {}
    for score in view.beside:
        beside.setdefault(score.system, {})[score.kind, score.task, score.measure] = score
    best = {
        measure: dict(zip(every, best_of([float(every[key][measure].mean()) for key in every]), strict=True))
        for measure in measures
    }
    rows = [
        Row((Cell(label_of(key)), *(_cell(every[key][measure], best[measure][key]) for measure in measures)))
        for key in every
    ]
    rows += [
        Row((Cell(name), *(Cell(number(scores[m].mean) if m in scores else "") for m in measures)), "total")
        for name, scores in beside.items()
    ]
    records: list[dict[str, Any]] = [
        {"system": key, "treatment": treatment, "task": task, "measure": what, "mean": float(values.mean())}
        for key, found in every.items()
        for (_, task, what), values in found.items()
    ]
    return Table(
        f"tasks-{treatment}",
        LABELS[treatment].capitalize(),
        "± is the standard deviation over trainings. Below, what needs no vectors.",
        ("system", *(f"{task}: {what}" for _, task, what in measures)),
        tuple(rows),
        tuple(records),
    )


def _cell(values: Floats, is_best: bool) -> Cell:
    runs = values.mean(axis=1)
    spread = f" ± {number(float(runs.std(ddof=1)))}" if len(runs) > 1 else ""
    return Cell(f"{number(float(runs.mean()))}{spread}", is_best)


def items(view: View, key: str, treatment: Treatment) -> dict[Measure, Floats]:
    """By task and measure the figure of every example, (n_runs, n_items)."""
    given = view.given(key, treatment) or treatment
    found: dict[Measure, list[list[float]]] = {}
    for run in view.results.systems.get(key, []):
        for row in run.get("tasks") or []:
            if row["treatment"] == given:
                found.setdefault((row["kind"], row["task"], row["measure"]), []).append(row["items"])
    return {measure: np.array(values, np.float64) for measure, values in found.items()}


def task_claims(view: View) -> Iterator[Claim]:
    """Whether the paper's vectors, and ours, do more on these tasks than random ones that are treated alike."""
    for key in view.among((*PUBLISHED, "contrastive", "cbow", "skipgram", "fastsent")):
        treatment: Treatment = "full" if key == "contrastive" else "learnt"
        chance, ours = items(view, "random", treatment), items(view, key, treatment)
        alike = " with its stems, finishing and n-grams" if key == "contrastive" else ""
        for measure in [measure for measure in ours if measure in chance]:
            decision = ahead(key, ours[measure], "random", chance[measure])
            yield Claim(
                f"tasks-{key}-{measure[1]}-{measure[2]}".lower().replace(" ", "-"),
                f"{label_of(key)} does better than random vectors{alike} beyond similarity (the paper's outlook)",
                told(decision),
                decision.verdict,
                f"{measure[1]}, {measure[2]}",
                "us",
            )


def ahead(first: str, ours: Floats, second: str, theirs: Floats) -> Decision:
    """Whether one system has the higher mean over the same examples, (n_runs, n_items) each."""
    replicates = item_replicates(first, ours) - item_replicates(second, theirs)
    n_runs = min(len(ours), len(theirs))
    return decide(float(ours.mean() - theirs.mean()), replicates, above=0, n_runs=n_runs)
