"""What commands share: the options that name a model and say how text is read, and small things around them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from siamese_cbow.progress import Progress, Silent, bar
from siamese_cbow.text.records import TextSettings

if TYPE_CHECKING:
    from siamese_cbow.model.model import Model
    from siamese_cbow.words.unknown_words import Fallback


MODEL_VARIABLE, BLAS_VARIABLE = "SIAMESE_CBOW_MODEL", "OPENBLAS_NUM_THREADS"
LANGUAGE = f"{__name__}.language"  # in the context of a command
FALLBACK = f"{__name__}.fallback"

Function = TypeVar("Function", bound=Callable[..., Any])


def model_option(function: Function) -> Function:
    """Adds `--model NAME`, which falls back on an environment variable, `--language NAME` and `--fallback`.

    Commands get the model's name as an argument; the others are kept for `open_model`, which is all that needs them.
    """
    function = click.option(
        "--language",
        metavar="NAME",
        expose_value=False,
        callback=lambda context, option, value: context.meta.update({LANGUAGE: value}),
        help="Of a model of several languages, the one of the text.",
    )(function)
    function = click.option(
        "--fallback",
        type=click.Choice(["none", "prefix"]),
        expose_value=False,
        callback=lambda context, option, value: context.meta.update({FALLBACK: value}),
        help="What unknown words count as: nothing, or the known word that begins alike.  [default: as the model says]",
    )(function)
    return click.option(
        "--model",
        "folder",
        metavar="MODEL",
        type=click.Path(path_type=Path),
        envvar=MODEL_VARIABLE,
        help="A folder, a word vector file, or user/name on the Hugging Face Hub.  "
        f"[env var: {MODEL_VARIABLE}; default: `pretrained`, the one that comes with the package]",
    )(function)


def open_model(
    name: Path | None, *, verify: bool = False, language: str | None = None, fallback: Fallback | None = None
) -> Model:
    """The model that a name stands for; without a name, the one that comes with the package.

    language  the part of it for this language, or else for the one that --language has named
    fallback  where --fallback says nothing, this one instead of the model's own
    """
    from siamese_cbow.formats.resolver import open_model as open_by_name

    if name is not None and name.is_file():  # a word vector file, which takes its time
        with bar("reading", None, unit="words") as progress:
            model = open_by_name(name, verify=verify, progress=progress)
    else:
        model = open_by_name(name, verify=verify, progress=_Remarks())
    context = click.get_current_context(silent=True)
    chosen = context.meta if context else {}
    language = language or chosen.get(LANGUAGE)
    model = model if language is None else model.language(language)
    fallback = chosen.get(FALLBACK) or fallback
    return model if fallback in (None, model.fallback) else model.with_fallback(fallback)


class _Remarks(Silent):
    """No bar, but what there is to say, on standard error."""

    def say(self, message: str) -> None:
        click.echo(message, err=True)


Item = TypeVar("Item")

N_ROWS = 16_384
N_CHARACTERS = 1 << 24

text_column_option = click.option(
    "--text-column",
    default=TextSettings.text_column,
    metavar="NAME",
    help="The column of JSON lines, CSV, TSV and Parquet that holds the text.",
)

encoding_option = click.option(
    "--encoding",
    metavar="NAME",
    help="Of the text: utf-8, windows-1252, cp932, utf-16, ...  [default: UTF-8, else found out and said]",
)


def text_options_of(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the options that say how text is read; the command gets them as `text`, a `TextSettings`.

    default  what a row is unless said
    """

    def with_options(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(
            *args: Any,
            sentences: bool,
            unit: str | None,
            sentence_language: str,
            text_column: str,
            encoding: str | None,
            **options: Any,
        ) -> None:
            if sentences and unit not in (None, "sentence"):
                raise click.UsageError(f"got --sentences and --unit {unit}; expected one of them")
            row: Any = "sentence" if sentences else unit or default
            text = TextSettings(unit=row, language=sentence_language, text_column=text_column, encoding=encoding)
            function(*args, text=text, **options)

        for option in (
            text_column_option,
            encoding_option,
            click.option("--sentence-language", default=TextSettings.language, metavar="CODE",
                         help="For splitting into sentences: en, de, zh, ..."),
            click.option("--sentences", is_flag=True, help="The same as --unit sentence."),
            click.option("--unit", type=click.Choice(["line", "sentence", "paragraph", "document"]),
                         help=f"What a row is; of tables, a line is a record.  [default: {_DEFAULT_UNITS[default]}]"),
        ):  # fmt: skip
            option(command)
        return command

    return with_options


_DEFAULT_UNITS = {"line": "line", "auto": "line, or paragraph where lines are wrapped"}
text_options = text_options_of("line")


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
    return nullcontext(_Remarks()) if small or not sys.stderr.isatty() else bar(title, total, unit="B")


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


def import_numpy_quickly() -> None:
    """Imports NumPy with one thread, unless it is there already or the user has said how many there should be.

    That is a third of the time that a small command takes. OpenBLAS reads the variable only while it is loaded, so it
    is taken away again: programs that this one starts must not inherit it.
    """
    if "numpy" in sys.modules or BLAS_VARIABLE in os.environ:
        return
    os.environ[BLAS_VARIABLE] = "1"
    try:
        import numpy  # noqa: F401 (for its effect)
    finally:
        del os.environ[BLAS_VARIABLE]
