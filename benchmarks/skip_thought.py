"""Skip-thought: words per second in training and sentences per second in encoding, by model size.

    python -m benchmarks.skip_thought [--batches N] [--threads N] [--full] [--write]

Text by Zipf's law over 50,000 words, 20 words per sentence. `--full` adds the size of the original model, which takes
minutes.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from benchmarks.quality_streams import sentence_words
from benchmarks.tables import arguments, machine, markdown, report, zipf_words
from siamese_cbow import Stream
from siamese_cbow.baselines.skip_thought.encoder import SkipThoughtEncoder
from siamese_cbow.baselines.skip_thought.run import SkipThought

LENGTH, N_SENTENCES, N_SINGLE = 20, 20_000, 50


def stream() -> Stream:
    ids, words = zipf_words(LENGTH * N_SENTENCES, n_words=50_000)
    sentences = [[words[i] for i in ids[start : start + LENGTH]] for start in range(0, len(ids), LENGTH)]
    return Stream.of_words([sentences[start : start + 50] for start in range(0, len(sentences), 50)])


class Clock:
    """Progress that records when each batch ended."""

    def __init__(self) -> None:
        self.marks: list[tuple[float, float]] = []  # time, words so far

    def advance(self, amount: float, note: str = "") -> None:
        self.marks.append((time.perf_counter(), (self.marks[-1][1] if self.marks else 0) + amount))

    def say(self, message: str) -> None:
        pass

    def speed(self) -> float:
        """Words per second without the first batch, which warms up."""
        (start, before), (end, behind) = self.marks[0], self.marks[-1]
        return (behind - before) / (end - start)


def encoding(encoder: SkipThoughtEncoder, texts: list[str], threads: int) -> tuple[float, float]:
    """Sentences per second, in batches and one by one."""
    encoder.encode(texts[:200], threads=threads)
    start = time.perf_counter()
    encoder.encode(texts, threads=threads)
    middle = time.perf_counter()
    for text in texts[:N_SINGLE]:
        encoder.encode(text, threads=threads)
    return len(texts) / (middle - start), N_SINGLE / (time.perf_counter() - middle)


def rows(batches: int, threads: int, full: bool) -> list[list[Any]]:
    data = stream()
    texts = [" ".join(words) for words in sentence_words(data, range(1000))]
    usual = SkipThought(max_tokens=batches * 128 * LENGTH)
    sizes = [usual, replace(usual, samples=None), replace(usual, kind="bi"), replace(usual, dim=300, dim_word=200)]
    if full:
        sizes += [replace(usual, dim=2400, dim_word=620), replace(usual, dim=2400, dim_word=620, samples=None)]
    table = []
    for recipe in sizes:
        clock = Clock()
        encoder = recipe.train(data, threads=threads, progress=clock)
        batched, single = encoding(encoder, texts, threads)
        softmax = f"{recipe.samples:,} words drawn" if recipe.samples else f"all {recipe.n_words:,} words"
        speeds = f"{clock.speed():,.0f}", f"{batched:,.0f}", f"{single:,.0f}"
        table.append([recipe.kind, recipe.dim, recipe.dim_word, softmax, *speeds])
        print(*table[-1], sep=" | ", flush=True)
    return table


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    header = ["kind", "dim", "dim_word", "softmax", "training, words/s", "encoding, sentences/s", "one by one"]
    table = markdown(header, rows(options.batches, options.threads, options.full))
    text = f"{options.threads} threads; sentences of {LENGTH} words; {machine('torch', 'numpy')}.\n\n{table}"
    report("skip_thought", "Skip-thought: speed", text, write=options.write)


if __name__ == "__main__":
    main()
