"""Beyond similarity: labels, retrieval and documents, for all systems of Table 1 and for what needs no vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from siamese_cbow.base.arrays import Floats
from siamese_cbow.evaluation.score_tables import best_of, number
from siamese_cbow.evaluation.tasks import TaskScore
from siamese_cbow.evaluation.verdicts import Decision, decide, item_replicates
from siamese_cbow.paper.decisions import told
from siamese_cbow.paper.document import Cell, Claim, Row, Section, Table
from siamese_cbow.paper.recipes import PUBLISHED, label_of
from siamese_cbow.paper.treatments import LABELS, Treatment
from siamese_cbow.paper.view import View

SHOWN: tuple[Treatment, ...] = ("learnt", "full")
Measure = tuple[str, str, str]  # kind, task, measure


def tasks(view: View) -> Section:
    """A table for each treatment."""
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
    given = "learnt" if key == "contrastive" and treatment == "full" else treatment
    found: dict[Measure, list[list[float]]] = {}
    for run in view.results.systems.get(key, []):
        for row in run.get("tasks") or []:
            if row["treatment"] == given:
                found.setdefault((row["kind"], row["task"], row["measure"]), []).append(row["items"])
    return {measure: np.array(values, np.float64) for measure, values in found.items()}


def claims(view: View) -> Iterator[Claim]:
    """Whether the paper's vectors, and ours, do more on these tasks than random ones."""
    chance = items(view, "random", "learnt")
    for key in view.among((*PUBLISHED, "contrastive", "cbow", "skipgram", "fastsent")):
        ours = items(view, key, "learnt")
        for measure in [measure for measure in ours if measure in chance]:
            decision = ahead(key, ours[measure], "random", chance[measure])
            yield Claim(
                f"tasks-{key}-{measure[1]}-{measure[2]}".lower().replace(" ", "-"),
                f"{label_of(key)} does better than random vectors beyond similarity (the paper's outlook)",
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
