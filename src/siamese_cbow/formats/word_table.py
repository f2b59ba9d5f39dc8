"""A model as a Parquet table of words, counts and vectors, for data frames; tokenizer and info are in the metadata.

    word    string
    count   int64
    vector  list of float32

pandas.read_parquet, polars.read_parquet, DuckDB and others read it. A table of theirs with columns `word` and `vector`
is read back as a model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import InputError, needs
from siamese_cbow.formats.vector_files import has_capitals
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.words.json_tokenizer import JsonTokenizer
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

KEY = b"siamese-cbow"


def write_word_table(model: Model, path: Path) -> None:
    """Writes the words of a model as a Parquet table."""
    with needs("pyarrow", "tables"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    tokenizer = model.tokenizer
    settings = {"json": tokenizer.json} if isinstance(tokenizer, JsonTokenizer) else tokenizer.settings()
    about = {"tokenizer": settings, "info": dict(model.info), "languages": model.languages}
    table = pa.table(
        {
            "word": pa.array(model.vocabulary.words, pa.string()),
            "count": pa.array(model.vocabulary.counts),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(model.vectors.reshape(-1)), model.dim),
        }
    ).replace_schema_metadata({KEY: json.dumps(about).encode()})
    with atomic_file(path) as target:
        pq.write_table(table, target, compression="zstd", use_dictionary=False)


def is_word_table(path: Path) -> bool:
    """Whether a file is a Parquet table with the columns `word` and `vector`."""
    with needs("pyarrow", "tables"):
        import pyarrow.parquet as pq

    return {"word", "vector"} <= set(pq.read_schema(path).names)


def read_word_table(path: Path, progress: Progress = SILENT) -> Model:
    """The model in a Parquet table with the columns `word`, `vector` and, if there are counts, `count`."""
    with needs("pyarrow", "tables"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        names = table.column_names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a readable Parquet file ({error}); write it again") from None
    if not {"word", "vector"} <= set(names):
        raise InputError(f"{path} has the columns {', '.join(names)}; expected `word` and `vector` (and `count`)")
    try:
        words = table["word"].to_pylist()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} has a word that is not UTF-8 ({error}); write it again") from None
    if not all(isinstance(word, str) and word for word in words):
        raise InputError(f"{path} has rows without a word; expected a string in each row of `word`")
    try:
        about: dict[str, Any] = json.loads((table.schema.metadata or {}).get(KEY, b"{}"))
    except (ValueError, RecursionError):
        raise InputError(f"{path} has metadata of siamese-cbow that is not JSON; write it again") from None
    counts = np.asarray(table["count"].to_numpy() if "count" in names else np.zeros(len(words)), np.int64)
    vocabulary = Vocabulary(words, counts, tuple(about.get("languages", ())))
    info = about.get("info") or {"recipe": {"name": "word table", "file": path.name}}
    return Model(vocabulary, as_matrix(table["vector"]), _tokenizer(about.get("tokenizer"), words), info)


def _tokenizer(settings: dict[str, Any] | None, words: list[str]) -> Tokenizer:
    if settings is None:
        return Tokenizer(lowercase=not has_capitals(words))
    return JsonTokenizer(json=settings["json"]) if "json" in settings else Tokenizer.from_settings(settings)


def as_matrix(column: Any) -> Vectors:
    """A column of vectors as a matrix, (n, dim) float32: lists, arrays or fixed-size lists from any of the libraries.

    `as_matrix(pandas.Series([[1.0, 2.0], [3.0, 4.0]]))` -> [[1, 2], [3, 4]]
    """
    if type(column).__module__.startswith("pyarrow"):
        return _of_arrow(column)
    try:
        rows = [np.empty(()) if row is None else np.asarray(row, np.float32) for row in column]
    except (TypeError, ValueError) as error:
        raise InputError(f"a column with {error}; expected lists of numbers") from None
    _check_even({None if row.ndim != 1 else len(row) for row in rows})
    return _finite(np.stack(rows))


def _of_arrow(column: Any) -> Vectors:
    """The matrix of an Arrow column, without a Python object per number: the values of all lists form one array."""
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):  # it has no chunks
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    kinds = pa.types
    is_list = any(is_it(whole.type) for is_it in (kinds.is_list, kinds.is_large_list, kinds.is_fixed_size_list))
    numbers = (kinds.is_floating, kinds.is_integer, kinds.is_decimal, kinds.is_null)  # empty lists have the type null
    if not is_list or not any(is_it(whole.type.value_type) for is_it in numbers):
        raise InputError(f"a column of type {whole.type}; expected lists of numbers")
    is_empty = not len(whole) and pa.types.is_fixed_size_list(whole.type)
    lengths = {whole.type.list_size} if is_empty else set(pa.compute.list_value_length(whole).to_pylist())
    _check_even(lengths)
    values: NDArray[Any] = whole.flatten().to_numpy(zero_copy_only=False)
    return _finite(np.ascontiguousarray(values.reshape(len(whole), *lengths), np.float32))


def _finite(vectors: Vectors) -> Vectors:
    if not np.isfinite(vectors).all():
        row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise InputError(f"a column with NaN or infinity in row {row:,}; expected finite numbers")
    return vectors


def _check_even(lengths: set[int | None]) -> None:
    if len(lengths) != 1 or None in lengths:
        rows = "no rows" if not lengths else "rows of " + ", ".join(sorted(str(n) for n in lengths)[:4]) + " numbers"
        raise InputError(f"a column with {rows}; expected vectors of one length in every row")
