"""Streams of made-up words, frequent and rare as in real text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from siamese_cbow.stream.preparation import prepare
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text.records import TextSettings


def prepared_lines(folder: Path, *, n_words: int, n_lines: int) -> Path:
    """The folder of a stream with lines of eight words, in documents of forty lines."""
    rng = np.random.default_rng(0)
    lines = [" ".join(f"w{i}" for i in rng.zipf(1.4, 8) % n_words) for _ in range(n_lines)]
    (folder / "text.txt").write_text("\n".join(line if i % 40 else "" for i, line in enumerate(lines)))
    prepare(folder / "text.txt", output=folder / "stream", min_count=1, text=TextSettings(layout="sentences"))
    return folder / "stream"


def short_documents(*, shortest: int) -> Stream:
    """Sixty documents of five sentences of `shortest` to eight words."""
    rng = np.random.default_rng(1)
    words = [f"w{i}" for i in range(40)]
    chances = 1 / np.arange(1, 41)
    return Stream.of_words(
        [
            [list(rng.choice(words, rng.integers(shortest, 9), p=chances / chances.sum())) for _ in range(5)]
            for _ in range(60)
        ]
    )
