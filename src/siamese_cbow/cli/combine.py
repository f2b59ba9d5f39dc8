"""`siamese-cbow combine`: several models in, one out."""

from __future__ import annotations

from pathlib import Path

import click

from siamese_cbow.cli.options import open_model


@click.command(name="combine")
@click.argument("folders", metavar="MODEL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder of the new model.")
@click.option("--dim", type=int, metavar="N", help="Dimensions of the result.  [default: those of the first model]")
def command(folders: tuple[Path, ...], output: Path, dim: int | None) -> None:
    """Make one model of several with the same words: of other seeds, or of other recipes.

    Their vectors are put side by side and brought down to N dimensions. What was chance in each evens out, and the
    model is no larger than each of them.
    """
    from siamese_cbow.transform.combination import combine

    models = [open_model(folder) for folder in folders]
    combined = combine(models, dim=dim)
    combined.save(output)
    dims = " + ".join(str(model.dim) for model in models)
    click.echo(f"{len(combined.vocabulary):,} words, {dims} -> {combined.dim} dimensions", err=True)
    click.echo(output)
