"""Classification with frozen vectors, as features of a logistic regression with cross-validation.

    great film <TAB> good      a text and its label per line; or a table (JSON lines, CSV, TSV, Parquet) with the
    dull film  <TAB> bad       columns text and label

The vectors are not trained further. Two baselines use the same folds: tf-idf, which counts words without any vectors,
and the share of the most frequent label, which needs no knowledge at all. `transfer` runs the same regression on
standard sets, some of which have a separate test part or two texts per example.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.errors import InputError, SettingsError, needs
from siamese_cbow.evaluation.evaluate import System
from siamese_cbow.model.geometry import one_thread
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.reader import format_of, read_columns
from siamese_cbow.text.row_reader import iter_lines

TFIDF = "tf-idf"
TEXT, LABEL = "text", "label"  # columns
FOLDS = 10


@dataclass(frozen=True)
class Labelled:
    """Texts and their labels: `Labelled("films", ["great film", "dull film"], ["good", "bad"])`."""

    name: str
    texts: Sequence[str]
    labels: Sequence[str]
    seconds: Sequence[str] = ()  # for pairs, the second text of each
    n_test: int = 0  # size of the test part at the end; 0: cross-validation


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
        """The standard deviation of the accuracy over the folds."""
        return float(np.std(self.accuracies, ddof=1))

    def to_dict(self) -> dict[str, Any]:
        """As one JSON object."""
        means = {"accuracy": self.mean, "std": self.std}
        return {"name": self.name, "probe": self.data, **means, "folds": list(self.accuracies)}


def read_labelled(path: str | Path, *, text_column: str = TEXT, decoding: Decoding | None = None) -> Labelled:
    """The texts and labels of a table with a column `label`, or of lines: a text, a tab, a label."""
    path = Path(path)
    decoding = decoding or Decoding()
    is_table = format_of(path).is_table
    if format_of(path).name == "TSV" and text_column == TEXT:  # a TSV file may lack a header: then it is lines
        is_table = LABEL in next(iter_lines(path, decoding), "").split("\t")
    reading = read_columns(path, [text_column], [LABEL], decoding) if is_table else _tab_rows(path, decoding)
    rows = list(reading)
    if not rows:
        raise InputError(f"{path} is empty; expected a text and a label per line, or per record")
    for number, (text, label) in enumerate(rows, start=1):
        if not label:
            raise InputError(
                f"{path}: the text {text[:60]!r} (number {number:,}) has no label; expected one label per text"
            )
    texts, labels = [text for text, _ in rows], [label for _, label in rows]
    if len(set(texts)) < len(set(labels)):
        raise InputError(
            f"{path} has {len(set(texts)):,} different texts ({texts[0][:40]!r}, ...) but {len(set(labels)):,} labels "
            f"({labels[0][:40]!r}, ...); expected the text first and the label last: swap them"
        )
    return Labelled(path.name, texts, labels)


def _tab_rows(path: Path, decoding: Decoding) -> Iterator[tuple[str, ...]]:
    for number, line in enumerate(iter_lines(path, decoding), start=1):
        text, tab, label = line.rpartition("\t")
        if not tab:
            raise InputError(f"{path} line {number:,} has no tab: {line[:60]!r}; expected a text, a tab and a label")
        yield text, label.strip()


def probe(
    system: System | None, data: Labelled, *, name: str | None = None, folds: int = FOLDS, seed: int = 1
) -> ProbeScore:
    """The accuracy of logistic regression on the vectors of a system, or on tf-idf if that is None.

    `probe(model, read_labelled("films.tsv")).mean` -> 0.78
    """
    fold_of, is_correct = classified(system, data, folds=folds, seed=seed)
    name = name or (TFIDF if system is None else type(system).__name__)
    accuracies = [is_correct[fold_of == fold].mean() for fold in range(fold_of.max() + 1)]
    return ProbeScore(name, data.name, tuple(float(accuracy) for accuracy in accuracies))


def classified(
    system: System | None, data: Labelled, *, folds: int = FOLDS, ngrams: int = 1, seed: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The fold of each tested text, (n,), and whether it was classified correctly, (n,).

    ngrams  for tf-idf (`system` None): 2 also counts word pairs
    """
    with needs("scikit-learn", "sklearn"):
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import StratifiedKFold
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    _check(data, folds)
    if system is None:
        # Sparse counts need a weaker penalty than dense vectors: of 1, 10 and 30, tf-idf does best with 10 on MR.
        classifier = LogisticRegression(C=10.0, max_iter=2000)
        texts = map(" ".join, zip(data.texts, data.seconds, strict=True)) if data.seconds else data.texts
        pipeline = make_pipeline(TfidfVectorizer(ngram_range=(1, ngrams)), classifier)
        features: NDArray[Any] = np.array(list(texts), object)
    else:
        # Standardised dimensions make the regression's penalty meaningful, whatever the lengths of the vectors.
        pipeline, features = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)), _features(system, data)
    labels, n = np.array(data.labels), len(data.labels)
    if data.n_test:
        cut = [(np.arange(n - data.n_test), np.arange(n - data.n_test, n))]
    else:
        cut = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(features, labels))
    fold_of, is_correct = np.full(n, -1, np.int64), np.zeros(n, bool)
    with one_thread():  # on a busy machine, BLAS threads wait for each other a hundred times longer than they work
        for fold, (learnt, tested) in enumerate(cut):
            try:
                pipeline.fit(features[learnt], labels[learnt])
            except ValueError as error:  # no text has a word of two letters
                start = data.texts[0][:40]
                raise InputError(f"{data.name}: {error}; expected texts, got {start!r}, ...: check the file") from error
            fold_of[tested], is_correct[tested] = fold, pipeline.predict(features[tested]) == labels[tested]
    return fold_of[fold_of >= 0], is_correct[fold_of >= 0]


def _features(system: System, data: Labelled) -> NDArray[Any]:
    """(n, dim) vectors; for pairs u, v their differences and products, |u - v| and u * v, as in SentEval."""
    vectors = np.asarray(system.encode(list(data.texts)))
    if not data.seconds:
        return vectors
    others = np.asarray(system.encode(list(data.seconds)))
    return np.concatenate([np.abs(vectors - others), vectors * others], axis=1)


def most_frequent_share(data: Labelled) -> float:
    """The share of the most frequent label: ["good", "bad", "good"] -> 0.67."""
    return max(Counter(data.labels).values()) / len(data.labels)


def _check(data: Labelled, folds: int) -> None:
    counts = Counter(data.labels)
    if len(counts) < 2:
        raise InputError(f"{data.name} has only {len(counts)} label; expected at least two")
    rarest, n = min(counts.items(), key=lambda pair: pair[1])
    if data.n_test:
        return
    if folds < 2 or n < folds:
        raise SettingsError(
            f"{folds} folds, but the label {rarest!r} occurs {n} times; expected 2 folds or more, with every "
            "label in every fold: use fewer folds or more examples"
        )
