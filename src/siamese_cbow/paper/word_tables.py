"""The qualitative analysis: short and long vectors, and the words near to pronouns."""

from __future__ import annotations

from typing import Any

from siamese_cbow.paper.document import Cell, Row, Section, Table, text_row
from siamese_cbow.paper.figures import paper
from siamese_cbow.paper.recipes import label_of
from siamese_cbow.paper.view import View, chosen
from siamese_cbow.paper.words import FREQUENT, NEAR
from siamese_cbow.paper.work_plan import PARTS


def section(view: View) -> Section:
    """Both tables."""
    keys = chosen(view.results.systems, PARTS["words"])
    return Section(
        "words",
        "What the vectors say of words",
        (
            "Vectors are meant to be averaged, so a word that says little should be short. The paper looks at the "
            "whole vocabulary; rare words have hardly left their random start, so the same is shown for the "
            f"{FREQUENT:,} most frequent ones.",
        ),
        (_norms(view, keys), _related(view, keys)),
    )


def _norms(view: View, keys: list[str]) -> Table:
    rows = [
        text_row("in the paper", "all words", *(" ".join(paper()[name]) for name in ("lowest_norm", "highest_norm")))
    ]
    records: list[dict[str, Any]] = []
    for key in keys:
        for among, label in (("all", "all words"), ("frequent", f"{FREQUENT:,} most frequent")):
            norms = view.results.systems[key]["words"]["norms"][among]
            words = [" ".join(word for word, _ in norms[end]) for end in ("lowest", "highest")]
            rows.append(text_row(label_of(key), label, *words))
            for end in ("lowest", "highest"):
                records += [
                    {"system": key, "among": among, "end": end, "rank": i, "word": word, "norm": norm}
                    for i, (word, norm) in enumerate(norms[end], start=1)
                ]
    return Table(
        "norms",
        "The ten shortest and the ten longest vectors",
        "From the shortest (left) and from the longest (right) on; the paper names its longest from the tenth on.",
        ("system", "among", "shortest", "longest"),
        tuple(rows),
        tuple(records),
    )


def _related(view: View, keys: list[str]) -> Table:
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    words = view.results.systems[keys[0]]["words"]["related"] if keys else {}
    for word in words:
        cells = []
        for key in keys:
            found = view.results.systems[key]["words"]["related"][word]
            cells.append(Cell(_listed(found), small=_nearest(found)))
            records.append({"word": word, "system": key, "n_near": found["n_near"],
                            "near": " ".join(w for w, _ in found["near"]),
                            "nearest": found["nearest"][0] if found["nearest"] else "",
                            "cosine": found["nearest"][1] if found["nearest"] else None})  # fmt: skip
        rows.append(Row((Cell(word), *cells)))
    return Table(
        "related",
        f"Words with a cosine above {NEAR} to a pronoun",
        "The ten nearest of them, with the number of all; where there is none, the nearest word in small letters. "
        "In the paper word2vec finds she, his, my, hers for her, and him for me; Siamese CBOW finds she, and I and my.",
        ("word", *map(label_of, keys)),
        tuple(rows),
        tuple(records),
    )


def _listed(found: dict[str, Any]) -> str:
    if not found["n_near"]:
        return "none"
    more = found["n_near"] - len(found["near"])
    return ", ".join(word for word, _ in found["near"]) + (f" and {more:,} more" if more else "")


def _nearest(found: dict[str, Any]) -> str:
    return f"{found['nearest'][0]} {found['nearest'][1]:.2f}" if not found["n_near"] and found["nearest"] else ""
