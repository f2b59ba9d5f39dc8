"""A word vector file of another program as a model: GloVe, word2vec and fastText vectors, averaged.

Whether text is lowercased follows the file: one that has words with capitals is looked up as the text is written.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from siamese_cbow.errors import InputError
from siamese_cbow.formats.vector_files import read_word_vectors
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.stream import Stream
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

CAPITALS = 0.01  # a file with more capitalised words than this was made from text in its own case


def open_vector_file(path: str | Path, *, keep: Container[str] | None = None, progress: Progress = SILENT) -> Model:
    """The vectors of a file as a model; `keep` leaves out every other word while reading."""
    words, vectors = read_word_vectors(path, keep=keep, progress=progress)
    if not words:
        raise InputError(f"{path} has none of the words that are needed; check that it is of the same language")
    tokenizer = Tokenizer(lowercase=not has_capitals(words))
    return Model(
        Vocabulary.of_words(words), vectors, tokenizer, {"recipe": {"name": "vector file", "file": Path(path).name}}
    )


def has_capitals(words: Sequence[str]) -> bool:
    """Whether the words keep the case of their text: ["the", "The", "Paris"] -> True."""
    return sum(word != word.lower() for word in words) > CAPITALS * len(words)


@dataclass(frozen=True)
class VectorFile:
    """A file's vectors for the words of a stream; words that the file lacks have none.

    `VectorFile("glove.6B.300d.txt").train(stream)` -> Model
    """

    path: str

    def train(self, stream: Stream, *, threads: int | None = None, progress: Progress = SILENT) -> Model:
        """Nothing is trained: the rows are looked up, so that the vocabulary and the tokenizer are the stream's."""
        words, vectors = read_word_vectors(self.path, keep=stream.vocabulary.index, progress=progress)
        if not words:
            raise InputError(f"{self.path} has no word of the stream; check that it is of the same language and case")
        ids = np.array([stream.vocabulary.index[word] for word in words])
        order = np.argsort(ids)
        vocabulary = Vocabulary([words[place] for place in order], stream.vocabulary.counts[ids[order]])
        info = {"recipe": {"name": "vector file", "file": Path(self.path).name}, "corpus": stream.fingerprint}
        return Model(vocabulary, vectors[order], stream.tokenizer, info)
