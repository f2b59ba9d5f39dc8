"""Sentence classification on frozen vectors: what each fallback for unknown words is worth, and how certain that is.

    python -m benchmarks.transfer DIR [--model NAME] [--write]

DIR holds mr.tsv, subj.tsv, sst2-train.tsv and sst2-test.tsv, with the columns label and text. Logistic regression on
standardised dimensions, as in `evaluate --probe`: MR and SUBJ in ten folds, split by SEEDS seeds; SST-2 learns from its
training split and is tested on its test split. The comparison is paired by text: the difference in accuracy with a 95%
interval (bootstrap over texts, all seeds of a text together), and McNemar's exact test of the first seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.scoring import interval
from benchmarks.tables import arguments, machine, markdown, report
from siamese_cbow import Model, load
from siamese_cbow.evaluation.probe import Labelled, classified
from siamese_cbow.evaluation.transfer import transfer_sets
from siamese_cbow.words.unknown_words import Fallback

SEEDS = (1, 2, 3)
FOLDS = 10
WAYS: tuple[Fallback, ...] = ("none", "prefix", "ngrams")
BEFORE: Fallback = "prefix"  # the fallback that the others are compared with

Right = NDArray[np.bool_]  # (n_seeds, n_texts) whether a text got its label


def told_right(model: Model, data: Labelled) -> Right:
    """Which texts a classifier that hasn't seen them gets right; a fixed test split needs only one seed."""
    seeds = SEEDS[:1] if data.n_test else SEEDS
    return np.array([classified(model, data, folds=FOLDS, seed=seed)[1] for seed in seeds])


def compared(right: Right, before: Right) -> list[str]:
    """The difference with its interval, and the probability of such a difference by chance."""
    from scipy.stats import binomtest

    difference = (right.astype(float) - before).mean(axis=0)
    gained, lost = int((right[0] & ~before[0]).sum()), int((before[0] & ~right[0]).sum())
    p = binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    return [interval(difference, digits=4), f"{gained} gained, {lost} lost, p = {p:.2f}"]


def rows_of(model: Model, folder: Path) -> list[Sequence[str]]:
    sets = {task.name: task.data for task in transfer_sets(folder)}
    rows: list[Sequence[str]] = []
    for name, data in (("MR", sets["mr"]), ("SUBJ", sets["subj"]), ("SST-2", sets["sst-2"])):
        by_way = {way: told_right(model.with_fallback(way), data) for way in WAYS}
        words = [word for text in data.texts[-data.n_test :] for word in model.tokenizer.words(text)]
        share = sum(word not in model.vocabulary for word in words) / len(words)
        for way, right in by_way.items():
            difference = ["", ""] if way == BEFORE else compared(right, by_way[BEFORE])
            rows.append([name, f"{share:.1%}", f"`{way}`", f"{right.mean():.4f}", *difference])
            print(*rows[-1], flush=True)
    return rows


def main() -> None:
    parser = arguments(__doc__, "folder")
    parser.add_argument("--model", default="pretrained")
    options = parser.parse_args()
    model = load(options.model)
    header = ["set", "unknown words", "fallback", "accuracy", f"against `{BEFORE}`", "texts"]
    text = (
        f"`{model!r}`. Logistic regression on its vectors; MR and SUBJ in {FOLDS} folds, {len(SEEDS)} random splits; "
        "SST-2 on its test split. Differences with a 95% bootstrap interval over texts, and McNemar's exact "
        "test.\n\n"
        f"{markdown(header, rows_of(model, options.folder))}\n\n{machine('numpy', 'scikit-learn')}"
    )
    report("transfer", "Sentence classification", text, write=options.write)


if __name__ == "__main__":
    main()
