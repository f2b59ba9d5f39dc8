"""From raw text to a model in one step, against gensim's CBOW; and what the first run on a fresh machine compiles.

    python -m benchmarks.one_step --text FILE [--megabytes N] [--rounds N] [--write]

The input is running text, one paragraph per line. Both sides split it with the same library, sentencex. gensim reads
sentences and has no splitter, so its users write a Python loop around one; that loop, on one core, is the peer here.
Two more rows give gensim more than its users get: our own code splits for it in processes on all cores, or the
sentences cost nothing. In all rows gensim reads a file of lower-case sentences without punctuation, its fastest input
(an iterable of word lists is slower). It subsamples at its default, at ours (1e-4), or at the paper's rate, which
leaves it the fewest words to train on. 300 dimensions, 2 threads, one epoch, words that occur five times. All take
turns, and the best round of each part counts. CPU seconds add up all threads and processes: on a busy machine they say
more than the clock.

The first run is a separate process that trains on 1 MB of the text with an empty folder for kernels; the second run
finds the compiled kernels there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.tables import arguments, cpu_of_children, machine, markdown, report
from siamese_cbow.stream.preparation import prepare
from siamese_cbow.text.chunks import open_text
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.splitters import Splitters
from siamese_cbow.training.siamese_cbow import SiameseCBOW

DIM, THREADS = 300, 2
SUBSAMPLING = {"default": 1e-3, "ours": 1e-4, "the paper's": 1e-5}
PARAGRAPHS = TextSettings(layout="paragraphs", language="en")
PLAIN = bytes(byte if chr(byte).isalnum() or byte in b"\n'" or byte > 127 else 32 for byte in range(256)).lower()

Seconds = dict[str, tuple[float, float]]  # part -> (wall-clock seconds, CPU seconds)


class Watch:
    """Records how long each part took."""

    def __init__(self) -> None:
        self.parts: Seconds = {}
        self._last = self._now()

    def note(self, part: str) -> None:
        now = self._now()
        self.parts[part] = now[0] - self._last[0], now[1] - self._last[1]
        self._last = now

    def _now(self) -> tuple[float, float]:
        return time.perf_counter(), time.process_time() + cpu_of_children()

    def whole(self) -> tuple[float, float]:
        return sum(clock for clock, _ in self.parts.values()), sum(used for _, used in self.parts.values())


def ours(text: Path, folder: Path) -> Watch:
    watch = Watch()
    stream = prepare(text, output=folder / "stream", text=PARAGRAPHS, threads=THREADS, restart=True)
    watch.note("siamese-cbow: text to ids")
    SiameseCBOW(dim=DIM).train(stream, threads=THREADS)
    watch.note("siamese-cbow: training")
    return watch


def gensim_cbow(lines: Path, subsampling: str) -> Watch:
    from gensim.models import Word2Vec

    watch, sample = Watch(), SUBSAMPLING[subsampling]
    model = Word2Vec(vector_size=DIM, window=5, min_count=5, sample=sample, negative=5, workers=THREADS, alpha=0.05)
    model.build_vocab(corpus_file=str(lines))
    watch.note("gensim: vocabulary")
    n_words, n_lines = model.corpus_total_words, model.corpus_count
    model.train(corpus_file=str(lines), total_words=n_words, total_examples=n_lines, epochs=1)
    watch.note(f"gensim: training, subsampling {subsampling} ({sample:g})")
    return watch


def split_in_a_loop(text: Path, lines: Path) -> Watch:
    """The loop that any user would write."""
    from sentencex import segment

    watch = Watch()
    with text.open(encoding="utf-8") as file, lines.open("wb") as out:
        for paragraph in file:
            for sentence in segment("en", paragraph):
                out.write(sentence.rstrip("\n").encode().translate(PLAIN) + b"\n")
    watch.note("sentences to a file, a Python loop")
    return watch


def split_on_all_cores(text: Path, lines: Path) -> Watch:
    """Splits with our own code, in as many processes as we use."""
    watch = Watch()
    corpus = Corpus(text, PARAGRAPHS)
    with Splitters(THREADS) as splitters, ThreadPoolExecutor(THREADS) as pool, lines.open("wb") as file:
        waiting = deque()
        for block in corpus.blocks():
            waiting.append(pool.submit(lambda block: corpus.lines(block, splitters.split).text.translate(PLAIN), block))
            if len(waiting) > 2 * THREADS:
                file.write(waiting.popleft().result())
        for future in waiting:
            file.write(future.result())
    watch.note("sentences to a file, on all cores")
    return watch


def fastest(rounds: int, *works: Callable[[], Watch]) -> Seconds:
    """The best round of each part; the systems take turns."""
    best: Seconds = {}
    for _ in range(rounds):
        for work in works:
            for part, seconds in work().parts.items():
                best[part] = min(best.get(part, seconds), seconds)
    return best


def raw_to_model(text: Path, rounds: int, folder: Path) -> str:
    warm, lines = folder / "warm.txt", folder / "lines.txt"
    warm.write_bytes(text.open("rb").read(1 << 20))
    ours(warm, folder)  # compiles
    best = fastest(
        rounds,
        lambda: ours(text, folder),
        lambda: split_in_a_loop(text, lines),
        lambda: split_on_all_cores(text, lines),
        *(partial(gensim_cbow, lines, subsampling) for subsampling in SUBSAMPLING),
    )
    loop, processes, scan, *trainings = (part for part in best if not part.startswith("siamese"))
    sums: dict[str, tuple[str, ...]] = {"**siamese-cbow**": ("siamese-cbow: text to ids", "siamese-cbow: training")}
    for subsampling, training in zip(SUBSAMPLING, trainings, strict=True):
        name = f"gensim CBOW, subsampling {subsampling}"
        sums[f"**{name}: sentences split in a Python loop**"] = (loop, scan, training)
        sums[f"{name}: sentences split on all cores"] = (processes, scan, training)
        sums[f"{name}: sentences already split"] = (scan, training)
    totals = {name: [sum(best[part][i] for part in parts) for i in (0, 1)] for name, parts in sums.items()}
    clock, used = totals["**siamese-cbow**"]
    rows = [
        [name, f"{total[0]:.1f}", f"{total[1]:.1f}", f"{total[0] / clock:.1f}x", f"{total[1] / used:.1f}x"]
        for name, total in totals.items()
    ]
    parts = [[part, f"{clock:.1f}", f"{used:.1f}"] for part, (clock, used) in best.items()]
    return (
        f"{text.stat().st_size / 1e6:.0f} MB of raw paragraphs to a model of {DIM} dimensions on {THREADS} cores:\n\n"
        + markdown(["", "seconds", "CPU seconds", "times ours", "CPU, times ours"], rows)
        + "\n\nWhere the time goes:\n\n"
        + markdown(["", "seconds", "CPU seconds"], parts)
        + "\n\nThe bold gensim rows split sentences in the loop around sentencex that gensim users write, on one "
        "core. In the two rows below each, our code splits for gensim on all cores, or splitting costs nothing. "
        "gensim reads a file of sentences, its fastest input. The more it subsamples, the fewer words it trains "
        "on; we subsample at 1e-4."
    )


def first_run(text: Path, folder: Path) -> str:
    """What compiling costs; each run is a separate process."""
    kernels = folder / "kernels"
    small = folder / "small.txt"
    small.write_bytes(text.open("rb").read(1 << 20))
    rows = []
    for name in ("first run: compiles the kernels", "second run: loads the compiled kernels"):
        watch = Watch()
        subprocess.run(
            [sys.executable, "-m", "siamese_cbow", "train", small, "-o", folder / f"model{len(rows)}"],
            env={**os.environ, "NUMBA_CACHE_DIR": str(kernels)}, check=True, capture_output=True,
        )  # fmt: skip
        watch.note(name)
        rows.append([name, *(f"{seconds:.1f}" for seconds in watch.whole())])
    n_functions = len(list(kernels.rglob("*.nbi")))
    return (
        "`siamese-cbow train` on 1 MB of text, from the command line:\n\n"
        + markdown(["", "seconds", "CPU seconds"], rows)
        + f"\n\nThe first run compiles {n_functions} functions, in two processes: one reads the text and compiles "
        "what reading needs, the other compiles the training kernels. `machine/compiling.py` records what else "
        "was tried."
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--text", type=Path, required=True, help="running text, one paragraph per line")
    parser.add_argument("--megabytes", type=int, default=150, help="how much of it to read")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, size = Path(name), options.megabytes * 1_000_000
        with open_text(options.text, Decoding()) as source, (folder / "raw.txt").open("wb") as raw:
            for piece in source.reads():
                raw.write(piece[: size - raw.tell()])
                if raw.tell() >= size:
                    break
        parts = [raw_to_model(folder / "raw.txt", options.rounds, folder), first_run(folder / "raw.txt", folder)]
    parts.append(machine("numpy", "numba", "gensim", "sentencex"))
    report("one_step", "From text to a model in one step", *parts, write=options.write)


if __name__ == "__main__":
    main()
