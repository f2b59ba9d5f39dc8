"""`siamese-cbow compress`: a model in, a smaller one out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from siamese_cbow.cli.model_option import model_option, open_model
from siamese_cbow.model.packed_rows import Dtype

if TYPE_CHECKING:
    from siamese_cbow.model.model import Model


@click.command(name="compress")
@click.argument("given", metavar="[MODEL]", required=False, type=click.Path(path_type=Path))
@model_option
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder of the new model.")
@click.option("--dtype", type=click.Choice(get_args(Dtype)), help="Bits of a number; int4 is for siamese-cbow alone.")
@click.option("--dim", type=int, metavar="N", help="Dimensions, after a rotation that puts most into the first ones.")
@click.option("--words", type=int, metavar="N", help="Only the N most frequent words.")
def command(
    given: Path | None, folder: Path | None, output: Path, dtype: Dtype | None, dim: int | None, words: int | None
) -> None:
    """Make a model smaller: fewer bits, dimensions or words.

    What none of the options says stays as it is. `--dtype float32` unpacks a model for programs that read no other.
    """
    model = open_model(given or folder)
    smaller = model.compress(dtype, dim=dim, words=words)
    smaller.save(output)
    click.echo(f"{_size(model)} -> {_size(smaller)}", err=True)
    click.echo(output)


def _size(model: Model) -> str:
    """163,771 x 300 float32, 196.5 MB."""
    return f"{len(model.vocabulary):,} x {model.dim} {model.dtype}, {model.rows.nbytes / 1e6:.1f} MB"
