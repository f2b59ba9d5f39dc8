"""Tasks beyond similarity, by folder: classification with frozen vectors, retrieval, whole documents.

    DIR/transfer/          sets of labelled sentences, see `transfer`
    DIR/retrieval/NAME/    test collections, see `ranking`
    DIR/documents/         files of documents, see `Documents`

A task gives a score from 0 to 1 for each example, query or document, so that systems are compared example by example.
Baselines without vectors are scored as well: tf-idf, BM25, the most frequent label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats
from siamese_cbow.errors import InputError, needs
from siamese_cbow.evaluation.correlation import Interval, interval
from siamese_cbow.evaluation.evaluate import System, unit_vectors
from siamese_cbow.evaluation.ranking import collections
from siamese_cbow.evaluation.transfer import transfer_sets
from siamese_cbow.evaluation.verdicts import item_replicates
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.row_reader import iter_lines

LEAST_WORDS, PASSAGE = 200, 100  # words of a document, of a passage
N_DOCUMENTS, N_PASSAGES = 500, 4  # passages of a document
HALVES, PASSAGES = "other half, mean of 1 / rank", "nearest passage of the same document"


@dataclass(frozen=True)
class Documents:
    """Longer texts, which the paper leaves to future work: documents as lists of words.

        documents/NAME.txt    documents with an empty line between them (also .gz, .xz and so on)

    No labels are needed. Two measures, with a score for every document or passage:

        other half        one half of a document retrieves the other half among all others: 1 / its rank
        same document     the passage nearest to a passage (100 words each) comes from the same document: 1 or 0
    """

    name: str
    words: Sequence[Sequence[str]]

    def items(self, system: System) -> dict[str, Floats]:
        """A score for each document and for each passage."""
        texts = (*self._halves(), self._passages()[0])
        first, second, passages = (unit_vectors(system, each) for each in texts)
        return self._scored(first @ second.T, passages @ passages.T)

    def beside(self) -> dict[str, dict[str, Floats]]:
        """tf-idf of words, with weights from the documents themselves."""
        with needs("scikit-learn", "sklearn"):
            from sklearn.feature_extraction.text import TfidfVectorizer
        first, second = self._halves()
        passages, _ = self._passages()
        vectorizer = TfidfVectorizer(sublinear_tf=True).fit([*first, *second])
        half, other, each = (vectorizer.transform(texts) for texts in (first, second, passages))
        return {"tf-idf of words": self._scored((half @ other.T).toarray(), (each @ each.T).toarray())}

    def sample(self, n: int) -> Documents:
        """The same with fewer documents, for a quick look."""
        return replace(self, words=self.words[: max(2, n // 20)])

    def _halves(self) -> tuple[list[str], list[str]]:
        cut = [(words[: len(words) // 2], words[len(words) // 2 :]) for words in self.words]
        return [" ".join(first) for first, _ in cut], [" ".join(second) for _, second in cut]

    def _passages(self) -> tuple[list[str], NDArray[np.int64]]:
        """Passages spread evenly over their documents, and the position of each one's document."""
        texts, document_of = [], []
        for place, words in enumerate(self.words):
            starts = np.unique(np.linspace(0, len(words) - PASSAGE, N_PASSAGES).astype(int) // PASSAGE * PASSAGE)
            texts += [" ".join(words[start : start + PASSAGE]) for start in starts.tolist()]
            document_of += [place] * len(starts)
        return texts, np.array(document_of)

    def _scored(self, halves: NDArray[Any], passages: NDArray[Any]) -> dict[str, Floats]:
        """From the cosines of all halves, (n, n), and of all passages, (m, m)."""
        document_of, others = self._passages()[1], np.array(passages, np.float64)
        np.fill_diagonal(others, -np.inf)
        return {
            HALVES: 1.0 / ranks_of_right(halves),
            PASSAGES: (document_of[others.argmax(axis=1)] == document_of).astype(np.float64),
        }


def ranks_of_right(cosines: NDArray[Any]) -> NDArray[np.int64]:
    """The rank of the right answer to each row, column i of row i, by cosine: [[.9, .1], [.8, .7]] -> [1, 2]."""
    return np.asarray((cosines >= cosines.diagonal()[:, None]).sum(axis=1))


def document_sets(folder: Path) -> list[Documents]:
    """The documents of each file of a folder."""
    return [_read(path) for path in sorted(folder.iterdir()) if path.is_file()]


def _read(path: Path) -> Documents:
    long_enough = [words for words in _documents(path) if len(words) >= LEAST_WORDS][:N_DOCUMENTS]
    if len(long_enough) < 2:
        raise InputError(
            f"{path} has {len(long_enough)} documents of {LEAST_WORDS} words or more; expected at least 2, "
            "separated by empty lines"
        )
    return Documents(path.name.partition(".")[0], long_enough)


def _documents(path: Path) -> Iterator[list[str]]:
    for is_text, lines in groupby(iter_lines(path, Decoding()), key=lambda line: bool(line.strip())):
        if is_text:
            yield [word for line in lines for word in line.split()]


READERS = {"transfer": transfer_sets, "retrieval": collections, "documents": document_sets}


class Task(Protocol):
    """A task that scores vectors."""

    @property
    def name(self) -> str:
        """`mr`, `cranfield`."""

    def items(self, system: System) -> Mapping[str, Floats]:
        """(n_items,) scores from 0 to 1, by the name of the measure."""

    def beside(self) -> Mapping[str, Mapping[str, Floats]]:
        """The same for baselines without vectors, by name."""

    def sample(self, n: int) -> Task:
        """A smaller task, for a quick look."""


@dataclass(frozen=True)
class TaskScore:
    """The result of a system: `TaskScore("books", "transfer", "mr", "accuracy", items)`; `score.mean` -> 0.71."""

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
        """The 95% interval, by resampling the items."""
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
        return self._scores(lambda task: {name: task.items(system)})

    @cached_property
    def beside(self) -> list[TaskScore]:
        """The scores of baselines without vectors."""
        return self._scores(lambda task: task.beside())

    def _scores(self, by_name: Callable[[Task], Mapping[str, Mapping[str, Floats]]]) -> list[TaskScore]:
        return [
            TaskScore(name, kind, task.name, measure, np.asarray(items, np.float64))
            for kind, tasks in self.by_kind.items()
            for task in tasks
            for name, measures in by_name(task).items()
            for measure, items in measures.items()
        ]

    def sample(self, n: int) -> Tasks:
        """The same tasks with at most this many examples each."""
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
    by_kind = {kind: read(folder / kind) for kind, read in READERS.items() if (folder / kind).is_dir()}
    by_kind = {kind: tasks for kind, tasks in by_kind.items() if tasks}
    if not by_kind:
        raise InputError(
            f"{folder} contains no tasks; expected folders transfer, retrieval or documents with files in "
            f"them, such as {folder}/transfer/mr.tsv"
        )
    return Tasks(by_kind)  # type: ignore[arg-type]


def task_rows(scores: Iterable[TaskScore]) -> dict[tuple[str, str, str], dict[str, TaskScore]]:
    """Scores by task and measure, then by system, in the order given."""
    rows: dict[tuple[str, str, str], dict[str, TaskScore]] = {}
    for score in scores:
        rows.setdefault((score.kind, score.task, score.measure), {})[score.system] = score
    return rows
