"""`siamese-cbow similarity`: how close two texts are in meaning."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from siamese_cbow.cli.options import model_option, open_model
from siamese_cbow.cli.quick_numpy import import_numpy_quickly
from siamese_cbow.cli.text_options import batched
from siamese_cbow.errors import InputError


@click.command(name="similarity")
@click.argument("texts", metavar="[A B]", nargs=-1)
@model_option
@click.option("--other-language", metavar="NAME", help="The language of B, where it is not that of A.")
@click.option("--file", "path", metavar="FILE",
              help="Pairs: lines of two texts with a tab between, or a table; - is standard input.")  # fmt: skip
@click.option("--text-column", "columns", metavar="A,B",
              help="The two columns of --file, where it is JSON lines, CSV, TSV or Parquet.")  # fmt: skip
def command(
    texts: tuple[str, ...], folder: Path | None, path: str | None, columns: str | None, other_language: str | None
) -> None:
    """Print how similar two texts are, from -1 to 1.

    With --file, a number for each line of plain text, or for each record of a table.
    """
    if (len(texts) != 2) if path is None else texts:
        raise click.UsageError(f"got {len(texts)} texts; expected two, or --file FILE and none")
    import_numpy_quickly()
    model = open_model(folder)
    other = open_model(folder, language=other_language) if other_language else model
    if path is not None:
        for pairs in batched(_pairs(path, columns), length=lambda pair: len(pair[0]) + len(pair[1])):
            scores = model.similarity_pairwise(model.encode([a for a, _ in pairs]), other.encode([b for _, b in pairs]))
            click.echo("".join(f"{score:.6f}\n" for score in scores.tolist()), nl=False)
        return
    vectors = [each.encode(text) for each, text in zip((model, other), texts, strict=True)]
    for text, vector in zip(texts, vectors, strict=True):
        if not vector.any():
            click.echo(f"siamese-cbow: no word of {text!r} has a vector, so the similarity is 0", err=True)
    click.echo(f"{float(model.similarity(*vectors)[0, 0]):.6f}")


def _pairs(path: str, columns: str | None) -> Iterator[tuple[str, ...]]:
    """Two columns of a table; or the two texts of each line, also of .tsv files where no columns are named."""
    from siamese_cbow.text.reader import format_of, read_columns
    from siamese_cbow.text.row_reader import iter_lines

    if columns is not None:
        names = columns.split(",")
        if len(names) != 2:
            raise InputError(f"--text-column is {columns!r}; expected two columns of {path}: --text-column A,B")
        yield from read_columns(path, names)
        return
    if format_of(path).is_table and format_of(path).name != "TSV":
        raise InputError(f"{path} is a table; say which two columns to compare: --text-column A,B")
    for number, line in enumerate(iter_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) < 2:
            raise InputError(f"{path} line {number:,} has no tab: {line[:60]!r}; expected two texts with a tab between")
        yield fields[0], fields[1]
