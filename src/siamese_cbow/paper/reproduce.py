"""Every table and figure of the paper from a stream and the STS sets: train, score, compare, write it all down."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from siamese_cbow.base.arrays import thread_count
from siamese_cbow.base.files import one_writer
from siamese_cbow.errors import InputError, needs
from siamese_cbow.evaluation.pair_sets import PROTOCOLS, PairSet
from siamese_cbow.paper import analysis, charts, paper_tables
from siamese_cbow.paper.claims import claims
from siamese_cbow.paper.document import Report, Section
from siamese_cbow.paper.recipes import FULL, QUICK, Job, code_version, label_of
from siamese_cbow.paper.view import View
from siamese_cbow.paper.work_plan import Cache, checked_parts, planned_seconds, run_plan
from siamese_cbow.paper.writing import COMMAND, check_report, write_report
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.stream import Stream

SECTIONS = {
    "table1": paper_tables.table1,
    "table2": paper_tables.table2,
    "table3": paper_tables.table3,
    "figure2": charts.figure2,
    "figure3": charts.figure3,
    "figure4": charts.figure4,
    "analysis": analysis.length_and_overlap,
    "words": analysis.words,
}


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
    progress: Progress = SILENT,
) -> Report:
    """Train every system on the stream and write the report; what was finished before is not done again.

    `reproduce(Stream.load("data/books"), sts("data/sts"), "report")`

    name      of the text, for the title
    only      some of table1, table2, table3, figure2, figure3, figure4, analysis, words
    quick     small vectors and few points: minutes on a small text, to see what it looks like
    restart   throw away what was finished before
    progress  advances to `reproduction_seconds`
    """
    with needs("matplotlib", "report"):
        import matplotlib  # noqa: F401 (here and below: said before any work)
    with needs("jinja2", "report"):
        import jinja2  # noqa: F401
    parts, job = checked_parts(only), _job(stream, sets, Path(output), quick, threads, seed)
    with one_writer(Path(output)):
        check_report(Path(output))  # before any work
        cache = Cache(job.folder, progress=progress)
        if restart:
            cache.clear()
        results = run_plan(parts, job, cache, progress)
        report = build_report(View(results, sets, parts), job, name)
        write_report(report, Path(output))
    return report


def reproduction_seconds(
    stream: Stream, sets: Sequence[PairSet], *, only: Collection[str] | None = None, quick: bool = False
) -> float:
    """About how long all of it takes on two cores: the total of the progress."""
    return planned_seconds(checked_parts(only), _job(stream, sets, Path(), quick, None, 1))


def build_report(view: View, job: Job, name: str) -> Report:
    """The report of finished work."""
    sections: list[Section] = [SECTIONS[part](view) for part in SECTIONS if part in view.parts]
    if view.results.systems or view.results.unavailable:
        sections.append(paper_tables.systems(view))
    return Report(
        f"Siamese CBOW reproduced{f' on {name}' if name else ''}",
        tuple(_summary(view, job)),
        claims(view),
        tuple(sections),
        _data(view, job, name),
    )


def _job(stream: Stream, sets: Sequence[PairSet], output: Path, quick: bool, threads: int | None, seed: int) -> Job:
    if not sets:
        raise InputError("there are no sets to evaluate on; read some with `sts(folder)`")
    return Job(stream, list(sets), QUICK if quick else FULL, seed, threads, output / "cache")


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
    means = {key: mean for key in view.columns if (mean := view.scores(key).mean_pearson) is not None}
    if means:
        ordered = sorted(means, key=lambda key: -means[key])
        listed = ", ".join(f"{label_of(key)} {means[key]:.3f}".replace(" 0.", " .") for key in ordered)
        lines.append(f"Mean Pearson over all sets, pairs with a gold score: {listed}.")
    if scale.name == "quick":
        lines.append(
            f"This is a quick report ({scale.dim} dimensions, few points): it shows what there is to see, "
            "not what the systems can do."
        )
    return lines


def _data(view: View, job: Job, name: str) -> dict[str, Any]:
    stream = job.stream
    return {
        "name": name,
        "command": COMMAND,
        "made": datetime.date.today().isoformat(),
        "code": code_version(),
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
        "figure2": {key: curve["points"] for key, curve in view.results.curves.items()},
        "figure3": view.results.negatives,
        "figure4": view.results.dims,
        "unavailable": view.results.unavailable,
    }


def _system(view: View, key: str) -> dict[str, Any]:
    result = view.results.systems[key]
    facts = {name: value for name, value in result.items() if name != "cosines"}
    return {**facts, "scores": {protocol: view.scores(key, protocol).to_dict() for protocol in PROTOCOLS}}
