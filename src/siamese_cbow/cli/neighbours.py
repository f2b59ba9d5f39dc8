"""`siamese-cbow neighbours`: the words nearest to a word, a text, or a sum of words."""

from __future__ import annotations

import json
from pathlib import Path

import click

from siamese_cbow.cli.options import model_option, open_model


@click.command(name="neighbours", context_settings={"show_default": True})
@click.argument("words", metavar="WORD...", nargs=-1)
@model_option
@click.option("--negative", metavar="WORD", multiple=True, help="A word to subtract; may be given several times.")
@click.option("-k", default=10, metavar="N", help="How many to print.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines.")
def command(words: tuple[str, ...], folder: Path | None, negative: tuple[str, ...], k: int, as_json: bool) -> None:
    """Print the words nearest to a word or a text, with their cosines.

    Of several words the sum is taken, less the --negative ones: neighbours king woman --negative man
    """
    if not words and not negative:
        raise click.UsageError("got no word; expected at least one, or a text in quotes")
    model = open_model(folder)
    is_plain = len(words) == 1 and not negative
    nearest = model.neighbours(words[0], k) if is_plain else model.most_similar(words, negative, topn=k)
    for word, cosine in nearest:
        row = {"word": word, "cosine": round(cosine, 6)}
        click.echo(json.dumps(row, ensure_ascii=False) if as_json else f"{cosine:.4f}\t{word}")
