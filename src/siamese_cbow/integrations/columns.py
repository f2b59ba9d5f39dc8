"""Columns of texts in, columns of vectors out: pandas, polars and pyarrow, each answered in its own kind.

    with_vectors(model, frame, "text")       the same table with a column `vector` more
    as_matrix(frame["vector"])               (n, dim) float32, from a column of lists or arrays

A missing text is an error that names its row: fill or drop missing values first.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.errors import InputError
from siamese_cbow.model.model import Model

Table = TypeVar("Table")


def with_vectors(model: Model, table: Table, column: str, *, name: str = "vector", **options: Any) -> Table:
    """A table with one column more: the vectors of the texts in `column`. Options are those of `Model.encode`.

    pandas gets a column of float32 arrays, polars one of type Array(Float32, dim), pyarrow a fixed-size list. The table
    that was given stays as it is.
    """
    kind = type(table).__module__.partition(".")[0]
    if kind not in ADD or not hasattr(table, "columns"):
        raise InputError(f"can't add a column to {type(table).__name__}; expected a table of {', '.join(ADD)}")
    names = list(getattr(table, "column_names", getattr(table, "columns", ())))
    if column not in names:
        raise InputError(f"the table has no column {column!r}; expected one of {', '.join(map(str, names))}")
    vectors = model.encode(table[column], **options)  # type: ignore[index]
    added: Table = ADD[kind](table, name, np.ascontiguousarray(vectors))
    return added


def as_matrix(column: Any) -> Vectors:
    """A column of vectors as a matrix, (n, dim) float32: lists, arrays, fixed-size lists, of any of the libraries.

    `as_matrix(pandas.Series([[1.0, 2.0], [3.0, 4.0]]))` -> [[1, 2], [3, 4]]
    """
    if type(column).__module__.startswith("pyarrow"):
        return _of_arrow(column)
    if type(column).__module__.startswith("polars"):
        return _of_arrow(column.to_arrow())
    listed = [np.asarray(row, np.float32) if row is not None else None for row in column]
    lengths = {None if row is None or row.ndim != 1 else len(row) for row in listed}
    if len(lengths) != 1 or None in lengths:
        raise _uneven(lengths)
    rows = [row for row in listed if row is not None]
    return np.stack(rows)


def _of_arrow(column: Any) -> Vectors:
    """Without a Python object for each number: the values of all lists are one array."""
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):  # of no chunks
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    if not hasattr(whole, "flatten") or not pa.types.is_nested(whole.type):
        raise InputError(f"a column of type {whole.type}; expected lists of numbers")
    lengths = set(pa.compute.list_value_length(whole).to_pylist()) if len(whole) else set()
    if len(lengths) != 1 or None in lengths:
        raise _uneven(lengths)
    values: NDArray[Any] = whole.flatten().to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(values.reshape(len(whole), -1), np.float32)


def _uneven(lengths: set[int | None]) -> InputError:
    found = "no rows" if not lengths else "rows of " + ", ".join(sorted(str(n) for n in lengths)[:4]) + " numbers"
    return InputError(f"a column with {found}; expected vectors of one length in every row")


def _to_pandas(table: Any, name: str, vectors: Vectors) -> Any:
    import pandas as pd

    return table.assign(**{name: pd.Series(list(vectors), index=table.index, dtype=object)})


def _to_polars(table: Any, name: str, vectors: Vectors) -> Any:
    import polars as pl

    return table.with_columns(pl.Series(name, vectors, dtype=pl.Array(pl.Float32, vectors.shape[1])))


def _to_pyarrow(table: Any, name: str, vectors: Vectors) -> Any:
    import pyarrow as pa

    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


ADD = {"pandas": _to_pandas, "polars": _to_polars, "pyarrow": _to_pyarrow}
