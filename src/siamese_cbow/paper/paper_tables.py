"""Tables 2 and 3, and what was trained how."""

from __future__ import annotations

from typing import Any

from siamese_cbow.paper.document import Cell, Row, Section, Table, best_of, text_row
from siamese_cbow.paper.figures import paper, paper_figure
from siamese_cbow.paper.recipes import SYSTEMS, label_of
from siamese_cbow.paper.table1 import cell_text
from siamese_cbow.paper.view import View, chosen

TABLE2 = ("fastsent", "fastsent+ae", "siamese", "contrastive")
TABLE3 = ("siamese", "contrastive", "fastsent", "cbow", "skipgram", "skip-thought")
# What a reader wants to know of a recipe, in this order.
TOLD = (
    *("objective", "algorithm", "kind", "epochs", "negatives", "negative", "batch_size", "temperature", "optimizer"),
    *("learning_rate", "alpha", "subsample", "sample", "window", "max_tokens"),
)


def systems(view: View) -> Section:
    """What was trained, how, and how long it took."""
    rows, records = [], []
    for key in [key for key in SYSTEMS if view.has(key)]:
        result = view.results.systems[key]
        told = [f"{name} {result['settings'][name]}" for name in TOLD if result["settings"].get(name) not in (None, "")]
        took = result["train_cpu_seconds"]
        mean = view.scores(key).mean_pearson
        cells = (label_of(key), f"{result['dim']}", f"{result['n_words']:,}", seconds(took), ", ".join(told))
        rows.append(Row(tuple(Cell(text) for text in cells)))
        records.append({"system": key, "dim": result["dim"], "n_words": result["n_words"],
                        "train_seconds": result["train_seconds"], "train_cpu_seconds": took,
                        "mean_pearson_official": mean})  # fmt: skip
    left_out = tuple(f"{label_of(key)} is missing: {why}" for key, why in view.results.unavailable.items())
    table = Table(
        "systems",
        "What was trained",
        "All saw the same sentences and the same vocabulary. Skip-thought learns vectors for the most frequent words "
        "only; the others come from word2vec skip-gram by a linear map, as its authors did it. Training is in CPU time "
        "of all threads together.",
        ("system", "dimensions", "words", "training (CPU)", "settings"),
        tuple(rows),
        tuple(records),
    )
    return Section("systems", "The systems", left_out, (table,))


def table2(view: View) -> Section:
    """FastSent against Siamese CBOW on the sets of 2014."""
    columns = chosen(view.results.systems, TABLE2)
    rows, records = [], []
    for one, scores in view.rows("official"):
        if one.year != 2014 or one.collection != "STS":
            continue
        best = best_of([scores[key].pearson for key in columns])
        cells, record = [], {"year": one.year, "dataset": one.dataset}
        for key in columns:
            score, theirs = scores[key], paper_figure(2014, one.dataset, key, "table2")
            is_best = score.pearson is not None and round(score.pearson, 4) == best
            cells.append(Cell(cell_text(score.pearson, score.spearman), is_best, cell_text(*theirs) if theirs else ""))
            record |= {f"{key}_pearson": score.pearson, f"{key}_spearman": score.spearman}
        rows.append(Row((Cell(one.dataset), *cells)))
        records.append(record)
    table = Table(
        "table2",
        "FastSent and Siamese CBOW on the sets of 2014",
        "Pearson (Spearman); in small letters the paper's figures, where those of FastSent are reprinted from its "
        "authors.",
        ("set", *map(label_of, columns)),
        tuple(rows),
        tuple(records),
    )
    note = () if rows else ("There is no set of 2014 here.",)
    return Section("table2", "Table 2: FastSent", note, (table,) if rows else ())


def table3(view: View) -> Section:
    """How long systems take to compare sentences."""
    rows, records, notes = [], [], []
    theirs = paper()["table3"]
    for key in chosen(view.results.systems, TABLE3):
        result = view.results.systems[key]
        timing: dict[str, Any] = result["timing"]
        n, one, batched = timing["n_pairs"], timing["one_by_one"], timing["batched"]
        told = (f"{theirs[key]['all']:,.1f} s", f"{theirs[key]['one']:g} s") if key in theirs else ("", "")
        times = map(seconds, (one, one / n, batched, batched / n))
        rows.append(text_row(f"{label_of(key)} ({result['dim']}d)", *times, *told))
        shares = {"one_pair": one / n, "one_pair_batched": batched / n}
        records.append({"system": key, "dim": result["dim"], **timing, **shares})
        if timing["n_timed"] < n:
            notes.append(
                f"{label_of(key)} was timed on {timing['n_timed']:,} pairs, from which the rest is worked out."
            )
    table = Table(
        "table3",
        f"Time for all {records[0]['n_pairs'] if records else 0:,} pairs and for one",
        "CPU time on one thread, from text to cosine. One by one: each pair is handed over alone, as in the paper. "
        f"Batched: all pairs at once. The paper's figures are for {theirs['pairs']:,} pairs on its own machine.",
        ("system", "all pairs", "one pair", "all, batched", "one, batched", "paper: all", "paper: one"),
        tuple(rows),
        tuple(records),
    )
    return Section("table3", "Table 3: time", tuple(notes), (table,))


def seconds(value: float) -> str:
    """`seconds(0.00004)` -> "40 µs"; `seconds(7.7)` -> "7.7 s"; `seconds(98804)` -> "98,804 s"."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size or unit == "µs":
            shown = value / size
            return f"{shown:,.0f} {unit}" if shown >= 10 else f"{shown:.1f} {unit}"
    raise AssertionError
