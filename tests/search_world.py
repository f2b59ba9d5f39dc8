"""A toy world to search in: three topics whose words point in three directions, and texts with known answers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from siamese_cbow import Model, Vocabulary
from siamese_cbow.transform.adaptation import evened
from siamese_cbow.words.stemmers import stemmer_of

TOPICS = {
    "music": ["guitar", "song", "band", "concert", "piano"],
    "food": ["soup", "bread", "cheese", "kitchen", "apple"],
    "sea": ["ship", "wave", "harbour", "sailor", "storm"],
}
COMMON = ["the", "a", "of", "in", "."]


def topic_model(dim: int = 24, seed: int = 1) -> Model:
    """Words of one topic have cosines of about .8, words of different topics about 0; common words are short."""
    rng = np.random.default_rng(seed)
    centres = np.linalg.qr(rng.standard_normal((dim, len(TOPICS))))[0].T
    words, rows = [*COMMON], [*(0.1 * rng.standard_normal((len(COMMON), dim)) / dim**0.5)]
    for centre, topic in zip(centres, TOPICS.values(), strict=True):
        for word in topic:
            words.append(word)
            rows.append(centre + 0.5 * rng.standard_normal(dim) / dim**0.5)
    return Model(Vocabulary.of_words(words), np.array(rows, np.float32))


def topic_lines(n: int, seed: int = 2, *, empty: float = 0.05) -> list[str]:
    """`n` lines of 1 to 12 words, some empty, some with unknown words."""
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


def exact(model: Model, query: str, lines: list[str], k: int, mode: str = "hybrid") -> list[tuple[int, float]]:
    """Line numbers from 1 and scores of the k best lines, straight from the definition; at most SAMPLE lines."""
    words = list(map(model.tokenizer.words, lines))
    lengths = np.array([len(each) for each in words])
    terms = Counter(_stems(model, query))
    counts = np.array([[_stems(model, line).count(term) for term in terms] for line in lines]).reshape(len(lines), -1)
    n_with = (counts > 0).sum(axis=0)
    weights = np.log1p((len(lines) - n_with + 0.5) / (n_with + 0.5)) * list(terms.values())
    relative = np.maximum(lengths / max(lengths.mean(), 1e-9), 0.5)[:, np.newaxis]
    bm25 = (weights * counts * 2.5 / (counts + 1.5 * (0.25 + 0.75 * relative))).sum(axis=1)
    matching = bm25[bm25 > 0]
    spread = max(matching.std(), matching.mean() / 10) if len(matching) else 1.0
    means = np.array([_mean(model, each) for each in [model.tokenizer.words(query), *words]])
    with_words = means[1:][means[1:].any(axis=1)].astype(np.float64)
    directions, factors = evened(with_words.T @ with_words, len(lines))
    fitted = means @ ((directions.T * factors) @ directions)
    units = fitted / np.maximum(np.linalg.norm(fitted, axis=1, keepdims=True), 1e-9)
    target, units = units[0], units[1:]
    by_words = bm25 if mode == "exact" else bm25 / spread

    def by_meaning(vector: np.ndarray) -> np.ndarray:
        cosines = units @ vector * (1 if mode == "meaning" else lengths / (lengths + 1))
        return cosines if mode == "meaning" else cosines / max(cosines.std(), 1e-9)

    parts = {"exact": by_words, "meaning": by_meaning(target), "hybrid": by_words + by_meaning(target)}
    scores = parts[mode]
    found = [i for i in np.argsort(-scores, kind="stable") if units[i].any() or bm25[i] > 0]
    if mode == "exact":
        found = [i for i in found if bm25[i] > 0]
    if mode == "hybrid":
        centre = units[found[:3]].sum(axis=0)
        moved = target + 0.3 * centre / np.linalg.norm(centre)
        scores, pool = by_words + by_meaning(moved / np.linalg.norm(moved)), found[: max(100, 2 * k)]
        found = sorted(pool, key=lambda i: (-round(scores[i], 9), i))
    return [(int(i) + 1, float(scores[i])) for i in found[:k]]


def _stems(model: Model, text: str) -> list[str]:
    return stemmer_of("en").stemWords([w for w in model.tokenizer.words(text) if any(map(str.isalnum, w))])


def _mean(model: Model, words: list[str]) -> np.ndarray:
    rows = [row for row in map(model.word_row, words) if row is not None]
    return np.mean(rows, axis=0) if rows else np.zeros(model.dim)
