"""Every table and figure of the paper from a stream and the STS sets: train, score, compare, write it all down."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from collections.abc import Collection, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from siamese_cbow.base.arrays import thread_count
from siamese_cbow.base.files import one_writer
from siamese_cbow.errors import InputError, SettingsError, needs
from siamese_cbow.evaluation.pair_sets import PROTOCOLS, PairSet
from siamese_cbow.evaluation.score_tables import number
from siamese_cbow.evaluation.sts import TUNING
from siamese_cbow.evaluation.tasks import Tasks
from siamese_cbow.paper import analysis, charts, paper_tables, system_tables
from siamese_cbow.paper.claims import claims
from siamese_cbow.paper.document import Report, Section, listed
from siamese_cbow.paper.recipes import FULL, QUICK, label_of, with_skip_thought
from siamese_cbow.paper.view import View
from siamese_cbow.paper.work_pieces import Job, code_of, fingerprint
from siamese_cbow.paper.work_plan import Cache, checked_parts, plan_fingerprint, planned_work, run_plan
from siamese_cbow.paper.writing import COMMAND, TEMPLATES, check_report, is_written, write_report
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.stream import Stream

SECTIONS = {
    "table1": paper_tables.table1,
    "table2": paper_tables.table2,
    "table3": system_tables.table3,
    "figure2": charts.figure2,
    "figure3": charts.figure3,
    "figure4": charts.figure4,
    "analysis": analysis.length_and_overlap,
    "words": analysis.words,
    "tasks": system_tables.tasks,
}

NOT_MADE = ("None of its trainings was made for this report.",)


def reproduce(
    stream: Stream,
    sets: Sequence[PairSet],
    output: Path | str,
    *,
    name: str = "",
    only: Collection[str] | None = None,
    quick: bool = False,
    threads: int | None = None,
    seed: int = 1,
    restart: bool = False,
    finished_only: bool = False,
    tasks: Tasks | None = None,
    skip_thought_hours: float | None = None,
    progress: Progress = SILENT,
) -> Report:
    """Train every system on the stream and write the report; what was finished before is not done again.

    `reproduce(Stream.load("data/books"), sts("data/sts"), "report")`

    name      of the text, for the title
    only      some of table1, table2, table3, figure2, figure3, figure4, analysis, words, tasks
    quick     small vectors and few points: minutes on a small text, to see what it looks like
    restart   throw away what was finished before
    finished_only  train nothing: a report of what is finished, which says what is not
    tasks     tasks beyond similarity, as `read_tasks` gives them
    skip_thought_hours  about how long skip-thought trains; by default a few minutes, which is not enough for it
    progress  advances to `reproduction_work`
    """
    with needs("matplotlib", "report"):
        import matplotlib  # noqa: F401 (here and below: said before any work)
    with needs("jinja2", "report"):
        import jinja2  # noqa: F401
    with needs("scipy", "report"):
        import scipy  # noqa: F401
    if restart and finished_only:
        raise SettingsError("restart discards what is finished, and finished_only would show it; give one of the two")
    parts = checked_parts(only)
    job = _job(stream, sets, Path(output), quick, threads, seed, tasks, skip_thought_hours)
    with one_writer(Path(output)):
        check_report(Path(output))  # before any work
        cache = Cache(job.folder, progress=progress)
        if restart:
            cache.clear()
        results = run_plan(parts, job, cache, progress, finished_only=finished_only)
        if len(results.left_out) == results.n_pieces:
            raise InputError(
                f"none of the {results.n_pieces} pieces of work in {output} is finished, so there is nothing to "
                "report; leave out --finished (finished_only) to train them"
            )
        beside = job.tasks.beside if job.tasks is not None and "tasks" in parts else ()
        report = build_report(View(results, sets, parts, beside), job, name)
        if is_written(report, Path(output)):
            progress.say(f"{output} is up to date: nothing has changed since it was written")
        else:
            write_report(report, Path(output))
    return report


def reproduction_work(
    stream: Stream,
    sets: Sequence[PairSet],
    *,
    only: Collection[str] | None = None,
    quick: bool = False,
    skip_thought_hours: float | None = None,
) -> float:
    """The total of the progress, in rough seconds of two cores; what a report says at its start is measured."""
    parts = checked_parts(only)
    return planned_work(parts, _job(stream, sets, Path(), quick, None, 1, None, skip_thought_hours))


def build_report(view: View, job: Job, name: str) -> Report:
    """The report of finished work."""
    sections: list[Section] = [SECTIONS[part](view) for part in SECTIONS if part in view.parts]
    if view.results.left_out:
        sections = [one if one.tables or one.figures else replace(one, paragraphs=NOT_MADE) for one in sections]
    if view.results.systems or view.results.unavailable:
        sections.append(system_tables.systems(view))
    return Report(
        f"Siamese CBOW reproduced{f' on {name}' if name else ''}",
        tuple(_summary(view, job)),
        (*claims(view), *(system_tables.task_claims(view) if "tasks" in view.parts else ())),
        tuple(sections),
        _data(view, job, name),
    )


def _job(
    stream: Stream,
    sets: Sequence[PairSet],
    output: Path,
    quick: bool,
    threads: int | None,
    seed: int,
    tasks: Tasks | None,
    skip_thought_hours: float | None,
) -> Job:
    if not sets:
        raise InputError("there are no sets to evaluate on; read some with `sts(folder)`")
    scale = with_skip_thought(QUICK if quick else FULL, skip_thought_hours)
    if tasks is not None and scale.task_examples is not None:
        tasks = tasks.sample(scale.task_examples)
    return Job(stream, list(sets), scale, seed, threads, output / "cache", tasks)


def _summary(view: View, job: Job) -> list[str]:
    stream, scale = job.stream, job.scale
    n_pairs, n_scored = sum(len(one.pairs) for one in view.sets), sum(one.n_scored for one in view.sets)
    lines = [
        "Kenter, Borisov and de Rijke (ACL 2016) trained word vectors to be averaged, and compared them with "
        "word2vec and skip-thought on 20 sets of sentence pairs. This report repeats their experiment with every "
        f"system trained on one and the same text: {stream.n_tokens:,} tokens in {stream.n_sentences:,} sentences "
        f"and {stream.n_documents:,} documents, {len(stream.vocabulary):,} different words (the paper: 1,057,070,918 "
        "tokens, 315,643 words).",
        f"It uses {len(view.sets)} sets with {n_pairs:,} released pairs, of which {n_scored:,} have a gold score.",
    ]
    if view.results.left_out:
        lines.append(_left_out(view))
    lines += _means(view)
    lines.append(
        "Verdicts are decided by tests. A claim is a figure that must lie above a bound, worked out again in 500 "
        "resamples of pairs and trainings: it holds if their 95% interval lies above the bound, does not hold if the "
        "interval lies on or below it, and cannot be told otherwise, with fewer than three trainings, or against a "
        "rival that has collapsed or is below random vectors. Only skip-thought, which takes hours, is trained once; "
        "unless it has learnt its own task, it counts in no comparison. The intervals are not widened for the number "
        "of claims: where one barely clears its bound, chance may have decided."
    )
    if "contrastive" in view.columns:
        lines.append(
            f"{TUNING} That is so of the contrastive recipe, of its finishing and of FastSent's learning rate; the "
            "paper's recipe, word2vec and skip-thought have the settings of their authors."
        )
    if scale.name == "quick":
        lines.append(
            f"This is a quick report ({scale.dim} dimensions, few points, one training for each point of a figure): it "
            "shows what there is to see, not what the systems can do."
        )
    return lines


def _means(view: View) -> list[str]:
    """The mean of every system, and which of them say nothing about others."""
    lines = []
    means = {key: mean for key in view.columns if (mean := view.means(key)[0]) is not None}
    recipe = means.pop("contrastive", None)
    if means:
        ordered = sorted(means, key=lambda key: -means[key])
        shown = ", ".join(f"{label_of(key)} {number(means[key])}" for key in ordered)
        lines.append(f"Mean Pearson over all sets, pairs with a gold score, as learnt: {shown}.")
    if recipe is not None:
        same = view.means("random", "full")[0] if view.among(["random"], "full") else None
        lines.append(
            "The contrastive recipe, which has stems, finishing and n-grams beside its objective, has "
            f"{number(recipe)}{'' if same is None else f'; random vectors with the same have {number(same)}'}."
        )
    unsound = {key: why for key in view.columns if (why := view.unsound(key))}
    if unsound:
        shown = "; ".join(f"{label_of(key)} ({why})" for key, why in unsound.items())
        lines.append(f"To be ahead of these is no merit, and no verdict rests on it: {shown}.")
    return lines


def _left_out(view: View) -> str:
    """What is missing from a report of finished work, by the seeds that are missing."""
    results, seeds = view.results, dict[str, list[str]]()
    for piece in results.left_out:
        title, _, seed = piece.title.rpartition(", seed ")
        seeds.setdefault(title, []).append(seed)
    titles: dict[tuple[str, ...], list[str]] = {}
    for title, some in seeds.items():
        titles.setdefault(tuple(some), []).append(title)
    missing = " ".join(
        f"Seed{'s' if len(some) > 1 else ''} {listed(some)} of: {'; '.join(alike)}." for some, alike in titles.items()
    )
    return (
        f"This report is not complete: {len(results.left_out)} of its {results.n_pieces} trainings were not made, and "
        f"a verdict that needs three trainings of one of them cannot be told. Missing: {missing}"
    )


def _data(view: View, job: Job, name: str) -> dict[str, Any]:
    stream = job.stream
    return {
        "name": name,
        "command": COMMAND,
        "made": datetime.date.today().isoformat(),
        "rests_on": rests_on(view, job, name),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "threads": thread_count(job.threads),
        "seed": job.seed,
        "scale": job.scale.name,
        "stream": {
            "fingerprint": stream.fingerprint,
            "n_tokens": stream.n_tokens,
            "n_sentences": stream.n_sentences,
            "n_documents": stream.n_documents,
            "n_words": len(stream.vocabulary),
        },
        "missing_sets": [f"{year} {dataset}" for year, dataset in view.absent],
        "systems": {key: _system(view, key) for key in view.results.systems},
        "sets": view.names,
        "figure2": {key: [_points(run["points"]) for run in runs] for key, runs in view.results.curves.items()},
        "figure3": {key: {n: _points(runs) for n, runs in by.items()} for key, by in view.results.negatives.items()},
        "figure4": {key: {n: _points(runs) for n, runs in by.items()} for key, by in view.results.dims.items()},
        "unavailable": view.results.unavailable,
        "left_out": [piece.name for piece in view.results.left_out],
    }


def rests_on(view: View, job: Job, name: str) -> str:
    """A hash of all that the files of a report follow from: its pieces, its name, the code that writes it."""
    pieces = plan_fingerprint(tuple(part for part in SECTIONS if part in view.parts), job)
    code = code_of("siamese_cbow.paper.reproduce", with_plans=True)
    version = importlib.metadata.version("siamese-cbow")
    missing = [*sorted(view.results.unavailable), *(piece.name for piece in view.results.left_out)]
    templates = [(files(__package__) / template).read_text("utf-8") for template in TEMPLATES]
    return fingerprint({"pieces": pieces, "name": name, "code": [code, version, *templates], "missing": missing})


def _points(points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points without their resamples, which the cache has."""
    return [{key: value for key, value in point.items() if key not in ("resampled", "undefined")} for point in points]


def _system(view: View, key: str) -> dict[str, Any]:
    result = view.results.systems[key][0]
    facts = {name: value for name, value in result.items() if name not in ("cosines", "tasks", "next")}
    means = [run.mean_pearson for run in view.runs(key)]
    scores = {protocol: view.scores(key, protocol).to_dict() for protocol in PROTOCOLS}
    return {**facts, "mean_pearsons": means, "unsound": view.unsound(key), "scores": scores}
