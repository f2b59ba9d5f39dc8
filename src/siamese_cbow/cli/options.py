"""Shared by commands: the options that name a model, read text or use a cluster, and small helpers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from siamese_cbow.cli import SHARED, is_typed
from siamese_cbow.progress import Progress, Silent, bar

if TYPE_CHECKING:
    from siamese_cbow.model.model import Model
    from siamese_cbow.words.unknown_words import Fallback


PATH = click.Path(path_type=Path)
MODEL_VARIABLE = "SIAMESE_CBOW_MODEL"
LANGUAGE = f"{__name__}.language"  # in the context of a command
FALLBACK = f"{__name__}.fallback"


class _Auto(click.ParamType):  # type: ignore[type-arg]  # which click 8.1 does not take
    """A number, or auto."""

    def __init__(self, number: Any) -> None:
        self._number = number
        self.name = f"{number.name}|auto"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """`INTEGER|auto`: auto is typed as it stands."""
        return f"{self._number.name.upper()}|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """`--min-count 3` -> 3; `--min-count auto` -> "auto"."""
        return value if value == "auto" else self._number.convert(value, param, ctx)


AUTO, AUTO_NUMBER = _Auto(click.INT), _Auto(click.FLOAT)


def none_if_auto(context: click.Context, option: click.Parameter, value: Any) -> int | None:
    """None for auto, as `prepare` expects."""
    return None if value == "auto" else value


Function = TypeVar("Function", bound=Callable[..., Any])


def model_option(function: Function) -> Function:
    """Add `--model NAME`, which defaults to an environment variable, `--language NAME` and `--fallback`.

    Commands get the model's name as an argument; the other two are stored for `open_model`, their only user.
    """
    function = click.option(
        "--language",
        metavar="NAME",
        expose_value=False,
        callback=lambda context, option, value: context.meta.update({LANGUAGE: value}),
        help="Language of the text (multilingual models).",
    )(function)
    function = click.option(
        "--fallback",
        type=click.Choice(["none", "prefix", "ngrams"]),
        expose_value=False,
        callback=lambda context, option, value: context.meta.update({FALLBACK: value}),
        help="How to treat unknown words: none: ignore them; prefix: use the known word with the longest "
        "common prefix; ngrams: build a vector from their letters.  [default: the model's own]",
    )(function)
    return click.option(
        "--model",
        "folder",
        metavar="MODEL",
        type=PATH,
        envvar=MODEL_VARIABLE,
        help="Model folder, word vector file, or user/name on the Hugging Face Hub.  [env var: "
        f"{MODEL_VARIABLE}; default: `pretrained`, the model in the package]",
    )(function)


def open_model(
    name: Path | None, *, verify: bool = False, language: str | None = None, fallback: Fallback | None = None
) -> Model:
    """Open a model by name; without a name, the pretrained model of the package.

    language  of the text (multilingual models); by default that of --language
    fallback  used instead of the model's own if --fallback is not given
    """
    from siamese_cbow.formats.resolver import open_model as open_by_name

    if name is not None and name.is_file():  # a word vector file takes a while
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
    """Messages on standard error, without a bar."""

    def say(self, message: str) -> None:
        say(message)


def refuse_options(names: Collection[str], why: str) -> None:
    """Raise an error if one of these was typed, but has no effect: `refuse_options({"folds"}, "only with --probe")`."""
    parameters = {str(each.name): max(each.opts, key=len) for each in click.get_current_context().command.params}
    if typed := [flag for name, flag in parameters.items() if name in names and is_typed(name)]:
        raise click.UsageError(f"{', '.join(typed)}: {why}")


def refuse_other_options(used: Collection[str], why: str) -> None:
    """The same for all options but the `used` ones, which have an effect."""
    refuse_options({str(each.name) for each in click.get_current_context().command.params}.difference(used), why)


def model_named_once(positional: Path | None, folder: Path | None) -> Path | None:
    """The model given as an argument, or else by --model or the environment variable; an argument and --model clash."""
    if positional is not None:
        refuse_options({"folder"}, f"the model is already named, {positional}; name it once")
    return positional or folder


def cluster_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add `--cluster ADDRESS` and `--workers N`; the command gets both."""

    @wraps(function)
    def command(*args: Any, cluster: str | None, **options: Any) -> None:
        if cluster is not None:
            refuse_options({"threads"}, "does not apply to --cluster; set the number of processes with --workers")
        else:
            refuse_options(SHARED["Ray cluster"], "only with --cluster ADDRESS, such as --cluster local")
        function(*args, cluster=cluster, **options)

    with_workers = click.option(
        "--workers",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of worker processes with --cluster.  [default: one per core; for training, one per node]",
    )(command)
    return click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Run on a Ray cluster: host:port of its head node, auto, or local for this machine.",
    )(with_workers)


