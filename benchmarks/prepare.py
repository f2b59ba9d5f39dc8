"""Preparing text (vocabulary and ids on disk) against gensim's vocabulary scan; memory against corpus size.

    python -m benchmarks.prepare [--text FILE --layout LAYOUT] [--tokens N] [--write]

Without --text, the script makes a synthetic text with one sentence per line. With a raw text (paragraphs), the time
goes into decompressing, splitting and scanning, and the table shows how much each takes.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.reading_memory import watched
from benchmarks.tables import arguments, best_of, machine, markdown, report, write_sentences
from siamese_cbow.stream.preparation import prepare
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.records import TextSettings

THREADS = 2


def n_raw_tokens(stream: Stream) -> int:
    return stream.n_tokens + int(stream.about["n_unknown_tokens"])


def gensim_scan(path: Path) -> int:
    """gensim's first pass, which counts the vocabulary and writes no ids. Returns the number of tokens."""
    from gensim.models import Word2Vec

    model = Word2Vec(min_count=5, workers=THREADS)
    model.build_vocab(corpus_file=str(path))
    return int(model.corpus_total_words)


def peak_memory(path: Path, folder: Path) -> float:
    """Peak megabytes of a separate process, without pages of files."""
    how = ("--layout", "sentences", "--language", "en", "--threads", THREADS)
    return watched("command", "prepare", path, "-o", folder, *how)[1]


def sentences_table(n_tokens: int, folder: Path) -> str:
    text = folder / "text.txt"
    write_sentences(text, n_tokens)
    lines = TextSettings(layout="sentences")
    tokens = n_raw_tokens(prepare(text, text=lines, threads=THREADS))  # also compiles
    ours: dict[int, float] = {1: float("inf"), THREADS: float("inf")}
    theirs = float("inf")
    for _ in range(3):  # they take turns, so that a slow moment of the machine hits all
        for threads in ours:
            seconds = best_of(1, lambda threads=threads: prepare(text, text=lines, threads=threads))  # type: ignore[misc]
            ours[threads] = min(ours[threads], seconds)
        theirs = min(theirs, best_of(1, lambda: gensim_scan(text)))
    rows = [
        [
            "siamese-cbow prepare, 2 threads: vocabulary and ids on disk",
            f"{tokens / ours[THREADS] / 1e6:.1f}",
            f"{theirs / ours[THREADS]:.1f}x",
        ],
        ["siamese-cbow prepare, 1 thread", f"{tokens / ours[1] / 1e6:.1f}", f"{theirs / ours[1]:.1f}x"],
        ["gensim build_vocab(corpus_file): vocabulary alone", f"{tokens / theirs / 1e6:.1f}", "1.0x"],
    ]
    return (
        f"One sentence per line, {tokens:,} tokens, {text.stat().st_size / 1e6:.0f} MB, from disk to disk.\n\n"
        + markdown(["", "million tokens/s", "against gensim"], rows)
    )


def memory_table(n_tokens: int, folder: Path) -> str:
    rows = []
    for factor in (1, 4):
        text = folder / f"memory{factor}.txt"
        # The same words at both sizes, because memory may depend on the vocabulary.
        write_sentences(text, n_tokens * factor // 4, n_words=30_000)
        size = text.stat().st_size / 1e6
        rows.append([f"{size:.0f} MB", f"{peak_memory(text, folder / f'memory{factor}'):.0f} MB"])
    return "Peak memory, without pages of files, hardly grows with the corpus:\n\n" + markdown(
        ["text", "peak memory"], rows
    )


def raw_table(path: Path, layout: str, folder: Path) -> str:
    settings = TextSettings(layout=layout)  # type: ignore[arg-type]
    corpus = Corpus(path, settings)
    start = time.perf_counter()
    blocks = list(corpus.blocks())
    reading = time.perf_counter() - start
    start = time.perf_counter()
    lines = [corpus.lines(block) for block in blocks]
    splitting = time.perf_counter() - start
    n_bytes = sum(len(block.data) for block in blocks)
    del blocks, lines
    start = time.perf_counter()
    stream = prepare(path, output=folder / "raw", text=settings, threads=THREADS)
    whole = time.perf_counter() - start
    tokens = n_raw_tokens(stream)
    rows = [
        ["all: disk to disk, 2 threads", f"{whole:.1f}", f"{n_bytes / 1e6 / whole:.0f}", f"{tokens / whole / 1e6:.1f}"],
        ["reading and decompressing alone, 1 thread", f"{reading:.1f}", f"{n_bytes / 1e6 / reading:.0f}", ""],
        ["splitting into sentences alone, 1 thread", f"{splitting:.1f}", f"{n_bytes / 1e6 / splitting:.0f}", ""],
    ]
    return (
        f"Raw text ({path.name}, {layout}): {stream.n_sentences:,} sentences, {tokens:,} tokens. Where the time "
        "goes:\n\n" + markdown(["", "seconds", "MB of text/s", "million tokens/s"], rows)
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--text", type=Path, help="a raw text, to be split into sentences")
    parser.add_argument("--layout", default="paragraphs")
    parser.add_argument("--tokens", type=int, default=20_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = [sentences_table(options.tokens, folder), memory_table(options.tokens, folder)]
        if options.text:
            parts.append(raw_table(options.text, options.layout, folder))
    parts.append(machine("numpy", "numba", "gensim"))
    report("prepare", "Preparing text", *parts, write=options.write)


if __name__ == "__main__":
    main()
