"""`siamese-cbow train`: text or streams in, model out.

It has one option for each field of a recipe, shown under headings (see `training.recipe`), and the options of `prepare`
for text that is not a stream yet.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import click

from siamese_cbow.base.option_fields import Option, options
from siamese_cbow.cli import SHARED, Grouped, is_typed
from siamese_cbow.cli.options import (
    AUTO,
    AUTO_NUMBER,
    PATH,
    cluster_options,
    refuse_options,
    say,
    threads_option,
)
from siamese_cbow.cli.prepare import prepare, preparing, preparing_options
from siamese_cbow.errors import InputError, SettingsError, counted
from siamese_cbow.model.storage import check_target
from siamese_cbow.progress import bar
from siamese_cbow.stream.mix import Mix
from siamese_cbow.stream.preparation import prepare as prepare_stream
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.training.ahead import compiled_ahead
from siamese_cbow.training.plan import fitted_to, remarks_on_fit
from siamese_cbow.training.recipe import AUTO as AUTO_WORD
from siamese_cbow.training.recipe import AUTOMATIC, PRESETS, Saving
from siamese_cbow.training.siamese_cbow import SiameseCBOW, are_streams, read_recipe, recipe_text, write_recipe
from siamese_cbow.transform.settings import Postprocess

STEPS = "postprocess_"  # prefix of the post-processing options
_AUTOMATIC = {int: AUTO, float: AUTO_NUMBER}
_PARSERS = {int: int, float: float, bool: bool}  # the recipe itself parses other types


def options_of(recipe: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add an option for each field of a recipe. The default None keeps the recipe's value."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(list(flat_options(recipe))):
            flag = _flag(option.name)
            kind = click.Choice(option.choices) if option.choices else _PARSERS.get(option.kind, str)
            command = click.option(
                _switch(option) if option.kind is bool else flag,
                *filter(None, [option.short]),
                option.name,
                default=None,
                type=_AUTOMATIC.get(option.kind, kind) if option.name in AUTOMATIC else kind,
                help=option.help + _defaults(option),
            )(command)
        return command

    return decorate


def flat_options(recipe: type) -> Iterator[Option]:
    """The options of a recipe; nested records are flattened: `postprocess_components`, ..."""
    for option in options(recipe):
        if is_dataclass(option.kind):
            steps = [step for step in options(option.kind) if step.help]
            named = [step._replace(name=f"{option.name}_{step.name}") for step in steps]
            yield from (named[0]._replace(group="Post-processing"), *named[1:])
        else:
            yield option


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _switch(option: Option) -> str:
    """'--share-stems/--no-share-stems'."""
    name = option.name.replace("_", "-")
    return option.switch or f"--{name}/--no-{name}"


def _defaults(option: Option) -> str:
    """'  [default: 256; paper: 100]', or '  [default: share-stems; paper: no-share-stems]' for a switch."""
    on, off = (switch.removeprefix("--") for switch in _switch(option).split("/"))
    default = AUTO_WORD if option.name in AUTOMATIC else option.default
    values = {"default": default, "paper": option.paper}
    names = {True: on, False: off} if option.kind is bool else {}
    shown = [f"{name}: {names.get(value, value)}" for name, value in values.items() if value is not None]
    return f"  [{'; '.join(shown)}]" if shown else ""


def recipe_headings(recipe: type) -> dict[str, list[str]]:
    """The options of a recipe under the headings that its fields name."""
    heading = "Recipe"
    headings = {heading: ["recipe_name"]}
    for option in flat_options(recipe):
        heading = option.group or heading
        headings.setdefault(heading, []).append(option.name)
    return headings


@click.command(name="train", cls=Grouped)
@click.argument("inputs", nargs=-1, required=True, metavar="TEXT|STREAM...")
@click.option("-o", "--output", type=PATH, help="Model folder.")
@click.option("--stream", "stream_folder", type=PATH,
              help="Folder for the stream prepared from TEXT.  [default: OUTPUT@stream]")  # fmt: skip
@click.option("--recipe", "recipe_name", default="contrastive", metavar="NAME|FILE",
              help=f"{', '.join(PRESETS)}, or a TOML file; the options below override it.")  # fmt: skip
@options_of(SiameseCBOW)
@preparing_options
@click.option("--passes", metavar="LIST",
              help="With several streams, passes over each per epoch: 1,5.  [default: one each]")  # fmt: skip
@threads_option
@click.option("--resume", is_flag=True, help="Only resume an unfinished run; never start one.")
@click.option("--restart", is_flag=True,
              help="Replace the model or unfinished run in OUTPUT, and a stream made differently.")  # fmt: skip
@options_of(Saving)
@click.option("--write-recipe", "recipe_file", type=PATH, help="Also write the recipe to this TOML file.")
@click.option("--dry-run", is_flag=True, help="Check everything and print the plan without training.")
@cluster_options
@click.option("--average-every", type=click.IntRange(min=1), metavar="N",
              help="With --cluster, batches per worker between two averaging rounds.  [default: those of "
                   "262,144 sentences / workers, or fewer]")  # fmt: skip
@click.pass_context
def train(
    context: click.Context,
    /,
    inputs: tuple[str, ...],
    output: Path | None,
    stream_folder: Path | None,
    recipe_name: str,
    passes: str | None,
    threads: int | None,
    resume: bool,
    restart: bool,
    recipe_file: Path | None,
    dry_run: bool,
    cluster: str | None,
    workers: int | None,
    average_every: int | None,
    **settings: Any,
) -> None:
    """Train a model on text, or on streams written by `prepare`.

    TEXT is one or more files, folders or globs, or - for standard input, as for `prepare`. The stream prepared from it
    is saved next to the model and reused while text and settings stay the same.

    Several streams (text and pairs, new text and old) train one model with the words of all of them.

    To resume an interrupted run, repeat the command; the result is byte-identical.
    """
    text = preparing(settings)
    if recipe_name in PRESETS and recipe_name.startswith("paper") and not is_typed("min_count"):
        text["min_count"] = 5
    changes = {name: value for name, value in settings.items() if value is not None}
    steps = {name.removeprefix(STEPS): changes.pop(name) for name in list(changes) if name.startswith(STEPS)}
    saving = Saving(**{field.name: changes.pop(field.name) for field in fields(Saving) if field.name in changes})
    recipe = _recipe(recipe_name, changes, steps)
    if output is None and not dry_run:
        command = f"siamese-cbow train {shlex.join(inputs)} -o models/{_name_of(inputs[0])}"
        raise click.UsageError(f"--output is missing; give the model folder: {command} (or use --dry-run)")
    if resume and output and not (output / "training").is_dir():
        raise InputError(f"{output} has no unfinished run; drop --resume to start one")
    has_streams = are_streams(inputs)
    if cluster is not None and not has_streams:
        raise InputError(
            f"{inputs[0]} is not a stream, and --cluster trains on streams; prepare one: siamese-cbow prepare "
            f"{shlex.join(inputs)} --cluster {cluster} -o {_name_of(inputs[0])}@stream"
        )
    if not has_streams:
        refuse_options({"passes"}, "only for streams, one number for each; prepare every text first")
        if dry_run or output is None:
            click.echo(_plan_of_text(recipe, Corpus(list(inputs), text["text"])))
            return
        check_target(output, trains=True)  # before any work
        folder = stream_folder or output.with_name(f"{output.name}@stream")
        kernels = context.with_resource(compiled_ahead(recipe))
        streams = [_kept(list(inputs), folder, text, restart, threads)]
        kernels.wait()
    else:
        of_text = {*TEXT_OPTIONS, "stream_folder"}
        refuse_options(of_text, f"only for text, but {inputs[0]} is a stream that is already prepared")
        streams = [Stream.load(folder) for folder in inputs]
    mix = Mix(streams, _numbers(passes))
    given, recipe = recipe, fitted_to(recipe, mix)
    for remark in remarks_on_fit(given, recipe, mix):
        say(remark)
    if recipe_file is not None:
        write_recipe(recipe, recipe_file)
    if cluster is not None:
        from siamese_cbow.cluster import RayCluster

        job: Any
        jobs, job = RayCluster(cluster, workers), {"passes": _numbers(passes), "average_every": average_every}
    if dry_run or output is None:
        click.echo(_plan(recipe, mix) if cluster is None else recipe_text(recipe) + jobs.plan(recipe, inputs, **job))
        return
    with bar("training", recipe.n_epochs * mix.n_tokens, unit="words") as progress:
        how: Any = {"saving": saving, "restart": restart, "progress": progress}
        if cluster is None:
            from siamese_cbow.training.saved_run import train_into

            train_into(output, recipe, mix, threads=threads, **how)
        else:
            jobs.train(recipe, inputs, output=output, **how, **job)
    click.echo(output)


_OF_BOTH = {"text", "output", "restart", "threads", "cluster", "workers"}
TEXT_OPTIONS = {parameter.name for parameter in prepare.params} - _OF_BOTH
train.also = {_flag(other): _flag(option.name) for option in options(SiameseCBOW) for other in option.also.split()}
SAVING_OPTIONS = {"resume", "restart", *(field.name for field in fields(Saving))}
train.headings = {
    "Reading TEXT": {"stream_folder", *TEXT_OPTIONS},
    **recipe_headings(SiameseCBOW),
    "Saving and resuming": SAVING_OPTIONS,
    "Ray cluster": SHARED["Ray cluster"],
}


def _kept(text: list[str], folder: Path, settings: dict[str, Any], restart: bool, threads: int | None) -> Stream:
    """The stream of a text, prepared or reused; reports where a new one is."""
    before = _number_of(folder)
    stream = prepare_stream(
        text, output=folder, restart="changed" if restart else False, threads=threads, progress=True, **settings
    )
    if _number_of(folder) != before:
        say(f"stream: {folder}")
    return stream


def _number_of(folder: Path) -> int | None:
    """A number that differs between a folder and one that has replaced it; None if there is no folder."""
    return folder.stat().st_ino if folder.is_dir() else None


def _name_of(source: str) -> str:
    """A name for the model of a text: "data/books/", "books.txt.gz" -> "books"; "-", "*.txt" -> "NAME"."""
    name = Path(source).name.split(".")[0]
    return name if re.fullmatch(r"[\w@+=-]*\w", name) else "NAME"


def _recipe(name: str, changes: dict[str, Any], steps: dict[str, Any]) -> SiameseCBOW:
    if name not in PRESETS and not Path(name).exists():
        raise InputError(f"there is no recipe {name}; expected {', '.join(PRESETS)}, or the path of a TOML file")
    recipe = SiameseCBOW.preset(name) if name in PRESETS else read_recipe(name)
    if steps:
        changes = {**changes, "postprocess": replace(recipe.postprocess or Postprocess(), **steps)}
    recipe = replace(recipe, **changes)
    if name in PRESETS and "init" in changes and "dim" not in changes:
        from siamese_cbow.training.state import initial_model

        model = initial_model(recipe)
        return recipe if model is None else replace(recipe, dim=model.dim)
    return recipe


def _numbers(passes: str | None) -> list[float]:
    """`1,0.1` -> [1.0, 0.1]."""
    try:
        return [float(number) for number in passes.split(",")] if passes is not None else []
    except ValueError:
        raise SettingsError(f"passes is {passes!r}; expected comma-separated numbers, one per stream: 1,5") from None


def _plan_of_text(recipe: SiameseCBOW, corpus: Corpus) -> str:
    size = "of unknown size" if corpus.total_bytes is None else f"{corpus.total_bytes / 1e6:,.1f} MB"
    files = counted(len(corpus.files), "file") if corpus.files else "no files"
    then = ", and the number of epochs set from its size" if recipe.epochs is None else ""
    return (
        f"{recipe_text(recipe)}\n# {files}, {size}, would be prepared first{then}\n"
        "# nothing was prepared or trained: --dry-run"
    )


def _plan(recipe: SiameseCBOW, mix: Mix) -> str:
    from siamese_cbow.training.plan import plan_of

    plan = plan_of(recipe, mix)
    megabytes = len(plan.vocabulary) * recipe.dim * 4 / 1e6
    return (
        f"{recipe_text(recipe)}\n# {mix!r}\n# {counted(plan.schedule.n_batches, 'batch')} per epoch, {plan.n_steps:,} "
        f"in all\n# {counted(len(plan.vocabulary), 'word')}: {megabytes:,.0f} MB for the vectors, and as much again "
        "for each matrix of the optimiser\n# nothing was trained: --dry-run"
    )
