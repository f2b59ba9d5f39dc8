"""One piece of a report's work: train one system and keep the results that tables and figures need.

Results are JSON. They hold the cosines of all released pairs at full precision, so that any protocol and any test can
be recomputed from them, and the report agrees with `evaluate`. Models are not kept.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from siamese_cbow.evaluation.evaluate import System, evaluate, unknown_words
from siamese_cbow.evaluation.pair_sets import PROTOCOLS, PairSet, Protocol, counted, counting
from siamese_cbow.evaluation.scores import Scores, SetScore
from siamese_cbow.evaluation.verdicts import crowding, resampled_pearsons
from siamese_cbow.model.model import Model
from siamese_cbow.paper.recipes import SYSTEMS
from siamese_cbow.paper.treatments import look_at_words, next_sentence_ranks, treated
from siamese_cbow.paper.work_pieces import Job, Piece, settings_of, training_words
from siamese_cbow.progress import Progress

WARM_UP = 20  # pairs before the clock starts, because the first one compiles code and reads files
ROUNDS = 3  # timings of the batch; the shortest counts
PARTS = 3  # subsets of the pairs, timed again to see how much times vary
DIGITS = 5  # of the values kept for every resample


def compute(piece: Piece, job: Job, progress: Progress, weight: float = 1.0) -> dict[str, Any]:
    """The result of a piece as plain JSON values. `progress` advances by `weight`."""
    share = _Share(progress, weight, training_words(piece.recipe, job.stream))
    progress.advance(0, piece.title)
    result = _curve(piece, job, share) if piece.kind == "curve" else _scored(piece, job, share)
    share.finish()
    return result


class _Share:
    """Maps the progress of one training run to its share of the report's; the share is used up even if it ends early.

    Messages go into the report instead of being shown: those of twenty training runs would be noise.
    """

    def __init__(self, outer: Progress, seconds: float, n_words: int) -> None:
        self._outer, self._left, self._seconds_a_word = outer, seconds, seconds / max(1, n_words)
        self.said: list[str] = []

    def advance(self, amount: float, note: str = "") -> None:
        seconds = min(amount * self._seconds_a_word, self._left)
        self._left -= seconds
        self._outer.advance(seconds, note)

    def say(self, message: str) -> None:
        self.said.append(message)

    def finish(self) -> None:
        self._outer.advance(self._left)


def _scored(piece: Piece, job: Job, progress: _Share) -> dict[str, Any]:
    """Train and score a system; or a point, for which a part of the result is enough."""
    start, busy = time.perf_counter(), time.process_time()
    system = _trained(piece, job, progress)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - busy
    if piece.kind == "point":
        return {"train_seconds": seconds, **point(system, job.sets, piece.title)}
    every = treated(system, job.stream, SYSTEMS[piece.key].treatments)
    is_model = isinstance(system, Model)
    return {
        "train_seconds": seconds,
        "train_cpu_seconds": cpu_seconds,  # of all threads together, so other programs on the machine do not distort it
        "dim": int(system.dim),
        "n_words": len(system.vocabulary),
        "settings": settings_of(piece.recipe),
        "notes": progress.said,
        "cosines": {name: cosines_to_json(each, job.sets, piece.title) for name, each in every.items()},
        "timing": time_pairs(system, job.sets, seconds=job.scale.seconds_one_by_one) if job.is_timed(piece) else None,
        "words": look_at_words(system) if is_model else None,
        "crowding": crowding(system.vectors) if is_model else None,
        "next": next_sentence_ranks(system, job.stream),
        "tasks": tasks_to_json(every, job),
    }


def _trained(piece: Piece, job: Job, progress: _Share) -> Any:
    if piece.key == "skip-thought":
        vectors = _word2vec(job, progress)
        return piece.recipe.train(
            job.stream,
            checkpoints=job.run_folder(piece),
            word_vectors=(vectors.vocabulary.words, vectors.vectors),
            progress=progress,
        )
    model = piece.recipe.train(job.stream, threads=job.threads, progress=progress)
    if piece.key == "skipgram":
        model.save(job.word2vec_folder)
    return model


def _word2vec(job: Job, progress: _Share) -> Model:
    """The skip-gram vectors of this report, retrained if they are gone."""
    from siamese_cbow.model.storage import load

    if job.word2vec_folder.is_dir():
        return load(job.word2vec_folder)
    progress.say("word2vec skip-gram was trained once more, for the vocabulary of skip-thought")
    trained: Model = job.word2vec.train(job.stream, threads=job.threads)
    return trained


def _curve(piece: Piece, job: Job, progress: _Share) -> dict[str, Any]:
    from siamese_cbow.training.loop import Callback

    points: list[dict[str, Any]] = []

    class Curve(Callback):
        def on_start(self, run: Any) -> None:
            self.every = max(1, run.n_batches // job.scale.points_per_epoch)
            self.on_batch(run)

        def on_batch(self, run: Any) -> None:
            counters = run.state.counters
            # The last regular point of an epoch may be a few batches before its end, where one dot is enough.
            if 0 < run.n_batches - counters.batch < self.every // 2:
                return
            figures = point(run.model(), job.sets, piece.title)
            epoch = counters.epoch + counters.batch / run.n_batches
            points.append({"examples": counters.examples, "epoch": epoch, **figures})

    start = time.perf_counter()
    piece.recipe.train(job.stream, threads=job.threads, progress=progress, callbacks=[Curve()])
    return {"train_seconds": time.perf_counter() - start, "points": points, "notes": progress.said}


# Scores as JSON


def cosines_to_json(system: System, sets: Sequence[PairSet], name: str) -> list[dict[str, Any]]:
    """For each set, the cosines of all released pairs, the empty pairs, and the number of unknown words."""
    scores = evaluate(system, sets, protocol="paper", name=name).sets  # the protocol that has all pairs
    return [
        {
            "set": score.name,
            "cosines": score.predictions.tolist(),
            "empty": np.flatnonzero(score.is_empty).tolist(),
            "n_unknown": {protocol: unknown_words(system, counted(pair_set, protocol)) for protocol in PROTOCOLS},
        }
        for pair_set, score in zip(sets, scores, strict=True)
    ]


def scores_from_json(rows: Sequence[dict[str, Any]], sets: Sequence[PairSet], protocol: Protocol, name: str) -> Scores:
    """The scores under a protocol, from the output of `cosines_to_json` for the same sets."""
    scores = []
    for row, pair_set in zip(rows, sets, strict=True):
        counts, cosines = counting(pair_set, protocol), np.array(row["cosines"], dtype=np.float64)
        is_empty = np.isin(np.arange(len(cosines)), row["empty"])
        unknown = row["n_unknown"][protocol]
        scores.append(SetScore(counted(pair_set, protocol), cosines[counts], is_empty[counts], unknown))
    return Scores(name, protocol, tuple(scores))


def pearsons(rows: Sequence[dict[str, Any]], sets: Sequence[PairSet]) -> dict[str, list[float | None]]:
    """The Pearson of each set under both protocols: {"official": [.66, ...], "paper": [.62, ...]}."""
    return {
        protocol: [score.pearson for score in scores_from_json(rows, sets, protocol, "").sets] for protocol in PROTOCOLS
    }


def point(system: System, sets: Sequence[PairSet], name: str) -> dict[str, Any]:
    """The data of a point of a figure: Pearson of each set under both protocols and in each resample of its pairs."""
    rows = cosines_to_json(system, sets, name)
    resampled = resampled_pearsons([scores_from_json(rows, sets, "official", name)])[0]
    known = np.where(np.isnan(resampled), 0.0, resampled.round(DIGITS))
    undefined = np.isnan(resampled).any(axis=0)
    return {"pearsons": pearsons(rows, sets), "resampled": known.tolist(), "undefined": undefined.tolist()}


def tasks_to_json(every: dict[Any, Any], job: Job) -> list[dict[str, Any]]:
    """The score of every example of every task, as learnt and with stems, finishing and n-grams."""
    if job.tasks is None:
        return []
    return [
        {
            "treatment": treatment,
            "kind": score.kind,
            "task": score.task,
            "measure": score.measure,
            "items": score.items.round(DIGITS).tolist(),
        }
        for treatment, system in every.items()
        if treatment != "finished"
        for score in job.tasks.scores(system, "")
    ]


# Table 3: how long a system takes to compare sentences


def time_pairs(system: Any, sets: Sequence[PairSet], *, seconds: float) -> dict[str, Any]:
    """CPU seconds for all pairs of the sets, one by one as in the paper and batched, on one thread.

    Timing one by one stops after `seconds` seconds and extrapolates to all pairs; `n_timed` says how many pairs were
    timed. `parts` are seconds per pair in three subsets.
    -> {"n_pairs": 16858, "n_timed": 16858, "one_by_one": 0.9, "batched": 0.1, "parts": [5e-5, 5e-5, 6e-5]}
    """
    from threadpoolctl import threadpool_limits

    pairs = [pair for pair_set in sets for pair in pair_set.pairs]
    with threadpool_limits(1):
        _one_by_one(system, pairs[:WARM_UP], seconds)
        one_by_one, n_timed = _one_by_one(system, pairs, seconds)
        batch = pairs[:n_timed]  # a system that is slow one by one is also too slow for a batch of all pairs
        batched = min(_batched(system, batch) for _ in range(ROUNDS if one_by_one < seconds else 1))
        thirds = [_one_by_one(system, pairs[i:n_timed:PARTS], seconds) for i in range(PARTS) if n_timed >= PARTS]
    share = len(pairs) / n_timed
    times = {"one_by_one": one_by_one * share, "batched": batched * share}
    parts = [passed / n for passed, n in thirds] or [one_by_one / n_timed]
    return {"n_pairs": len(pairs), "n_timed": n_timed, **times, "parts": parts}


def _one_by_one(system: Any, pairs: Sequence[tuple[str, str]], seconds: float) -> tuple[float, int]:
    """CPU seconds, and the number of pairs they cover. Wall-clock time would include other programs."""
    start = time.process_time()
    passed = 0.0
    for n, (left, right) in enumerate(pairs, start=1):
        a, b = (system.encode(text, threads=1) for text in (left, right))
        _ = float(a @ b) / (float(np.sqrt((a @ a) * (b @ b))) or 1.0)  # the cosine is part of what is timed
        passed = time.process_time() - start
        if passed > seconds:
            return passed, n
    return passed, len(pairs)


def _batched(system: Any, pairs: Sequence[tuple[str, str]]) -> float:
    start = time.process_time()
    a, b = (system.encode([pair[side] for pair in pairs], threads=1) for side in (0, 1))
    products, a_squares, b_squares = (np.einsum("ij,ij->i", x, y) for x, y in ((a, b), (a, a), (b, b)))
    products /= np.maximum(np.sqrt(a_squares * b_squares), np.finfo(np.float32).tiny)
    return time.process_time() - start