Item = TypeVar("Item")

N_ROWS = 16_384
N_CHARACTERS = 1 << 24


def text_column_option(function: Function) -> Function:
    """Add `--text-column NAME`."""
    from siamese_cbow.text.records import TextSettings  # too slow for quick queries

    text = (
        "Column that holds the text in CSV, TSV, JSON or Parquet. Join several with commas (title,body); "
        "reach nested ones with dots (user.bio)."
    )
    return click.option("--text-column", default=TextSettings.text_column, metavar="NAME", help=text)(function)


glob_option = click.option(
    "--glob",
    "globs",
    multiple=True,
    metavar="PATTERN",
    help="In folders, read only matching files ('*.md') or skip them ('!drafts/'). Repeatable; the last match wins.",
)

encoding_option = click.option(
    "--encoding",
    metavar="NAME",
    help="Text encoding: utf-8, windows-1252, cp932, utf-16, ...  [default: UTF-8, or else detected and reported]",
)


threads_option = click.option(
    "--threads",
    type=int,
    metavar="N",
    help="Number of threads; the result does not depend on it.  [default: all cores]",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
code_option = click.option("--code", is_flag=True, help="Include code blocks of HTML and Markdown.")


def text_options_of(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options for reading text; the command gets them as `text`, a `TextSettings`.

    default  the unit of a row unless --unit is given
    """

    def with_options(function: Callable[..., None]) -> Callable[..., None]:
        from siamese_cbow.text.records import TextSettings

        @wraps(function)
        def command(
            *args: Any,
            sentences: bool,
            unit: str | None,
            sentence_language: str,
            text_column: str,
            encoding: str | None,
            globs: tuple[str, ...],
            code: bool,
            **options: Any,
        ) -> None:
            if sentences and unit not in (None, "sentence"):
                raise click.UsageError(f"got both --sentences and --unit {unit}; expected only one of them")
            row: Any = "sentence" if sentences else unit or default
            if row != "sentence":
                refuse_options({"sentence_language"}, "only with --sentences, which splits text into sentences")
            text = TextSettings(
                unit=row, language=sentence_language, text_column=text_column, encoding=encoding, globs=globs, code=code
            )
            function(*args, text=text, **options)

        for option in (
            text_column_option,
            encoding_option,
            code_option,
            glob_option,
            click.option("--sentence-language", default=TextSettings.language, metavar="NAME",
                         help="Language for sentence splitting: German, de, zh, ...; auto: detect it."),
            click.option("--sentences", is_flag=True, help="Short for --unit sentence."),
            click.option("--unit", type=click.Choice(["line", "sentence", "paragraph", "document"]),
                         help=("What counts as one row; in tables, a line is a record.  [default: "
                              f"{_DEFAULT_UNITS[default]}]")),
        ):  # fmt: skip
            option(command)
        return command

    return with_options


_DEFAULT_UNITS = {"line": "line", "auto": "line, or paragraph if lines are wrapped"}
text_options = text_options_of("line")


def files_or_stdin(files: Sequence[str]) -> list[str]:
    """The given files, or standard input if text is piped into it."""
    if not files and (sys.stdin is None or sys.stdin.isatty()):
        raise click.UsageError("got no FILES; expected at least one, or text on standard input")
    return list(files) or ["-"]


def say(message: str) -> None:
    """One line on standard error, like `Progress.say`: only errors begin with the name of the program."""
    click.echo(message, err=True)


def print_json(*results: Any) -> None:
    """One line of JSON on standard output for each result; uses `to_dict` where it exists."""
    for result in results:
        plain = result.to_dict() if hasattr(result, "to_dict") else result
        click.echo(json.dumps(plain, ensure_ascii=False, allow_nan=False))


def progress_bar(title: str, total: int | None) -> AbstractContextManager[Progress]:
    """A bar if somebody is watching and the work takes long enough: importing the bar takes a tenth of a second."""
    small = total is not None and total < 50_000_000
    return nullcontext(_Remarks()) if small or not sys.stderr.isatty() else bar(title, total, unit="B")


def batched(
    items: Iterable[Item], *, size: int = N_ROWS, length: Callable[[Item], int], longest: int = N_CHARACTERS
) -> Iterator[list[Item]]:
    """Lists of `size` items, or fewer once their lengths add up to `longest`, to bound the memory.

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
