"""Recipes as TOML files: flat, one option a line, readable by people.

recipe = "paper"        optional: what the rest is a change of; "contrastive" when left out
dim = 100
negatives = 5
postprocess = {components = 1}
"""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.training.recipe import SiameseCBOW

OPTIONS = tuple(field.name for field in fields(SiameseCBOW))


def read_recipe(path: Path | str) -> SiameseCBOW:
    """The recipe in a file."""
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror}; check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no TOML file ({error}); write lines such as: dim = 300") from error
    name = content.pop("recipe", "contrastive")
    for option in content:
        if option not in OPTIONS:
            raise SettingsError(f"{path}: no option {option!r}; expected some of {', '.join(OPTIONS)}")
    try:
        return SiameseCBOW.preset(name, **content)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None


def recipe_text(recipe: SiameseCBOW) -> str:
    """The recipe as TOML, every option with its value: 'objective = "contrastive"\\ndim = 300\\n...'"""
    return "".join(f"{name} = {_value(value)}\n" for name, value in recipe.settings().items())


def write_recipe(recipe: SiameseCBOW, path: Path | str) -> None:
    """Write the recipe to a file; `read_recipe` gives it back."""
    with atomic_file(Path(path)) as file:
        file.write_text(recipe_text(recipe), encoding="utf-8")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A TOML basic string: escape what it must not hold as it is.
        plain = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in plain) + '"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_value(inner)}" for name, inner in value.items()) + "}"
    return repr(value)
