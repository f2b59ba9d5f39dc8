"""Two languages in one model (docs/languages.md), under the tokenizer's rule 1 and rule 2.

    python -m benchmarks.two_languages DIR [--seeds 1 2 3] [--write]

DIR holds stsb-CODE-dev.csv: the same pairs of sentences in each language, so that the sentences of one line are
translations of one another. A model learns from the sentences of nine tenths of the lines. On the others: the share of
sentences whose translation is the nearest of all, and Pearson of cosines with scores where the two sentences of a pair
are of different languages.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.languages import pairs
from benchmarks.tables import machine, markdown, report
from siamese_cbow import SiameseCBOW, TextSettings, Tokenizer, prepare
from siamese_cbow.evaluation.correlation import pearson
from siamese_cbow.model.geometry import cosines, paired_cosines

TOGETHER = (("de", "ru"), ("de", "zh"), ("ru", "ja"), ("ja", "zh"))
HELD_OUT = 10  # every tenth line


def scores(folder: Path, first: str, second: str, rule: int, seed: int) -> tuple[float, float]:
    """The share of translations that are found, and Pearson, on lines that were not learnt from."""
    a, b = (pairs(folder, language) for language in (first, second))
    held_out = np.arange(len(a[2])) % HELD_OUT == 0
    learnt = np.flatnonzero(~held_out).tolist()
    lines = [[a[side][i], b[side][i]] for side in (0, 1) for i in learnt]
    settings = TextSettings(kind="groups", languages=(first, second))
    stream = prepare(lines, text=settings, tokenizer=Tokenizer(punctuation=False, rule=rule))
    model = SiameseCBOW(seed=seed).train(stream)
    chosen = np.flatnonzero(held_out).tolist()
    left = [model.language(first).encode([a[side][i] for i in chosen]) for side in (0, 1)]
    right = [model.language(second).encode([b[side][i] for i in chosen]) for side in (0, 1)]
    is_right = cosines(np.concatenate(left), np.concatenate(right)).argmax(axis=1) == np.arange(2 * len(chosen))
    return float(is_right.mean()), float(pearson(paired_cosines(left[0], right[1]), a[2][held_out]) or 0)


def row(folder: Path, first: str, second: str, seeds: Sequence[int]) -> list[str]:
    by_rule = {rule: np.array([scores(folder, first, second, rule, seed) for seed in seeds]) for rule in (1, 2)}
    cells = [f"{mean:.3f}" for mean in np.stack([by_rule[1].mean(axis=0), by_rule[2].mean(axis=0)], 1).reshape(-1)]
    more = by_rule[2] - by_rule[1]
    cells += [f"{column.mean():+.3f} ± {column.std(ddof=1):.3f}" for column in more.T]
    print(first, second, *cells, flush=True)
    return [f"{first}, {second}", *cells]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = [row(options.folder, first, second, options.seeds) for first, second in TOGETHER]
    header = [
        "languages",
        "found, rule 1",
        "rule 2",
        "Pearson, rule 1",
        "rule 2",
        "found, difference",
        "Pearson, difference",
    ]
    text = (
        "Sentences of STS-b dev pairs and their translations (machine-translated), nine tenths to learn from, default "
        "settings; of the others, the share of sentences whose translation is the nearest, and Pearson of cosines "
        f"across languages. Means of {len(options.seeds)} seeds; differences of the same seeds "
        f"with their standard deviation.\n\n{markdown(header, rows)}\n\n{machine('numpy')}"
    )
    report("two_languages", "Two languages in one model", text, write=options.write)


if __name__ == "__main__":
    main()
