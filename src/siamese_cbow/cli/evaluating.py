"""`siamese-cbow evaluate`, `download` and `reproduce`: compare models with human judgements of sentence pairs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siamese_cbow.cli import Grouped, is_typed
from siamese_cbow.cli.options import (
    PATH,
    Function,
    cluster_options,
    encoding_option,
    print_json,
    refuse_options,
    refuse_other_options,
    say,
    text_column_option,
    threads_option,
)
from siamese_cbow.errors import Interrupted, counted, needs
from siamese_cbow.evaluation.download import DEFAULT_FOLDER, download_sts
from siamese_cbow.progress import SILENT, Progress, bar
from siamese_cbow.text.records import TextSettings

if TYPE_CHECKING:
    from rich.console import Console

    from siamese_cbow.evaluation.pair_sets import PairSet
    from siamese_cbow.evaluation.scores import Scores
    from siamese_cbow.evaluation.significance import Comparison


def sts_option(text: str) -> Callable[[Function], Function]:
    """Add `--sts DIR`; the command gets `folders`."""
    default = (DEFAULT_FOLDER,)
    return click.option("--sts", "folders", metavar="DIR", multiple=True, default=default, help=text)


@click.command(name="evaluate", cls=Grouped)
@click.argument("models", metavar="[MODEL]...", nargs=-1)
@sts_option("Folder of STS sets, or an STS-Benchmark or SICK file. Repeatable.")
@click.option("--protocol", type=click.Choice(["official", "paper"]), default="official",
              help="official: only pairs with a gold score; paper: pairs without one score 0, as in the "
                   "paper.")  # fmt: skip
@click.option("--adapt", type=click.Choice(["no", "set", "held-out"]), default="no",
              help="set: first adapt each model to the sentences of the set, as `adapt` does; held-out: "
                   "adapt to the other nine tenths of the set.")  # fmt: skip
@click.option("--pairs", "files", metavar="FILE", multiple=True, type=PATH,
              help="Your own test set, instead of --sts or in addition: a table of two texts and a score. "
                   "Adds tf-idf baselines and significance tests against the first model. Repeatable.")  # fmt: skip
@click.option("--columns", metavar="LIST", default="", show_default=False,
              help="Columns of --pairs, by name or number: text,text,score.  [default: detected]")  # fmt: skip
@click.option("--compare", is_flag=True, help="Test the first model against each of the others on every set.")
@click.option("--bootstrap", metavar="N", type=click.IntRange(min=0), default=0,
              help="Number of resamples for 95% intervals, such as 1000.")  # fmt: skip
@click.option("--tasks", "task_folder", metavar="DIR", type=PATH,
              help="Instead of STS, run the tasks in this folder: classification (DIR/transfer), retrieval "
              "(DIR/retrieval/NAME), documents (DIR/documents); with tf-idf and BM25 as baselines.")  # fmt: skip
@click.option("--probe", "probes", metavar="FILE", multiple=True, type=PATH,
              help="Instead of STS, train a linear classifier on the labels in this file: one `text TAB "
                   "label` per line, or a table with a `label` column. Repeatable.")  # fmt: skip
@text_column_option
@encoding_option
@click.option("--folds", metavar="N", type=int, default=10, help="Folds of --probe.")
@click.option("--details", is_flag=True, help="Also print word counts, lexical overlap and unknown words for each set.")
@click.option("--random/--no-random", "with_random", default=None,
              help="Add random vectors (and tf-idf for --pairs) as a baseline. On by default for tables and "
                   "--pairs, off for JSON.")  # fmt: skip
@click.option("--seed", type=int, default=1, help="Seed for random vectors and resampling.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines: one object per model or comparison.")
@cluster_options
def evaluate(
    models: tuple[str, ...],
    folders: tuple[str, ...],
    files: tuple[Path, ...],
    columns: str,
    compare: bool,
    task_folder: Path | None,
    probes: tuple[Path, ...],
    text_column: str,
    encoding: str | None,
    folds: int,
    details: bool,
    with_random: bool | None,
    as_json: bool,
    cluster: str | None,
    workers: int | None,
    **how: Any,
) -> None:
    """Score models on semantic textual similarity.

    MODEL is what `--model` takes in other commands (by default `pretrained`, the model in the package), the folder of
    any sentence-transformers or skip-thought model, or one of the baselines `random`, `tf-idf` and
    `tf-idf-characters`.
    """
    from siamese_cbow.evaluation.significance import compare as compare_scores
    from siamese_cbow.evaluation.systems import RANDOM, TFIDF, short_names
    from siamese_cbow.formats.resolver import PRETRAINED

    models, seed = models or (PRETRAINED,), how["seed"]
    if task_folder is not None:
        refuse_other_options({"models", "task_folder", "seed", "as_json"}, "not with --tasks, which runs on its own")
        _tasks(models, task_folder, seed, as_json)
        return
    if probes:
        used = {"models", "probes", "folds", "text_column", "encoding", "seed", "as_json"}
        refuse_other_options(used, "not with --probe, which runs on its own")
        _probe(models, probes, TextSettings(text_column=text_column, encoding=encoding), folds, seed, as_json)
        return
    refuse_options({"folds", "text_column"}, "only with --probe FILE")
    if compare and len(models) < 2:
        raise click.UsageError("--compare needs at least two models: it tests the first against each of the others")
    if columns and not files:
        raise click.UsageError("--columns needs --pairs FILE")
    if files and not is_typed("folders"):
        folders = ()
    beside = [RANDOM, *TFIDF] if files else [RANDOM]
    shown = with_random if with_random is not None else bool(files) or not as_json
    wanted = [*models, *(name for name in beside if shown and name not in models)]
    tests = {"bootstrap": how["bootstrap"] or 1000, "seed": seed, "only_bootstrap": not (compare or as_json)}
    if compare or (files and as_json):
        with needs("scipy", "stats"):
            import scipy.stats  # noqa: F401 (said before any work)
    with bar("evaluate", len(wanted), unit="models") as progress:
        sets = _sets(folders, progress, files, columns=columns, encoding=encoding)
        if cluster is None:
            scores = _evaluated(wanted, sets, progress, **how)
        else:
            from siamese_cbow.cluster import RayCluster

            scores = RayCluster(cluster, workers).evaluate(wanted, sets, names=short_names(wanted), **how)
    others = scores[1:] if files else scores[1 : len(models)] if compare else []
    comparisons = [compare_scores(scores[0], other, **tests) for other in others]
    if as_json:
        print_json(*scores, *comparisons)
    else:
        _print_tables(scores, comparisons, details=details, tests=compare)


def _tasks(models: Sequence[str], folder: Path, seed: int, as_json: bool) -> None:
    """Print a row for each measure of each task, with a column for each model and each baseline without vectors."""
    from siamese_cbow.evaluation.evaluate import PairSystem
    from siamese_cbow.evaluation.systems import open_systems
    from siamese_cbow.evaluation.tasks import read_tasks

    tasks, scores = read_tasks(folder), []
    with bar("tasks", len(models), unit="models") as progress:
        for shown, system in open_systems(models, seed=seed, progress=progress):
            if isinstance(system, PairSystem):
                raise click.UsageError(f"{shown} has no vectors; --tasks includes tf-idf as a baseline anyway")
            scores += tasks.scores(system, shown)
    scores += tasks.beside
    if as_json:
        print_json(*scores)
        return
    from siamese_cbow.evaluation.score_tables import task_table

    _wide_console().print(task_table(scores))


def _probe(
    models: Sequence[str], files: Sequence[Path], text: TextSettings, folds: int, seed: int, as_json: bool
) -> None:
    """Print a table for each file, with a row for each model and for tf-idf."""
    from siamese_cbow.evaluation.probe import TFIDF, most_frequent_share, probe, read_labelled
    from siamese_cbow.evaluation.systems import open_systems

    systems: list[tuple[str, Any]] = [*open_systems(models, seed=seed), (TFIDF, None)]
    for file in files:
        data = read_labelled(file, text_column=text.text_column, decoding=(decoding := text.decoding()))
        for remark in decoding.remarks():
            say(remark)
        scores = [probe(system, data, name=shown, folds=folds, seed=seed) for shown, system in systems]
        if as_json:
            print_json(*scores)
            continue
        click.echo(f"{data.name}: {counted(len(data.texts), 'text')}, accuracy in {folds} folds")
        for score in scores:
            click.echo(f"{100 * score.mean:6.2f} ± {100 * score.std:.2f}  {score.name}")
        click.echo(f"{100 * most_frequent_share(data):6.2f}         majority class")


def _sets(folders: Sequence[str], progress: Progress, files: Sequence[Path] = (), **how: Any) -> list[PairSet]:
    from siamese_cbow.evaluation.pair_files import pairs
    from siamese_cbow.evaluation.sts import sts

    sets = [pair_set for folder in folders for pair_set in sts(folder, progress=progress)]
    for file in files:
        sets += pairs(file, progress=progress, **how)
    return sets


def _evaluated(
    names: Sequence[str], sets: Sequence[PairSet], progress: Progress, *, seed: int, **how: Any
) -> list[Scores]:
    from siamese_cbow.evaluation.evaluate import evaluate
    from siamese_cbow.evaluation.systems import open_systems, words_of

    keep = words_of(sets) if any(Path(name).is_file() for name in names) else None
    systems = open_systems(names, seed=seed, keep=keep, progress=progress)
    return [evaluate(system, sets, name=shown, seed=seed, **how) for shown, system in systems]


def _print_tables(scores: Sequence[Scores], comparisons: Sequence[Comparison], *, details: bool, tests: bool) -> None:
    from siamese_cbow.evaluation.score_tables import comparison_table, details_table, remarks, score_tables, verdict

    console = _wide_console()
    for table in score_tables(scores, width=console.width, can_bold=console.is_terminal):
        console.print(table)
    for each in scores if details else ():
        console.print(details_table(each))
    for comparison in comparisons if tests else ():
        console.print(comparison_table(comparison))
    for comparison in comparisons:
        click.echo(verdict(comparison))
    for remark in remarks(scores):
        say(remark)


def _wide_console() -> Console:
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=240)  # in a pipe, rich would truncate tables at 80


@click.command(name="download", cls=Grouped)
@click.argument("what", type=click.Choice(["sts"]))
@click.option("-o", "--to", "target", metavar="DIR", default=DEFAULT_FOLDER, help="Destination folder.")
def download(what: str, target: str) -> None:
    """Download the public STS sets of SemEval, STS-Benchmark and SICK.

    An interrupted download resumes where it stopped; existing files stay untouched.
    """
    from siamese_cbow.evaluation.sts import sts

    with bar(f"download {what}", None, unit="B") as progress:
        download_sts(target, progress=progress)
        sets = sts(target, progress=progress)
    click.echo(f"{counted(len(sets), 'set')} in {target}; try: siamese-cbow evaluate random --sts {target}")


@click.command(name="reproduce", cls=Grouped)
@click.argument("folder", metavar="STREAM", type=PATH)
@click.option("-o", "--output", required=True, type=PATH, help="Output folder.")
@sts_option("Folder of STS sets. Repeatable.")
@click.option("--only", metavar="PARTS",
              help="Comma-separated parts: "
                   "table1,table2,table3,figure2,figure3,figure4,analysis,words,tasks.  [default: all]")  # fmt: skip
@click.option("--tasks", "task_folder", metavar="DIR", type=PATH,
              help="Folder of tasks beyond similarity, as for `evaluate --tasks`; without it, the report "
                   "skips them.")  # fmt: skip
@click.option("--skip-thought-hours", metavar="H", type=click.FloatRange(min=0, min_open=True),
              help="Approximate training time for skip-thought, in hours on two cores.  [default: a few "
                   "minutes, which is too short]")  # fmt: skip
@click.option("--quick", is_flag=True, help="Small vectors and few points: takes minutes on a small corpus.")
@threads_option
@click.option("--seed", type=click.IntRange(min=0), default=1, metavar="N", help="Random seed.")
@click.option("--restart", is_flag=True, help="Discard finished work and start over.")
@click.option("--finished", "finished_only", is_flag=True, help="Train nothing; report what is finished and missing.")
def reproduce(
    folder: Path,
    output: Path,
    folders: tuple[str, ...],
    only: str | None,
    task_folder: Path | None,
    skip_thought_hours: float | None,
    quick: bool,
    **options: Any,
) -> None:
    """Reproduce every table and figure of the paper from one stream.

    STREAM is a folder written by `prepare`. To resume after an interruption, repeat the command.
    """
    from siamese_cbow.evaluation.tasks import read_tasks
    from siamese_cbow.paper.reproduce import reproduce, reproduction_work
    from siamese_cbow.stream.stream import Stream

    parts = [part.strip() for part in only.split(",") if part.strip()] if only else None
    stream, sets = Stream.load(folder), _sets(folders, SILENT)
    tasks = read_tasks(task_folder) if task_folder else None
    work: Any = {"only": parts, "quick": quick, "skip_thought_hours": skip_thought_hours}
    try:
        with bar("reproduce", reproduction_work(stream, sets, **work)) as progress:
            name = folder.resolve().name
            reproduce(stream, sets, output, name=name, tasks=tasks, progress=progress, **work, **options)
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted; finished work is saved: run the same command again to continue", signal.SIGINT
        ) from None
    click.echo(output / "index.html")
