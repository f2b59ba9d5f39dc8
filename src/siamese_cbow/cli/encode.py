"""`siamese-cbow encode`: lines or records in, vectors out."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import click

from siamese_cbow.base.files import atomic_file
from siamese_cbow.cli.options import model_option, open_model
from siamese_cbow.cli.outputs import check_output, open_output
from siamese_cbow.cli.text_options import N_ROWS, batched, progress_bar, text_options
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
def command(
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
    if unknown is not None:
        _write_unknown(unknown, unknown_counts)


def _write_unknown(path: Path, counts: Counter[str]) -> None:
    listed = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    with atomic_file(path) as file:
        file.write_text("".join(f"{n} {word}\n" for word, n in listed), encoding="utf-8", newline="\n")
    click.echo(f"{counts.total():,} words without a vector, {len(listed):,} different ones: {path}", err=True)
