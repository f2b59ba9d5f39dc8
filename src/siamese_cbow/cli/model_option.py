"""The option `--model`, which several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from siamese_cbow.errors import InputError

if TYPE_CHECKING:
    from siamese_cbow.model import Model

VARIABLE = "SIAMESE_CBOW_MODEL"

Function = TypeVar("Function", bound=Callable[..., Any])


def model_option(function: Function) -> Function:
    """Adds `--model DIR`, which falls back on an environment variable."""
    return click.option(
        "--model",
        "folder",
        metavar="DIR",
        type=click.Path(path_type=Path),
        envvar=VARIABLE,
        help=f"The folder of the model.  [env var: {VARIABLE}]",
    )(function)


def open_model(folder: Path | None, *, verify: bool = False) -> Model:
    """The model in a folder; without a folder, an error that says how to make one."""
    if folder is None:
        raise InputError(
            f"no model was given; expected --model DIR, or the environment variable {VARIABLE}. To make a model: "
            "siamese-cbow prepare TEXT... -o data/mine, then siamese-cbow train data/mine -o models/mine"
        )
    from siamese_cbow.storage import load

    return load(folder, verify=verify)
