"""A small text and small STS sets, for the report tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

TOPICS = {
    "kitchen": ["bread", "oven", "flour", "butter", "knife", "plate", "soup", "salt"],
    "sea": ["boat", "wave", "sail", "harbour", "fish", "anchor", "storm", "deck"],
}
COMMON = ["the", "a", "and", "of", "her", "me", "she", "he"]
# Names of real sets, so that the paper's figures appear next to them; 2013 SMT is missing, as always at first.
SETS = {2012: ["MSRpar", "MSRvid"], 2013: ["FNWN", "headlines"], 2014: ["OnWN", "images"], 2015: ["belief"]}


def write_text(path: Path, *, n_documents: int = 80, seed: int = 1) -> None:
    """Writes documents of one topic each, one sentence per line, with an empty line between documents."""
    rng = np.random.default_rng(seed)
    with path.open("w") as file:
        for i in range(n_documents):
            topic = list(TOPICS.values())[i % 2]
            for _ in range(6):
                file.write(" ".join([*rng.choice(topic, 4), *rng.choice(COMMON, 3)]) + " .\n")
            file.write("\n")


def write_sts(folder: Path, *, n_pairs: int = 20, seed: int = 2) -> None:
    """Writes pairs that are similar if they share a topic and words. Half of 2015 has no score."""
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


GOOD, BAD = ["great fine lovely film", "a lovely great day"], ["dull poor awful film", "an awful poor day"]


def texts(words: list[str], n: int = 30) -> list[str]:
    return [f"{words[i % 2]} number{i}" for i in range(n)]


def write_tasks(folder: Path) -> None:
    """Writes a small task of each kind."""
    transfer, collection = folder / "transfer", folder / "retrieval" / "toy"
    for each in (transfer, collection, folder / "documents"):
        each.mkdir(parents=True)
    rows = [*(("1", text) for text in texts(GOOD)), *(("0", text) for text in texts(BAD))]
    (transfer / "mr.tsv").write_text("label\ttext\n" + "".join(f"{label}\t{text}\n" for label, text in rows))
    (collection / "documents.tsv").write_text(
        "id\ttitle\ttext\n7\tcats\tcats purr\n9\tdogs\tdogs bark\n4\t\tfish swim\n"
    )
    (collection / "queries.tsv").write_text("id\ttext\na\twho barks dogs\nb\tnothing\nc\tcats\n")
    (collection / "relevance.tsv").write_text("query\tdocument\tgrade\na\t9\t1\na\t7\t4\nb\t4\t-1\nc\t7\t2\n")
    documents = [" ".join(f"{word}{i % 7}" for i in range(260)) for word in ("sea", "bread", "war")]
    (folder / "documents" / "toys.txt").write_text("\n\n".join(documents) + "\n")
