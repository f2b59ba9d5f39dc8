"""A small text and small STS sets, for the tests of reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np

TOPICS = {
    "kitchen": ["bread", "oven", "flour", "butter", "knife", "plate", "soup", "salt"],
    "sea": ["boat", "wave", "sail", "harbour", "fish", "anchor", "storm", "deck"],
}
COMMON = ["the", "a", "and", "of", "her", "me", "she", "he"]
# Names of real sets, so that the paper's figures stand beside them; 2013 SMT is missing, as it always is at first.
SETS = {2012: ["MSRpar", "MSRvid"], 2013: ["FNWN", "headlines"], 2014: ["OnWN", "images"], 2015: ["belief"]}


def write_text(path: Path, *, n_documents: int = 80, seed: int = 1) -> None:
    """Documents of one topic each, a sentence a line, an empty line between documents."""
    rng = np.random.default_rng(seed)
    with path.open("w") as file:
        for i in range(n_documents):
            topic = list(TOPICS.values())[i % 2]
            for _ in range(6):
                file.write(" ".join([*rng.choice(topic, 4), *rng.choice(COMMON, 3)]) + " .\n")
            file.write("\n")


def write_sts(folder: Path, *, n_pairs: int = 20, seed: int = 2) -> None:
    """Pairs that are similar as far as they share a topic and words. Half of 2015 has no score."""
    rng = np.random.default_rng(seed)
    for year, names in SETS.items():
        (folder / str(year)).mkdir(parents=True)
        for name in names:
            pairs, gold = [], []
            for i in range(n_pairs):
                one, other = (list(TOPICS.values())[j] for j in rng.integers(2, size=2))
                left, right = rng.choice(one, 4, replace=False), rng.choice(other, 4, replace=False)
                pairs.append(f"the {' '.join(left)}\ta {' '.join(right)}")
                score = 3.0 * (one is other) + 2.0 * len(set(left) & set(right)) / 4
                gold.append("" if year == 2015 and i % 2 else f"{score:.2f}")
            (folder / str(year) / f"STS.input.{name}.txt").write_text("\n".join(pairs) + "\n")
            (folder / str(year) / f"STS.gs.{name}.txt").write_text("\n".join(gold) + "\n")
