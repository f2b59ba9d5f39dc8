"""The paper's corpus size in full: 74,004,228 sentences, 1,057,070,918 tokens, 315,643 words, from text to vectors.

    python -m benchmarks.paper_scale [--share 0.1] [--folder DIR] [--write]

The Toronto Book Corpus isn't available, so the script makes a text of the same size: words by Zipf's law, sentences of
3 to 25 words, 7,087 books. It prepares the text from disk and trains for one epoch twice: with the paper's recipe as it
is, with negatives from the whole corpus, and with as many negatives from the batch, which is faster. A tenth of the
text comes first, to show how time and memory grow. `--share` scales everything down.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.tables import arguments, machine, markdown, report, run_python

N_SENTENCES, N_TOKENS, N_WORDS, N_BOOKS = 74_004_228, 1_057_070_918, 315_643, 7_087
CHUNK = 200_000  # sentences written at a time


@njit
def _write_chunk(
    seed: int, n_sentences: int, per_book: int, cumulative: NDArray[np.float64], letters: NDArray[np.uint8],
    starts: NDArray[np.int64], out: NDArray[np.uint8],
) -> tuple[int, int]:  # fmt: skip
    """Fills `out` with sentences; returns the numbers of bytes and tokens."""
    np.random.seed(seed)
    n = n_tokens = 0
    for i in range(n_sentences):
        length = np.random.binomial(22, 0.5129) + 3  # 14.28 words on average, as in the original corpus
        for k in range(length):
            word = np.searchsorted(cumulative, np.random.random())
            for j in range(starts[word], starts[word + 1]):
                out[n] = letters[j]
                n += 1
            out[n] = 32 if k < length - 1 else 10
            n += 1
        n_tokens += length
        if i % per_book == per_book - 1:
            out[n] = 10
            n += 1
    return n, n_tokens


def write_text(path: Path, share: float) -> int:
    """Writes the text; returns its number of tokens."""
    rng = np.random.default_rng(1)
    # By Zipf's law alone, the rarest words would not reach a count of 5: the tail is raised to 8 on average.
    shares = 1.0 / np.arange(1, N_WORDS + 1)
    shares /= shares.sum()
    shares = np.maximum(shares, 8 / (N_TOKENS * share))
    cumulative = np.cumsum(shares / shares.sum())
    cumulative[-1] = 1.0
    lengths = np.clip((np.log2(np.arange(2, N_WORDS + 2)) * 0.55).astype(int), 1, 9)
    letters = rng.integers(ord("a"), ord("z") + 1, (N_WORDS, 10), dtype=np.uint8)
    spelled, seen = [], set()
    for rank, (row, length) in enumerate(zip(letters, lengths, strict=True)):
        word = bytes(row[:length])
        if word in seen:
            word += str(rank).encode()
        seen.add(word)
        spelled.append(word)
    starts = np.concatenate([[0], np.cumsum([len(word) for word in spelled])]).astype(np.int64)
    joined = np.frombuffer(b"".join(spelled), np.uint8)
    n_sentences, n_tokens = int(N_SENTENCES * share), 0
    out = np.empty(CHUNK * 25 * 20, np.uint8)
    with path.open("wb") as file:
        for chunk, first in enumerate(range(0, n_sentences, CHUNK)):
            size = min(CHUNK, n_sentences - first)
            n, tokens = _write_chunk(chunk, size, N_SENTENCES // N_BOOKS, cumulative, joined, starts, out)
            out[:n].tofile(file)
            n_tokens += tokens
    return n_tokens


def run(code: str, *arguments: object) -> tuple[float, float, float]:
    """Runs Python code in a separate process: seconds, CPU seconds, peak megabytes."""
    script = code + "\nimport resource\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    seconds, cpu, printed = run_python(script, *arguments)
    return seconds, cpu, float(printed.split()[-1]) / 1024


PREPARE = """
import sys
from siamese_cbow.stream.preparation import prepare
from siamese_cbow.text.records import TextSettings
from siamese_cbow.words.tokenizer import Tokenizer
prepare(sys.argv[1], output=sys.argv[2], tokenizer=Tokenizer("whitespace"), text=TextSettings(layout="sentences"))
"""
TRAIN = """
import sys
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from siamese_cbow.training.saved_run import train_into
train_into(sys.argv[2], SiameseCBOW.paper(negatives_from=sys.argv[3]), Stream.load(sys.argv[1]))
"""


def row(name: str, n_tokens: int, n_words: int, seconds: float, cpu: float, memory: float) -> list[str]:
    times = f"{seconds / 60:.2f}", f"{n_tokens / seconds / 1e6:.1f}", f"{cpu / 60:.2f}"
    return [name, f"{n_tokens:,}", f"{n_words:,}", *times, f"{memory:,.0f}"]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    rows = []
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    try:
        for share in (options.share / 10, options.share):
            text, stream, model = folder / "text.txt", folder / "stream", folder / "model"
            n_tokens = write_text(text, share)
            size = text.stat().st_size
            seconds, cpu, memory = run(PREPARE, text, stream)
            text.unlink()
            n_words = sum(1 for _ in (stream / "vocabulary.txt").open())
            rows.append(row(f"prepare, {size / 1e9:.2f} GB of text", n_tokens, n_words, seconds, cpu, memory))
            for source in ("corpus", "batch"):
                name = f"train, 1 epoch, 300 dimensions, negatives from the {source}"
                rows.append(row(name, n_tokens, n_words, *run(TRAIN, stream, model, source)))
                shutil.rmtree(model)
            shutil.rmtree(stream)
    finally:
        shutil.rmtree(folder)
    header = ["", "tokens", "words", "minutes", "million tokens/s", "CPU minutes", "peak MB"]
    note = "Peak memory includes cached pages of memory-mapped files, which the system reclaims when it needs memory."
    about = f"{machine('numpy', 'numba')}; load {os.getloadavg()[0]:.1f}"
    report(
        "paper_scale", "Training at the paper's corpus size", markdown(header, rows), note, about, write=options.write
    )


if __name__ == "__main__":
    main()
