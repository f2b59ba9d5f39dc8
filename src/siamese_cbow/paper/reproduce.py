"""Reproduce every table and figure of the paper from a stream and the STS sets: train, score, compare, write."""

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
from siamese_cbow.base.disk import as_path
from siamese_cbow.base.files import one_writer
from siamese_cbow.base.option_fields import checked_value
from siamese_cbow.errors import InputError, SettingsError, needs
from siamese_cbow.evaluation.pair_sets import PROTOCOLS, PairSet
from siamese_cbow.evaluation.score_tables import number
from siamese_cbow.evaluation.sts import TUNING
from siamese_cbow.evaluation.tasks import Tasks
from siamese_cbow.paper import analysis, charts, paper_tables, system_tables
from siamese_cbow.paper.claims import claims
from siamese_cbow.paper.document import Report, Section, listed
from siamese_cbow.paper.recipes import ALIKE, FULL, QUICK, label_of, with_skip_thought
from siamese_cbow.paper.treatments import LABELS
from siamese_cbow.paper.view import View
from siamese_cbow.paper.work_pieces import Job, code_of, fingerprint
from siamese_cbow.paper.work_plan import Cache, checked_parts, plan_fingerprint, planned_work, run_plan
from siamese_cbow.paper.writing import COMMAND, TEMPLATES, check_report, is_written, write_report
from siamese_cbow.progress import SILENT, Progress, shown
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

NOT_MADE = ("This report has none of the training runs that this section needs.",)


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
    progress: Progress | bool = SILENT,
) -> Report:
    """Train every system on the stream and write the report; reuse finished work.

    `reproduce(Stream.load("data/books"), sts("data/sts"), "report")`

    name      name of the text, for the title
    only      some of table1, table2, table3, figure2, figure3, figure4, analysis, words, tasks
    quick     small vectors and few points: a preview that takes minutes on a small text
    restart   discard finished work and start again
    finished_only  train nothing; report what is finished and list what is missing
    tasks     tasks beyond similarity, from `read_tasks`
    skip_thought_hours  roughly how long skip-thought trains; the default of a few minutes is too short for it
    progress  advances to `reproduction_work`; True shows a bar
    """
    with needs("matplotlib", "report"):
        import matplotlib  # noqa: F401 (here and below: fail before any work is done)
    with needs("jinja2", "report"):
        import jinja2  # noqa: F401
    with needs("scipy", "report"):
        import scipy  # noqa: F401
    if restart and finished_only:
        raise SettingsError("restart discards finished work, and finished_only reports it; give one of the two")
    parts = checked_parts(only)
    folder = as_path(output, "output", home=False)
    job = _job(stream, sets, folder, quick, threads, seed, tasks, skip_thought_hours)
    with shown(progress, "reproduce", planned_work(parts, job)) as reporter, one_writer(folder):
        check_report(folder)  # before any work
        cache = Cache(job.folder, progress=reporter)
        if restart:
            cache.clear()
        results = run_plan(parts, job, cache, reporter, finished_only=finished_only)
        if len(results.left_out) == results.n_pieces:
            raise InputError(
                f"none of the {results.n_pieces} training runs in {output} is finished, so there is nothing to report; "
                "leave out --finished (finished_only) to train them"
            )
        beside = job.tasks.beside if job.tasks is not None and "tasks" in parts else ()
        report = build_report(View(results, sets, parts, beside), job, name)
        if is_written(report, folder):
            reporter.say(f"{output} is up to date: nothing has changed since it was written")
        else:
            write_report(report, folder)
    return report


def reproduction_work(
    stream: Stream,
    sets: Sequence[PairSet],
    *,
    only: Collection[str] | None = None,
    quick: bool = False,
    skip_thought_hours: float | None = None,
) -> float:
    """The total of the progress bar, in rough seconds on two cores; `reproduce` announces a measured estimate."""
    parts = checked_parts(only)
    return planned_work(parts, _job(stream, sets, Path(), quick, None, 1, None, skip_thought_hours))


def build_report(view: View, job: Job, name: str) -> Report:
    """The report on finished work."""
    sections: list[Section] = [SECTIONS[part](view) for part in SECTIONS if part in view.parts]
    if view.results.left_out:
        empty = [not (section.tables or section.figures) for section in sections]
        sections = [replace(s, paragraphs=NOT_MADE) if e else s for s, e in zip(sections, empty, strict=True)]
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
    thread_count(threads)  # wrong arguments are errors before any work
    checked_value("stream", stream, Stream)
    checked_value("seed", seed, int, at_least=0)
    checked_value("tasks", tasks, Tasks, optional=True, described="tasks: read_tasks(folder)")
    if not isinstance(sets, list | tuple) or not all(isinstance(each, PairSet) for each in sets):
        raise InputError(f"sets is {sets!r:.60}; expected a list of pair sets, such as sts(folder)")
    if not sets:
        raise InputError("there are no sets to evaluate on; read some with `sts(folder)`")
    scale = with_skip_thought(QUICK if quick else FULL, skip_thought_hours)
    if tasks is not None and scale.task_examples is not None:
        tasks = tasks.sample(scale.task_examples)
    return Job(stream, list(sets), scale, seed, threads, output / "cache", tasks)


