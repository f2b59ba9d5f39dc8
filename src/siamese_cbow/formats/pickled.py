"""Pickles of two other programs, read as data: nothing in them is run (see `safe_pickle`). We never write pickles.

    the original Siamese CBOW   {"oArgs": ..., "npaWordEmbeddings": (n_words + 1, dim), "oVocab": ...}; row 0 is zero
    gensim's `KeyedVectors.save`  the words, and the vectors inside or in a separate `.npy` file

Any other pickle is refused; the error gives the name that it refers to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.errors import InputError
from siamese_cbow.formats.safe_pickle import Record, load_npy, load_pickle
from siamese_cbow.formats.vector_files import has_capitals
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

KEYED_VECTORS = "gensim.models.keyedvectors.KeyedVectors"
RECORDS = ("argparse.Namespace", "vocabUtils.vocabulary", KEYED_VECTORS)
EXPECTED = "expected what the original Siamese CBOW program or gensim's KeyedVectors.save wrote"


def read_original(path: Path, progress: Progress = SILENT) -> Model:
    """The vectors that the original program saved. The file says whether text was lowercased, but has no counts."""
    content = load_pickle(path, records=RECORDS)
    fields = content if isinstance(content, dict) else {}
    table, vocabulary, arguments = (fields.get(name) for name in ("npaWordEmbeddings", "oVocab", "oArgs"))
    rows = vocabulary.fields.get("dVocab") if isinstance(vocabulary, Record) else None
    if not isinstance(rows, dict) or not isinstance(table, np.ndarray):
        raise InputError(f"{path} has no npaWordEmbeddings and oVocab; {EXPECTED}")
    # Row 0 belongs to no word. The matrix may be larger than the vocabulary, never smaller.
    words = {row: str(word) for word, row in rows.items() if type(row) is int and row != 0}
    n_words = len(words)
    if set(words) != set(range(1, n_words + 1)) or table.ndim != 2 or len(table) <= n_words:
        raise InputError(f"{path} has {n_words:,} words but a matrix of {table.shape}; expected one row per word")
    settings = arguments.fields if isinstance(arguments, Record) else {}
    listed = [words[row] for row in range(1, n_words + 1)]
    lowercase = not settings["bDontLowercase"] if "bDontLowercase" in settings else not has_capitals(listed)
    plain = {key: value for key, value in settings.items() if isinstance(value, str | int | float | bool | None)}
    finite = {key: value for key, value in plain.items() if not isinstance(value, float) or np.isfinite(value)}
    info = {"recipe": {"name": "original program", "file": path.name, "arguments": finite}}
    return _model(path, listed, table[1 : n_words + 1], None, Tokenizer(lowercase=bool(lowercase)), info)


def read_keyed_vectors(path: Path, progress: Progress = SILENT) -> Model:
    """The vectors that gensim's `KeyedVectors.save` wrote, with counts if there are any."""
    if b"gensim.models" in (head := _head(path)) and b"keyedvectors" not in head:
        advice = "load it in gensim and run model.wv.save_word2vec_format('words.bin', binary=True)"
        raise InputError(f"{path} is a whole gensim model, not only its KeyedVectors; {advice}")
    content = load_pickle(path, records=RECORDS)
    fields = content.fields if isinstance(content, Record) and content.name == KEYED_VECTORS else {}
    words = fields.get("index_to_key")
    beside = path.with_name(f"{path.name}.vectors.npy")
    table = load_npy(beside) if "vectors" not in fields and beside.exists() else fields.get("vectors")
    if not isinstance(words, list) or not isinstance(table, np.ndarray) or not all(isinstance(w, str) for w in words):
        where = f"; its vectors may be in {beside.name}, which must be in the same folder" if words else ""
        raise InputError(f"{path} is not a complete KeyedVectors{where}; {EXPECTED}")
    if table.ndim != 2 or len(table) != len(words):
        raise InputError(f"{path} has {len(words):,} words but a matrix of {table.shape}; expected one row per word")
    attributes = fields.get("expandos")
    counts = attributes.get("count") if isinstance(attributes, dict) else None
    info = {"recipe": {"name": "gensim KeyedVectors", "file": path.name}}
    return _model(path, words, table, counts, Tokenizer(lowercase=not has_capitals(words)), info)


def is_keyed_vectors(path: Path) -> bool:
    """Whether a pickle is gensim's, as far as its first bytes tell."""
    return b"gensim" in _head(path)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(200)


def _model(
    path: Path, words: list[str], table: NDArray[Any], counts: Any, tokenizer: Tokenizer, info: dict[str, Any]
) -> Model:
    counts = np.zeros(len(words), np.int64) if counts is None else counts
    is_one_each = isinstance(counts, np.ndarray) and counts.shape == (len(words),) and counts.dtype.kind in "iuf"
    if table.dtype.kind != "f" or not is_one_each:
        raise InputError(f"{path} has vectors of {table.dtype}, or lacks some counts; {EXPECTED}")
    vectors = np.ascontiguousarray(table, np.float32)
    return Model(Vocabulary(words, counts.astype(np.int64)), vectors, tokenizer, info)
