"""`siamese-cbow train`: stream in, model out. Its options are those of a recipe: see `training.recipe`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import click

from siamese_cbow.base.option_fields import Option, options
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.progress import bar
from siamese_cbow.stream.mix import Mix
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.recipe import PRESETS, Saving
from siamese_cbow.training.siamese_cbow import SiameseCBOW, read_recipe, recipe_text, write_recipe
from siamese_cbow.transform.settings import Postprocess

STEPS = "postprocess_"  # how the options of post-processing begin
_PARSERS = {int: int, float: float, bool: bool}  # the recipe itself makes of a text what else it needs


def options_of(recipe: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """An option for each field of a recipe. Its own default is None: what the recipe says."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(list(_flat_options(recipe))):
            flag = f"--{option.name.replace('_', '-')}"
            command = click.option(
                (option.switch or f"{flag}/--no-{flag[2:]}") if option.kind is bool else flag,
                option.name,
                default=None,
                type=click.Choice(option.choices) if option.choices else _PARSERS.get(option.kind, str),
                help=option.help + _defaults(option),
            )(command)
        return command

    return decorate


def _flat_options(recipe: type) -> Iterator[Option]:
    """The options of a recipe; of one that is a record, those of the record: `postprocess_components`, ..."""
    for option in options(recipe):
        if is_dataclass(option.kind):
            steps = [step for step in options(option.kind) if step.help]
            yield from (step._replace(name=f"{option.name}_{step.name}") for step in steps)
        else:
            yield option


def _defaults(option: Option) -> str:
    """'  [default: 256; paper: 100]'."""
    shown = [] if option.default is None else [f"default: {option.default}"]
    shown += [] if option.paper is None else [f"paper: {option.paper}"]
    return f"  [{'; '.join(shown)}]" if shown else ""


@click.command(name="train")
@click.argument("streams", nargs=-1, required=True, metavar="STREAM...", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The folder of the model.")
@click.option("--recipe", "recipe_name", default="contrastive", show_default=True, metavar="NAME|FILE",
              help=f"{', '.join(PRESETS)}, or a TOML file. The options below change it.")  # fmt: skip
@options_of(SiameseCBOW)
@click.option("--passes", metavar="LIST",
              help="Of several streams, how often an epoch goes through each: 1,5.  [default: once]")  # fmt: skip
@click.option("--threads", type=int, help="The result does not depend on it.  [default: all cores]")
@click.option("--resume", is_flag=True, help="Only go on with an unfinished run, never start one.")
@click.option("--restart", is_flag=True, help="Throw away the model or the unfinished run that the output holds.")
@options_of(Saving)
@click.option(
    "--write-recipe", "recipe_file", type=click.Path(path_type=Path), help="Write the recipe to this TOML file as well."
)
@click.option("--dry-run", is_flag=True, help="Check everything and say what would be done.")
def train(
    streams: tuple[Path, ...],
    output: Path | None,
    recipe_name: str,
    passes: str | None,
    threads: int | None,
    resume: bool,
    restart: bool,
    recipe_file: Path | None,
    dry_run: bool,
    **settings: Any,
) -> None:
    """Learn word vectors from a stream that `prepare` has made.

    Several streams (text and pairs, new text and old) are learnt from together, and the model has the words of all.

    A run that was stopped resumes when the same command is given again, and its result is byte-identical.
    """
    changes = {name: value for name, value in settings.items() if value is not None}
    steps = {name.removeprefix(STEPS): changes.pop(name) for name in list(changes) if name.startswith(STEPS)}
    saving = Saving(**{field.name: changes.pop(field.name) for field in fields(Saving) if field.name in changes})
    recipe = _recipe(recipe_name, changes, steps)
    mix = Mix([Stream.load(stream) for stream in streams], _numbers(passes))
    if recipe_file is not None:
        write_recipe(recipe, recipe_file)
    if dry_run:
        click.echo(_plan(recipe, mix))
        return
    if output is None:
        raise click.UsageError("--output is missing: the folder of the model (or give --dry-run)")
    if resume and not (output / "training").is_dir():
        raise InputError(f"{output} holds no unfinished run; leave out --resume to start one")
    from siamese_cbow.training.saved_run import train_into

    with bar("training", recipe.epochs * mix.n_tokens, unit="words") as progress:
        train_into(output, recipe, mix, saving=saving, restart=restart, threads=threads, progress=progress)
    click.echo(output)


def _recipe(name: str, changes: dict[str, Any], steps: dict[str, Any]) -> SiameseCBOW:
    recipe = SiameseCBOW.preset(name) if name in PRESETS else read_recipe(name)
    if steps:
        changes = {**changes, "postprocess": replace(recipe.postprocess or Postprocess(), **steps)}
    recipe = replace(recipe, **changes)
    if name not in PRESETS:
        return recipe
    if "init" in changes and "dim" not in changes:
        from siamese_cbow.training.state import initial_model

        model = initial_model(recipe)
        return recipe if model is None else replace(recipe, dim=model.dim)
    return recipe


def _numbers(passes: str | None) -> list[float]:
    """`1,0.1` -> [1.0, 0.1]."""
    try:
        return [float(number) for number in passes.split(",")] if passes is not None else []
    except ValueError:
        raise SettingsError(f"passes is {passes!r}; expected numbers with commas, one for each stream: 1,5") from None


def _plan(recipe: SiameseCBOW, mix: Mix) -> str:
    from siamese_cbow.training.plan import plan_of

    plan = plan_of(recipe, mix)
    megabytes = len(plan.vocabulary) * recipe.dim * 4 / 1e6
    return (
        f"{recipe_text(recipe)}\n"
        f"# {mix!r}\n"
        f"# {plan.schedule.n_batches:,} batches an epoch, {plan.n_steps:,} in all\n"
        f"# {len(plan.vocabulary):,} words: {megabytes:,.0f} MB for the vectors, "
        "as much again for each matrix the optimiser keeps\n"
        "# nothing was trained: --dry-run"
    )