def _summary(view: View, job: Job) -> list[str]:
    stream, scale = job.stream, job.scale
    n_pairs = sum(len(pair_set.pairs) for pair_set in view.sets)
    n_scored = sum(pair_set.n_scored for pair_set in view.sets)
    lines = [
        "Kenter, Borisov and de Rijke (ACL 2016) trained word vectors to be averaged and compared them with word2vec "
        "and skip-thought on 20 sets of sentence pairs. This report repeats their experiment with all systems trained "
        f"on one text: {stream.n_tokens:,} tokens in {stream.n_sentences:,} sentences and "
        f"{stream.n_documents:,} documents, with a vocabulary of {len(stream.vocabulary):,} words (the paper: "
        "1,057,070,918 tokens, 315,643 words). Skip-thought is trained on a part of it only: see the last section.",
        f"It uses {len(view.sets)} sets with {n_pairs:,} released pairs; {n_scored:,} of them have a gold score.",
    ]
    if view.results.left_out:
        lines.append(_left_out(view))
    lines += _means(view)
    lines.append(
        "How verdicts come about. A claim states that a value exceeds a bound, which its row names unless it is 0 or "
        "half of the sets. Where sentence pairs are compared, a test decides: the value is recomputed in 500 resamples "
        "of pairs and runs, and the claim holds if the 95% interval lies above the bound and does not hold if it lies "
        "at or below it. Values without pairs to resample (lists of words, counts, times) must clear their bound in "
        "all runs. Everything else is undecided, as are claims with fewer than three runs and claims of beating a "
        "system that is not a sound rival: it has collapsed or is significantly below random vectors (on a task beyond "
        "similarity: below them there). Failing to beat such a system counts. Skip-thought, the slowest system by far, "
        "is trained once: claims about it alone are undecided, and where it is one of several systems, its share of "
        "the interval reflects the pairs only. Correlations are those of the official protocol unless a row says "
        "otherwise. Intervals are not corrected for the number of claims: where one barely clears its bound, it may be "
        "by chance."
    )
    if "contrastive" in view.columns:
        lines.append(
            f"{TUNING} This applies to the contrastive recipe, its finishing, FastSent's learning rate and the "
            "subsampling of the tuned CBOW. Nothing else was chosen by scores: the paper's recipe and word2vec have "
            "their authors' settings, except that the matched learning rate follows from the size of the text; "
            "FastSent updates batches with Adagrad; skip-thought is smaller than its authors' and trained far less."
        )
    if scale.name == "quick":
        lines.append(
            f"This is a quick report ({scale.dim} dimensions, few points, one run for each point of a figure): a "
            "preview of the full report, not a measure of what the systems can do."
        )
    return lines


def _means(view: View) -> list[str]:
    """The mean of every system, and the systems on which no claim may rest."""
    lines = []
    for treatment in ALIKE:
        every = {key: view.means(key, treatment)[0] for key in view.treated(treatment) if key != "contrastive"}
        means = {key: mean for key, mean in every.items() if mean is not None}
        shown = ", ".join(f"{label_of(key)} {number(means[key])}" for key in sorted(means, key=lambda key: -means[key]))
        if shown:
            lines.append(f"Mean Pearson over all sets, on pairs with a gold score, {LABELS[treatment]}: {shown}.")
    recipe = view.means("contrastive")[0] if "contrastive" in view.columns else None
    if recipe is not None:
        same = view.means("random", "full")[0] if view.among(["random"], "full") else None
        lines.append(
            "The contrastive objective compares every sentence with all others of a batch and is ours; its recipe "
            "adds stems (words with the same stem share a component), finishing (words weighted by their information, "
            "common directions removed) and vectors from character n-grams for rare and unknown words. It scores "
            f"{number(recipe)}{'' if same is None else f'; random vectors with these additions score {number(same)}'}."
        )
    unsound = {key: why for key in view.columns if (why := view.unsound(key))}
    if unsound:
        shown = "; ".join(f"{label_of(key)} ({why})" for key, why in unsound.items())
        lines.append(f"Not sound rivals, so that beating them at STS proves nothing: {shown}.")
    return lines


def _left_out(view: View) -> str:
    """The pieces missing from a report on finished work, grouped by missing seeds."""
    results, seeds = view.results, dict[str, list[str]]()
    for piece in results.left_out:
        title, _, seed = piece.title.rpartition(", seed ")
        seeds.setdefault(title, []).append(seed)
    titles: dict[tuple[str, ...], list[str]] = {}
    for title, some in seeds.items():
        titles.setdefault(tuple(some), []).append(title)
    missing = " ".join(
        f"seed{'s' if len(some) > 1 else ''} {listed(some)} of {'; '.join(alike)}." for some, alike in titles.items()
    )
    return (
        f"This report is incomplete: {len(results.left_out)} of its {results.n_pieces} training runs are missing, and "
        f"claims that need three runs of one of these systems are undecided. Missing: {missing}"
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
    """A hash of everything that determines the files of a report: its pieces, its name and the code that writes it."""
    pieces = plan_fingerprint(tuple(part for part in SECTIONS if part in view.parts), job)
    code = code_of("siamese_cbow.paper.reproduce", with_plans=True)
    version = importlib.metadata.version("siamese-cbow")
    missing = [*sorted(view.results.unavailable), *(piece.name for piece in view.results.left_out)]
    templates = [(files(__package__) / template).read_text("utf-8") for template in TEMPLATES]
    return fingerprint({"pieces": pieces, "name": name, "code": [code, version, *templates], "missing": missing})


def _points(points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points without their resamples, which stay in the cache."""
    return [{key: value for key, value in point.items() if key not in ("resampled", "undefined")} for point in points]


def _system(view: View, key: str) -> dict[str, Any]:
    result = view.results.systems[key][0]
    facts = {name: value for name, value in result.items() if name not in ("cosines", "tasks", "next")}
    means = [run.mean_pearson for run in view.runs(key)]
    scores = {protocol: view.scores(key, protocol).to_dict() for protocol in PROTOCOLS}
    return {**facts, "mean_pearsons": means, "unsound": view.unsound(key), "scores": scores}
