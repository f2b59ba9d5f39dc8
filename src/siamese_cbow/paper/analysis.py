"""By sentence length and by lexical overlap: set by set as in the paper, and pair by pair over all sets together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from siamese_cbow.evaluation.correlation import Floats, pearson
from siamese_cbow.evaluation.pair_sets import WORDS, PairSet
from siamese_cbow.evaluation.protocol import counted
from siamese_cbow.evaluation.score_tables import number
from siamese_cbow.paper.document import Cell, Figure, Panel, Row, Section, Series, Table, best_of, text_row
from siamese_cbow.paper.figures import paper_row
from siamese_cbow.paper.recipes import SYSTEMS, label_of
from siamese_cbow.paper.view import View

BINS = 5


def section(view: View) -> Section:
    """Tables and charts of both."""
    lengths, overlaps = (np.concatenate(values) for values in zip(*map(_facts, _scored(view)), strict=True))
    gold = np.concatenate([one.gold for one in _scored(view)])
    cosines = {
        key: np.concatenate([view.scores(key).sets[i].predictions for i in view.headline]) for key in view.columns
    }
    by_length = _binned("length", "words per sentence", lengths, gold, cosines, lambda x: f"{x:.1f}")
    by_overlap = _binned("overlap", "words in common", overlaps, gold, cosines, lambda x: f"{x:.0%}")
    figure = Figure(
        "length-and-overlap",
        "By length and by overlap",
        "Pearson within five equal parts of all scored pairs together, from the shortest sentences and the least "
        "overlap on the left. Parts mix sets, so their figures are not those of Table 1.",
        (_panel(by_length, "words per sentence"), _panel(by_overlap, "words in common")),
    )
    return Section(
        "analysis",
        "Sentence length and lexical overlap",
        (
            "Overlap is the number of different words in both sentences by the number in either, the mean over pairs, "
            "without punctuation. The paper does not say how it counts; the table of sets has its four figures "
            "beside ours.",
        ),
        (by_length, by_overlap, _sets(view)),
        (figure,),
    )


def _scored(view: View) -> list[PairSet]:
    return [counted(view.sets[i], "official") for i in view.headline]


def _facts(pair_set: PairSet) -> tuple[Floats, Floats]:
    """Words per sentence and overlap of each pair, (n_pairs,) each."""
    lengths, overlaps = [], []
    for left, right in pair_set.pairs:
        a, b = WORDS.words(left), WORDS.words(right)
        union = set(a) | set(b)
        lengths.append((len(a) + len(b)) / 2)
        overlaps.append(len(set(a) & set(b)) / len(union) if union else 0.0)
    return np.array(lengths), np.array(overlaps)


def _binned(
    key: str, what: str, values: Floats, gold: Floats, cosines: dict[str, Floats], show: Callable[[float], str]
) -> Table:
    """Pearson of each system in each fifth of the pairs."""
    order = np.argsort(values, kind="stable")
    rows, records = [], []
    for part in np.array_split(order, min(BINS, max(1, len(order) // 3))):
        figures = {key: pearson(x[part], gold[part]) for key, x in cosines.items()}
        best = best_of(list(figures.values()))
        label = f"{show(values[part].min())} to {show(values[part].max())}"
        cells = [Cell(number(r), r is not None and round(r, 4) == best) for r in figures.values()]
        rows.append(Row((Cell(label), Cell(f"{len(part):,}"), *cells)))
        mean = float(values[part].mean())
        records.append({"from": float(values[part].min()), "to": float(values[part].max()), "mean": mean,
                        "n_pairs": len(part), **figures})  # fmt: skip
    return Table(
        f"analysis-{key}",
        f"Pairs by {what}",
        "Pearson over all scored pairs of a part.",
        (what, "pairs", *map(label_of, cosines)),
        tuple(rows),
        tuple(records),
    )


def _panel(table: Table, x_label: str) -> Panel:
    systems = [name for name in table.records[0] if name not in ("from", "to", "mean", "n_pairs")]
    xs = tuple(float(i) for i in range(len(table.records)))
    ticks = tuple((x, f"≤ {row.cells[0].text.split()[-1]}") for x, row in zip(xs, table.rows, strict=True))
    series = tuple(
        Series(SYSTEMS[key].short, xs, tuple(record[key] for record in table.records), emphasis=key == "siamese")
        for key in systems
    )
    return Panel(f"by {x_label}", x_label, "Pearson's r", series, ticks)


def _sets(view: View) -> Table:
    """The sets from the least to the most overlap, with the best system of each."""
    rows, records = [], []
    ordered = sorted(view.rows("official"), key=lambda row: counted(row[0], "official").text().overlap)
    for one, scores in ordered:
        facts = counted(one, "official").text()
        figures: Sequence[tuple[float, str]] = [
            (r, key) for key in view.columns if (r := scores[key].pearson) is not None
        ]
        best, winner = max(figures, default=(None, ""))
        theirs = paper_row(one.year, one.dataset, "overlap").get("overlap")
        unknown = next((score.n_unknown for score in scores.values() if score.n_unknown is not None), None)
        share = unknown / max(1, one.text().n_words) if unknown is not None else None
        rows.append(
            text_row(
                one.name,
                f"{facts.words_per_sentence:.1f}",
                f"{facts.overlap:.0%}",
                f"{one.text().overlap:.0%}",
                "" if theirs is None else f"{theirs:.0%}",
                "" if share is None else f"{share:.1%}",
                f"{number(best)} {label_of(winner)}" if winner else "undefined",
            )
        )
        texts: dict[str, Any] = {"words_per_sentence": facts.words_per_sentence, "overlap": facts.overlap}
        texts |= {"overlap_of_all_pairs": one.text().overlap, "overlap_in_paper": theirs, "unknown_words": share}
        records.append({"set": one.name, **texts, "best_pearson": best, "best_system": winner})
    return Table(
        "analysis-sets",
        "The sets, from the least overlap to the most",
        "Overlap of the pairs with a gold score, of all released pairs, and what the paper says. Unknown words are "
        "those outside the vocabulary of the stream.",
        ("set", "words per sentence", "overlap", "of all pairs", "in the paper", "unknown words", "best Pearson"),
        tuple(rows),
        tuple(records),
    )
