"""`siamese-cbow compress`: a model in, a smaller one out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from siamese_cbow.cli.options import model_option, open_model
from siamese_cbow.model.packed_rows import Dtype

if TYPE_CHECKING:
    from siamese_cbow.model.model import Model


@click.command(name="compress")
@click.argument("positional", metavar="[MODEL]", required=False, type=click.Path(path_type=Path))
@model_option
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder of the new model.")
@click.option("--dtype", type=click.Choice(get_args(Dtype)), help="Bits of a number; only siamese-cbow reads int4.")
@click.option("--dim", type=int, metavar="N", help="Dimensions, after a rotation that puts most into the first ones.")
@click.option("--words", type=int, metavar="N", help="Only the N most frequent words.")
def command(
    positional: Path | None, folder: Path | None, output: Path, dtype: Dtype | None, dim: int | None, words: int | None
) -> None:
    """Make a model smaller: fewer bits, dimensions or words.

    Options you leave out keep their value. `--dtype float32` unpacks a model for programs that read nothing else.
    """
    model = open_model(positional or folder)
    smaller = model.compress(dtype, dim=dim, words=words)
    smaller.save(output, int4=True)
    click.echo(f"{_size(model)} -> {_size(smaller)}", err=True)
    if smaller.dtype == "int4":
        click.echo("only siamese-cbow reads int4; for sentence-transformers and model2vec, add --dtype int8", err=True)
    click.echo(output)


def _size(model: Model) -> str:
    """163,771 x 300 float32, 196.5 MB."""
    return f"{len(model.vocabulary):,} x {model.dim} {model.dtype}, {model.rows.nbytes / 1e6:.1f} MB"
