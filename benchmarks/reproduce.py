"""The paper's tables and figures for each stream, in `results/reproduce-NAME/`; NAME is the stream's folder.

    python -m benchmarks.reproduce data/wikipedia data/novels --sts data/sts [--tasks DIR] [--work DIR] [--quick]

This takes hours on a large text and resumes after an interruption, because the work is kept in DIR/NAME. Only the page,
its tables and its figures are copied into the results, not the cache.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from benchmarks.tables import RESULTS
from siamese_cbow.evaluation.sts import sts
from siamese_cbow.evaluation.tasks import read_tasks
from siamese_cbow.paper.reproduce import reproduce, reproduction_work
from siamese_cbow.paper.writing import FILES, FOLDERS
from siamese_cbow.progress import bar
from siamese_cbow.stream.stream import Stream


def copy_report(source: Path, target: Path) -> None:
    """Copies the files of a report without its cache, and replaces an older copy."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in FILES:
        shutil.copy2(source / name, target / name)
    for name in FOLDERS:
        shutil.copytree(source / name, target / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("streams", type=Path, nargs="+", help="folders written by `siamese-cbow prepare`")
    parser.add_argument("--sts", type=Path, required=True, help="folder with the STS sets")
    parser.add_argument("--tasks", type=Path, help="folder with tasks beyond similarity")
    parser.add_argument("--skip-thought-hours", type=float)
    parser.add_argument("--only", help="only these parts of the report, separated by commas")
    parser.add_argument("--work", type=Path, default=Path("reproduce-work"), help="folder that keeps the work")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--finished", action="store_true", help="train nothing; report what is finished")
    options = parser.parse_args()
    sets, tasks = sts(options.sts), read_tasks(options.tasks) if options.tasks else None
    only = options.only.split(",") if options.only else None
    how: Any = {"only": only, "quick": options.quick, "skip_thought_hours": options.skip_thought_hours}
    for folder in options.streams:
        stream, name = Stream.load(folder), folder.resolve().name
        with bar(f"reproduce on {name}", reproduction_work(stream, sets, **how)) as progress:
            reproduce(
                stream, sets, options.work / name, name=name, threads=options.threads, tasks=tasks, progress=progress,
                finished_only=options.finished, **how,
            )  # fmt: skip
        copy_report(options.work / name, options.results / f"reproduce-{name}")
        print(options.results / f"reproduce-{name}" / "index.html")


if __name__ == "__main__":
    main()
