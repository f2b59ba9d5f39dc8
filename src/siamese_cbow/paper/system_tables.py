"""The systems side by side: means as learnt and treated alike, how each was trained, time (Table 3), and scores on
tasks beyond similarity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from siamese_cbow.base.arrays import Floats
from siamese_cbow.evaluation.score_tables import best_of, number
from siamese_cbow.evaluation.tasks import TaskScore
from siamese_cbow.evaluation.verdicts import Decision, decide, item_replicates
from siamese_cbow.paper.document import Cell, Claim, Row, Section, Table, text_row, value_of
from siamese_cbow.paper.paper_figures import paper
from siamese_cbow.paper.recipes import PARTS, PUBLISHED, SYSTEMS, label_of
from siamese_cbow.paper.treatments import LABELS, TREATMENTS, Treatment
from siamese_cbow.paper.view import View

# The settings of a recipe that a reader wants to see, in this order.
SETTINGS = (
    *("objective", "algorithm", "kind", "epochs", "negatives", "negative", "batch_size", "temperature", "optimizer"),
    *("learning_rate", "alpha", "subsample", "sample", "window", "max_tokens"),
)


def best_alike(figures: Mapping[str, float | None], treatment: Treatment = "learnt") -> dict[str, bool]:
    """Which systems are the best, the contrastive recipe left aside where only it has its additions.

    `best_alike({"objective": 0.6, "contrastive": 0.7})` -> {"objective": True, "contrastive": False}
    """
    apart = treatment != "full" and "objective" in figures
    compared = [None if apart and key == "contrastive" else figure for key, figure in figures.items()]
    return dict(zip(figures, best_of(compared), strict=True))


def overview(view: View) -> Table:
    """Mean Pearson of every system in every treatment, over runs, and which systems are sound rivals."""
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
        "All systems, as learnt and treated alike",
        "Mean Pearson over sets, on pairs with a gold score; mean ± standard deviation over runs. The first column is "
        "what the paper compares. The others give every system what the contrastive recipe adds to its objective: "
        "differences within a column come from how the systems are trained (objective, optimiser, epochs, "
        "subsampling), differences along a row from what is added. The last column says whether a system, as learnt, "
        "is a sound rival: its vectors have not collapsed, and it is not significantly below random vectors.",
        ("system", *(LABELS[treatment] for treatment in TREATMENTS), "sound rival?"),
        rows,
        tuple(records),
    )


def table3(view: View) -> Section:
    """Table 3: how long systems take to compare sentences."""
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
                f"{label_of(key)} was timed on {timing['n_timed']:,} pairs; its time for all pairs is extrapolated."
            )
    table = Table(
        "table3",
        f"Time for all {records[0]['n_pairs'] if records else 0:,} pairs and for one",
        "CPU time on one thread, from text to cosine. All pairs and one pair: one at a time, as in the paper. Batched: "
        f"all pairs in one call. The paper's figures are for {theirs['pairs']:,} pairs on the authors' machine.",
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
        unused = {"negatives"} if settings.get("objective") == "contrastive" else set()  # the whole batch
        shown = [name for name in SETTINGS if settings.get(name) not in (None, "") and name not in unused]
        listed = ", ".join(f"{name} {settings[name]}" for name in shown)
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
        "Training of each system",
        "All systems but skip-thought are trained on the same sentences with the same vocabulary. Skip-thought, the "
        "slowest of them, is trained once, on the beginning of the text (max_tokens), and learns vectors for the most "
        "frequent words only; a linear map from word2vec skip-gram supplies the others, as in the original work. CPU "
        "time is summed over all threads. Near words: the share of pairs of 2,000 random words of the vocabulary with "
        "a cosine above .6; more than 5% counts as collapse. Next sentence: "
        "the rank, by cosine, of the next sentence of the text among 100 sentences; 0% is best, 50% is chance.",
        ("system", "runs", "dimensions", "words", "CPU time", "near words", "next sentence", "settings"),
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
    """Classification, retrieval and documents: one table per treatment, with baselines without vectors last."""
    tables = tuple(table for treatment in SHOWN if (table := _table(view, treatment)) is not None)
    notes = (
        "The paper leaves supervised tasks and longer texts to future work. Classification: accuracy of logistic "
        "regression on frozen vectors. Retrieval: documents ranked by cosine. Documents: whether the two halves of a "
        "document find each other, and whether the nearest passage comes from the same document. Means over runs; the "
        "best system in each column is bold; as learnt, the contrastive recipe is left aside, since it has additions "
        "that the others get in the second table only.",
    )
    absent = ("No tasks were given; add some with --tasks DIR.",)
    return Section(
        "tasks", "Beyond similarity: classification, retrieval, documents", notes if tables else absent, tables
    )


def _table(view: View, treatment: Treatment) -> Table | None:
    every = {key: measured for key in view.columns if (measured := items(view, key, treatment))}
    if not every:
        return None
    measures = list(next(iter(every.values())))
    beside: dict[str, dict[Measure, TaskScore]] = {}
    for score in view.beside:
        beside.setdefault(score.system, {})[score.kind, score.task, score.measure] = score
    best = {
        measure: best_alike({key: float(every[key][measure].mean()) for key in every}, treatment)
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
        for key, measured in every.items()
        for (_, task, what), values in measured.items()
    ]
    return Table(
        f"tasks-{treatment}",
        LABELS[treatment].capitalize(),
        "± is the standard deviation over runs. The last rows are baselines that need no vectors.",
        ("system", *(f"{task}: {what}" for _, task, what in measures)),
        tuple(rows),
        tuple(records),
    )


def _cell(values: Floats, is_best: bool) -> Cell:
    runs = values.mean(axis=1)
    spread = f" ± {number(float(runs.std(ddof=1)))}" if len(runs) > 1 else ""
    return Cell(f"{number(float(runs.mean()))}{spread}", is_best)


def items(view: View, key: str, treatment: Treatment) -> dict[Measure, Floats]:
    """The score of every example by task and measure, (n_runs, n_items)."""
    given = view.given(key, treatment) or treatment
    measured: dict[Measure, list[list[float]]] = {}
    for run in view.results.systems.get(key, []):
        for row in run.get("tasks") or []:
            if row["treatment"] == given:
                measured.setdefault((row["kind"], row["task"], row["measure"]), []).append(row["items"])
    return {measure: np.array(values, np.float64) for measure, values in measured.items()}


def task_claims(view: View) -> Iterator[Claim]:
    """Whether the paper's vectors and ours beat random vectors and baselines with the same treatment on these tasks."""
    duels = [
        (key, rival, treatment)
        for treatment in SHOWN
        for key, rival in product(
            view.among(PUBLISHED, treatment), view.among(("random", "cbow", "cbow-tuned"), treatment)
        )
    ]
    recipe, rivals = view.among(["contrastive"]), view.among(("random", "cbow-tuned", "fastsent"), "full")
    duels += [(key, rival, "full") for key, rival in product(recipe, rivals)]
    for key, rival, treatment in duels:
        theirs, ours = items(view, rival, treatment), items(view, key, treatment)
        alike = " with the same stems, finishing and n-grams" if treatment == "full" else ""
        for measure in [measure for measure in ours if measure in theirs]:
            why = _unsound(view, rival, treatment, measure)
            decision = ahead(key, ours[measure], rival, theirs[measure]).but(why)
            yield Claim(
                f"tasks-{key}-{rival}-{treatment}-{measure[1]}-{measure[2]}".lower().replace(" ", "-"),
                f"{label_of(key)} beats {label_of(rival)}{alike} on tasks beyond similarity (the paper's future work)",
                value_of(decision),
                decision.verdict,
                f"{measure[1]}, {measure[2]}",
                "us",
            )


def _unsound(view: View, rival: str, treatment: Treatment, measure: Measure) -> str:
    """Why beating this system on this task proves nothing: it has collapsed, or is below random vectors here."""
    if rival == "random":
        return ""
    baseline, theirs = items(view, "random", treatment).get(measure), items(view, rival, treatment)[measure]
    if baseline is not None:
        below = ahead("random", baseline, rival, theirs)
        if below.interval is not None and below.interval.low > 0:
            return f"significantly below random vectors, by {number(below.value)}"
    return view.collapsed(rival, treatment)


def ahead(first: str, ours: Floats, second: str, theirs: Floats) -> Decision:
    """Whether one system has the higher mean over the same examples, (n_runs, n_items) each."""
    replicates = item_replicates(first, ours) - item_replicates(second, theirs)
    n_runs = min(len(ours), len(theirs))
    return decide(float(ours.mean() - theirs.mean()), replicates, above=0, n_runs=n_runs)
