"""One piece of a report's work: train something, and keep what the tables and figures need of it.

system   a column of Table 1: cosines of all pairs, timing, a look at its words
point    a dot of Figure 3 or 4: Pearson of each set
curve    Figure 2: Pearson of each set, many times during one training
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from siamese_cbow.evaluation.pairs import PairSet
from siamese_cbow.evaluation.protocol import PROTOCOLS
from siamese_cbow.model.model import Model
from siamese_cbow.paper.cache import code_version, fingerprint
from siamese_cbow.paper.recipes import SYSTEMS, Scale, estimated_seconds, settings_of, training_words
from siamese_cbow.paper.scoring import cosines_to_json, pearsons, predict
from siamese_cbow.paper.timing import time_pairs
from siamese_cbow.paper.words import look_at_words
from siamese_cbow.progress import Progress
from siamese_cbow.stream.stream import Stream

Kind: TypeAlias = Literal["system", "point", "curve"]


@dataclass(frozen=True)
class Piece:
    """`Piece("system", "cbow", "word2vec CBOW", recipe)`."""

    kind: Kind
    key: str
    title: str
    recipe: Any

    @property
    def name(self) -> str:
        """For files: `system-cbow`."""
        return f"{self.kind}-{self.key}"


@dataclass(frozen=True)
class Job:
    """What all pieces of a report share."""

    stream: Stream
    sets: Sequence[PairSet]
    sets_fingerprint: str
    scale: Scale
    seed: int
    threads: int | None
    folder: Path  # for what must outlive a piece: word2vec's vectors, skip-thought's checkpoints

    def about(self, piece: Piece) -> dict[str, Any]:
        """Everything that a piece's result depends on: what its fingerprint is made of."""
        about: dict[str, Any] = {
            "kind": piece.kind,
            "recipe": settings_of(piece.recipe),
            "stream": self.stream.fingerprint,
            "sets": self.sets_fingerprint,
            "protocols": list(PROTOCOLS),
            "code": code_version(),
        }
        if piece.kind == "curve":
            about["points_per_epoch"] = self.scale.points_per_epoch
        if piece.key == "skip-thought":
            about["expansion"] = settings_of(self.word2vec)
        return about

    def seconds(self, piece: Piece) -> float:
        """A guess at how long a piece takes."""
        scoring = self.scale.points_per_epoch * piece.recipe.epochs if piece.kind == "curve" else 1
        return estimated_seconds(piece.recipe, self.stream) + scoring

    @property
    def word2vec(self) -> Any:
        """The recipe of the word vectors that bring rare words into skip-thought, as its authors did."""
        return SYSTEMS["skipgram"].make(self.scale, self.seed)

    @property
    def word2vec_folder(self) -> Path:
        """Where the skip-gram model waits for skip-thought."""
        about = {"recipe": settings_of(self.word2vec), "stream": self.stream.fingerprint, "code": code_version()}
        return self.folder / f"skipgram-model-{fingerprint(about)}"

    def run_folder(self, piece: Piece) -> Path:
        """Where skip-thought keeps its checkpoints: an interrupted training goes on."""
        return self.folder / f"{piece.name}-run-{fingerprint(self.about(piece))}"


@dataclass
class Notes:
    """A progress that passes on how far a training is, and keeps what it says."""

    outer: Progress
    share: float  # of the outer progress, for one unit of the inner one
    said: list[str] = field(default_factory=list)

    def advance(self, amount: float, note: str = "") -> None:
        """`amount` more words are read."""
        self.outer.advance(amount * self.share, note)

    def say(self, message: str) -> None:
        """Kept for the report instead of being shown: twenty trainings would say too much."""
        self.said.append(message)


def compute(piece: Piece, job: Job, progress: Progress) -> dict[str, Any]:
    """The result of a piece, as JSON holds it. `progress` advances by about `job.seconds(piece)`."""
    notes = Notes(progress, job.seconds(piece) / max(1, training_words(piece.recipe, job.stream)))
    if piece.kind == "curve":
        return _curve(piece, job, notes)
    start, busy = time.perf_counter(), time.process_time()
    system = _trained(piece, job, notes)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - busy
    scores = predict(system, job.sets, piece.title)
    if piece.kind == "point":
        return {"train_seconds": seconds, "pearsons": pearsons(scores, job.sets)}
    return {
        "train_seconds": seconds,
        "train_cpu_seconds": cpu_seconds,  # of all threads together: what others do on the machine doesn't show in it
        "dim": int(system.dim),
        "n_words": len(system.vocabulary),
        "settings": settings_of(piece.recipe),
        "notes": notes.said,
        "cosines": cosines_to_json(scores),
        "timing": time_pairs(system, job.sets, seconds=job.scale.seconds_one_by_one),
        "words": look_at_words(system) if isinstance(system, Model) else None,
    }


def _trained(piece: Piece, job: Job, notes: Notes) -> Any:
    if piece.key == "skip-thought":
        vectors = _word2vec(job, notes)
        return piece.recipe.train(
            job.stream,
            checkpoints=job.run_folder(piece),
            word_vectors=(vectors.vocabulary.words, vectors.vectors),
            progress=notes,
        )
    model = piece.recipe.train(job.stream, threads=job.threads, progress=notes)
    if piece.key == "skipgram":
        model.save(job.word2vec_folder)
    return model


def _word2vec(job: Job, notes: Notes) -> Model:
    """The skip-gram vectors of this report, trained again if they are gone."""
    from siamese_cbow.model.storage import load

    if job.word2vec_folder.is_dir():
        return load(job.word2vec_folder)
    notes.say("word2vec skip-gram was trained once more, for the vocabulary of skip-thought")
    trained: Model = job.word2vec.train(job.stream, threads=job.threads)
    return trained


def _curve(piece: Piece, job: Job, notes: Notes) -> dict[str, Any]:
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
            scores = predict(run.model(), job.sets, piece.title)
            epoch = counters.epoch + counters.batch / run.n_batches
            points.append({"examples": counters.examples, "epoch": epoch, "pearsons": pearsons(scores, job.sets)})

    start = time.perf_counter()
    piece.recipe.train(job.stream, threads=job.threads, progress=notes, callbacks=[Curve()])
    return {"train_seconds": time.perf_counter() - start, "points": points, "notes": notes.said}
