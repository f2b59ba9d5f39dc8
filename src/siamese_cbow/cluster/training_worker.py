"""A worker that trains: a process on some node, with the whole matrix, a part of the text and the ordinary loop.

`rounds` says what each does, round after round; how rows are exchanged is `averaging`. Every method gives its value or
a `Failure`, so that the driver learns what went wrong on which node.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from siamese_cbow.cluster.averaging import Owner, Share, shares_of, take
from siamese_cbow.cluster.node import guarded
from siamese_cbow.cluster.training_job import TrainingJob, together
from siamese_cbow.errors import InputError
from siamese_cbow.machine.threads import ThreadTeam
from siamese_cbow.model.storage import RUN, save
from siamese_cbow.training.checkpoint import Checkpoint, Checkpoints
from siamese_cbow.training.loop import BatchTrainer, Callback, Run
from siamese_cbow.training.plan import plan_of
from siamese_cbow.training.recipe import Saving
from siamese_cbow.training.saved_run import LOG, train_into
from siamese_cbow.training.state import Counters, first_state


class RoundReport(NamedTuple):
    """What a worker has done up to the end of a round."""

    counters: Counters
    seconds: float  # of training, in this round
    words: int  # in this round


class _Seen(Callback):
    """The counters after the last batch: those of the run begin anew with each epoch."""

    def __init__(self, counters: Counters) -> None:
        self.counters = replace(counters)

    def on_batch(self, run: Run) -> None:
        self.counters = replace(run.state.counters)


class TrainingWorker:
    """One of several workers that train together. Its methods are called one after the other, each in every round."""

    def __init__(self, job: TrainingJob, number: int) -> None:
        self._job, self._number = job, number

    def ready(self) -> bool:
        """It has found a place."""
        return True

    def begin(self) -> Any:
        """Loads its part and takes over the newest checkpoint; the number of its round and of batches, or a Failure."""
        return guarded(self._begin)

    def _begin(self) -> tuple[int, int, list[dict[str, Any]]]:
        job = self._job
        job.check_files()
        try:
            plan = plan_of(job.recipe, job.part(self._number, job.n_workers))
        except InputError as error:
            raise InputError(f"part {self._number + 1} of {job.n_workers}: {error}; or give fewer --workers") from None
        state = first_state(job.recipe, plan.vocabulary, stems=plan.stems)
        checkpoint = Checkpoints(Path(job.output) / RUN).newest()
        saved: Mapping[str, Any] = {"round": 0, "counters": []}
        if checkpoint is not None:
            saved = checkpoint.state
            state.restore(checkpoint.arrays, saved["counters"][self._number])
        self._seen = _Seen(state.counters)
        self._trainer = BatchTrainer(Run(plan, state), ThreadTeam(job.threads), callbacks=[self._seen])
        self._owner = Owner(state, self._number, job.n_workers)
        self._touched = np.zeros(len(plan.vocabulary) + plan.stems.n_shared, np.uint8)
        self._trainer.watch(self._touched)
        return int(saved["round"]), plan.schedule.n_batches, list(saved["counters"])

    def advance(self, number: int, n_rounds: int) -> Any:
        """Trains up to the end of a round; a RoundReport, or a Failure."""
        return guarded(lambda: self._advance(number, n_rounds))

    def _advance(self, number: int, n_rounds: int) -> RoundReport:
        start, before = time.perf_counter(), self._seen.counters.words
        self._trainer.advance(number * self._trainer.run.n_steps // n_rounds)
        return RoundReport(self._seen.counters, time.perf_counter() - start, self._seen.counters.words - before)

    def share(self, owner: int) -> Share:
        """What it has made of the rows of one owner."""
        return shares_of(self._trainer.run.state, self._touched, owner, self._job.n_workers)

    def merge(self, *shares: Share) -> Share:
        """The rows that it owns, from what all workers have made of them."""
        return self._owner.merge(shares)

    def take(self, *merged: Share) -> int:
        """Goes on from the merged rows; how many bytes they are."""
        take(self._trainer.run.state, merged)
        self._touched[:] = 0
        return sum(array.nbytes for share in merged for array in share.arrays.values())

    def save_checkpoint(self, number: int, counters: list[dict[str, Any]]) -> Any:
        """After a round, when all have the same rows."""
        arrays = self._trainer.run.state.arrays()
        step = sum(each["step"] for each in counters)
        checkpoint = Checkpoint(step, arrays, {"round": number, "counters": counters})
        return guarded(lambda: Checkpoints(Path(self._job.output) / RUN).save(checkpoint))

    def finish(self, counters: Counters) -> Any:
        """Writes the model; None, or a Failure."""
        return guarded(lambda: self._finish(counters))

    def _finish(self, counters: Counters) -> None:
        job, state = self._job, self._trainer.run.state
        plan = plan_of(job.recipe, job.part(0, 1))
        state.counters = counters
        model = Run(plan, state).model(**together(job.n_workers, job.average_every))
        save(model, job.output, log=Path(job.output) / RUN / LOG)


class LoneWorker:
    """The only worker of a job: local training, with somebody who looks on from afar."""

    def __init__(self, job: TrainingJob, number: int, saving: Saving, restart: bool) -> None:
        self._job, self._saving, self._restart = job, saving, restart
        self._words, self._note, self._said = 0.0, "", list[str]()

    def ready(self) -> bool:
        """It has found a place."""
        return True

    def run(self) -> Any:
        """Trains; None, or a Failure."""
        return guarded(self._run)

    def _run(self) -> None:
        job = self._job
        job.check_files()
        train_into(
            job.output, job.recipe, job.part(0, 1), saving=self._saving, restart=self._restart,
            threads=job.threads, progress=self,
        )  # fmt: skip

    def advance(self, amount: float, note: str = "") -> None:
        """As a `Progress`."""
        self._words, self._note = self._words + amount, note or self._note

    def say(self, message: str) -> None:
        """As a `Progress`."""
        self._said.append(message)

    def peek(self) -> tuple[float, str, list[str]]:
        """Words so far, the note, and what was said."""
        return self._words, self._note, self._said
