"""`siamese-cbow encode`: lines or records in, vectors out."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TextIO, TypeAlias

import click
import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.base.files import atomic_file
from siamese_cbow.cli.options import N_ROWS, batched, model_option, open_model, progress_bar, say, text_options
from siamese_cbow.errors import SettingsError
from siamese_cbow.progress import SILENT
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import RowReader


@click.command(name="encode", context_settings={"show_default": True})
@click.argument("source", metavar="INPUT")
@model_option
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
              help="A .npy, .parquet or .jsonl file.  [default: JSON lines on standard output]")  # fmt: skip
@text_options
@click.option("--normalize", is_flag=True, help="Vectors of length 1.")
@click.option("--truncate-dim", type=int, metavar="N", help="Only the first N dimensions.")
@click.option("--batch-size", type=click.IntRange(min=1), default=N_ROWS, help="Rows in memory at a time.")
@click.option("--unknown", metavar="FILE", type=click.Path(path_type=Path),
              help="Write the words without a vector to this file, one `count word` per line, by count.")  # fmt: skip
@click.option("--threads", type=int, help="[default: all cores]")
def encode(
    source: str,
    folder: Path | None,
    output: Path | None,
    text: TextSettings,
    normalize: bool,
    truncate_dim: int | None,
    batch_size: int,
    unknown: Path | None,
    threads: int | None,
) -> None:
    """Turn each line of a text into a vector.

    INPUT: a file, folder or glob, or - for standard input; plain text, JSON lines, CSV, TSV or Parquet, also compressed
    (.gz .bz2 .xz .zst). Each line of plain text and each record of a table gives one row, whatever it holds; one
    without a known word gives zeros.
    """
    output = None if output == Path("-") else output
    check_output(output)
    model = open_model(folder)
    reader = RowReader(source, text, overlong="keep")
    unknown_counts: Counter[str] = Counter()
    dim = len(model.encode("", truncate_dim=truncate_dim))
    watched = output is not None or not sys.stdout.isatty()  # else the rows themselves are on the screen
    with (
        open_output(output, dim) as write,
        progress_bar("encoding", reader.total_bytes) if watched else nullcontext(SILENT) as progress,
    ):
        for texts in batched(reader.texts(progress), size=batch_size, length=len):
            vectors = model.encode(texts, normalize_embeddings=normalize, truncate_dim=truncate_dim, threads=threads)
            write(texts, vectors)
            if unknown is not None:
                unknown_counts.update(model.unknown_counts(texts))
    for remark in reader.remarks:
        say(remark)
    if unknown is not None:
        _write_unknown(unknown, unknown_counts)


def _write_unknown(path: Path, counts: Counter[str]) -> None:
    listed = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    with atomic_file(path) as file:
        file.write_text("".join(f"{n} {word}\n" for word, n in listed), encoding="utf-8", newline="\n")
    click.echo(f"{counts.total():,} words without a vector, {len(listed):,} different ones: {path}", err=True)


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
