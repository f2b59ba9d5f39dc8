"""`siamese-cbow train`: stream in, model out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import click

from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.progress import bar
from siamese_cbow.stream.mix import Mix
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.recipe import PRESETS, SiameseCBOW
from siamese_cbow.training.recipe_file import read_recipe, write_recipe
from siamese_cbow.training.saved_run import Saving, train_into
from siamese_cbow.transform.settings import Postprocess

# What `--help` says of each option of a recipe; a test holds it complete.
HELP = {
    "objective": "What is learnt: contrastive (all of the batch), softmax (the paper's), sigmoid, margin or logistic.",
    "dim": "Numbers in a vector; by default those of the model of --init, if one is given.",
    "epochs": "How often the whole text is gone through.",
    "seed": "Where all randomness comes from.",
    "batch_size": "Sentences in a batch.",
    "run_length": "Sentences in a row that come into a batch together.",
    "negatives": "Sampled for each sentence by softmax, sigmoid and logistic.",
    "negatives_from": "corpus: anywhere, as published; batch: from the batch itself, several times faster.",
    "subsample": "Frequent words are left out at random above this share of the text, as in word2vec; 0: never.",
    "max_tokens": "Words of a sentence beyond this are left out, and counted.",
    "temperature": "Cosines are divided by it before the softmax.",
    "margin": "Of the objective margin.",
    "gamma": "Steepness of the objective logistic.",
    "separate_matrices": "One matrix for sentences, which becomes the model, and one for those they are compared with.",
    "share_stems": "Words of one stem (play, plays, playing) learn together.",
    "idf_power": "At the end, vectors are scaled by this power of the word's information; 0: not.",
    "length_power": "At the end, the lengths of the vectors are raised to this power; 1: as they were learnt.",
    "common_directions": "At the end, so many of the directions that all words have in common are taken out.",
    "optimizer": "How gradients move the vectors.",
    "learning_rate": "The first learning rate.",
    "decay": "How the learning rate goes down.",
    "min_learning_rate_ratio": "The decay stops at this share of the first rate.",
    "momentum": "Of nesterov, adadelta (its memory), adam and adamax.",
    "second_momentum": "Of adam and adamax.",
    "clip_gradient": "The longest gradient that a row may get in a batch.",
    "l2": "Weight of the squared lengths of the vectors.",
    "init": "Go on with this model (a folder, or `pretrained`), or start with the vectors of a word2vec file.",
    "init_std": "Spread of the random numbers that vectors start from.",
    "postprocess_weights": "After training, weights of words, as SIF, uSIF or tf-idf have them.",
    "postprocess_a": "Of sif: words with a larger share of the text than this count for less than half.",
    "postprocess_center": "After training, the mean sentence is taken off.",
    "postprocess_components": "After training, so many directions that all sentences have in common are removed.",
    "postprocess_by_share": "Of each such direction only its share of their strength, as uSIF has it.",
    "postprocess_whiten": "After training, 0 to 1: how far the strengths of the other directions are evened out.",
    "postprocess_seed": "Which sentences of a large stream are looked at for that.",
}
STEPS = "postprocess"
SWITCHES = {"separate_matrices": "--separate-matrices/--one-matrix"}  # the other switches are --name/--no-name
SAVING = Saving()


def recipe_options(command: Callable[..., None]) -> Callable[..., None]:
    """An option for each setting of a recipe, with its live default, and the paper's where that differs."""
    for name, kind, default in reversed(recipe_settings()):
        kinds = [inner for inner in get_args(kind) or (kind,) if inner is not type(None)]
        choice = isinstance(kinds[0], str)
        flag = f"--{name.replace('_', '-')}"
        command = click.option(
            SWITCHES.get(name, f"{flag}/--no-{flag[2:]}") if kinds[0] is bool else flag,
            name,
            default=None,
            type=click.Choice(kinds) if choice else kinds[0],
            help=HELP[name] + _shown_default(name, default),
        )(command)
    return command


def recipe_settings() -> list[tuple[str, Any, Any]]:
    """Name, type and default of each setting; those of `postprocess` one by one, as `postprocess_components`, ..."""
    hints, inner = get_type_hints(SiameseCBOW), get_type_hints(Postprocess)
    return [
        *((field.name, hints[field.name], field.default) for field in fields(SiameseCBOW) if field.name != STEPS),
        *(
            (f"{STEPS}_{field.name}", inner[field.name], field.default)
            for field in fields(Postprocess)
            if field.name not in hints or field.name == "seed"
        ),
    ]


def _shown_default(name: str, default: Any) -> str:
    """`_shown_default("dim", 300)` -> '  [default: 300]'. The option's own default is None: as the recipe says."""
    paper = PRESETS["paper"].get(name, default)
    shown = [] if default is None else [f"default: {default}"]
    shown += [f"paper: {paper}"] if paper != default else []
    return f"  [{'; '.join(shown)}]" if shown else ""


