"""`siamese-cbow adapt`: a model and texts of one kind in, a model for such texts out."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from siamese_cbow.cli.options import model_option, open_model
from siamese_cbow.cli.text_options import files_or_stdin, progress_bar, say, text_options
from siamese_cbow.model.packed_rows import Dtype
from siamese_cbow.text.records import TextSettings


@click.command(name="adapt", context_settings={"show_default": True})
@click.argument("files", nargs=-1)
@model_option
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder of the new model.")
@click.option("--dtype", type=click.Choice(get_args(Dtype)),
              help="Bits of a number; only float32 can be undone later, only siamese-cbow reads int4.  "
                   "[default: as the model has them; int8 for int4]")  # fmt: skip
@text_options
def command(
    files: tuple[str, ...],
    folder: Path | None,
    output: Path,
    dtype: Dtype | None,
    text: TextSettings,
) -> None:
    """Make a model fit texts of one kind: headlines, tickets, captions.

    FILES: files, folders, globs or - for standard input, as for `search`; each line is a text. Words that are common
    in them count for less, and so does what they all have in common. Nothing is trained: it takes seconds.
    """
    from siamese_cbow.text.row_reader import RowReader

    reader = RowReader(files_or_stdin(files), text, say=say)
    model = open_model(folder)
    with progress_bar("reading", reader.total_bytes) as progress:
        adapted = model.adapt(reader.texts(progress))
    basis = adapted.info["postprocessing"]["adapted_to"]
    if (dtype or model.dtype) != adapted.dtype:
        adapted = adapted.compress(dtype or model.dtype)
    adapted.save(output, int4=dtype == "int4")
    click.echo(f"adapted to {basis['texts']:,} texts with {basis['words']:,} known words", err=True)
    click.echo(output)
