"""Where `siamese-cbow encode` puts its rows: a file in one of three formats, or JSON lines on standard output.

Rows come in batches and are written as they come, so that the output may be larger than memory. A file appears
under its name only when it is complete.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TextIO, TypeAlias

import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import SettingsError

# Takes the texts and the vectors of some rows.
Write: TypeAlias = Callable[[list[str], Vectors], None]


def check_output(path: Path | None) -> None:
    """Raises an error unless the ending of `path` names a format; None is standard output."""
    if path is not None and path.suffix not in FORMATS:
        raise SettingsError(f"can't write {path}; expected a name that ends in {', '.join(FORMATS)}")


@contextmanager
def open_output(path: Path | None, dim: int) -> Iterator[Write]:
    """What to call with each batch of rows; the file is there when the block ends well."""
    if path is None:
        yield _json_writer(sys.stdout, dim)
        return
    with atomic_file(path) as unfinished, FORMATS[path.suffix](unfinished, dim) as write:
        yield write


@contextmanager
def _npy(path: Path, dim: int) -> Iterator[Write]:
    """One float32 matrix. The header is written twice: how many rows there are is known at the end."""
    n_rows = 0
    with path.open("wb") as file:

        def header() -> None:
            entry = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, dim)}
            file.seek(0)
            np.lib.format.write_array_header_1_0(file, entry)  # leaves room for the number to grow

        def write(texts: list[str], vectors: Vectors) -> None:
            nonlocal n_rows
            file.write(vectors.astype("<f4", copy=False).data)
            n_rows += len(texts)

        header()
        start = file.tell()
        yield write
        header()
        if file.tell() != start:
            raise AssertionError("the .npy header has outgrown its room")  # NumPy keeps 21 digits free


@contextmanager
def _parquet(path: Path, dim: int) -> Iterator[Write]:
    """A column `text`, and a column `vector` of lists of `dim` numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("text", pa.string()), ("vector", pa.list_(pa.float32(), dim))])
    # Six times faster than the defaults, and a third smaller: a dictionary of random numbers is as long as the numbers.
    numbers = {"use_dictionary": False, "use_byte_stream_split": ["vector.list.element"]}
    with pq.ParquetWriter(path, schema, compression="zstd", **numbers) as writer:

        def write(texts: list[str], vectors: Vectors) -> None:
            rows = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), dim)
            writer.write_table(pa.table([pa.array(texts, pa.string()), rows], schema))

        yield write


@contextmanager
def _jsonl(path: Path, dim: int) -> Iterator[Write]:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        yield _json_writer(file, dim)


def _json_writer(file: TextIO, dim: int) -> Write:
    """{"text": "a cat", "vector": [0.25, ...]} a line; nine digits bring every float32 back."""
    numbers = ", ".join(["%.9g"] * dim)

    def write(texts: list[str], vectors: Vectors) -> None:
        for text, row in zip(texts, vectors.tolist(), strict=True):
            file.write(f'{{"text": {json.dumps(text, ensure_ascii=False)}, "vector": [{numbers % tuple(row)}]}}\n')

    return write


FORMATS: dict[str, Callable[[Path, int], AbstractContextManager[Write]]] = {
    ".npy": _npy,
    ".parquet": _parquet,
    ".jsonl": _jsonl,
}
