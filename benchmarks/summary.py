"""One page over all results: speed, memory, size, and quality against cost; figures that moved are flagged.

    python -m benchmarks.summary [--write]

Nothing is measured here. Each figure is read from the table of its own page in results/ and compared with the
previously committed version of that page; a change beyond the noise of the figure is flagged. If a table has changed
its rows or columns, reading it is an error: correct FIGURES.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.tables import RESULTS, arguments, markdown

NUMBER = re.compile(r"-?[\d,]*\.?\d+")
RENAMED = {"a second": "requests/s", "µs a sentence": "µs per sentence"}  # columns in earlier versions of the pages
TIMES, SCORES = 0.15, 0.004  # noise: relative for times on a shared machine, absolute for correlations (three seeds)


class Figure(NamedTuple):
    """Where a number is: on which page, under which heading, in which row and column."""

    section: str
    label: str
    page: str
    row: str  # the beginning of the row's first cells, joined by " | "
    column: str
    heading: str = ""  # of the table; empty: the first table with such a row
    absolute: float = 0.0  # noise in the unit of the figure; 0: TIMES of the number


FIGURES = (
    Figure("Speed", "training, default recipe: million words/s", "train", "contrastive", "million words/s"),
    Figure("Speed", "training, gensim CBOW: million words/s", "train", "gensim CBOW", "million words/s"),
    Figure("Speed", "150 MB of raw text to a model: seconds", "one_step", "siamese-cbow", "seconds"),
    Figure("Speed", "text to a stream, 2 threads: million tokens/s", "prepare", "siamese-cbow prepare, 2 threads",
           "million tokens/s"),
    Figure("Speed", "encoding in bulk: sentences/s", "encode", "siamese-cbow", "sentences/s", "100,000 sentences"),
    Figure("Speed", "encoding one sentence: µs", "encode", "siamese-cbow", "µs per sentence", "One sentence at a time"),
    Figure("Speed", "cold `similarity`: CPU seconds", "cold_start", "siamese-cbow similarity", "CPU seconds"),
    Figure("Speed", "searching a million lines without an index: seconds", "search", "siamese-cbow search", "seconds"),
    Figure("Speed", "HTTP, batches of 256 in base64: requests/s", "serve", "batches of 256, base64 | siamese-cbow",
           "requests/s"),
    Figure("Memory and size", "preparing 95 MB: peak MB", "prepare", "95 MB", "peak memory"),
    Figure("Memory and size", "extra `tables`: MB", "install", "`tables`", "adds MB"),
    Figure("Quality", "STS, default recipe", "quality", "contrastive", "Pearson", absolute=SCORES),
    Figure("Quality", "STS, the paper's recipe as published", "quality", "paper, as published", "Pearson",
           absolute=SCORES),
    Figure("Quality", "STS, German, Russian, Japanese, Chinese: mean", "languages", "ours, `ngrams`", "mean",
           absolute=SCORES),
    Figure("Quality", "Cranfield, hybrid search: nDCG@10", "retrieval", "ours, hybrid", "nDCG@10", "Cranfield",
           SCORES),
)  # fmt: skip


class System(NamedTuple):
    """A point of the plot: quality and speed on Cranfield, from one run."""

    label: str
    row: str
    below: bool = False  # moves the label, so that labels don't overlap


SYSTEMS = (
    System("siamese-cbow, hybrid", "ours, hybrid"),
    System("siamese-cbow, exact words", "ours, exact words"),
    System("siamese-cbow, meaning", "ours, meaning"),
    System("BM25", "BM25", below=True),
    System("model2vec", "model2vec"),
    System("WordLlama", "WordLlama"),
    System("all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
)


def value(figure: Figure, text: str) -> float:
    """The number of a figure in the text of its page; the first one of '0.6974 ± 0.0031'.

    A row that matches exactly wins over one that only begins the same: 'gensim CBOW', not 'gensim CBOW, from text'.
    """
    heading = ""
    header: list[str] = []
    longer: list[float] = []
    for line in text.splitlines():
        if line.startswith("#"):
            heading, header = line, []
        elif not line.startswith("|"):
            header = []
        elif not header:
            header = cells(line)
        elif figure.heading in heading and begins(cells(line), figure.row) and figure.column in header:
            number = NUMBER.search(cells(line)[header.index(figure.column)])
            if number and equal(cells(line), figure.row):
                return float(number[0].replace(",", ""))
            longer += [float(number[0].replace(",", ""))] if number else []
    if longer:
        return longer[0]
    raise LookupError(f"results/{figure.page}.md has no {figure.column!r} of {figure.row!r}; correct FIGURES")


def cells(line: str) -> list[str]:
    """'| **a** | b |' -> ['a', 'b']."""
    return [cell.strip().replace("**", "") for cell in line.strip().strip("|").split("|")]


def equal(row: list[str], wanted: str) -> bool:
    """Whether the first cells of a row are the wanted ones: equal(['a', 'b', '1'], 'a | b')."""
    return " | ".join(row[: wanted.count(" | ") + 1]) == wanted


def begins(row: list[str], wanted: str) -> bool:
    """Whether the first cells begin with the wanted ones; anything after follows a comma, colon, bracket or space."""
    first = " | ".join(row[: wanted.count(" | ") + 1])
    return first == wanted or (first.startswith(wanted) and first[len(wanted)] in ",:( ")


def shown(number: float | None) -> str:
    """1680463.0 -> '1,680,463'; 0.6974 -> '0.6974'; None -> ''."""
    return "" if number is None else f"{number:,.0f}" if number >= 1000 else f"{number:g}"


def before(page: str) -> str:
    """The last committed version of the page with other numbers in its tables; new wording is not a new measurement."""
    path = f"results/{page}.md"
    now = numbers((RESULTS / f"{page}.md").read_text("utf-8"))
    for commit in git("log", "-n", "9", "--format=%h", "--", path).split():
        text = git("show", f"{commit}:{path}")
        if numbers(text) != now:
            for old, new in RENAMED.items():
                text = text.replace(f"| {old} |", f"| {new} |")
            return text
    return ""


def numbers(text: str) -> list[str]:
    """The numbers in the tables of a page."""
    return NUMBER.findall("\n".join(line for line in text.splitlines() if line.startswith("|")))


def git(*arguments: str) -> str:
    """The output of a git command; empty outside a repository."""
    done = subprocess.run(["git", *arguments], cwd=RESULTS.parent, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def rows(section: str) -> Iterator[list[str]]:
    """Label, number, previous number, flag and page of each figure in a section."""
    for figure in FIGURES:
        if figure.section == section:
            number = value(figure, (RESULTS / f"{figure.page}.md").read_text("utf-8"))
            try:
                old: float | None = value(figure, before(figure.page))
            except LookupError:  # a new page, or one whose table was different
                old = None
            link = f"[{figure.page}]({figure.page}.md)"
            yield [figure.label, shown(number), shown(old), flag(figure, number, old), link]


def flag(figure: Figure, number: float, old: float | None) -> str:
    """'**+21%**' if a figure moved by more than its noise, '' if it did not."""
    if old is None:
        return "new"
    if abs(number - old) <= (figure.absolute or TIMES * abs(old)):
        return ""
    return f"**{number - old:+.4f}**" if figure.absolute or not old else f"**{number / old - 1:+.0%}**"


def points() -> list[tuple[str, float, float]]:
    """(label, documents/s, nDCG@10) of each system."""
    text = (RESULTS / "retrieval.md").read_text("utf-8")
    at = [Figure("", "", "retrieval", system.row, column, "Cranfield") for system in SYSTEMS
          for column in ("documents/s", "nDCG@10")]  # fmt: skip
    numbers = [value(figure, text) for figure in at]
    return [(system.label, *numbers[2 * i : 2 * i + 2]) for i, system in enumerate(SYSTEMS)]  # type: ignore[misc]


def frontier(systems: list[tuple[str, float, float]]) -> list[tuple[str, float, float]]:
    """Systems that no other beats in both speed and quality, the fastest last.

    frontier([("a", 1, .5), ("b", 2, .4), ("c", 1, .4)]) -> a, b
    """
    best = [a for a in systems if not any(b[1] >= a[1] and b[2] >= a[2] and b != a for b in systems)]
    return sorted(best, key=lambda system: system[1])


def plot(systems: list[tuple[str, float, float]]) -> str:
    """The systems as SVG, with speed on a logarithmic axis; a line joins those on the frontier."""
    from math import log10

    low, high = 1.0, 5.0  # powers of ten of documents/s
    bottom, top = 0.25, 0.45

    def x(speed: float) -> float:
        return 60 + 520 * (log10(speed) - low) / (high - low)

    def y(quality: float) -> float:
        return 300 - 270 * (quality - bottom) / (top - bottom)

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 350" font-family="sans-serif" font-size="12" '
        'role="img" aria-label="Quality against speed on Cranfield">',
        '<rect width="680" height="350" fill="#fff"/>',
    ]
    for power in range(int(low), int(high) + 1):
        parts.append(f'<path d="M{x(10**power):.0f} 30V300" stroke="#ddd"/>')
        parts.append(f'<text x="{x(10**power):.0f}" y="318" text-anchor="middle">{10**power:,}</text>')
    for step in range(5):
        quality = bottom + step * (top - bottom) / 4
        parts.append(f'<path d="M60 {y(quality):.0f}H580" stroke="#ddd"/>')
        parts.append(f'<text x="52" y="{y(quality) + 4:.0f}" text-anchor="end">{quality:.2f}</text>')
    line = "L".join(f"{x(speed):.0f} {y(quality):.0f}" for _, speed, quality in frontier(systems))
    parts.append(f'<path d="M{line}" fill="none" stroke="#3f51b5" stroke-dasharray="4 3"/>')
    for system, (label, speed, quality) in zip(SYSTEMS, systems, strict=True):
        height = y(quality) + (18 if system.below else -7)
        parts.append(f'<circle cx="{x(speed):.0f}" cy="{y(quality):.0f}" r="5" fill="#3f51b5"/>')
        parts.append(f'<text x="{x(speed) + 8:.0f}" y="{height:.0f}">{label}</text>')
    parts.append('<text x="320" y="340" text-anchor="middle">documents per second (log scale)</text>')
    parts.append('<text x="16" y="165" transform="rotate(-90 16 165)" text-anchor="middle">nDCG@10</text></svg>')
    return "\n".join(parts) + "\n"


def page() -> str:
    """results/benchmarks.md."""
    header = ["figure", "now", "before", "moved", "page"]
    sections = [f"## {section}\n\n{markdown(header, list(rows(section)))}" for section in
                dict.fromkeys(figure.section for figure in FIGURES)]  # fmt: skip
    systems = points()
    beaten = markdown(
        ["system", "documents/s", "nDCG@10", "on the frontier"],
        [[label, f"{speed:,.0f}", f"{quality:.3f}", "yes" if (label, speed, quality) in frontier(systems) else ""]
         for label, speed, quality in sorted(systems, key=lambda system: -system[2])],
    )  # fmt: skip
    return "\n\n".join([
        "# Benchmarks",
        "A summary of the other pages, which say how each figure was measured. *before* is the figure in the "
        "previous version of that page; *moved* flags a change beyond the noise: "
        f"{TIMES:.0%} for times on a shared machine, {SCORES} for scores.",
        *sections,
        "## Quality against cost\n\nCranfield, all systems in one run ([retrieval](retrieval.md)). A system is on the "
        "frontier if no other is both faster and better.\n\n![Quality against speed](benchmarks.svg)",
        beaten,
        f"Written by `python -m benchmarks.summary` on {os.cpu_count()} cores with Python "
        f"{platform.python_version()}; "
        "each page names the versions it was measured with.",
    ]) + "\n"  # fmt: skip


def main() -> None:
    """Prints the page, or writes it with its plot."""
    parser = arguments(__doc__)
    text = page()
    print(text)
    if parser.parse_args().write:
        (RESULTS / "benchmarks.md").write_text(text, "utf-8")
        (RESULTS / "benchmarks.svg").write_text(plot(points()), "utf-8")


if __name__ == "__main__":
    main()
