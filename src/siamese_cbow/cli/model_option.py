"""The options `--model` and `--language`, which several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from siamese_cbow.model.model import Model
    from siamese_cbow.words.unknown_words import Fallback

VARIABLE = "SIAMESE_CBOW_MODEL"
LANGUAGE = f"{__name__}.language"  # in the context of a command

FALLBACK = f"{__name__}.fallback"

Function = TypeVar("Function", bound=Callable[..., Any])


def model_option(function: Function) -> Function:
    """Adds `--model DIR`, which falls back on an environment variable, and `--language NAME`.

    Commands get the folder as an argument; the language is kept for `open_model`, which is all that needs it.
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
        metavar="DIR",
        type=click.Path(path_type=Path),
        envvar=VARIABLE,
        help=f"The folder of the model.  [env var: {VARIABLE}; default: the one that comes with the package]",
    )(function)


def open_model(
    folder: Path | None, *, verify: bool = False, language: str | None = None, fallback: Fallback | None = None
) -> Model:
    """The model in a folder; without a folder, the one that comes with the package.

    language  the part of it for this language, or else for the one that --language has named
    fallback  where --fallback says nothing, this one instead of the model's own
    """
    from siamese_cbow.model.storage import load

    model = load(folder, verify=verify)
    context = click.get_current_context(silent=True)
    chosen = context.meta if context else {}
    language = language or chosen.get(LANGUAGE)
    model = model if language is None else model.language(language)
    fallback = chosen.get(FALLBACK) or fallback
    return model if fallback in (None, model.fallback) else model.with_fallback(fallback)
