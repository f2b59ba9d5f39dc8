"""Encoding sentences: our speed against model2vec, sentence-transformers, gensim and a NumPy loop.

    python -m benchmarks.encode [--sentences N] [--rounds N] [--json FILE] [--write]

Sentences of about 12 words drawn by Zipf's law from 50,000 words, 300 dimensions, unit vectors. All systems hold the
same vectors: model2vec and sentence-transformers load the folder that we save. They take turns, each twice in a row,
because the others evict its data from the caches; the best of equally many runs counts. Batch sizes are the fastest we
tried: 8192 (of 32 to 8192) for sentence-transformers, the default 1024 (of 256 to 4096) for model2vec, which runs with
and without its threads.

Our time is also split into parts: "lookup alone" turns texts into ids; "averaging alone" takes ids, gathers their rows
and writes the means; "reading rows alone" does the same but writes all means to one place, so that it only waits for
the rows; "allocation alone" makes the system provide the memory of the result. No program that keeps float32 rows can
avoid looking up, reading rows and new memory: together they are the floor on the page. The page also gives the system
load, because other programs distort ratios in either direction.
"""

from __future__ import annotations

import json
import mmap
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from benchmarks.tables import arguments, machine, markdown, report, run_python, zipf_words
from siamese_cbow import Model, Vocabulary, load
from siamese_cbow.kernels.means import _sum, means
from siamese_cbow.model.encoding import BATCH_SIZE, MUCH_TEXT, Encoder

N_WORDS, DIM, THREADS = 50_000, 300, 2
N_SINGLE = 2_000

# Parts of our time; FLOOR lists those that even a perfect kernel would need.
LOOKING_UP, AVERAGING = "lookup alone", "averaging alone"
READING, NEW_MEMORY = "reading rows alone", "allocation alone"
FLOOR = (LOOKING_UP, READING, NEW_MEMORY)

Texts = Sequence[str]
Encode = Callable[[Texts], Any]


def sentences(n: int) -> tuple[list[str], list[str]]:
    """`n` sentences of 6 to 18 words, and the whole vocabulary."""
    lengths = np.random.default_rng(2).integers(6, 19, n)
    ids, words = zipf_words(int(lengths.sum()), n_words=N_WORDS)
    ends = np.cumsum(lengths)
    return [" ".join([words[i] for i in ids[end - k : end]]) for end, k in zip(ends, lengths, strict=True)], words


def saved_model(words: list[str], folder: Path) -> Model:
    vectors = np.random.default_rng(3).standard_normal((N_WORDS, DIM), dtype=np.float32)
    Model(Vocabulary.of_words(words), vectors).save(folder)
    return load(folder)


def numpy_loop(model: Model) -> Encode:
    index, vectors = dict(model.vocabulary.index), np.array(model.vectors)

    def encode(texts: Texts) -> list[Any]:
        rows = []
        for text in texts:
            row = vectors[[index[word] for word in text.split() if word in index]].mean(axis=0)
            rows.append(row / np.linalg.norm(row))
        return rows

    return encode


