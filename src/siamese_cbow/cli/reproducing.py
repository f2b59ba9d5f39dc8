"""`siamese-cbow reproduce`: every table and figure of the paper, on a stream of your own."""

from __future__ import annotations

import signal
from pathlib import Path

import click

from siamese_cbow.cli.options import threads_option
from siamese_cbow.evaluation.download import DEFAULT_FOLDER


@click.command(name="reproduce", context_settings={"show_default": True})
@click.argument("stream", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder to write.")
@click.option(
    "--sts",
    "folders",
    metavar="DIR",
    multiple=True,
    default=(DEFAULT_FOLDER,),
    help="Folder with the STS sets; may be given several times.",
)
@click.option(
    "--only",
    metavar="PARTS",
    help="Some of table1,table2,table3,figure2,figure3,figure4,analysis,words,tasks.  [default: all]",
)
@click.option(
    "--tasks",
    "task_folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder with tasks beyond similarity, as `evaluate --tasks` takes it; without it, that section is empty.",
)
@click.option(
    "--skip-thought-hours",
    metavar="H",
    type=click.FloatRange(min=0, min_open=True),
    help="About how long skip-thought trains on two cores.  [default: a few minutes, too little for it]",
)
@click.option("--quick", is_flag=True, help="Small vectors and few points: minutes on a small text.")
@threads_option
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Seed of everything that is random.")
@click.option("--restart", is_flag=True, help="Discard what was finished before.")
def reproduce(
    stream: Path,
    output: Path,
    folders: tuple[str, ...],
    only: str | None,
    task_folder: Path | None,
    skip_thought_hours: float | None,
    quick: bool,
    threads: int | None,
    seed: int,
    restart: bool,
) -> None:
    """Train every system of the paper on one stream and write its tables and figures.

    STREAM is a folder that `prepare` has written. After an interruption, type the same command again: finished work is
    not repeated.
    """
    from siamese_cbow.errors import Interrupted
    from siamese_cbow.evaluation.sts import sts
    from siamese_cbow.evaluation.tasks import read_tasks
    from siamese_cbow.paper.reproduce import reproduce, reproduction_work
    from siamese_cbow.progress import SILENT, bar
    from siamese_cbow.stream.stream import Stream

    parts = [part.strip() for part in only.split(",") if part.strip()] if only else None
    text = Stream.load(stream)
    sets = [pair_set for folder in folders for pair_set in sts(folder, progress=SILENT)]
    tasks = read_tasks(task_folder) if task_folder else None
    total = reproduction_work(text, sets, only=parts, quick=quick, skip_thought_hours=skip_thought_hours)
    try:
        with bar("reproduce", total) as progress:
            reproduce(
                text,
                sets,
                output,
                name=stream.resolve().name,
                only=parts,
                quick=quick,
                threads=threads,
                seed=seed,
                restart=restart,
                tasks=tasks,
                skip_thought_hours=skip_thought_hours,
                progress=progress,
            )
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted; every finished piece is kept: give the same command again to go on", signal.SIGINT
        ) from None
    click.echo(output / "index.html")
