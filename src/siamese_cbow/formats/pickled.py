"""Pickles of two other programs, read as data: nothing in them is run (see `safe_pickle`), and none is written.

    the original Siamese CBOW   {"oArgs": ..., "npaWordEmbeddings": (n_words + 1, dim), "oVocab": ...}; row 0 is zero
    gensim's `KeyedVectors.save`  the words, and the vectors inside or in a `.npy` file beside

Any other pickle is refused, naming what it asks for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.errors import InputError
from siamese_cbow.formats.safe_pickle import Record, load_npy, load_pickle
from siamese_cbow.formats.vector_file import has_capitals
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

KEYED_VECTORS = "gensim.models.keyedvectors.KeyedVectors"
RECORDS = ("argparse.Namespace", "vocabUtils.vocabulary", KEYED_VECTORS)
EXPECTED = "expected what the original Siamese CBOW program or gensim's KeyedVectors.save wrote"


def read_original(path: Path, progress: Progress = SILENT) -> Model:
    """The vectors that the original program saved; whether it lowercased its text is in the file, counts are not."""
    return _original(path, load_pickle(path, records=RECORDS))


def read_keyed_vectors(path: Path, progress: Progress = SILENT) -> Model:
    """What gensim's `KeyedVectors.save` wrote, with counts if there are any."""
    return _keyed_vectors(path, load_pickle(path, records=RECORDS))


def is_keyed_vectors(path: Path) -> bool:
    """Whether a pickle is gensim's, as far as its first bytes tell."""
    with path.open("rb") as file:
        return b"gensim" in file.read(200)


def _original(path: Path, content: Any) -> Model:
    vocabulary = content.get("oVocab") if isinstance(content, dict) else None
    table = content.get("npaWordEmbeddings") if isinstance(content, dict) else None
    index = vocabulary.fields.get("dVocab") if isinstance(vocabulary, Record) else None
    if not isinstance(index, dict) or not isinstance(table, np.ndarray):
        raise InputError(f"{path} has no npaWordEmbeddings and oVocab; {EXPECTED}")
    # Row 0 belongs to no word. The matrix may be larger than the vocabulary, never smaller.
    words = {row: word for word, row in index.items() if row != 0}
    n_words = len(words)
    if set(words) != set(range(1, n_words + 1)) or table.ndim != 2 or len(table) <= n_words:
        raise InputError(f"{path} has {n_words:,} words and a matrix of {table.shape}; expected a row for each word")
    arguments = content.get("oArgs")
    settings = arguments.fields if isinstance(arguments, Record) else {}
    listed = [str(words[row]) for row in range(1, n_words + 1)]
    lowercase = not settings["bDontLowercase"] if "bDontLowercase" in settings else not has_capitals(listed)
    kept = {key: value for key, value in settings.items() if isinstance(value, str | int | float | bool | None)}
    finite = {key: value for key, value in kept.items() if not isinstance(value, float) or np.isfinite(value)}
    info = {"recipe": {"name": "original program", "file": path.name, "arguments": finite}}
    return _model(listed, table[1 : n_words + 1], np.zeros(n_words, np.int64), Tokenizer(lowercase=lowercase), info)


def _keyed_vectors(path: Path, content: Any) -> Model:
    fields = content.fields if isinstance(content, Record) and content.name == KEYED_VECTORS else {}
    words = fields.get("index_to_key")
    beside = path.with_name(f"{path.name}.vectors.npy")
    table = load_npy(beside) if "vectors" not in fields and beside.exists() else fields.get("vectors")
    if not isinstance(words, list) or not isinstance(table, np.ndarray) or not all(isinstance(w, str) for w in words):
        where = f"; its vectors may be in {beside.name}, which must stand beside it" if words else ""
        raise InputError(f"{path} is no whole KeyedVectors{where}; {EXPECTED}")
    if table.ndim != 2 or len(table) != len(words):
        raise InputError(f"{path} has {len(words):,} words and a matrix of {table.shape}; expected a row for each word")
    counts = fields.get("expandos", {}).get("count", np.zeros(len(words), np.int64))
    info = {"recipe": {"name": "gensim KeyedVectors", "file": path.name}}
    return _model(words, table, counts, Tokenizer(lowercase=not has_capitals(words)), info)


def _model(
    words: list[str], table: NDArray[Any], counts: NDArray[Any], tokenizer: Tokenizer, info: dict[str, Any]
) -> Model:
    if table.dtype.kind != "f" or counts.shape != (len(words),):
        raise InputError(
            f"vectors are {table.dtype} and counts {counts.shape}; expected numbers, one row for each word"
        )
    vectors = np.ascontiguousarray(table, np.float32)
    return Model(Vocabulary(words, counts.astype(np.int64)), vectors, tokenizer, info)
