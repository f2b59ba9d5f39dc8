"""`siamese-cbow encode`: lines or records in, vectors out."""

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siamese_cbow.base.disk import check_file_replaceable
from siamese_cbow.base.files import atomic_file
from siamese_cbow.cli import Grouped
from siamese_cbow.cli.options import (
    FALLBACK,
    LANGUAGE,
    N_ROWS,
    PATH,
    batched,
    cluster_options,
    model_option,
    open_model,
    progress_bar,
    refuse_options,
    say,
    text_options,
    threads_option,
)
from siamese_cbow.cli.row_files import (
    FORMATS,
    VECTOR,
    carried_columns,
    check_output,
    open_rows,
    plain_records,
    refuse_input,
)
from siamese_cbow.errors import counted, listed
from siamese_cbow.progress import SILENT
from siamese_cbow.text.reader import RecordColumns, format_of
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import RowReader

if TYPE_CHECKING:
    from siamese_cbow.base.arrays import Vectors
    from siamese_cbow.model.model import Model

EXPLAINED = 200  # unknown words that `--unknown` explains: each takes a scan of all known words


@click.command(name="encode", cls=Grouped)
@click.argument("sources", metavar="INPUT...", nargs=-1, required=True)
@model_option
@click.option("-o", "--output", type=PATH, metavar="FILE",
              help="Output file: .npy, .parquet, .jsonl or .csv; all but .npy keep the other columns of a "
                   "table.  [default: JSON lines on standard output]")  # fmt: skip
@click.option("--vector-column", default=VECTOR, metavar="NAME", help="Name of the vector column.")
@text_options
@click.option("--normalize", is_flag=True, help="Scale each vector to length 1.")
@click.option("--truncate-dim", type=int, metavar="N", help="Keep only the first N dimensions.")
@click.option("--batch-size", type=click.IntRange(min=1), default=N_ROWS, metavar="N", help="Rows in memory at a time.")
@click.option("--unknown", metavar="FILE", type=PATH,
              help="Write out-of-vocabulary words to this file, one `count word` per line, most frequent "
                   "first, with what stands in for each.")  # fmt: skip
@threads_option
@cluster_options
def encode(
    sources: tuple[str, ...],
    folder: Path | None,
    output: Path | None,
    vector_column: str,
    text: TextSettings,
    normalize: bool,
    truncate_dim: int | None,
    batch_size: int,
    unknown: Path | None,
    threads: int | None,
    cluster: str | None,
    workers: int | None,
) -> None:
    """Turn each line or record into a vector.

    INPUT is one or more files, folders or globs, or - for standard input: plain text, HTML, Markdown, PDF, CSV, TSV,
    JSON lines or Parquet, optionally compressed (.gz .bz2 .xz .zst). Each line of plain text, each record of a table
    and each paragraph of a document gives exactly one row; a text without a known word gives zeros.

    With --cluster, INPUT may be a URL (s3://..., gs://..., hdfs://...), and the output is a folder of Parquet files
    with the vectors next to the other columns or the text.
    """
    if cluster is not None:
        if unknown is not None:
            raise click.UsageError("--unknown does not work with --cluster; drop one of them")
        how = {"normalize": normalize, "truncate_dim": truncate_dim, "vector_column": vector_column}
        _encode_on(cluster, workers, list(sources), output, model=folder, text=text, **how)
        return
    output = None if output == Path("-") else output
    check_output(output, vectors=True)
    reader = RowReader(list(sources), text)
    _check_outputs(output, unknown, reader.files, vector_column)
    model = open_model(folder)
    is_matrix = output is not None and output.suffix == ".npy"
    if is_matrix:
        refuse_options({"vector_column"}, f"{output} has no columns; expected a .parquet, .jsonl or .csv file")
    columns = None if is_matrix else carried_columns(reader.files, text, vector_column, say)
    unknown_counts: Counter[str] = Counter()
    n_rows = n_zero = n_empty = 0
    dim = len(model.encode("", truncate_dim=truncate_dim))
    watched = output is not None or not sys.stdout.isatty()  # otherwise the rows themselves are on the screen
    with (
        open_rows(output, columns, vector_column, dim) as write,
        progress_bar("encoding", reader.total_bytes) if watched else nullcontext(SILENT) as progress,
    ):
        rows = ((reader.source, row) for row in reader.texts(progress))
        for batch in batched(rows, size=batch_size, length=lambda row: len(row[1])):
            texts = [row for _, row in batch]
            vectors = model.encode(texts, normalize_embeddings=normalize, truncate_dim=truncate_dim, threads=threads)
            write(_records(batch, columns), vectors)
            n_rows, n_zero = n_rows + len(texts), n_zero + _n_zero(vectors)
            n_empty += sum(not row or row.isspace() for row in texts)
            if unknown is not None:
                unknown_counts.update(model.unknown_counts(texts))
    for line in reader.remarks:
        say(line)
    if not n_rows:
        what = listed(["standard input" if source == "-" else source for source in sources])
        say(f"{what} contains no text: 0 rows")
    if n_zero:
        _say_zeros(n_rows, n_empty, n_zero - n_empty, of_lines=_has_lines(reader))
    if unknown is not None:
        _write_unknown(unknown, unknown_counts, model)


