"""Scores as tables for people, drawn with rich. Machines read `Scores.to_dict()` instead.

Cells read as in the paper: `.6534 (.6516)` is Pearson (Spearman). The best Pearson of a row is bold; without
bold, in a pipe or a file, a star follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from siamese_cbow.evaluation.correlation import Interval
from siamese_cbow.evaluation.scores import Aggregate, Scores, conditions
from siamese_cbow.evaluation.significance import Comparison
from siamese_cbow.evaluation.tasks import TaskScore, task_rows

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

UNDEFINED = "undefined"
SIGNIFICANT = 0.05
LABELS = 42  # characters of the first two columns


def score_tables(systems: Sequence[Scores], *, width: int, can_bold: bool = True) -> Iterator[Table]:
    """A row for each set and each aggregate, a column for each system; split into tables that fit the width."""
    columns = max([len(scores.system) for scores in systems] + [len("-.1234 (-.1234)*")]) + 3
    n = max(1, (width - LABELS) // columns)
    for start in range(0, len(systems), n):
        yield _score_table(systems, slice(start, start + n), can_bold)


def _score_table(systems: Sequence[Scores], shown: slice, can_bold: bool) -> Table:
    """The columns `shown` of a table; bold marks the best of all systems."""
    title = f"Pearson (Spearman), {systems[0].conditions}"
    table = _table(title, ["set", "pairs", *(scores.system for scores in systems[shown])])

    def add(label: str, n_pairs: int, cells: Iterable[Cell]) -> None:
        table.add_row(label, f"{n_pairs:,}", *_cells(cells, can_bold)[shown])

    for rows in zip(*(scores.sets for scores in systems), strict=True):
        add(rows[0].name, rows[0].n_pairs, ((row.pearson, row.spearman, row.intervals[0]) for row in rows))
    table.add_section()
    every = [scores.aggregates[0] for scores in systems]
    for label, cell in AGGREGATES:
        add(label.format(n=_n_sets(every)), every[0].n_pairs, map(cell, every))
    table.add_section()
    for groups in zip(*(scores.aggregates[1:] for scores in systems), strict=True):
        add(f"mean over {groups[0].label} ({_n_sets(groups)})", groups[0].n_pairs, map(AGGREGATES[0][1], groups))
    return table


def details_table(scores: Scores) -> Table:
    """Statistics of the text of each set, and how much of it the system doesn't know."""
    table = _table(
        f"The sets and their words unknown to {scores.system}",
        ["set", "pairs", "words", "words/sentence", "overlap", "unknown words", "pairs without a vector"],
    )
    for score in scores.sets:
        text, unknown = score.pair_set.text(), "?" if score.n_unknown is None else f"{score.n_unknown:,}"
        facts = f"{text.n_words:,}", f"{text.words_per_sentence:.1f}", f"{text.overlap:.0%}"
        table.add_row(score.name, f"{score.n_pairs:,}", *facts, unknown, f"{score.n_empty:,}")
    return table


def comparison_table(comparison: Comparison) -> Table:
    """The tests between two systems, a row for each set and one for the mean."""
    table = _table(
        f"{comparison.first} against {comparison.second}, Pearson, "
        f"{conditions(comparison.protocol, comparison.adapted)}",
        ["set", "difference", "95% interval", "p Williams", "p bootstrap", "p Wilcoxon"],
    )
    for row in comparison.sets:
        williams, bootstrap, wilcoxon = map(probability, (row.williams_p, row.bootstrap_p, row.wilcoxon_p))
        figures = signed(row.difference), _interval(row.interval), williams, bootstrap
        table.add_row(row.name, *figures, wilcoxon + (" †" if row.dagger else ""))
    table.add_section()
    mean = f"mean (ahead on {comparison.n_better} of {len(comparison.sets)} sets)"
    bounds, p = _interval(comparison.interval), probability(comparison.bootstrap_p)
    table.add_row(mean, signed(comparison.difference), bounds, "", p, "")
    table.caption = (
        "Williams and bootstrap ask whether the correlations with the gold scores differ. Wilcoxon, the paper's test, "
        "asks whether the cosines differ; † p < .0001."
    )
    return table


