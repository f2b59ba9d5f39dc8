"""Training speed: our recipes, gensim's word2vec and fastText on the same text, and the machine's own limit.

    python -m benchmarks.train [--stream FOLDER]... [--words N] [--rounds N] [--write]

Words are raw words of anchors: before subsampling, and without the words of sampled negatives. All systems train 300
dimensions with 2 threads for one epoch on the same text and keep the words that occur five times; they take turns, and
the best round of each counts. Compiling, reading the vocabulary and setting up the matrix are not timed, except in the
rows called "from text" (everything but compiling) and for fastText, which can't train separately: its time is the time
beyond a run on 1/10 of the text.

The limit is a kernel that does only the row traffic: add up the rows of each sentence, then add a vector to each of
them. There are two versions: both threads on one matrix, as in training, where rows of frequent words move from core to
core; and each thread on its own matrix, where no rows move. The contrastive recipe compares all sentences of a batch,
so its matrix products take longer than the rows and have their own line. The lock-free variant runs our kernels in
independent threads on one matrix. The cost of determinism is measured separately, in more rounds: threads that wait for
each other suffer more from a core that is busy elsewhere, and only a quiet moment shows their own cost.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from benchmarks.quality_streams import documents, sentence_words
from benchmarks.tables import arguments, machine, markdown, report, write_sentences
from siamese_cbow.kernels.objectives.in_batch import TILE
from siamese_cbow.machine.compiling import FASTMATH
from siamese_cbow.machine.intrinsics import aligned, padded_width
from siamese_cbow.machine.products import combine, dots
from siamese_cbow.machine.simd import gather
from siamese_cbow.machine.threads import ThreadTeam
from siamese_cbow.stream.preparation import prepare
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text.records import TextSettings
from siamese_cbow.training.batches import batches_per_epoch, epoch_keys, text_arrays
from siamese_cbow.training.engine import Engine
from siamese_cbow.training.loop import Callback, Run, objective_of, train
from siamese_cbow.training.optimizers import rule_of
from siamese_cbow.training.plan import plan_of, shape_of
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from siamese_cbow.training.state import first_state
from siamese_cbow.training.stems import stems_of
from siamese_cbow.training.strips import layout_of
from siamese_cbow.words.tokenizer import Tokenizer

DIM, THREADS = 300, 2
ROUNDS_FOR_COSTS = 12
ROW_BYTES = 3 * 4 * DIM  # each row is read for the mean, then read and written for the update

RECIPES = {
    "paper, negatives from the batch": SiameseCBOW.paper(negatives_from="batch"),
    "paper, exact": SiameseCBOW.paper(),
    "contrastive": SiameseCBOW(),
}

LIMIT = "row traffic alone (the limit)"

Work = Callable[[], tuple[float, int]]  # -> seconds, words


class Stopwatch(Callback):
    def on_start(self, run: Run) -> None:
        self.start = time.perf_counter()

    def on_end(self, run: Run) -> None:
        self.seconds = time.perf_counter() - self.start


def ours(recipe: SiameseCBOW, stream: Stream, threads: int = THREADS) -> tuple[float, int]:
    watch = Stopwatch()
    run = train(plan_of(recipe, stream), threads=threads, callbacks=[watch])
    return watch.seconds, run.state.counters.words


def prepared(path: Path) -> Stream:
    return prepare(path, text=TextSettings(layout="sentences"), tokenizer=Tokenizer("whitespace"), threads=THREADS)


def from_text(recipe: SiameseCBOW, path: Path) -> tuple[float, int]:
    """The whole pipeline: reading, counting, ids on disk, training."""
    start = time.perf_counter()
    stream = prepared(path)
    recipe.train(stream, threads=THREADS)
    return time.perf_counter() - start, stream.n_tokens


def lock_free(recipe: SiameseCBOW, stream: Stream) -> tuple[float, int]:
    """Every thread takes every second chunk of batches and updates the rows whenever it likes."""
    shape, stems = shape_of(recipe, stream), stems_of(recipe, stream.vocabulary)
    text = text_arrays(stream, subsample=recipe.subsample, stems=stems)
    state, rule = first_state(recipe, stream.vocabulary, stems=stems), rule_of(recipe.optimizer, recipe.dim)
    teams = [ThreadTeam(1) for _ in range(THREADS)]
    engines = [Engine(text, shape, objective_of(recipe), rule, layout_of(recipe), team) for team in teams]
    keys, n_batches, size = epoch_keys(recipe.seed, shape, 0), batches_per_epoch(shape), engines[0].batches_per_chunk
    words = [0] * THREADS

    def work(thread: int) -> None:
        for first in range(thread * size, n_batches, THREADS * size):
            rates = np.full(min(size, n_batches - first), recipe.learning_rate, np.float32)
            words[thread] += int(
                engines[thread].run(keys, first, rates, first + 1, state.left, state.right).words.sum()
            )

    seconds = in_threads(work)
    for team in reversed(teams):
        team.__exit__(None, None, None)
    return seconds, sum(words)


def in_threads(work: Callable[[int], None]) -> float:
    threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


@njit(nogil=True, fastmath=FASTMATH)
def _traffic(vectors: Any, ids: Any, sentences: Any, begin: int, end: int, total: Any) -> None:
    width = vectors.shape[1]
    for s in range(begin, end):
        gather(vectors, ids, sentences[s], sentences[s + 1], total, 0)
        for t in range(sentences[s], sentences[s + 1]):
            w = ids[t]  # hoisted: the compiler can't rule out that the loop changes it
            for j in range(width):
                vectors[w, j] -= np.float32(1e-9) * total[0, j]


def limit(stream: Stream, n_matrices: int) -> tuple[float, int]:
    """The row traffic alone: all threads on one matrix, or each on its own."""
    matrices = [aligned((len(stream.vocabulary), padded_width(DIM))) for _ in range(n_matrices)]
    totals = [aligned((1, padded_width(DIM))) for _ in range(THREADS)]
    arrays = np.asarray(stream.ids), np.asarray(stream.sentences)
    for matrix in matrices:
        matrix[:] = 1  # the system provides memory only once it is written to
    _traffic(matrices[0], *arrays, 0, 1, totals[0])
    n = stream.n_sentences // THREADS

    def work(thread: int) -> None:
        _traffic(matrices[thread % n_matrices], *arrays, thread * n, (thread + 1) * n, totals[thread])

    return in_threads(work), int(stream.sentences[THREADS * n])


@njit(nogil=True)
def _products(n_batches: int, means: Any, scores: Any, panels: Any, gradients: Any) -> None:
    n = len(means)
    for _ in range(n_batches):
        dots(means, 0, n, means, 0, n, scores, True)
        for i in range(0, n, TILE):
            combine(panels, 0, min(TILE, n - i), means, n, gradients, i)


def products(recipe: SiameseCBOW, stream: Stream) -> tuple[float, int]:
    """The matrix products of the contrastive recipe alone: cosines of half of all pairs, and gradients."""
    n, width = recipe.batch_size, padded_width(DIM)
    n_batches = stream.n_sentences // n // THREADS
    arrays = [
        (aligned((n, width)), aligned((n, n)), aligned((1, TILE, n)), aligned((n, width))) for _ in range(THREADS)
    ]
    _products(0, *arrays[0])
    seconds = in_threads(lambda thread: _products(n_batches, *arrays[thread]))
    return seconds, stream.n_tokens * THREADS * n_batches * n // stream.n_sentences


def gensim_word2vec(path: Path, n_words: int, *, skip_gram: bool, whole: bool = False) -> tuple[float, int]:
    from gensim.models import Word2Vec

    begin = time.perf_counter()
    model = Word2Vec(
        vector_size=DIM, window=5, min_count=5, sample=1e-5, negative=5, sg=int(skip_gram), workers=THREADS
    )
    model.build_vocab(corpus_file=str(path))
    start = time.perf_counter()
    model.train(
        corpus_file=str(path), total_words=model.corpus_total_words, total_examples=model.corpus_count, epochs=1
    )
    return time.perf_counter() - (begin if whole else start), n_words


def fasttext_word2vec(path: Path, n_words: int, *, skip_gram: bool) -> tuple[float, int]:
    import fasttext

    part = path.with_suffix(".part")
    with path.open("rb") as whole:
        part.write_bytes(whole.read(path.stat().st_size // 10))

    def run(text: Path) -> float:
        start = time.perf_counter()
        fasttext.train_unsupervised(
            str(text), model="skipgram" if skip_gram else "cbow", dim=DIM, ws=5, neg=5, minCount=5, t=1e-5, maxn=0,
            epoch=1, thread=THREADS, verbose=0,
        )  # fmt: skip
        return time.perf_counter() - start

    return run(path) - run(part), n_words * 9 // 10


def prefix(stream: Stream, n_words: int) -> Stream:
    """The first documents of a stream, with `n_words` words or a few less."""
    last_sentence = int(np.searchsorted(stream.sentences, n_words, side="right")) - 1
    last = int(np.searchsorted(stream.documents, last_sentence, side="right")) - 1
    return documents(stream, 0, last)


def write_text(stream: Stream, path: Path) -> None:
    """Writes one sentence per line, with an empty line between documents."""
    first = set(stream.documents[1:-1].tolist())
    with path.open("w", encoding="utf-8") as file:
        for number, words in enumerate(sentence_words(stream)):
            file.write("\n" * (number in first) + " ".join(words) + "\n")


def measure(works: dict[str, Work], rounds: int) -> dict[str, float]:
    """Words per second: the best round of each, in turns, so that a slow moment of the machine hits all."""
    best: dict[str, float] = {}
    for number in range(rounds + 1):  # the first one only compiles and warms up
        for name, work in works.items():
            if number == 0 and ("gensim" in name or "fastText" in name):
                continue
            seconds, words = work()
            if number > 0:
                best[name] = max(best.get(name, 0), words / seconds)
    return best


def works_on(stream: Stream, text: Path) -> dict[str, Work]:
    works: dict[str, Work] = {}
    for name, recipe in RECIPES.items():
        works[name] = lambda recipe=recipe: ours(recipe, stream)  # type: ignore[misc]
        works[lock_free_name(name)] = lambda recipe=recipe: lock_free(recipe, stream)  # type: ignore[misc]
        works[f"{name}, 1 thread"] = lambda recipe=recipe: ours(recipe, stream, 1)  # type: ignore[misc]
    for name, recipe in RECIPES.items():
        works[f"{name}, from text"] = lambda recipe=recipe: from_text(recipe, text)  # type: ignore[misc]
    apart = replace(RECIPES["contrastive"], share_stems=False)
    works["contrastive, stems apart"] = lambda: ours(apart, stream)
    works["contrastive, its matrix products alone"] = lambda: products(RECIPES["contrastive"], stream)
    works[LIMIT] = lambda: limit(stream, 1)
    works["row traffic alone, one matrix per thread"] = lambda: limit(stream, THREADS)
    works["gensim CBOW, from text"] = lambda: gensim_word2vec(text, stream.n_tokens, skip_gram=False, whole=True)
    for kind in ("CBOW", "skip-gram"):
        skip_gram = kind == "skip-gram"
        works[f"gensim {kind}"] = lambda s=skip_gram: gensim_word2vec(text, stream.n_tokens, skip_gram=s)  # type: ignore[misc]
        try:
            import fasttext  # noqa: F401
        except ImportError:
            continue
        works[f"fastText {kind}"] = lambda s=skip_gram: fasttext_word2vec(text, stream.n_tokens, skip_gram=s)  # type: ignore[misc]
    return works


def speeds(speed: dict[str, float]) -> str:
    top, cbow, skip_gram = speed[LIMIT], speed["gensim CBOW"], speed["gensim skip-gram"]
    rows = [
        [
            name,
            f"{v / 1e6:.2f}",
            f"{v / cbow:.1f}x",
            f"{v / skip_gram:.1f}x",
            f"{v * ROW_BYTES / 1e9:.1f}",
            f"{v / top:.0%}",
        ]
        for name, v in speed.items()
    ]
    return markdown(["", "million words/s", "against CBOW", "against skip-gram", "GB/s of rows", "of the limit"], rows)


def costs(works: dict[str, Work]) -> str:
    """The cost of byte-identical results on any number of threads."""
    speed = measure(
        {name: works[name] for recipe in RECIPES for name in (recipe, lock_free_name(recipe))}, ROUNDS_FOR_COSTS
    )
    rows = [[recipe, f"{1 - speed[recipe] / speed[lock_free_name(recipe)]:+.0%}"] for recipe in RECIPES]
    return markdown(["cost of byte-identical results, against lock-free updates", "speed lost"], rows)


def lock_free_name(recipe: str) -> str:
    return f"{recipe}, lock-free"


def section(source: Path | None, n_words: int, rounds: int) -> str:
    """All systems on one text."""
    with tempfile.TemporaryDirectory() as name:
        text = Path(name) / "text.txt"
        if source:
            write_text(prefix(Stream.load(source), n_words), text)
        else:
            write_sentences(text, n_words)
        stream = prepared(text)
        works = works_on(stream, text)
        speed = speeds(measure(works, rounds))
        cost = costs(works)
    title = f"The beginning of {source.name}" if source else "Synthetic text by Zipf's law"
    counts = f"{stream.n_tokens:,} words, {stream.n_sentences:,} sentences, {len(stream.vocabulary):,} distinct words"
    return f"## {title}\n\n{counts}; {DIM} dimensions, {THREADS} threads.\n\n{speed}\n\n{cost}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--stream", type=Path, action="append", help="a prepared text; by default, a synthetic one")
    parser.add_argument("--words", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sections = [section(source, options.words, options.rounds) for source in options.stream or [None]]
    report("train", "Training speed", machine("numpy", "numba", "gensim"), *sections, write=options.write)


if __name__ == "__main__":
    main()
