"""The long campaign: `make soak`, or `python tests/faults/soak.py --only fuzz`. Writes results/reliability.md.

    faults   commands that are killed, signalled and given failing disks, again and again    (commands.py)
    fuzz     every reader, guided by coverage                                                (fuzz.py)
    load     a server under thousands of connections, long pipes, threads, leaks             (load.py)

Each part keeps its findings in FOLDER (default: soak/), under the state of `src/` that it ran on; parts may run in
parallel. The page covers one state: parts that ran on another one are left out. After a repair, `--after STATE` keeps
the parts that ran on that earlier state and repeats those that crashed there, and the page says so. A full run takes an
hour and a half on one core; `--scale 0.1` is a tenth of everything.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]
# Readers that answer in microseconds get most of the executions.
MANY = {
    "HTTP bodies": 500_000,
    "pickle": 2_000_000,
    "run.json": 3_000_000,
    "vocabulary": 3_000_000,
    "recipe TOML": 800_000,
    "report cache": 1_200_000,
    "original pickle, gensim": 300_000,
    "languages": 200_000,
}
OTHERS = 20_000
MOST_SECONDS = 600.0  # of CPU time per reader
N_FAULTS, N_EXECUTIONS = 1_000, 10_000_000  # goals of a full run


def source_state() -> str:
    """git's name for the content of `src/`; refused if `src/` has uncommitted changes."""
    changed = subprocess.run(["git", "status", "--porcelain", "src"], cwd=PROJECT, capture_output=True, check=True)
    if changed.stdout:
        raise SystemExit("src/ has changes that are not committed; commit them first, so that the page is of one state")
    command = ["git", "rev-parse", "--short=12", "HEAD:src"]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.strip()


def run_fuzz(folder: Path, scale: float, jobs: int) -> None:
    """Fuzzes each reader in a separate process; a crash stops that reader and is reported."""
    from readers import READERS

    kept = folder / "fuzz.jsonl"
    done = {json.loads(line)["name"] for line in kept.read_text().splitlines()} if kept.exists() else set()
    names = [name for name in sorted(READERS, key=lambda name: -MANY.get(name, 0)) if name not in done]

    def one(name: str) -> None:
        place = Path("/dev/shm" if Path("/dev/shm").is_dir() else folder) / f"soak-{os.getpid()}" / slug(name)
        n, seconds = round(scale * MANY.get(name, OTHERS)), MOST_SECONDS * max(scale, 0.1)
        command = [sys.executable, str(HERE / "fuzz.py"), name, str(n), str(seconds), str(place)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode or not run.stdout:
            raise SystemExit(f"fuzzing {name} failed: {run.stderr[-2000:]}")
        with kept.open("a") as file:
            file.write(run.stdout)
        sys.stderr.write(f"{run.stdout[:200]}\n")

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, names))


def keep_earlier(earlier: Path, folder: Path) -> None:
    """Takes over the results of an earlier state, except for what crashed there."""
    for file in (earlier / "faults.json", earlier / "load.json"):
        if file.exists() and not (folder / file.name).exists():
            (folder / file.name).write_text(file.read_text())
    rows = map(json.loads, (earlier / "fuzz.jsonl").read_text().splitlines())
    if not (folder / "fuzz.jsonl").exists():
        survived = (json.dumps({**row, "state": earlier.name}) for row in rows if "crash" not in row)
        (folder / "fuzz.jsonl").write_text("".join(f"{row}\n" for row in survived))
    (folder / "after").write_text(earlier.name)


def run_part(part: str, folder: Path, scale: float, minutes: float) -> None:
    """Runs a part that is a separate script and prints JSON."""
    script = {"faults": "commands.py", "load": "load.py"}[part]
    command = [sys.executable, str(HERE / script), str(scale)]
    command += ["1", str(minutes)] if part == "faults" else []
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"{script} failed:\n{run.stderr[-4000:]}")
    (folder / f"{part}.json").write_text(run.stdout)


def slug(name: str) -> str:
    """`slug("skip-thought npz")` -> "skip-thought_npz"."""
    return "".join(letter if letter.isalnum() or letter == "-" else "_" for letter in name)


# the page


def page(folder: Path, state: str) -> str:
    """results/reliability.md, from all parts that have run on one state of the source."""
    lines = [
        "# Reliability",
        "",
        "What was attacked, and what survived. Made by `make soak` (`tests/faults/soak.py`); every test run includes a",
        "short version of each part. The machine is shared: read the counts, not the times.",
        _states(folder, state),
        "",
    ]
    parts = {part: folder / name for part, name in
             (("faults", "faults.json"), ("fuzz", "fuzz.jsonl"), ("load", "load.json"))}  # fmt: skip
    lines += [*_goals(parts), ""]
    for part, show in (("faults", _faults), ("fuzz", _fuzz), ("load", _load)):
        if parts[part].exists():
            lines += [*show(parts[part].read_text()), ""]
        else:
            lines += [f"Not run on this state: {part} (`make soak SOAK='--only {part}'`).", ""]
    lines += [f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores."]
    return "\n".join(lines) + "\n"


def _states(folder: Path, state: str) -> str:
    """The source that it ran on: `git rev-parse HEAD:src`."""
    if not (folder / "after").exists():
        return f"Everything ran on one state of the source (`git rev-parse HEAD:src` begins with {state})."
    rows = map(json.loads, (folder / "fuzz.jsonl").read_text().splitlines())
    again = ", ".join(row["name"] for row in rows if "state" not in row)
    return (
        f"It ran on source `{(folder / 'after').read_text()}` (`git rev-parse HEAD:src`) and found a crash in these "
        f"readers: {again}. They ran again after the fix, on `{state}`."
    )


def _goals(parts: dict[str, Path]) -> list[str]:
    """The goals of a full run, and what this run reached."""
    from readers import READERS

    n_faults, executions = 0, []
    if parts["faults"].exists():
        n_faults = sum(row["n"] for row in json.loads(parts["faults"].read_text())["rows"])
    if parts["fuzz"].exists():
        executions = [json.loads(line)["executions"] for line in parts["fuzz"].read_text().splitlines()]
    reached = [
        ("faults injected", N_FAULTS, n_faults),
        ("fuzz executions", N_EXECUTIONS, sum(executions)),
        (f"readers fuzzed {OTHERS:,} times or more", len(READERS), sum(n >= OTHERS for n in executions)),
    ]
    rows = [[what, goal, n, "reached" if n >= goal else "not yet reached"] for what, goal, n in reached]
    return table(["what", "goal", "this run", ""], rows)


def table(head: list[str], rows: list[list[Any]]) -> list[str]:
    """A Markdown table; numbers get commas."""
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows]
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in cells)]


