"""The recipe that users train by, and recipes in TOML files. Recipe + stream -> model.

    SiameseCBOW(dim=300, seed=1).train(stream)      contrastive, the default: a batch's other sentences are negatives
    SiameseCBOW.paper().train(stream)               what was published: two sampled negatives, softmax of cosines, SGD

A file is flat, one option per line, and may name the recipe that it changes:

    recipe = "paper"        "contrastive" if left out
    dim = 100
    negatives = 5

Nothing is trained by making a recipe. To train into a folder, with checkpoints: see `training.saved_run`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siamese_cbow.base.files import atomic_file
from siamese_cbow.base.option_fields import options
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.progress import SILENT, Progress, shown
from siamese_cbow.training.recipe import Recipe

if TYPE_CHECKING:
    from siamese_cbow.model.model import Model
    from siamese_cbow.stream.mix import Mix
    from siamese_cbow.stream.stream import Stream
    from siamese_cbow.training.loop import Callback


class SiameseCBOW(Recipe):
    """A recipe that trains: `SiameseCBOW(dim=100).train(stream)` -> Model. Its options are those of `Recipe`."""

    def train(
        self,
        streams: Stream | Mix | Sequence[Stream],
        *,
        threads: int | None = None,
        progress: Progress | bool = SILENT,
        callbacks: Sequence[Callback] = (),
    ) -> Model:
        """Learn word vectors from a stream, or several: the same bytes each time, on any number of threads.

        `train([text, pairs])` goes through both in an epoch; a `Mix` says how often through each.
        `progress=True` shows a bar, in a terminal or a notebook.
        """
        from siamese_cbow.stream.mix import Mix
        from siamese_cbow.training.loop import train
        from siamese_cbow.training.plan import plan_of

        mix = Mix.of(streams)
        with shown(progress, "training", self.epochs * mix.n_tokens, unit="words") as shown_progress:
            run = train(plan_of(self, mix), threads=threads, progress=shown_progress, callbacks=callbacks)
            return run.model()


def read_recipe(path: Path | str) -> SiameseCBOW:
    """The recipe in a file."""
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror}; check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a TOML file ({error}); write lines such as: dim = 300") from error
    name = content.pop("recipe", "contrastive")
    names = [option.name for option in options(SiameseCBOW)]
    for key in content:
        if key not in names:
            raise SettingsError(f"{path}: no option {key!r}; expected some of {', '.join(names)}")
    try:
        return SiameseCBOW.preset(name, **content)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None


def recipe_text(recipe: Recipe) -> str:
    """The recipe as TOML, every option with its value: 'objective = "contrastive"\\ndim = 300\\n...'"""
    return "".join(f"{name} = {_toml(value)}\n" for name, value in recipe.settings().items())


def write_recipe(recipe: Recipe, path: Path | str) -> None:
    """Write the recipe to a file; `read_recipe` gives it back."""
    with atomic_file(Path(path)) as file:
        file.write_text(recipe_text(recipe), encoding="utf-8")


def _toml(value: Any) -> str:
    """`_toml({"center": True})` -> '{center = true}'."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name} = {_toml(inner)}" for name, inner in value.items()) + "}"
    # What JSON makes of a text, a number or a truth value is TOML, too, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
