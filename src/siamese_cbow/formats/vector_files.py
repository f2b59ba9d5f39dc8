"""Word vector files as arrays and as models: word2vec text and binary, GloVe text, fastText `.vec`.

    3 2                    header: number of words, dim (word2vec and fastText; GloVe has none)
    the 0.1 0.2            a word and its numbers; binary files hold `the`, a space, 2 little-endian float32
    cat 0.3 0.4
    New York 0.5 0.6       words may contain spaces in GloVe: the last `dim` fields are the numbers

Nothing in a file is run, and memory grows only with the rows that actually arrive. fastText's `.bin` models are
refused with what to do instead. A file does not say how its text was tokenised: its model gets our tokenizer, which
lowercases text unless the file has words with capitals.
"""

from __future__ import annotations

import lzma
import re
import zlib
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import InputError, counted
from siamese_cbow.formats.vector_layouts import ADVICE, COMPRESSIONS, VectorLayout, find_layout, opened
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.stream import Stream
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

CAPITALS = 0.01  # with a larger share of capitalised words, the file is case-sensitive
ODDITIES = {
    "twice": ("row", "{n} with a repeated word, such as {example!r}; the first row of each is used"),
    "spaced": ("word", "{n} with spaces inside"),
    "broken": ("word", "{n} in invalid UTF-8; replaced the invalid bytes with �"),
    "nameless": ("row", "skipped {n} without a word"),
}
SPACE = re.compile(r"[\t-\r ]")


def read_word_vectors(
    path: str | Path, *, keep: Container[str] | None = None, progress: Progress = SILENT
) -> tuple[list[str], Vectors]:
    """The words of a file, in its order, and their vectors, (n_words, dim) float32.

    "the 0.1 0.2\\ncat 0.3 0.4\\n" -> (["the", "cat"], [[0.1, 0.2], [0.3, 0.4]])

    `keep` skips all other words while reading, so that a few words of a 4 GB file need little memory. If a word occurs
    twice, its first row counts; such oddities are counted and reported through `progress`, which advances by rows.
    """
    path = Path(path)
    try:
        layout = find_layout(path)
        rows = _Rows(layout, keep)
        with opened(path) as file:
            for number, (word, numbers) in enumerate(layout.rows(file), start=1):
                rows.add(number, word, numbers)
                if number % 1000 == 0:
                    progress.advance(1000, f"{len(rows.words):,} words")
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"can't read {path}: {error}; check the path, or download the file again") from error
    for message in rows.oddities():
        progress.say(f"{path.name}: {message}")
    return list(rows.words), rows.finished()


def write_word_vectors(
    path: str | Path, words: Sequence[str], vectors: Vectors, *, binary: bool = False, header: bool = True
) -> None:
    """Write a word2vec file, text or binary; gensim, spaCy and `read_word_vectors` read it back to the same bits.

    (["the", "cat"], [[0.5, 0.2], [0.3, 0.4]]) -> "2 2\\nthe 0.5 0.200000003\\ncat 0.300000012 0.400000006\\n"

    Without its header it is a GloVe file. A name that ends in .gz, .bz2 or .xz is compressed.
    """
    path = Path(path)
    if vectors.ndim != 2 or len(words) != len(vectors):
        raise InputError(f"{len(words)} words but vectors of shape {vectors.shape}; expected one row per word")
    for word in spaced_words(words):
        raise InputError(f"the word {word!r} has white space, which a word2vec file can't hold; replace it with _")
    # Nine digits restore every float32 exactly, and printf is three times faster than the shortest representation.
    pattern = " ".join(["%.9g"] * vectors.shape[1])
    opener = COMPRESSIONS.get(path.suffix, Path.open)
    with atomic_file(path) as target, opener(target, "wb") as file:
        if header:
            file.write(f"{len(words)} {vectors.shape[1]}\n".encode())
        for word, row in zip(words, vectors, strict=True):
            numbers = row.astype("<f4").tobytes() if binary else (pattern % tuple(row.tolist())).encode()
            file.write(word.encode("utf-8") + b" " + numbers + b"\n")


def holds_word_vectors(path: Path) -> bool:
    """Whether the first row of a file is a word and its numbers, unlike prose, which otherwise looks like GloVe."""
    layout = find_layout(path)
    with opened(path) as file:
        row = next(layout.rows(file), None)
    return row is None or bool(np.isfinite(layout.parse(row[1])).all())


def spaced_words(words: Sequence[str]) -> list[str]:
    """The words that no such file can hold: those with ASCII white space, and empty ones."""
    return [word for word in words if not word or SPACE.search(word)]


