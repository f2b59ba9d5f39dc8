"""What a row is, and whether it tells its place: options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


def rows_options(function: Function) -> Function:
    """Adds --sentences, --sentence-language and --text-column."""
    for option in (
        click.option("--text-column", default="text", help="The column of JSON lines, CSV, TSV and Parquet to read."),
        click.option("--sentence-language", default="en", help="For splitting into sentences: en, de, zh, ..."),
        click.option("--sentences", is_flag=True, help="Cut running text into sentences, and take those."),
    ):
        function = option(function)
    return function


def say(message: str) -> None:
    """One line on standard error."""
    click.echo(f"siamese-cbow: {message}", err=True)