@click.command(name="train")
@click.argument("streams", nargs=-1, required=True, metavar="STREAM...", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The folder of the model.")
@click.option("--recipe", "recipe_name", default="contrastive", show_default=True, metavar="NAME|FILE",
              help=f"{', '.join(PRESETS)}, or a TOML file. The options below change it.")  # fmt: skip
@recipe_options
@click.option("--passes", metavar="LIST",
              help="Of several streams, how often an epoch goes through each: 1,5.  [default: once]")  # fmt: skip
@click.option("--threads", type=int, help="The result does not depend on it.  [default: all cores]")
@click.option("--resume", is_flag=True, help="Only go on with an unfinished run, never start one.")
@click.option("--restart", is_flag=True, help="Throw away the model or the unfinished run that the output holds.")
@click.option("--checkpoint-minutes", default=SAVING.checkpoint_minutes, show_default=True,
              help="How often to save all that is needed to go on after a crash.")  # fmt: skip
@click.option("--snapshot-batches", default=SAVING.snapshot_batches, show_default=True,
              help="Save the model as it is, as OUTPUT@N, after every so many batches; 0: never.")  # fmt: skip
@click.option("--snapshot-epochs", default=SAVING.snapshot_epochs, show_default=True,
              help="Save the model as it is, as OUTPUT@epochN, after every so many epochs; 0: never.")  # fmt: skip
@click.option(
    "--write-recipe", "recipe_file", type=click.Path(path_type=Path), help="Write the recipe to this TOML file as well."
)
@click.option("--dry-run", is_flag=True, help="Check everything and say what would be done.")
def command(
    streams: tuple[Path, ...],
    output: Path | None,
    recipe_name: str,
    passes: str | None,
    threads: int | None,
    resume: bool,
    restart: bool,
    checkpoint_minutes: float,
    snapshot_batches: int,
    snapshot_epochs: int,
    recipe_file: Path | None,
    dry_run: bool,
    **options: Any,
) -> None:
    """Learn word vectors from a stream that `prepare` has made.

    Several streams (text and pairs, new text and old) are gone through together, and the model has the words of all.

    A run that was stopped goes on when the same command is given again, and ends with the same bytes.
    """
    recipe = _recipe(recipe_name, _changes(options))
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
    saving = Saving(checkpoint_minutes, snapshot_batches, snapshot_epochs)
    with bar("training", recipe.epochs * mix.n_tokens, unit="words") as progress:
        train_into(output, recipe, mix, saving=saving, restart=restart, threads=threads, progress=progress)
    click.echo(output)


def _changes(options: dict[str, Any]) -> dict[str, Any]:
    """{"dim": 8, "seed": None, "postprocess_components": 1} -> {"dim": 8, "postprocess": {"components": 1}}."""
    given = {name: value for name, value in options.items() if value is not None}
    steps = {name.removeprefix(f"{STEPS}_"): given.pop(name) for name in list(given) if name.startswith(f"{STEPS}_")}
    return given | ({STEPS: steps} if steps else {})


def _recipe(name: str, changes: dict[str, Any]) -> SiameseCBOW:
    if name not in PRESETS:
        settings = read_recipe(name).settings()
        steps = {STEPS: {**settings.get(STEPS, {}), **changes[STEPS]}} if STEPS in changes else {}
        return SiameseCBOW(**{**settings, **changes, **steps})
    recipe = SiameseCBOW.preset(name, **changes)
    if "init" in changes and "dim" not in changes:
        from siamese_cbow.training.start import with_dim_of_start

        return with_dim_of_start(recipe)
    return recipe


def _numbers(passes: str | None) -> list[float]:
    """`1,0.1` -> [1.0, 0.1]."""
    try:
        return [float(number) for number in passes.split(",")] if passes is not None else []
    except ValueError:
        raise SettingsError(f"passes is {passes!r}; expected numbers with commas, one for each stream: 1,5") from None


def _plan(recipe: SiameseCBOW, mix: Mix) -> str:
    from siamese_cbow.training.plan import plan_of
    from siamese_cbow.training.recipe_file import recipe_text

    plan = plan_of(recipe, mix)
    megabytes = len(plan.vocabulary) * recipe.dim * 4 / 1e6
    return (
        f"{recipe_text(recipe)}\n"
        f"# {mix!r}\n"
        f"# {plan.course.n_batches:,} batches an epoch, {plan.n_steps:,} in all\n"
        f"# {len(plan.vocabulary):,} words: {megabytes:,.0f} MB for the vectors, "
        "as much again for each matrix the optimiser keeps\n"
        "# nothing was trained: --dry-run"
    )