def has_capitals(words: Sequence[str]) -> bool:
    """Whether the words keep the case of their text: ["the", "The", "Paris"] -> True."""
    return sum(word != word.lower() for word in words) > CAPITALS * len(words)


# as models


def read_vector_file(path: str | Path, progress: Progress = SILENT, *, keep: Container[str] | None = None) -> Model:
    """The vectors of a file as a model; `keep` leaves out every other word while reading."""
    words, vectors = read_word_vectors(path, keep=keep, progress=progress)
    if not words:
        raise InputError(f"{path} contains none of the requested words; check that its language and case match")
    info = {"recipe": {"name": "vector file", "file": Path(path).name}}
    return Model(Vocabulary.of_words(words), vectors, Tokenizer(lowercase=not has_capitals(words)), info)


def write_vector_file(model: Model, path: Path, *, binary: bool = False, header: bool = True) -> None:
    """Write the words of a model, except those with white space."""
    spaced = set(spaced_words(model.vocabulary.words))
    rows = [row for row, word in enumerate(model.vocabulary.words) if word not in spaced]
    if not rows:
        raise InputError(f"can't write {path}: every word contains white space; choose another format")
    words, vectors = [model.vocabulary.words[row] for row in rows], model.vectors
    write_word_vectors(path, words, vectors[rows] if spaced else vectors, binary=binary, header=header)


@dataclass(frozen=True)
class VectorFile:
    """A file's vectors for the words of a stream; words missing from the file have none.

    `VectorFile("glove.6B.300d.txt").train(stream)` -> Model
    """

    path: str

    def train(self, stream: Stream, *, threads: int | None = None, progress: Progress = SILENT) -> Model:
        """Nothing is trained: the rows are looked up, so that the vocabulary and the tokenizer are the stream's."""
        words, vectors = read_word_vectors(self.path, keep=stream.vocabulary.index, progress=progress)
        if not words:
            raise InputError(f"{self.path} has no word of the stream; check that its language and case match")
        ids = np.array([stream.vocabulary.index[word] for word in words])
        order = np.argsort(ids)
        vocabulary = Vocabulary([words[place] for place in order], stream.vocabulary.counts[ids[order]])
        info = {"recipe": {"name": "vector file", "file": Path(self.path).name}, "corpus": stream.fingerprint}
        return Model(vocabulary, vectors[order], stream.tokenizer, info)


class _Rows:
    """Collects the wanted rows and counts oddities."""

    def __init__(self, layout: VectorLayout, keep: Container[str] | None) -> None:
        self._layout, self._keep = layout, keep
        self.words: dict[str, None] = {}  # in file order
        self._vectors = np.empty((1024, layout.dim), dtype=np.float32)
        self._example = ""
        self._odd: Counter[str] = Counter()  # by the words of ODDITIES

    def add(self, number: int, raw: bytes, numbers: bytes) -> None:
        try:
            word = raw.decode("utf-8")
        except UnicodeDecodeError:
            word = raw.decode("utf-8", "replace")
            self._odd["broken"] += 1
        if not word:
            self._odd["nameless"] += 1
        elif word in self.words:
            self._odd["twice"] += 1
            self._example = self._example or word
        elif self._keep is None or word in self._keep:
            self._odd["spaced"] += " " in word
            self._append(number, word, numbers)

    def _append(self, number: int, word: str, numbers: bytes) -> None:
        layout = self._layout
        try:
            row = layout.parse(numbers)
        except ValueError as error:
            what = f"expected {counted(layout.dim, 'number')} after {word[:40]!r} ({error!s:.80})"
            raise InputError(f"{layout.place(number)}: {what}; {ADVICE}") from None
        if not np.isfinite(row).all():
            raise InputError(f"{layout.place(number)}: the vector of {word[:40]!r} has NaN or infinity; {ADVICE}")
        if len(self.words) == len(self._vectors):
            self._vectors.resize((2 * len(self.words), layout.dim), refcheck=False)
        self._vectors[len(self.words)] = row
        self.words[word] = None

    def finished(self) -> Vectors:
        if not self.words and self._keep is None:
            raise InputError(f"{self._layout.path} contains no word vectors; {ADVICE}")
        self._vectors.resize((len(self.words), self._layout.dim), refcheck=False)
        return self._vectors

    def oddities(self) -> Iterator[str]:
        for kind, (noun, text) in ODDITIES.items():
            if n := self._odd[kind]:
                yield text.format(n=counted(n, noun), example=self._example)
