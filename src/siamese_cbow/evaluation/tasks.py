"""Tasks beyond similarity, by folder: labels told from frozen vectors, retrieval with judgements, whole documents.

    DIR/transfer/          sets of labelled sentences, see `transfer`
    DIR/retrieval/NAME/    test collections, see `ranking`
    DIR/documents/         files of documents, see `document_tasks`

A task gives a figure from 0 to 1 for each example, query or document, so that systems are compared example by example;
beside the systems stands what needs no vectors at all: tf-idf, BM25, the most frequent label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from siamese_cbow.base.arrays import Floats
from siamese_cbow.errors import InputError
from siamese_cbow.evaluation.correlation import Interval, interval
from siamese_cbow.evaluation.document_tasks import document_sets
from siamese_cbow.evaluation.evaluate import System
from siamese_cbow.evaluation.ranking import collections
from siamese_cbow.evaluation.transfer import transfer_sets
from siamese_cbow.evaluation.verdicts import item_replicates

READERS = {"transfer": transfer_sets, "retrieval": collections, "documents": document_sets}


class Task(Protocol):
    """Something to do with vectors."""

    @property
    def name(self) -> str:
        """`mr`, `cranfield`."""

    def items(self, system: System) -> Mapping[str, Floats]:
        """By the name of the measure, (n_items,) figures from 0 to 1."""

    def beside(self) -> Mapping[str, Mapping[str, Floats]]:
        """The same for what needs no vectors, by its name."""

    def sample(self, n: int) -> Task:
        """A smaller task, for a quick look."""


@dataclass(frozen=True)
class TaskScore:
    """How a system did: `TaskScore("books", "transfer", "mr", "accuracy", items)`; `score.mean` -> 0.71."""

    system: str
    kind: str  # "transfer", "retrieval", "documents"
    task: str
    measure: str
    items: Floats  # (n_items,)

    @cached_property
    def mean(self) -> float:
        """The mean over items: an accuracy, a mean nDCG."""
        return float(self.items.mean())

    @cached_property
    def interval(self) -> Interval | None:
        """95%, from drawing the items again."""
        return interval(item_replicates(self.system, self.items[None]))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = {"model": self.system, "kind": self.kind, "task": self.task, "measure": self.measure}
        return {**names, "n_items": len(self.items), "mean": self.mean, "interval": self.interval}


@dataclass(frozen=True)
class Tasks:
    """All tasks of a folder, by kind."""

    by_kind: Mapping[str, Sequence[Task]]

    def scores(self, system: System, name: str) -> list[TaskScore]:
        """The scores of a system on every task, in the order of the folder."""
        return [
            TaskScore(name, kind, task.name, measure, np.asarray(items, np.float64))
            for kind, tasks in self.by_kind.items()
            for task in tasks
            for measure, items in task.items(system).items()
        ]

    @cached_property
    def beside(self) -> list[TaskScore]:
        """The scores of what needs no vectors."""
        return [
            TaskScore(name, kind, task.name, measure, np.asarray(items, np.float64))
            for kind, tasks in self.by_kind.items()
            for task in tasks
            for name, measures in task.beside().items()
            for measure, items in measures.items()
        ]

    def sample(self, n: int) -> Tasks:
        """At most so many examples of each."""
        return replace(self, by_kind={kind: [task.sample(n) for task in tasks] for kind, tasks in self.by_kind.items()})

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all texts, labels and judgements."""
        digest = hashlib.blake2b(digest_size=12)
        for kind, tasks in self.by_kind.items():
            for task in tasks:
                digest.update(f"{kind} {task!r}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def read_tasks(folder: str | Path) -> Tasks:
    """The tasks of a folder: `read_tasks("data/tasks").scores(model, "books")`."""
    folder = Path(folder)
    found = {kind: read(folder / kind) for kind, read in READERS.items() if (folder / kind).is_dir()}
    found = {kind: tasks for kind, tasks in found.items() if tasks}
    if not found:
        raise InputError(
            f"{folder} holds no tasks; expected folders transfer, retrieval or documents with files in them, such as "
            f"{folder}/transfer/mr.tsv"
        )
    return Tasks(found)  # type: ignore[arg-type]


def task_rows(scores: Iterable[TaskScore]) -> dict[tuple[str, str, str], dict[str, TaskScore]]:
    """Scores by task and measure, then by system, in the order given."""
    rows: dict[tuple[str, str, str], dict[str, TaskScore]] = {}
    for score in scores:
        rows.setdefault((score.kind, score.task, score.measure), {})[score.system] = score
    return rows
