"""Sections beyond the paper's tables: scores by sentence length and overlap, and what the vectors say about words.

Length and overlap are analysed set by set, as in the paper, and pair by pair over all sets together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from siamese_cbow.base.arrays import Floats
from siamese_cbow.evaluation.correlation import pearson
from siamese_cbow.evaluation.pair_sets import counted
from siamese_cbow.evaluation.score_tables import UNDEFINED, number
from siamese_cbow.evaluation.verdicts import NEAR
from siamese_cbow.paper.document import Cell, Figure, Panel, Row, Section, Series, Table, text_row
from siamese_cbow.paper.paper_figures import paper, paper_row
from siamese_cbow.paper.recipes import ALIKE, PARTS, SYSTEMS, label_of
from siamese_cbow.paper.system_tables import best_alike
from siamese_cbow.paper.treatments import FREQUENT, LABELS, Treatment
from siamese_cbow.paper.view import View

BINS = 5


def length_and_overlap(view: View) -> Section:
    """Tables and charts by length and by overlap."""
    scored = [counted(view.sets[i], "official") for i in view.headline]
    gold = np.concatenate([pair_set.gold for pair_set in scored])
    lengths = np.concatenate([pair_set.text().lengths for pair_set in scored])
    overlaps = np.concatenate([pair_set.text().overlaps for pair_set in scored])
    tables = [
        _binned(view, treatment, key, what, values, gold, show)
        for treatment in ALIKE
        for key, what, values, show in (
            ("length", "words per sentence", lengths, lambda x: f"{x:.1f}"),
            ("overlap", "word overlap", overlaps, lambda x: f"{x:.0%}"),
        )
        if treatment == "learnt" or view.treated(treatment)
    ]
    by_length, by_overlap = tables[:2]
    figure = Figure(
        "length-and-overlap",
        "By length and by overlap",
        "Pearson within each fifth of all scored pairs, from the shortest sentences and the least overlap (left) to "
        "the longest and the most; first run of each system, as learnt. Each fifth mixes pairs of all sets, so its "
        "values differ from those in Table 1. The contrastive recipe has additions that the others lack.",
        (_panel(by_length, "words per sentence", view.columns), _panel(by_overlap, "word overlap", view.columns)),
    )
    return Section(
        "analysis",
        "Sentence length and lexical overlap",
        (
            "Overlap is the number of distinct words the two sentences share, divided by the number of distinct words "
            "in either, without punctuation, averaged over pairs. The paper does not say how it measures overlap; the "
            "table of sets shows its four values beside ours.",
        ),
        (*tables, _sets(view)),
        (figure,),
    )


def _binned(
    view: View,
    treatment: Treatment,
    key: str,
    what: str,
    values: Floats,
    gold: Floats,
    show: Callable[[float], str],
) -> Table:
    """Pearson of each system in each fifth of the pairs."""
    cosines = {
        system: np.concatenate([view.scores(system, treatment=treatment).sets[i].predictions for i in view.headline])
        for system in view.treated(treatment)
    }
    is_apart = {"contrastive", "objective"} <= cosines.keys()
    order = np.argsort(values, kind="stable")
    rows, records = [], []
    for part in np.array_split(order, min(BINS, max(1, len(order) // 3))):
        figures = {system: pearson(x[part], gold[part]) for system, x in cosines.items()}
        low, high = float(values[part].min()), float(values[part].max())
        cells = map(Cell, map(number, figures.values()), best_alike(figures, treatment).values())
        rows.append(Row((Cell(f"{show(low)} to {show(high)}"), Cell(f"{len(part):,}"), *cells)))
        span = {"from": low, "to": high, "mean": float(values[part].mean()), "n_pairs": len(part)}
        records.append({**span, **figures})
    return Table(
        f"analysis-{key}" if treatment == "learnt" else f"analysis-{key}-{treatment}",
        f"Pairs by {what}, {LABELS[treatment]}",
        "Pearson over all scored pairs of each fifth, first run of each system."
        + (" The contrastive recipe, which has additions, is left aside in marking the best." if is_apart else ""),
        (what, "pairs", *map(label_of, cosines)),
        tuple(rows),
        tuple(records),
    )


def _panel(table: Table, x_label: str, systems: list[str]) -> Panel:
    xs = tuple(float(i) for i in range(len(table.records)))
    ticks = tuple((x, f"≤ {row.cells[0].text.split()[-1]}") for x, row in zip(xs, table.rows, strict=True))
    series = tuple(
        Series(SYSTEMS[key].short, xs, tuple(record[key] for record in table.records), emphasis=key == "matched")
        for key in systems
    )
    return Panel(f"by {x_label}", x_label, "Pearson's r", series, ticks)


def _sets(view: View) -> Table:
    """The sets from least to most overlap, with the best system on each."""
    rows, records = [], []
    every = zip(view.sets, view.rows("paper"), strict=True)
    for pair_set, (_, of_all) in sorted(every, key=lambda row: counted(row[0], "official").text().overlap):
        facts, all_facts = counted(pair_set, "official").text(), pair_set.text()
        place = view.names.index(pair_set.name)
        winners = {treatment: _winner(view, place, treatment) for treatment in ALIKE}
        theirs = paper_row(pair_set.year, pair_set.dataset, "overlap").get("overlap")
        unknown = next((score.n_unknown for score in of_all.values() if score.n_unknown is not None), None)
        share = unknown / max(1, all_facts.n_words) if unknown is not None else None
        rows.append(
            text_row(
                pair_set.name,
                f"{facts.words_per_sentence:.1f}",
                f"{facts.overlap:.0%}",
                f"{all_facts.overlap:.0%}",
                "" if theirs is None else f"{theirs:.0%}",
                "" if share is None else f"{share:.1%}",
                *(f"{number(best)} {label_of(key)}" if key else UNDEFINED for best, key in winners.values()),
            )
        )
        texts: dict[str, Any] = {"words_per_sentence": facts.words_per_sentence, "overlap": facts.overlap}
        texts |= {"overlap_of_all_pairs": all_facts.overlap, "overlap_in_paper": theirs, "unknown_words": share}
        for treatment, (best, key) in winners.items():
            suffix = "" if treatment == "learnt" else f"_{treatment}"
            texts |= {f"best_pearson{suffix}": best, f"best_system{suffix}": key}
        records.append({"set": pair_set.name, **texts})
    return Table(
        "analysis-sets",
        "The sets, from least to most overlap",
        "Overlap of the pairs with a gold score, of all released pairs, and as the paper reports it. Unknown words "
        "are words outside the vocabulary of the stream. The contrastive recipe, which has additions, does not take "
        "part in being the best.",
        (
            *("set", "words per sentence", "overlap", "overlap, all pairs", "in the paper", "unknown words"),
            *(f"best Pearson, {LABELS[treatment]}" for treatment in ALIKE),
        ),
        tuple(rows),
        tuple(records),
    )


def _winner(view: View, place: int, treatment: Treatment) -> tuple[float | None, str]:
    """The best system on a set and its Pearson; the contrastive recipe has additions and does not take part."""
    keys = [key for key in view.treated(treatment) if key != "contrastive"]
    figures = [(r, key) for key in keys if (r := view.figures(key, treatment=treatment)[place]) is not None]
    return max(figures, default=(None, ""))


def words(view: View) -> Section:
    """The shortest and longest vectors, and the nearest neighbours of pronouns."""
    looks = {key: view.results.systems[key][0]["words"] for key in view.among(PARTS["words"])}
    return Section(
        "words",
        "What the vectors say about words",
        (
            "These vectors are trained to be averaged, so a word that carries little meaning should have a short "
            "vector. The paper looks at the whole vocabulary. Rare words have hardly moved from their random "
            f"initialisation, so the table also covers the {FREQUENT:,} most frequent words. It shows the first run "
            "of each system; the verdicts above use all runs. The authors' program differs from the text of the "
            "paper: it trains only on sentences that have two neighbours, truncates sentences to 50 words, shuffles "
            "single sentences, may draw a neighbour as a negative, and stopped after the first of the five epochs in "
            "its schedule.",
        ),
        (_norms(looks), _related(looks)),
    )


def _norms(looks: dict[str, dict[str, Any]]) -> Table:
    rows = [
        text_row("in the paper", "all words", *(" ".join(paper()[name]) for name in ("lowest_norm", "highest_norm")))
    ]
    records: list[dict[str, Any]] = []
    for key, look in looks.items():
        for among, label in (("all", "all words"), ("frequent", f"{FREQUENT:,} most frequent")):
            ends = {end: look["norms"][among][end] for end in ("lowest", "highest")}
            listed = (" ".join(word for word, _ in norms) for norms in ends.values())
            rows.append(text_row(label_of(key), label, *listed))
            records += [
                {"system": key, "among": among, "end": end, "rank": rank, "word": word, "norm": norm}
                for end, norms in ends.items()
                for rank, (word, norm) in enumerate(norms, start=1)
            ]
    return Table(
        "norms",
        "The ten shortest and the ten longest vectors",
        "Shortest first and longest first; the paper lists its longest in reverse, from the tenth to the first.",
        ("system", "among", "shortest", "longest"),
        tuple(rows),
        tuple(records),
    )


def _related(looks: dict[str, dict[str, Any]]) -> Table:
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for word in next(iter(looks.values()))["related"] if looks else ():
        cells = []
        for key, look in looks.items():
            near, n_near = look["related"][word]["near"], look["related"][word]["n_near"]
            nearest, cosine = look["related"][word]["nearest"] or ("", None)
            listed, more = ", ".join(other for other, _ in near), n_near - len(near)
            text = f"{listed} and {more:,} more" if more else listed or "none"
            cells.append(Cell(text, small=f"{nearest} {cosine:.2f}" if nearest and not n_near else ""))
            joined = " ".join(other for other, _ in near)
            records.append({"word": word, "system": key, "n_near": n_near, "near": joined,
                            "nearest": nearest, "cosine": cosine})  # fmt: skip
        rows.append(Row((Cell(word), *cells)))
    return Table(
        "related",
        f"Words with a cosine above {NEAR} to a pronoun",
        "The ten nearest, and how many more there are; where there are none, the nearest word in small print. In the "
        "paper, word2vec relates she, his, my and hers to her, and him to me; Siamese CBOW relates she to her, and I "
        "and my to me.",
        ("word", *map(label_of, looks)),
        tuple(rows),
        tuple(records),
    )
