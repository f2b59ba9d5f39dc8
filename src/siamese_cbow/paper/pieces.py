"""One piece of a report's work: train something, and keep what the tables and figures need of it.

What is kept can be written as JSON. Cosines are kept of all released pairs and with all their digits, so that any
protocol and any test can be redone, and the report says what `evaluate` says.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from siamese_cbow.evaluation.evaluate import System, evaluate, unknown_words
from siamese_cbow.evaluation.pair_sets import PROTOCOLS, PairSet, Protocol, counted, counting
from siamese_cbow.evaluation.scores import Scores, SetScore
from siamese_cbow.model.geometry import lengths
from siamese_cbow.model.model import Model
from siamese_cbow.paper.recipes import Job, Piece, settings_of, training_words
from siamese_cbow.progress import Progress
from siamese_cbow.words.vocabulary import Vocabulary

WARM_UP = 20  # pairs, before the clock starts: code is compiled and files are read for the first one
ROUNDS = 3  # of the batch, of which the shortest counts

NEAR = 0.6  # the paper's bound for a related word
N_SHOWN = 10  # words
FREQUENT = 1000  # the rarest words have hardly left their start: their norms say nothing
OF_THE_PAPER = ("her", "me")
PRONOUNS = frozenset(
    [
        *("i", "you", "he", "she", "it", "we", "they", "me", "him", "her", "us", "them", "my", "your", "his", "its"),
        *("our", "their", "mine", "yours", "hers", "ours", "theirs"),
    ]
)
N_QUERIES = 8


def compute(piece: Piece, job: Job, progress: Progress) -> dict[str, Any]:
    """The result of a piece, as JSON holds it. `progress` advances by `job.seconds(piece)`."""
    share = _Share(progress, job.seconds(piece), training_words(piece.recipe, job.stream))
    progress.advance(0, piece.title)
    result = _curve(piece, job, share) if piece.kind == "curve" else _scored(piece, job, share)
    share.finish()
    return result


class _Share:
    """A training's progress as a part of the report's: it ends where its piece ends, however well that was guessed.

    What the training says is kept for the report instead of being shown: twenty trainings would say too much.
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
    """A system, or a point, which is less of the same."""
    start, busy = time.perf_counter(), time.process_time()
    system = _trained(piece, job, progress)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - busy
    cosines = cosines_to_json(system, job.sets, piece.title)
    if piece.kind == "point":
        return {"train_seconds": seconds, "pearsons": pearsons(cosines, job.sets)}
    return {
        "train_seconds": seconds,
        "train_cpu_seconds": cpu_seconds,  # of all threads together: what others do on the machine doesn't show in it
        "dim": int(system.dim),
        "n_words": len(system.vocabulary),
        "settings": settings_of(piece.recipe),
        "notes": progress.said,
        "cosines": cosines,
        "timing": time_pairs(system, job.sets, seconds=job.scale.seconds_one_by_one),
        "words": look_at_words(system) if isinstance(system, Model) else None,
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
    """The skip-gram vectors of this report, trained again if they are gone."""
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
            # The last regular point of an epoch may fall a few batches short of its end; one dot is enough there.
            if 0 < run.n_batches - counters.batch < self.every // 2:
                return
            figures = pearsons(cosines_to_json(run.model(), job.sets, piece.title), job.sets)
            epoch = counters.epoch + counters.batch / run.n_batches
            points.append({"examples": counters.examples, "epoch": epoch, "pearsons": figures})

    start = time.perf_counter()
    piece.recipe.train(job.stream, threads=job.threads, progress=progress, callbacks=[Curve()])
    return {"train_seconds": time.perf_counter() - start, "points": points, "notes": progress.said}


# Scores that survive in JSON


def cosines_to_json(system: System, sets: Sequence[PairSet], name: str) -> list[dict[str, Any]]:
    """For each set the cosines of all released pairs, which of them are empty, and what is unknown."""
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
    """The scores under a protocol, from what `cosines_to_json` gave for the same sets."""
    scores = []
    for row, pair_set in zip(rows, sets, strict=True):
        counts, cosines = counting(pair_set, protocol), np.array(row["cosines"], dtype=np.float64)
        is_empty = np.isin(np.arange(len(cosines)), row["empty"])
        unknown = row["n_unknown"][protocol]
        scores.append(SetScore(counted(pair_set, protocol), cosines[counts], is_empty[counts], unknown))
    return Scores(name, protocol, tuple(scores))


def pearsons(rows: Sequence[dict[str, Any]], sets: Sequence[PairSet]) -> dict[str, list[float | None]]:
    """Pearson of each set under both protocols, and no more: {"official": [.66, ...], "paper": [.62, ...]}."""
    return {
        protocol: [score.pearson for score in scores_from_json(rows, sets, protocol, "").sets] for protocol in PROTOCOLS
    }


# Table 3: how long a system takes to compare sentences


def time_pairs(system: Any, sets: Sequence[PairSet], *, seconds: float) -> dict[str, Any]:
    """CPU seconds for all pairs of the sets, one by one as in the paper and batched, on one thread.

    One by one stops after so many seconds; what it would have taken for all pairs is then worked out, and `n_timed`
    tells how many were timed. -> {"n_pairs": 16858, "n_timed": 16858, "one_by_one": 0.9, "batched": 0.1}
    """
    from threadpoolctl import threadpool_limits

    pairs = [pair for pair_set in sets for pair in pair_set.pairs]
    with threadpool_limits(1):
        _one_by_one(system, pairs[:WARM_UP], seconds)
        one_by_one, n_timed = _one_by_one(system, pairs, seconds)
        batch = pairs[:n_timed]  # what is slow one by one would take too long for all pairs at once, too
        batched = min(_batched(system, batch) for _ in range(ROUNDS if one_by_one < seconds else 1))
    share = len(pairs) / n_timed
    times = {"one_by_one": one_by_one * share, "batched": batched * share}
    return {"n_pairs": len(pairs), "n_timed": n_timed, **times}


def _one_by_one(system: Any, pairs: Sequence[tuple[str, str]], seconds: float) -> tuple[float, int]:
    """CPU seconds, and for how many pairs. CPU time: on a busy machine a clock would measure the neighbours."""
    start = time.process_time()
    passed = 0.0
    for n, (left, right) in enumerate(pairs, start=1):
        a, b = (system.encode(text, threads=1) for text in (left, right))
        _ = float(a @ b) / (float(np.sqrt((a @ a) * (b @ b))) or 1.0)  # the cosine, which is part of what is timed
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


# What a model thinks of words


def look_at_words(model: Model) -> dict[str, Any]:
    """Which words are short and long, and which are near to pronouns, for JSON.

    -> {"norms": {"all": {"lowest": [["of", 0.1], ...], "highest": ...}, "frequent": ...},
        "related": {"her": {"n_near": 3, "near": [["she", 0.8], ...], "nearest": ["she", 0.8]}}}
    """
    norms = lengths(model.vectors)
    return {
        "norms": {"all": _extremes(model, norms), "frequent": _extremes(model, norms[:FREQUENT])},
        "related": {word: _related(model, word) for word in _queries(model.vocabulary)},
    }


def _queries(vocabulary: Vocabulary) -> list[str]:
    """The words to look up: the paper's `her` and `me`, then the most frequent pronouns there are."""
    there = [word for word in OF_THE_PAPER if word in vocabulary]
    frequent = [word for word in vocabulary.words[:5000] if word.lower() in PRONOUNS and word not in there]
    return (there + frequent)[:N_QUERIES]


def _extremes(model: Model, norms: Any) -> dict[str, list[tuple[str, float]]]:
    order = np.argsort(norms, kind="stable")

    def named(ids: Any) -> list[tuple[str, float]]:
        return [(model.vocabulary.words[i], round(float(norms[i]), 6)) for i in ids]

    return {"lowest": named(order[:N_SHOWN]), "highest": named(order[::-1][:N_SHOWN])}


def _related(model: Model, word: str) -> dict[str, Any]:
    neighbours = model.neighbours(word, k=max(1, len(model.vocabulary) - 1))
    near = [(other, round(cosine, 4)) for other, cosine in neighbours if cosine > NEAR]
    nearest = (neighbours[0][0], round(neighbours[0][1], 4)) if neighbours else None
    return {"n_near": len(near), "near": near[:N_SHOWN], "nearest": nearest}