def task_table(scores: Sequence[TaskScore]) -> Table:
    """A row for each measure of each task, a column for each system, with 95% intervals over the examples."""
    rows = task_rows(scores)
    systems = list(dict.fromkeys(score.system for score in scores))
    table = _table("Tasks beyond similarity: mean and 95% interval over examples", ["task", "examples", *systems])
    for (_, task, measure), by_system in rows.items():
        cells = [f"{number(by_system[name].mean)} {_interval(by_system[name].interval)}" if name in by_system else ""
                 for name in systems]  # fmt: skip
        table.add_row(f"{task}: {measure}", f"{len(next(iter(by_system.values())).items):,}", *cells)
    return table


def verdict(comparison: Comparison) -> str:
    """One line: "books is better than tf-idf by .0421 (95% interval [.0112, .0718], p .0080)"."""
    first, second, p = comparison.first, comparison.second, comparison.bootstrap_p
    if comparison.difference is None or p is None:
        return f"{first} and {second} can't be compared: a correlation is undefined on every set"
    figures = f"95% interval {_interval(comparison.interval)}, p {probability(p)}"
    if p >= SIGNIFICANT:
        return f"{first} and {second}: no significant difference ({signed(comparison.difference)}, {figures})"
    word = "better" if comparison.difference > 0 else "worse"
    return f"{first} is {word} than {second} by {number(abs(comparison.difference))} ({figures})"


def remarks(systems: Iterable[Scores]) -> Iterable[str]:
    """Remarks for readers of the numbers: which sets are undefined, and why."""
    for scores in systems:
        for score in scores.sets:
            if score.note:
                yield f"{scores.system}, {score.name}: {score.note}; excluded from the means"


def number(value: float | None) -> str:
    """`number(0.6534)` -> ".6534"; `number(-0.05)` -> "-.0500"."""
    return UNDEFINED if value is None else f"{value:.4f}".replace("0.", ".", 1)


def both_numbers(pearson: float | None, spearman: float | None, mark: str = "") -> str:
    """`both_numbers(.4379, .4311, "†")` -> ".4379† (.4311)"."""
    return UNDEFINED if pearson is None else f"{number(pearson)}{mark} ({number(spearman)})"


def best_of(figures: Iterable[float | None]) -> list[bool]:
    """Which values are the highest as displayed, including ties: [.61234, .61231, .6] -> [True, True, False]."""
    shown = [None if figure is None else round(figure, 4) for figure in figures]
    best = max((figure for figure in shown if figure is not None), default=None)
    return [figure is not None and figure == best for figure in shown]


def signed(value: float | None) -> str:
    """`signed(0.12)` -> "+.1200"."""
    return UNDEFINED if value is None else f"{value:+.4f}".replace("0.", ".", 1)


def probability(p: float | None) -> str:
    """`probability(0.0321)` -> ".0321"; `probability(1e-9)` -> "< .0001"."""
    return "" if p is None else "< .0001" if p < 0.0001 else number(p)


Cell = tuple[float | None, float | None, Interval | None]
AGGREGATES: tuple[tuple[str, Callable[[Aggregate], Cell]], ...] = (
    ("mean over {n}", lambda group: (group.mean_pearson, group.mean_spearman, group.mean_pearson_interval)),
    ("mean weighted by pairs", lambda group: (group.weighted_pearson, group.weighted_spearman, None)),
    ("pooled pairs", lambda group: (group.pooled_pearson, group.pooled_spearman, None)),
)


def _cells(cells: Iterable[Cell], can_bold: bool) -> list[Text]:
    from rich.text import Text

    cells = list(cells)
    best = best_of([pearson for pearson, _, _ in cells])
    texts = []
    for is_best, (pearson, spearman, bounds) in zip(best, cells, strict=True):
        is_marked = is_best and len(cells) > 1
        text = both_numbers(pearson, spearman) + ("*" if is_marked and not can_bold else "")
        texts.append(Text(f"{text}\n{_interval(bounds)}" if bounds else text, style="bold" if is_marked else ""))
    return texts


def _interval(bounds: Interval | None) -> str:
    return f"[{number(bounds.low)}, {number(bounds.high)}]" if bounds else ""


def _n_sets(groups: Sequence[Aggregate]) -> str:
    """The number of sets in a mean: "19 sets", or "18-19 sets" if a system is undefined on one."""
    counts = sorted({group.n_sets for group in groups})
    return f"{'-'.join(map(str, counts[:: max(1, len(counts) - 1)]))} set{'' if counts[-1] == 1 else 's'}"


def _table(title: str, columns: Sequence[str]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", caption_justify="left", box=SIMPLE_HEAD)
    for place, column in enumerate(columns):
        table.add_column(Text(column), justify="left" if place == 0 else "right", no_wrap=True)
    return table
