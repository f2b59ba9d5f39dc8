"""Larger pieces of text, as the paper's outlook asks: halves of documents that find each other, passages by document.

    documents/NAME.txt    documents with an empty line between them (also .gz, .xz and so on)

Nothing has to be labelled. Two measures, each a figure for every document or passage:

    other half        half of a document is asked for the other half among all others: 1 / its rank
    same document     the passage nearest to a passage (100 words each) is of the same document: 1 or 0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats
from siamese_cbow.errors import InputError, needs
from siamese_cbow.evaluation.evaluate import System
from siamese_cbow.model.geometry import units
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.row_reader import iter_lines

LEAST_WORDS, PASSAGE = 200, 100  # of a document, of a passage
N_DOCUMENTS, N_PASSAGES = 500, 4  # passages of a document
HALVES, PASSAGES = "other half, mean of 1 / rank", "nearest passage of the same document"


@dataclass(frozen=True)
class Documents:
    """Some documents, each as its words: `Documents("news", [["One", "day", ...], ...])`."""

    name: str
    words: Sequence[Sequence[str]]

    def items(self, system: System) -> dict[str, Floats]:
        """A figure for each document, and for each passage."""

        def encoded(texts: list[str]) -> NDArray[Any]:
            return units(np.asarray(system.encode(texts), np.float32))

        first, second, passages = (encoded(texts) for texts in (*self._halves(), self._passages()[0]))
        return self._scored(first @ second.T, passages @ passages.T)

    def beside(self) -> dict[str, dict[str, Floats]]:
        """tf-idf of words, weighted by the documents themselves."""
        with needs("scikit-learn", "sklearn"):
            from sklearn.feature_extraction.text import TfidfVectorizer
        first, second = self._halves()
        passages, _ = self._passages()
        vectorizer = TfidfVectorizer(sublinear_tf=True).fit([*first, *second])
        one, other, each = (vectorizer.transform(texts) for texts in (first, second, passages))
        return {"tf-idf of words": self._scored((one @ other.T).toarray(), (each @ each.T).toarray())}

    def sample(self, n: int) -> Documents:
        """The same with fewer documents, for a quick look."""
        return replace(self, words=self.words[: max(2, n // 20)])

    def _halves(self) -> tuple[list[str], list[str]]:
        cut = [(words[: len(words) // 2], words[len(words) // 2 :]) for words in self.words]
        return [" ".join(first) for first, _ in cut], [" ".join(second) for _, second in cut]

    def _passages(self) -> tuple[list[str], NDArray[np.int64]]:
        """Passages that lie evenly in their documents, and the place of the document of each."""
        texts, document_of = [], []
        for place, words in enumerate(self.words):
            starts = np.unique(np.linspace(0, len(words) - PASSAGE, N_PASSAGES).astype(int) // PASSAGE * PASSAGE)
            texts += [" ".join(words[start : start + PASSAGE]) for start in starts.tolist()]
            document_of += [place] * len(starts)
        return texts, np.array(document_of)

    def _scored(self, halves: NDArray[Any], passages: NDArray[Any]) -> dict[str, Floats]:
        """From the cosines of all halves, (n, n), and of all passages, (m, m)."""
        ranks = (halves >= halves.diagonal()[:, None]).sum(axis=1)
        document_of, others = self._passages()[1], np.array(passages, np.float64)
        np.fill_diagonal(others, -np.inf)
        return {
            HALVES: 1.0 / ranks,
            PASSAGES: (document_of[others.argmax(axis=1)] == document_of).astype(np.float64),
        }


def document_sets(folder: Path) -> list[Documents]:
    """The documents of each file of a folder."""
    return [_read(path) for path in sorted(folder.iterdir()) if path.is_file()]


def _read(path: Path) -> Documents:
    long_enough = [words for words in _documents(path) if len(words) >= LEAST_WORDS][:N_DOCUMENTS]
    if len(long_enough) < 2:
        raise InputError(
            f"{path} has {len(long_enough)} documents of {LEAST_WORDS} words or more; expected 2 or more, with an "
            "empty line between documents"
        )
    return Documents(path.name.partition(".")[0], long_enough)


def _documents(path: Path) -> Iterator[list[str]]:
    words: list[str] = []
    for line in iter_lines(path, Decoding()):
        if line.strip():
            words += line.split()
        elif words:
            yield words
            words = []
    if words:
        yield words
