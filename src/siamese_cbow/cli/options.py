"""The options `--model` and `--language`, which several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from siamese_cbow.progress import Silent, bar

if TYPE_CHECKING:
    from siamese_cbow.model.model import Model
    from siamese_cbow.words.unknown_words import Fallback

VARIABLE = "SIAMESE_CBOW_MODEL"
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
        envvar=VARIABLE,
        help="A folder, a word vector file, or user/name on the Hugging Face Hub.  "
        f"[env var: {VARIABLE}; default: `pretrained`, the one that comes with the package]",
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
    """What there is to say about a model, on standard error."""

    def say(self, message: str) -> None:
        click.echo(message, err=True)
