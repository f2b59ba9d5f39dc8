"""What commands that read text share: the options that say how it is read, and the small things around reading."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, TypeVar

import click

from siamese_cbow.progress import SILENT, Progress, bar
from siamese_cbow.text.records import TextSettings

Item = TypeVar("Item")

N_ROWS = 16_384
N_CHARACTERS = 1 << 24

text_column_option = click.option(
    "--text-column",
    default=TextSettings.text_column,
    metavar="NAME",
    help="The column of JSON lines, CSV, TSV and Parquet that holds the text.",
)


def text_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds --sentences, --sentence-language and --text-column; the command gets them as `text`, a `TextSettings`."""

    @wraps(function)
    def command(*args: Any, sentences: bool, sentence_language: str, text_column: str, **options: Any) -> None:
        unit: Any = "sentence" if sentences else "line"
        text = TextSettings(unit=unit, language=sentence_language, text_column=text_column)
        function(*args, text=text, **options)

    for option in (
        text_column_option,
        click.option("--sentence-language", default=TextSettings.language, metavar="CODE",
                     help="For splitting into sentences: en, de, zh, ..."),
        click.option("--sentences", is_flag=True, help="Cut running text into sentences, and take those."),
    ):  # fmt: skip
        option(command)
    return command


def files_or_stdin(files: Sequence[str]) -> list[str]:
    """The files that were given, or standard input where somebody has put text into it."""
    if not files and sys.stdin.isatty():
        raise click.UsageError("got no FILES; expected some, or text on standard input")
    return list(files) or ["-"]


def say(message: str) -> None:
    """One line on standard error."""
    click.echo(f"siamese-cbow: {message}", err=True)


def progress_bar(title: str, total: int | None) -> AbstractContextManager[Progress]:
    """A bar where somebody is watching and the work is long enough for it: importing it takes a tenth of a second."""
    small = total is not None and total < 50_000_000
    return nullcontext(SILENT) if small or not sys.stderr.isatty() else bar(title, total, unit="B")


def batched(
    items: Iterable[Item], *, size: int = N_ROWS, length: Callable[[Item], int], longest: int = N_CHARACTERS
) -> Iterator[list[Item]]:
    """Lists of `size` items, fewer where their lengths add up to `longest` before: what fits into memory.

    `batched(["a", "b", "c"], size=2, length=len)` -> ["a", "b"], ["c"]
    """
    batch: list[Item] = []
    total = 0
    for item in items:
        batch.append(item)
        total += length(item)
        if len(batch) == size or total >= longest:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch
