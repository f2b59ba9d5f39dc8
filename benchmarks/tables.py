"""Helpers of all benchmarks: their arguments, a synthetic text, clocks, library versions, and Markdown tables."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parents[1] / "results"
LENGTH = 14  # words of a synthetic sentence


def arguments(description: str | None, *paths: str) -> argparse.ArgumentParser:
    """A parser with `--write` and required paths: `arguments(__doc__, "stream", "--sts")`.

    description  the docstring of the script, shown verbatim
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in paths:
        parser.add_argument(name, type=Path, **({"required": True} if name.startswith("-") else {}))
    parser.add_argument("--write", action="store_true", help="keep the page in results/")
    return parser


def zipf_words(n_tokens: int, *, n_words: int = 200_000) -> tuple[np.ndarray, list[str]]:
    """Word ids by Zipf's law, and a spelling for each word; frequent words are short, as in real text."""
    rng = np.random.default_rng(1)
    shares = 1.0 / np.arange(1, n_words + 1) ** 1.05
    ids = rng.choice(n_words, n_tokens, p=shares / shares.sum())
    letters = rng.integers(0, 26, (n_words, 12), dtype=np.uint8) + ord("a")
    lengths = np.clip(np.log2(np.arange(2, n_words + 2)) * 0.6, 1, 12).astype(int)
    spelled = [bytes(row[:length]).decode() for row, length in zip(letters, lengths, strict=True)]
    seen: set[str] = set()
    for i, word in enumerate(spelled):
        if word in seen:
            spelled[i] = f"{word}{i}"
        seen.add(spelled[i])
    return ids, spelled


def write_sentences(path: Path, n_tokens: int, *, n_words: int = 200_000) -> None:
    """Writes a text with one sentence per line; an empty line ends a document after every 100 sentences."""
    ids, spelled = zipf_words(n_tokens, n_words=n_words)
    with path.open("w") as file:
        for i in range(0, n_tokens, LENGTH):
            file.write(" ".join([spelled[word] for word in ids[i : i + LENGTH]]) + " .\n")
            if i % (100 * LENGTH) == 0:
                file.write("\n")


def best_of(rounds: int, work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """The shortest of some rounds, in seconds: on a shared machine, longer ones also measure other programs."""
    times = []
    for _ in range(rounds):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def cpu_of_children() -> float:
    """CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_python(code: str, *arguments: object, **environment: str) -> tuple[float, float, str]:
    """Runs code in a separate process: seconds, CPU seconds, and its output."""
    before, start = cpu_of_children(), time.perf_counter()
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **environment})
    return time.perf_counter() - start, cpu_of_children() - before, done.stdout


def kept(path: Path) -> dict[str, Any]:
    """The figures of earlier runs, by name."""
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def keep(path: Path, name: str, figures: Any) -> None:
    """Adds the figures of this run to those of earlier ones."""
    path.write_text(json.dumps({**kept(path), name: figures}, indent=1, sort_keys=True) + "\n", "utf-8")


def markdown(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """`markdown(["a", "b"], [[1, 2]])` -> '| a | b |\\n|---|---|\\n| 1 | 2 |'."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines).replace("| --- ", "|---")


def machine(*libraries: str) -> str:
    """One line with the number of cores and the versions of Python and these libraries."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in libraries)
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


def report(name: str, title: str, *parts: str, write: bool, script: str | None = None) -> None:
    """Prints a page; with `write`, saves it as `results/name.md`. Its last line names `script`, by default `name`."""
    last = f"Made by `python -m benchmarks.{script or name}` on a shared machine: compare ratios, not times."
    page = "\n\n".join([f"# {title}", *parts, last]) + "\n"
    print(page)
    if write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.md").write_text(page, encoding="utf-8")


def write_section(name: str, heading: str, text: str) -> None:
    """Writes the section `heading` of `results/name.md` and leaves the others as they are."""
    page = RESULTS / f"{name}.md"
    before, found, rest = page.read_text(encoding="utf-8").partition(f"## {heading}\n")
    _, next_heading, after = rest.partition("\n## ") if found else ("", "", "")
    section = f"{before.rstrip()}\n\n## {heading}\n\n{text.strip()}\n"
    page.write_text(section + next_heading + after, encoding="utf-8")