def _faults(text: str) -> list[str]:
    """One row per piece of work, one column per kind of fault."""
    found = json.loads(text)
    works = list(dict.fromkeys(row["what"] for row in found["rows"]))
    kinds = list(dict.fromkeys(row["kind"] for row in found["rows"]))

    def n(work: str | None, kind: str | None) -> int:
        chosen = (row for row in found["rows"] if work in (None, row["what"]) and kind in (None, row["kind"]))
        return sum(row["n"] for row in chosen)

    rows: list[list[Any]] = [[work, *(n(work, kind) for kind in kinds), n(work, None)] for work in works]
    survived = sum(row["survived"] for row in found["rows"])
    return [
        "## Faults",
        "",
        f"{n(None, None):,} faults injected, {survived:,} survived; bytes lost: "
        f"{'0' if not found['losses'] else 'see below'}.",
        "",
        "Survived means: the final name holds the old or the new version, complete; the same command, run again,",
        "writes the bytes of an undisturbed run; other files are untouched; nothing is left over.",
        "",
        "Kills are SIGKILL before a write, fsync, rename or removal, or inside a write; errors are ENOSPC, EIO,",
        "EDQUOT, EROFS, EACCES and EMFILE from such an operation, and EFBIG inside a write; signals are KILL, TERM,",
        "INT, HUP and PIPE at a random moment; limits are few open files and little memory. Only faults that had an",
        "effect are counted.",
        "",
        *table(["work", *kinds, "all"], [*rows, ["**all**", *(n(None, kind) for kind in kinds), n(None, None)]]),
        *(f"\nNot survived: {loss}" for loss in found["losses"]),
    ]


def _fuzz(text: str) -> list[str]:
    from readers import READERS

    found = sorted(map(json.loads, text.splitlines()), key=lambda row: list(READERS).index(row["name"]))
    missing = [name for name in READERS if name not in {row["name"] for row in found}]
    crashes = [row["name"] for row in found if "crash" in row]
    rows = [
        [row["name"], row["executions"], f"{row['accepted'] / max(1, row['executions']):.0%}", row["edges"],
         f"{row['reached']} of {row['lines']}" if "lines" in row else "crash"]
        for row in found
    ]  # fmt: skip
    total = sum(row["executions"] for row in found)
    return [
        "## Fuzzing",
        "",
        f"{total:,} executions over {len(found)} of {len(READERS)} readers, guided by coverage (atheris),",
        "with at most 4 GB and 20 CPU seconds each. Many mutants are made inside their format, with corrected",
        "lengths and checksums (`tests/faults/mutation.py`).",
        *([f"Not fuzzed on this state: {', '.join(missing)}."] if missing else []),
        f"Crashes and hangs: {', '.join(crashes) or 'none'}. Those of earlier runs are in `tests/faults/crashers`.",
        "",
        "Accepted: inputs read without an error; the others were refused with one of ours. Edges: seen by the fuzzer.",
        "Lines: those that its corpus reaches, of the functions in the reader's own modules (the others write files or",
        "are reached from elsewhere).",
        "",
        *table(["reader", "executions", "accepted", "edges", "lines"], [*rows, ["**all**", total, "", "", ""]]),
    ]


def _load(text: str) -> list[str]:
    found = json.loads(text)
    return ["## Load", "", *table(["what", "how much", "result"], found["rows"])]


def main() -> None:
    """Runs the parts and writes the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["faults", "fuzz", "load", "page"])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument(
        "--minutes", type=float, default=60.0, help="for the faults: what would take longer is left out"
    )
    parser.add_argument("--jobs", type=int, default=1, help="readers that are fuzzed at once")
    parser.add_argument("--after", metavar="STATE", help="an earlier state: only what crashed there runs again")
    parser.add_argument("--folder", type=Path, default=PROJECT / "soak")
    options = parser.parse_args()
    state = source_state()
    folder = options.folder / state
    folder.mkdir(parents=True, exist_ok=True)
    if options.after:
        keep_earlier(options.folder / options.after, folder)
    begun = time.monotonic()
    for part in [options.only] if options.only else ["faults", "load", "fuzz"]:
        if part == "fuzz":
            run_fuzz(folder, options.scale, options.jobs)
        elif part != "page":
            run_part(part, folder, options.scale, options.minutes)
    (PROJECT / "results" / "reliability.md").write_text(page(folder, state))
    sys.stderr.write(f"{time.monotonic() - begun:.0f} s\n")


if __name__ == "__main__":
    main()
