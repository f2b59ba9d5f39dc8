"""`siamese-cbow info`: what a model is and where it comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from siamese_cbow.cli.options import model_option, open_model


@click.command(name="info")
@click.argument("positional", metavar="[MODEL]", required=False, type=click.Path(path_type=Path))
@model_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--verify", is_flag=True, help="Also read all the vectors and compare them with their hash.")
def command(positional: Path | None, folder: Path | None, as_json: bool, verify: bool) -> None:
    """Describe a model: size, tokenizer, frequent words, recipe, corpus."""
    from siamese_cbow.model.card import describe

    folder = positional or folder
    name = "pretrained, the one that comes with the package" if folder is None else str(folder)
    described = {"model": name, **describe(open_model(folder, verify=verify))}
    if verify:
        described["verified"] = True
    if as_json:
        click.echo(json.dumps(described, ensure_ascii=False))
        return
    for line in _lines(described):
        click.echo(line)


def _lines(entries: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """{"dim": 300, "recipe": {"epochs": 1}} -> "dim  300", "recipe", "  epochs  1"."""
    width = max(map(len, entries), default=0)
    for key, value in entries.items():
        if isinstance(value, Mapping):
            yield f"{indent}{key}"
            yield from _lines(value, indent + "  ")
        else:
            yield f"{indent}{key:<{width}}  {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return " ".join(map(_value, value)) if isinstance(value, list) else str(value)
