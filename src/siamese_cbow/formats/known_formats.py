"""Every format a model can be read from or written to, as data: a name, its endings, what it keeps.

Reading goes by content first and by ending second, writing by ending; `--from` and `--to` overrule both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from siamese_cbow.errors import InputError
from siamese_cbow.formats import pickled
from siamese_cbow.formats.onnx import write_onnx
from siamese_cbow.formats.spacy import write_spacy
from siamese_cbow.formats.static_folder import read_static_folder
from siamese_cbow.formats.vector_file import open_vector_file
from siamese_cbow.formats.vector_files import PACKERS, write_word_vectors
from siamese_cbow.formats.word_table import read_word_table, write_word_table
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import load, save
from siamese_cbow.progress import Progress

Read: TypeAlias = Callable[[Path, Progress], Model]
Write: TypeAlias = Callable[[Model, Path], None]

COUNTS, TOKENIZER, INFO, SPACES = "counts", "tokenizer", "info", "words with spaces"
ALL = frozenset({COUNTS, TOKENIZER, INFO, SPACES})
NONE: frozenset[str] = frozenset()
OURS = "siamese-cbow"
SPACE = re.compile(r"[\t-\r ]")


@dataclass(frozen=True)
class Format:
    """One format. `keeps` is what of a model survives in it, beside words and vectors, which always do."""

    name: str
    about: str
    endings: tuple[str, ...] = ()
    read: Read | None = None
    write: Write | None = None
    keeps: frozenset[str] = NONE
    instead: str = ""  # where it can't be written: what to do

    @property
    def is_ours(self) -> bool:
        """Whether what is written is a folder of ours, under whatever name."""
        return self.write in (save, _write_static)


def _write_words(*, binary: bool = False, header: bool = True) -> Write:
    def write(model: Model, path: Path) -> None:
        spaced = spaced_words(model)
        if not spaced:
            write_word_vectors(path, model.vocabulary.words, model.vectors, binary=binary, header=header)
            return
        rows = [i for i, word in enumerate(model.vocabulary.words) if word not in spaced]
        words = [model.vocabulary.words[i] for i in rows]
        if not words:
            raise InputError(f"can't write {path}: none of its words is free of white space; choose another format")
        write_word_vectors(path, words, model.vectors[rows], binary=binary, header=header)

    return write


def spaced_words(model: Model) -> dict[str, None]:
    """The words that a word2vec file can't hold: those with white space of ASCII in them, and empty ones."""
    return dict.fromkeys(word for word in model.vocabulary.words if not word or SPACE.search(word))


def _read_words(path: Path, progress: Progress) -> Model:
    return open_vector_file(path, progress=progress)


def _read_ours(path: Path, progress: Progress) -> Model:
    return load(path)


def _write_static(model: Model, path: Path) -> None:
    save(model.compress("float32") if model.dtype == "int4" else model, path)  # they read no 4 bits


_WRITE_FILE = "write word2vec-binary (.bin) and load that with KeyedVectors.load_word2vec_format(file, binary=True)"

FORMATS = (
    Format(OURS, "our folder, which the next two libraries load as it is", (), _read_ours, save, ALL),
    Format("model2vec", "folder", (), read_static_folder, _write_static, ALL),
    Format("sentence-transformers", "folder of a static model", (), read_static_folder, _write_static, ALL),
    Format("word2vec", "text with a header", (".txt", ".w2v"), _read_words, _write_words()),
    Format("word2vec-binary", "float32 behind each word", (".bin",), _read_words, _write_words(binary=True)),
    Format("fasttext", "word2vec text under the name .vec", (".vec",), _read_words, _write_words()),
    Format("glove", "text without a header", (".glove",), _read_words, _write_words(header=False)),
    Format("parquet", "table of word, count, vector", (".parquet",), read_word_table, write_word_table, ALL),
    Format("onnx", "graph from ids to vectors", (".onnx",), None, write_onnx, frozenset({TOKENIZER, SPACES})),
    Format("spacy", "folder of a pipeline", (".spacy",), None, write_spacy, frozenset({TOKENIZER, SPACES})),
    Format("gensim", "KeyedVectors.save", (".kv",), pickled.read_keyed_vectors, None, frozenset({COUNTS}), _WRITE_FILE),
    Format("original", "pickle of the original Siamese CBOW program", (".pickle", ".pkl"), pickled.read_original,
           instead="it is a pickle, and none is written here: choose another format"),
)  # fmt: skip
BY_NAME = {one.name: one for one in FORMATS}
READABLE = [one.name for one in FORMATS if one.read]
WRITABLE = [one.name for one in FORMATS if one.write]


def ending_of(path: Path) -> str:
    """The ending that tells the format: `words.vec.gz` -> ".vec"; `models/v1.2` -> ".2"."""
    return path.with_suffix("").suffix if path.suffix in PACKERS else path.suffix
