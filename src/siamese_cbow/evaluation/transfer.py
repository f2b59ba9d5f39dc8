"""Standard sets of labelled sentences: MR, CR, SUBJ, MPQA, SST-2, TREC, MRPC. Recognises and reads their files.

    mr.tsv, subj.tsv                            columns label and text: ten folds
    sst2-train.tsv, sst2-test.tsv               with a separate test part
    mrpc-train.tsv, mrpc-test.tsv               with a column text2: pairs
    rt-polarity.pos, rt-polarity.neg            one text per line, labelled by extension (MR; also custrev, mpqa, subj)
    train_5500.label, TREC_10.label             TREC: the label, a colon, a finer label, the question
    msr_paraphrase_train.txt, ..._test.txt      MRPC as released by Microsoft

The task is logistic regression on frozen vectors (see `probe`); each text counts as right or wrong, so that two systems
can be compared text by text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from siamese_cbow.base.arrays import Floats
from siamese_cbow.errors import InputError
from siamese_cbow.evaluation.evaluate import System
from siamese_cbow.evaluation.probe import FOLDS, Labelled, classified, read_labelled
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.reader import read_columns
from siamese_cbow.text.records import NoText
from siamese_cbow.text.row_reader import iter_lines

NAMES = {"rt-polarity": "mr", "custrev": "cr", "sst2": "sst-2", "msr_paraphrase": "mrpc", "train_5500": "trec"}
ENDINGS = ("pos", "neg", "subjective", "objective")  # extensions that are labels
TABLE = re.compile(r"(?P<name>.+?)(?:[-_](?P<part>train|test))?\.(?:tsv|csv|jsonl|parquet)")
PARAPHRASES = "msr_paraphrase_{}.txt"
QUESTIONS = ("train_5500.label", "TREC_10.label")


@dataclass(frozen=True)
class Transfer:
    """One set; `items` is 1 for each text that is classified correctly."""

    data: Labelled
    folds: int = FOLDS
    measure: str = "accuracy"

    @property
    def name(self) -> str:
        """`mr`."""
        return self.data.name

    def items(self, system: System | None) -> dict[str, Floats]:
        """The score of each tested text, (n_tested,), by the name of the measure; of tf-idf if there is no system."""
        _, is_correct = classified(system, self.data, folds=self.folds, ngrams=2)
        return {self.measure: is_correct.astype(np.float64)}

    def beside(self) -> dict[str, dict[str, Floats]]:
        """Baselines without vectors: tf-idf of words and word pairs, and always predicting the most frequent label."""
        labels, n_test = np.array(self.data.labels), self.data.n_test
        learnt, tested = (labels[:-n_test], labels[-n_test:]) if n_test else (labels, labels)
        values, counts = np.unique(learnt, return_counts=True)
        always = (tested == values[counts.argmax()]).astype(np.float64)
        return {"tf-idf of words and bigrams": self.items(None), "the most frequent label": {self.measure: always}}

    def sample(self, n: int) -> Transfer:
        """The same with at most this many examples and five folds, for a quick look."""
        size, data = len(self.data.texts), self.data
        chosen = np.sort(np.random.default_rng(1).permutation(size)[:n]).tolist()
        texts, labels = ([values[i] for i in chosen] for values in (data.texts, data.labels))
        seconds = [data.seconds[i] for i in chosen] if data.seconds else ()
        n_test = sum(i >= size - data.n_test for i in chosen) if data.n_test else 0
        return Transfer(Labelled(data.name, texts, labels, seconds, n_test), min(5, self.folds))


def transfer_sets(folder: Path) -> list[Transfer]:
    """Every set in a folder, by name; files of unknown kinds are ignored."""
    datasets = [*_tables(folder), *_by_ending(folder), *_questions(folder), *_paraphrases(folder)]
    names = [data.name for data in datasets]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"{folder} contains {twice[0]} twice, in two file formats; remove one of them")
    return [Transfer(data) for data in sorted(datasets, key=lambda data: data.name)]


def _named(name: str) -> str:
    return NAMES.get(name, name).lower()


def _tables(folder: Path) -> Iterator[Labelled]:
    parts: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and (match := TABLE.fullmatch(path.name)):
            parts.setdefault(match["name"], {})[match["part"] or ""] = path
    for name, files in parts.items():
        if "" in files:
            yield _joined(name, [_read(files[""])])
        elif len(files) == 2:
            yield _joined(name, [_read(files["train"]), _read(files["test"])])
        else:
            there, path = next(iter(files.items()))
            lacking = path.name.replace(there, "test" if there == "train" else "train")
            raise InputError(f"{path} has no {lacking} next to it; add it, or rename the file to {name}{path.suffix}")


def _read(path: Path) -> Labelled:
    """A table of texts, or of pairs if it has a column `text2`."""
    try:
        rows = list(read_columns(path, ["text", "text2"], ["label"], Decoding()))
    except NoText:  # a column is missing: `text2`, or another one, which the reader of texts reports
        return read_labelled(path)
    return Labelled(path.name, [a for a, _, _ in rows], [c for _, _, c in rows], [b for _, b, _ in rows])


def _by_ending(folder: Path) -> Iterator[Labelled]:
    """MR, CR, MPQA and SUBJ: a file for each label."""
    parts: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix[1:] in ENDINGS:
            parts.setdefault(path.stem, []).append(path)
    for name, paths in parts.items():
        if len(paths) < 2:
            raise InputError(f"{paths[0]} has no file for the other label next to it; add that file or remove this one")
        lines = [(text, path.suffix[1:]) for path in paths for text in iter_lines(path, Decoding()) if text.strip()]
        yield Labelled(_named(name), [text for text, _ in lines], [label for _, label in lines])


def _questions(folder: Path) -> Iterator[Labelled]:
    if not all((folder / name).is_file() for name in QUESTIONS):
        return
    parts = []
    for name in QUESTIONS:
        lines = [line.partition(" ") for line in iter_lines(folder / name, Decoding()) if line.strip()]
        parts.append(
            Labelled("trec", [text for _, _, text in lines], [label.partition(":")[0] for label, _, _ in lines])
        )
    yield _joined("trec", parts)


def _paraphrases(folder: Path) -> Iterator[Labelled]:
    paths = [folder / PARAPHRASES.format(part) for part in ("train", "test")]
    if all(path.is_file() for path in paths):
        yield _joined("mrpc", list(map(_read_paraphrases, paths)))


def _read_paraphrases(path: Path) -> Labelled:
    rows = []
    for number, line in enumerate(iter_lines(path, Decoding()), start=1):
        cells = line.split("\t")
        if len(cells) != 5:
            raise InputError(f"{path} line {number:,} has {len(cells)} cells; expected 5 tab-separated cells")
        rows.append(cells)
    texts = [[row[i] for row in rows[1:]] for i in (3, 0, 4)]
    return Labelled("mrpc", texts[0], texts[1], texts[2])


def _joined(name: str, parts: Iterable[Labelled]) -> Labelled:
    """One set from a single part, or from a training part and a test part."""
    parts = list(parts)
    texts, labels, seconds = (
        [value for part in parts for value in getattr(part, field)] for field in ("texts", "labels", "seconds")
    )
    return Labelled(_named(name), texts, labels, seconds, len(parts[1].texts) if len(parts) > 1 else 0)
