"""`siamese-cbow similarity`: how close two texts are in meaning."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from siamese_cbow.cli.batched import batched
from siamese_cbow.cli.model_option import model_option, open_model
from siamese_cbow.errors import InputError


@click.command(name="similarity")
@click.argument("texts", metavar="[A B]", nargs=-1)
@model_option
@click.option("--file", "path", metavar="FILE", help="Pairs, two texts a line with a tab between; - is standard input.")
def command(texts: tuple[str, ...], folder: Path | None, path: str | None) -> None:
    """Print how similar two texts are, from -1 to 1.

    With --file, a number for each line.
    """
    if (len(texts) != 2) if path is None else texts:
        raise click.UsageError(f"got {len(texts)} texts; expected two, or --file FILE and none")
    model = open_model(folder)
    if path is not None:
        for pairs in batched(_pairs(path), length=lambda pair: len(pair[0]) + len(pair[1])):
            scores = model.similarity_pairwise([a for a, _ in pairs], [b for _, b in pairs])
            click.echo("".join(f"{score:.6f}\n" for score in scores.tolist()), nl=False)
        return
    for text in texts:
        if not model.encode(text).any():
            click.echo(f"siamese-cbow: no word of {text!r} has a vector, so the similarity is 0", err=True)
    click.echo(f"{model.similarity(texts[0], texts[1]):.6f}")


def _pairs(path: str) -> Iterator[tuple[str, str]]:
    from siamese_cbow.text.chunks import iter_lines

    for number, line in enumerate(iter_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) < 2:
            raise InputError(f"{path} line {number:,} has no tab: {line[:60]!r}; expected two texts with a tab between")
        yield fields[0], fields[1]