def parts(model: Model, texts: Texts) -> dict[str, Encode]:
    """The steps of our encoder, each alone and on all threads. They process all of `texts`, whatever their argument."""
    starts = range(0, len(texts), BATCH_SIZE)
    looked_up = [model._encoder._lookup.ids(texts[start : start + BATCH_SIZE]) for start in starts]
    vectors, pool = model.vectors, ThreadPoolExecutor(THREADS)

    def looking_up(_: Texts) -> None:
        list(pool.map(lambda start: model._encoder._lookup.ids(texts[start : start + BATCH_SIZE]), starts))

    def averaging(_: Texts) -> None:
        out = np.empty((len(texts), DIM), np.float32)

        def batch(number: int) -> None:
            rows = slice(starts[number], starts[number] + BATCH_SIZE)
            means(vectors, *looked_up[number], True, out[rows])

        list(pool.map(batch, range(len(starts))))

    def reading(_: Texts) -> None:
        rows = [np.empty((1, DIM), np.float32) for _ in starts]
        list(pool.map(lambda number: _sums(vectors, *looked_up[number], rows[number]), range(len(starts))))

    def new_memory(_: Texts) -> None:
        out = np.empty((len(texts), DIM), np.float32).reshape(-1)
        share, page = -(-len(out) // THREADS), mmap.PAGESIZE // out.itemsize
        list(pool.map(lambda start: out[start : start + share : page].fill(0), range(0, len(out), share)))

    return {LOOKING_UP: looking_up, AVERAGING: averaging, READING: reading, NEW_MEMORY: new_memory}


@njit(nogil=True)
def _sums(vectors: Any, ids: Any, offsets: Any, row: Any) -> None:
    """Sums the rows of each text, always in the same place."""
    for i in range(len(offsets) - 1):
        _sum(vectors, ids, offsets[i], offsets[i + 1], row, 0)


def systems(model: Model, folder: Path) -> tuple[dict[str, Encode], dict[str, Encode]]:
    """Each system twice: encoding all sentences at once, and one at a time."""
    import torch
    from gensim.models import KeyedVectors
    from model2vec import StaticModel
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(THREADS)
    static = StaticModel.from_pretrained(folder)
    transformer = SentenceTransformer(str(folder), device="cpu")
    keyed = KeyedVectors(DIM)
    keyed.add_vectors(list(model.vocabulary.words), np.array(model.vectors))
    loop = numpy_loop(model)

    def ours(texts: Any) -> Any:
        return model.encode(texts, normalize_embeddings=True, threads=THREADS)

    def gensim(texts: Texts) -> Any:
        return [keyed.get_mean_vector(text.split(), pre_normalize=False, post_normalize=True) for text in texts]

    bulk: dict[str, Encode] = {
        "siamese-cbow": ours,
        "model2vec": lambda texts: static.encode(texts),
        "model2vec, no threads": lambda texts: static.encode(texts, use_multiprocessing=False),
        "sentence-transformers": lambda texts: transformer.encode(texts, batch_size=8192, show_progress_bar=False),
        "gensim": gensim,
        "NumPy loop": loop,
    }
    single: dict[str, Encode] = {
        "siamese-cbow": lambda texts: [ours(text) for text in texts],
        "model2vec": lambda texts: [static.encode(text) for text in texts],
        "sentence-transformers": lambda texts: [transformer.encode(text, show_progress_bar=False) for text in texts],
        "gensim": gensim,
        "NumPy loop": loop,
    }
    return bulk, single


def check_agreement(encoders: dict[str, Encode], texts: Texts) -> None:
    expected = np.asarray(encoders["siamese-cbow"](texts))
    for name, encode in encoders.items():
        np.testing.assert_allclose(np.asarray(encode(texts)), expected, atol=1e-5, err_msg=name)


def best_times(encoders: dict[str, Encode], texts: Texts, rounds: int) -> dict[str, tuple[float, float]]:
    """The best round of each system in seconds: wall-clock time, and CPU time of all cores. All have as many rounds."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in encoders}
    for _ in range(rounds):
        for name, encode in encoders.items():
            for _ in range(2):
                start, busy = time.perf_counter(), time.process_time()
                encode(texts)
                times[name].append((time.perf_counter() - start, time.process_time() - busy))
    return {name: (min(clock for clock, _ in taken), min(cpu for _, cpu in taken)) for name, taken in times.items()}


def table(times: dict[str, tuple[float, float]], n: int) -> str:
    ours, our_cpu = times["siamese-cbow"]
    rows = [
        [name, f"{n / clock:,.0f}", f"{clock / n * 1e6:,.2f}", f"{clock / ours:.1f}", f"{cpu / our_cpu:.1f}"]
        for name, (clock, cpu) in times.items()
    ]
    return markdown(["system", "sentences/s", "µs per sentence", "time / ours", "CPU time / ours"], rows)


def floor(times: dict[str, tuple[float, float]]) -> str:
    """The share of our time that can't be avoided, and how far ahead of the fastest peer it would be."""
    least, ours, peer = sum(times[part][0] for part in FLOOR), times["siamese-cbow"][0], times["model2vec"][0]
    return (
        f"Word lookup, reading the rows and allocating the result take {least / ours:.0%} of our time: a kernel "
        f"with no other cost would be {peer / least:.0f}x as fast as model2vec."
    )


def paths(model: Model, folder: Path, texts: list[str]) -> tuple[str, dict[str, float]]:
    """The figures behind the choice of path: from how many texts the bulk path is faster, and what loading it costs."""
    small, bulk = load(folder)._encoder, model._encoder
    bulk.warm()
    faster_from = next((n for n in range(1, 65) if _seconds(bulk, texts, n) < _seconds(small, texts, n)), 0)
    code = (
        "import sys, time, siamese_cbow as sc\n"
        "model = sc.load(sys.argv[1]); model.encode('a'); start = time.perf_counter()\n"
        "model._encoder.warm(); print(time.perf_counter() - start)"
    )
    loading = min(float(run_python(code, folder)[2]) for _ in range(3))
    n = 2_000
    speed = sum(map(len, texts[:n])) / min(_seconds(small, texts, n, rounds=1) for _ in range(5))
    text = (
        f"Once loaded, the bulk path is faster from {faster_from} sentences on. Loading it takes {loading:.2f} s, "
        f"in which the small path encodes {loading * speed / 1e6:.1f} million characters "
        f"(threshold: {MUCH_TEXT / 1e6:.1f} million)."
    )
    return text, {"bulk_faster_from": faster_from, "loading_seconds": loading, "characters_per_second": speed}


def _seconds(encoder: Encoder, texts: list[str], n: int, rounds: int = 50) -> float:
    """The median time for `n` texts."""
    times = []
    for start in range(0, rounds * n, n):
        began = time.perf_counter()
        encoder.counted(texts[start : start + n], dim=DIM, normalize=True)
        times.append(time.perf_counter() - began)
    return sorted(times)[len(times) // 2]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the seconds to this file")
    options = parser.parse_args()
    texts, words = sentences(options.sentences)
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        model = saved_model(words, folder)
        bulk, single = systems(model, folder)
        model._encoder.warm()  # takes the bulk path from here on, as if a million sentences had been encoded
        model.encode(texts)
        check_agreement(bulk, texts[:2000])
        bulk_times = best_times({**bulk, **parts(model, texts)}, texts, options.rounds)
        check_agreement(single, texts[:50])
        single_times = best_times(single, texts[:N_SINGLE], options.rounds)
        two_paths, measured = paths(model, folder, texts)
    about = machine("model2vec", "sentence-transformers", "gensim", "numpy", "numba")
    page = (
        f"{about}; {THREADS} threads, {N_WORDS:,} words, {DIM} dimensions, unit vectors. System load before and "
        f"after: {load_before:.1f} and {os.getloadavg()[0]:.1f}.\n\n"
        f"## {len(texts):,} sentences of 12 words at once\n\n{table(bulk_times, len(texts))}\n\n"
        f"{floor(bulk_times)}\n\n"
        f"## One sentence at a time\n\n{table(single_times, N_SINGLE)}\n\n## The two paths\n\n{two_paths}"
    )
    report("encode", "Encoding speed", page, write=options.write)
    if options.json:
        options.json.write_text(json.dumps({"bulk": bulk_times, "single": single_times, "paths": measured}, indent=2))


if __name__ == "__main__":
    main()
