"""Supervised use: how well labels can be read off frozen vectors, by logistic regression with cross-validation.

    great film <TAB> good      a text and its label a line; or CSV with columns text and label; or JSON lines with both
    dull film  <TAB> bad

The vectors are not trained further. Beside them stands tf-idf on the same folds: what counting words gives without any
vectors; and the share of the most frequent label, which is what no knowledge at all gives.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from siamese_cbow.errors import InputError, MissingExtra, SettingsError
from siamese_cbow.evaluation.evaluate import System
from siamese_cbow.text.chunks import iter_lines

TFIDF = "tf-idf"
FOLDS = 10


@dataclass(frozen=True)
class Labelled:
    """Texts and their labels: `Labelled("films", ["great film", "dull film"], ["good", "bad"])`."""

    name: str
    texts: Sequence[str]
    labels: Sequence[str]


@dataclass(frozen=True)
class ProbeScore:
    """The accuracy of one system on each fold."""

    name: str
    data: str
    accuracies: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean accuracy of the folds."""
        return float(np.mean(self.accuracies))

    @property
    def std(self) -> float:
        """Its standard deviation over the folds."""
        return float(np.std(self.accuracies, ddof=1))

    def to_dict(self) -> dict[str, Any]:
        """As one JSON object."""
        means = {"accuracy": self.mean, "std": self.std}
        return {"name": self.name, "probe": self.data, **means, "folds": list(self.accuracies)}


def read_labelled(path: str | Path) -> Labelled:
    """The texts and labels of a file: .csv, .jsonl, or lines of text, tab, label."""
    path = Path(path)
    suffixes = [suffix for suffix in path.suffixes if suffix not in (".gz", ".bz2", ".xz", ".zst")]
    reader = {".csv": _csv_rows, ".jsonl": _json_rows}.get(suffixes[-1] if suffixes else "", _tab_rows)
    rows = list(reader(path))
    if not rows:
        raise InputError(f"{path} is empty; expected a text and a label a line")
    return Labelled(path.name, [text for text, _ in rows], [label for _, label in rows])


def _tab_rows(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(iter_lines(str(path)), start=1):
        text, tab, label = line.rpartition("\t")
        if not tab:
            raise InputError(f"{path} line {number:,} has no tab: {line[:60]!r}; expected a text, a tab and a label")
        yield text, label.strip()


def _csv_rows(path: Path) -> Iterator[tuple[str, str]]:
    rows = csv.DictReader(line + "\n" for line in iter_lines(str(path)))
    if not {"text", "label"} <= set(rows.fieldnames or ()):
        raise InputError(f"{path} has the columns {', '.join(rows.fieldnames or ())}; expected text and label")
    for row in rows:
        yield row["text"] or "", row["label"] or ""


def _json_rows(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(iter_lines(str(path)), start=1):
        try:
            row = json.loads(line)
            yield str(row["text"]), str(row["label"])
        except (ValueError, KeyError, TypeError):
            raise InputError(f'{path} line {number:,}: {line[:60]!r}; expected {{"text": ..., "label": ...}}') from None


def probe(
    system: System | None, data: Labelled, *, name: str | None = None, folds: int = FOLDS, seed: int = 1
) -> ProbeScore:
    """The accuracy of logistic regression on the vectors of a system, or on tf-idf where that is None.

    `probe(model, read_labelled("films.tsv")).mean` -> 0.78
    """
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import StratifiedKFold, cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        raise MissingExtra("scikit-learn", "sklearn") from None
    _check(data, folds)
    classifier = LogisticRegression(max_iter=2000)
    if system is None:
        pipeline, features = make_pipeline(TfidfVectorizer(), classifier), np.array(data.texts, object)
    else:
        # Dimensions on one scale: the regression's penalty means something then, whatever the lengths of the vectors.
        pipeline, features = make_pipeline(StandardScaler(), classifier), np.asarray(system.encode(list(data.texts)))
    cut = StratifiedKFold(folds, shuffle=True, random_state=seed)
    accuracies = cross_val_score(pipeline, features, np.array(data.labels), cv=cut)
    name = name or (TFIDF if system is None else type(system).__name__)
    return ProbeScore(name, data.name, tuple(float(accuracy) for accuracy in accuracies))


def most_frequent_share(data: Labelled) -> float:
    """["good", "bad", "good"] -> 0.67."""
    return max(Counter(data.labels).values()) / len(data.labels)


def _check(data: Labelled, folds: int) -> None:
    counts = Counter(data.labels)
    if len(counts) < 2:
        raise InputError(f"{data.name} has {len(counts)} label; expected at least two to tell apart")
    rarest, n = min(counts.items(), key=lambda pair: pair[1])
    if folds < 2 or n < folds:
        raise SettingsError(
            f"{folds} folds, and the label {rarest!r} stands {n} times; expected 2 folds or more, and each label "
            "at least once in every fold: fewer folds, or more examples"
        )
