"""`siamese-cbow adapt`: a model and texts of one kind in, a model for such texts out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import get_args

import click

from siamese_cbow.cli.model_option import model_option, open_model
from siamese_cbow.cli.rows_options import rows_options, say
from siamese_cbow.cli.search import progress_bar
from siamese_cbow.model.packed_rows import Dtype


@click.command(name="adapt", context_settings={"show_default": True})
@click.argument("files", nargs=-1)
@model_option
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder of the new model.")
@click.option("--dtype", type=click.Choice(get_args(Dtype)),
              help="Bits of a number; only float32 can be undone later, only siamese-cbow reads int4.  "
                   "[default: as the model has them; int8 for int4]")  # fmt: skip
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
    from siamese_cbow.retrieval.encoded import row_blocks
    from siamese_cbow.retrieval.rows import RowSettings, Source

    if not files and sys.stdin.isatty():
        raise click.UsageError("got no FILES; expected some, or text on standard input")
    model = open_model(folder)
    settings = RowSettings(sentences=sentences, language=sentence_language, text_column=text_column)
    source = Source(list(files) or ["-"], settings, say)
    with progress_bar("reading", source.total_bytes) as progress:
        adapted = model.adapt(text for rows in row_blocks(source, progress) for text in rows.texts(0, len(rows)))
    basis = adapted.info["postprocessing"]["adapted_to"]
    if (dtype or model.dtype) != adapted.dtype:
        adapted = adapted.compress(dtype or model.dtype)
    adapted.save(output, int4=dtype == "int4")
    click.echo(f"adapted to {basis['texts']:,} texts with {basis['words']:,} known words", err=True)
    click.echo(output)
