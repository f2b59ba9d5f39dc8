"""`siamese-cbow adapt`: a model and texts of one kind in, a model for such texts out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from siamese_cbow.cli.model_option import model_option, open_model
from siamese_cbow.cli.rows_options import rows_options, say
from siamese_cbow.cli.search import progress_bar
from siamese_cbow.packed_rows import Dtype

if TYPE_CHECKING:
    from siamese_cbow.progress import Progress
    from siamese_cbow.retrieval.rows import Source


@click.command(name="adapt", context_settings={"show_default": True})
@click.argument("files", nargs=-1)
@model_option
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder of the new model.")
@click.option("--dtype", type=click.Choice(get_args(Dtype)),
              help="Bits of a number; only float32 can be undone later.  [default: as the model has them]")  # fmt: skip
@rows_options
def command(
    files: tuple[str, ...],
    folder: Path | None,
    output: Path,
    dtype: Dtype | None,
    sentences: bool,
    sentence_language: str,
    text_column: str,
) -> None:
    """Make a model fit texts of one kind: headlines, tickets, captions.

    FILES: files, folders, globs or - for standard input, as for `search`; each line is a text. Words that are common
    in them count for less, and so does what they all have in common. Nothing is trained: it takes seconds.
    """
    from siamese_cbow.retrieval.rows import RowSettings, Source

    if not files and sys.stdin.isatty():
        raise click.UsageError("got no FILES; expected some, or text on standard input")
    model = open_model(folder)
    settings = RowSettings(sentences=sentences, language=sentence_language, text_column=text_column)
    source = Source(list(files) or ["-"], settings, say)
    with progress_bar("reading", source.total_bytes) as progress:
        adapted = model.adapt(_texts(source, progress))
    of = adapted.info["postprocessing"]["adapted_to"]
    if (dtype or model.dtype) != adapted.dtype:
        adapted = adapted.compress(dtype or model.dtype)
    adapted.save(output)
    click.echo(f"adapted to {of['texts']:,} texts with {of['words']:,} known words", err=True)
    click.echo(output)


def _texts(source: Source, progress: Progress) -> Iterator[str]:
    from siamese_cbow.retrieval.rows import finished

    for block in source.blocks():
        rows = finished(block, source.settings)
        yield from rows.texts(0, len(rows))
        progress.advance(block.n_source_bytes)
