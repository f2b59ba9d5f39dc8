"""Columns of texts in, columns of vectors out: pandas, polars and pyarrow, each in its own type.

    with_vectors(model, frame, "text")       the same table with an additional column `vector`
    as_matrix(frame["vector"])               (n, dim) float32, from a column of lists or arrays

A missing text is an error that names its row; fill or drop missing values first.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.errors import InputError
from siamese_cbow.formats.resolver import open_model
from siamese_cbow.formats.word_table import as_matrix
from siamese_cbow.model.model import Model

__all__ = ["arrow_vectors", "as_matrix", "parquet_writer", "with_vectors"]

Table = TypeVar("Table")


def with_vectors(
    model: Model | str | os.PathLike[str] | None, table: Table, column: str, *, name: str = "vector", **options: Any
) -> Table:
    """The table with one more column: the vectors of the texts in `column`. Options are those of `Model.encode`.

    The model may be given by name. An existing column called `name` is replaced.

    pandas gets a column of float32 arrays, polars one of type Array(Float32, dim), pyarrow a fixed-size list. The
    original table stays as it is.
    """
    kind = type(table).__module__.partition(".")[0]
    if kind not in ADD or not hasattr(table, "__getitem__") or hasattr(table, "collect"):
        advice = "collect() it first" if hasattr(table, "collect") else f"expected a table of {', '.join(ADD)}"
        raise InputError(f"can't add a column to {type(table).__name__}; {advice}")
    names = list(getattr(table, "column_names", getattr(table, "columns", ())))
    if column not in names:
        raise InputError(f"the table has no column {column!r}; expected one of {', '.join(map(str, names))}")
    vectors = open_model(model).encode(table[column], **options)
    added: Table = ADD[kind](table, name, np.ascontiguousarray(vectors))
    return added


def _to_pandas(table: Any, name: str, vectors: Vectors) -> Any:
    import pandas as pd

    return table.assign(**{name: pd.Series(list(vectors), index=table.index, dtype=object)})


def _to_polars(table: Any, name: str, vectors: Vectors) -> Any:
    import polars as pl

    return table.with_columns(pl.Series(name, vectors, dtype=pl.Array(pl.Float32, vectors.shape[1])))


def _to_pyarrow(table: Any, name: str, vectors: Vectors) -> Any:
    column = arrow_vectors(vectors)
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def arrow_vectors(vectors: Vectors) -> Any:
    """Vectors, (n, dim), as an Arrow array of fixed-size lists."""
    import pyarrow as pa

    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])


def parquet_writer(path: Path, schema: Any, vector: str | None) -> Any:
    """A writer of Parquet tables; `vector` is their column of vectors, if they have one.

    Six times faster than with the defaults, and a third smaller: a dictionary does not shorten random numbers.
    """
    import pyarrow.parquet as pq

    others = [name for name in schema.names if name != vector]
    split: Any = False if vector is None else [f"{vector}.list.element"]
    return pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=others, use_byte_stream_split=split)


ADD = {"pandas": _to_pandas, "polars": _to_polars, "pyarrow": _to_pyarrow}
