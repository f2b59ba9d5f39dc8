"""A toy world to search in: three topics with words that point three ways, and texts with known answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from siamese_cbow import Model, Vocabulary

TOPICS = {
    "music": ["guitar", "song", "band", "concert", "piano"],
    "food": ["soup", "bread", "cheese", "kitchen", "apple"],
    "sea": ["ship", "wave", "harbour", "sailor", "storm"],
}
COMMON = ["the", "a", "of", "in", "."]


def topic_model(dim: int = 24, seed: int = 1) -> Model:
    """Words of one topic have cosines of about .8, those of different topics about 0; common words are short."""
    rng = np.random.default_rng(seed)
    centres = np.linalg.qr(rng.standard_normal((dim, len(TOPICS))))[0].T
    words, rows = [*COMMON], [*(0.1 * rng.standard_normal((len(COMMON), dim)) / dim**0.5)]
    for centre, topic in zip(centres, TOPICS.values(), strict=True):
        for word in topic:
            words.append(word)
            rows.append(centre + 0.5 * rng.standard_normal(dim) / dim**0.5)
    return Model(Vocabulary.of_words(words), np.array(rows, np.float32))


def topic_lines(n: int, seed: int = 2, *, empty: float = 0.05) -> list[str]:
    """`n` lines of 1 to 12 words, some without any, some with unknown words."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        if rng.random() < empty:
            lines.append(str(rng.choice(["", "   ", "blorf", "?!"])))
            continue
        topic = list(TOPICS.values())[rng.integers(3)]
        pool = [*topic, *topic, *COMMON, "blorf", "Guitar", "naïve"]
        lines.append(" ".join(rng.choice(pool, rng.integers(1, 13))))
    return lines


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")
    return path


def exact(model: Model, query: str, lines: list[str], k: int) -> list[tuple[int, float]]:
    """Line numbers from 1 and cosines of the k nearest lines, by `model.encode` and a sort."""
    vectors = model.encode(lines, normalize_embeddings=True)
    scores = vectors @ model.encode(query, normalize_embeddings=True)
    found = [i for i in np.argsort(-scores, kind="stable") if vectors[i].any()][:k]
    return [(int(i) + 1, float(scores[i])) for i in found]