def _n_zero(vectors: Vectors) -> int:
    """How many rows are zeros; only the few rows that begin with a zero are checked completely."""
    return int((~vectors[vectors[:, 0] == 0].any(axis=1)).sum())


def _has_lines(reader: RowReader) -> bool:
    """Whether rows are lines of plain text; among these, empty ones only separate paragraphs."""
    formats = [format_of(path) for path in reader.files]
    return reader.settings.unit == "line" and not any(each.is_table or each.document for each in formats)


def _say_zeros(n_rows: int, n_empty: int, n_unknown: int, *, of_lines: bool) -> None:
    what, advice = ("empty lines", "; --unit paragraph leaves them out") if of_lines else ("rows without text", "")
    if n_empty:
        say(f"zero vectors for {what}: {n_empty:,} of {n_rows:,}{advice}")
    if n_unknown:
        say(f"zero vectors for rows without a known word: {n_unknown:,} of {n_rows:,}")


def _encode_on(cluster: str, workers: int | None, sources: list[str], output: Path | None, **how: Any) -> None:
    from siamese_cbow.cluster import RayCluster

    if output is None or output.suffix in FORMATS:
        given = "" if output is None else f", not {output}"
        raise click.UsageError(f"--cluster writes Parquet files into a folder; give its name: -o vectors{given}")
    chosen = click.get_current_context().meta
    how |= {"language": chosen.get(LANGUAGE), "fallback": chosen.get(FALLBACK)}
    RayCluster(cluster, workers).encode(sources, output=output, progress=True, **how)
    click.echo(output)


def _records(rows: list[tuple[str, str]], columns: RecordColumns | None) -> list[Any]:
    """The records to write next to the vectors of rows (sources and texts): with all columns, or the text alone."""
    if columns is None:
        return [[{"text": row} for _, row in rows]]
    sources = itertools.groupby(source for source, _ in rows)
    return [part for source, each in sources for part in columns.take(source, sum(1 for _ in each))]


def _check_outputs(output: Path | None, unknown: Path | None, inputs: Sequence[Path], vector: str) -> None:
    """Raise an error, before any work, unless existing outputs come from an earlier run of this command."""
    for path in (output, unknown):
        refuse_input(path, inputs)
    if output is not None:
        is_matrix = output.suffix == ".npy"
        otherwise = "is not a matrix of vectors" if is_matrix else f"has no column {vector!r} of vectors at its end"
        check_file_replaceable(
            output, _is_matrix if is_matrix else lambda path: _last_column(path) == vector, otherwise
        )
    if unknown is not None:
        check_file_replaceable(unknown, _has_counts, "is not a list of counts and words")


def _is_matrix(path: Path) -> bool:
    from siamese_cbow.base.arrays import mapped_array

    mapped_array(path, "float32", (None, None), advice="")  # raises for anything else, which counts as no
    return True


def _last_column(path: Path) -> str | None:
    """The last column of a table's header, or of the first record of JSON lines."""
    columns = RecordColumns.of([path], None)
    if columns is None:
        return None
    records = [] if columns.names else columns.take(str(path), 1)
    names = columns.names or list(plain_records(records[0])[0])
    return names[-1]


def _has_counts(path: Path) -> bool:
    """Whether `--unknown` has written a file: its first line is a count and a word."""
    with path.open(encoding="utf-8") as file:
        return re.match(r"\d+ \S", file.readline(1000)) is not None


def _write_unknown(path: Path, counts: Counter[str], model: Model) -> None:
    """Write lines of count and word, most frequent first; the first ones also say what the model makes of the word."""
    listed = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    explained = 0 if model.fallback == "none" else EXPLAINED
    counts_as = {word: f"\t{model.made_of(word)}" for word, _ in listed[:explained]}
    lines = [f"{n} {word}{counts_as.get(word, '')}\n" for word, n in listed]
    with atomic_file(path) as file:
        file.write_text("".join(lines), encoding="utf-8", newline="\n")
    say(f"{counted(counts.total(), 'out-of-vocabulary word')}, {len(listed):,} distinct: {path}")
