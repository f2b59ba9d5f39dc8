"""A worker that trains: a process on some node, with the whole matrix, a part of the text and the ordinary loop.

`rounds` coordinates the workers, round after round; `averaging` exchanges and merges their rows. A method returns its
value or a `Failure`, so that the driver learns what went wrong on which node.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from siamese_cbow.base.arrays import Bytes
from siamese_cbow.cluster.averaging import Averager, periods_of
from siamese_cbow.cluster.node import Exchange, Listener, PeerLostError, guarded, node_address
from siamese_cbow.cluster.training_job import TrainingJob, check_content, row_shares, together
from siamese_cbow.errors import InputError
from siamese_cbow.machine.threads import ThreadTeam
from siamese_cbow.model.storage import RUN, save
from siamese_cbow.training.checkpoint import Checkpoint, Checkpoints
from siamese_cbow.training.loop import BatchTrainer, Callback, Run
from siamese_cbow.training.plan import plan_of
from siamese_cbow.training.recipe import Saving
from siamese_cbow.training.saved_run import LOG, train_into
from siamese_cbow.training.state import Counters, TrainingState, first_state


class RoundReport(NamedTuple):
    """The work of a worker in a round, and its cost."""

    counters: Counters
    words: int  # in this round
    trained: float  # seconds
    waited: float  # seconds, for the slowest worker
    averaged: float  # seconds
    sent: int  # bytes
    received: int


class Lost(NamedTuple):
    """Returned instead of a report if another worker does not answer."""

    message: str


class _Seen(Callback):
    """The counters after the last batch: those of the run restart with each epoch."""

    def __init__(self, counters: Counters) -> None:
        self.counters = replace(counters)

    def on_batch(self, run: Run) -> None:
        self.counters = replace(run.state.counters)


class TrainingWorker:
    """One of several workers that train together; all get the same calls and keep in step by themselves."""

    def __init__(self, job: TrainingJob, number: int) -> None:
        self._job, self._number = job, number

    def ready(self) -> bool:
        """Called once the worker has a node."""
        return True

    def listen(self) -> Any:
        """Wait for other workers to connect; return the address, or a Failure."""
        return guarded(self._listen)

    def _listen(self) -> tuple[str, int]:
        self._listener = Listener(node_address())
        return self._listener.address

    def begin(self, addresses: Sequence[tuple[str, int]], secret: bytes) -> Any:
        """Connect, load its part and the newest checkpoint; return its counters and batches, a Failure, or Lost.

        The first worker also checks the content of the streams. That takes a second per gigabyte, so it runs in a
        thread during the rounds; a separate process would start on a core that belongs to a worker.
        """
        if self._number == 0:
            self._checking = ThreadPoolExecutor(1).submit(check_content, self._job.folders)
        return _kept(lambda: self.start(self._listener.exchange(self._number, addresses, secret)))

    def start(self, exchange: Exchange) -> tuple[int, int, list[dict[str, Any]]]:
        """Load what `begin` says; return the last round's number, the number of batches and all workers' counters."""
        job = self._job
        job.check_files()
        try:
            plan = plan_of(job.recipe, job.part(self._number, job.n_workers))
        except InputError as error:
            raise InputError(f"part {self._number + 1} of {job.n_workers}: {error}; or use fewer --workers") from None
        state = first_state(job.recipe, plan.vocabulary, stems=plan.stems)
        checkpoint = Checkpoints(Path(job.output) / RUN).newest()
        saved: Mapping[str, Any] = {"round": 0, "counters": []}
        if checkpoint is not None:
            saved = checkpoint.state
            state.restore(checkpoint.arrays, saved["counters"][self._number])
            del checkpoint  # as large as the state
        self._seen = _Seen(state.counters)
        self._trainer = BatchTrainer(Run(plan, state), ThreadTeam(job.threads), callbacks=[self._seen])
        self._exchange, self._averager = exchange, Averager(state, exchange)
        self._shares = row_shares(plan)
        self._touched = np.zeros(len(self._shares), np.uint8)
        self._trainer.watch(self._touched)
        return int(saved["round"]), plan.schedule.n_batches, list(saved["counters"])

    def round(self, number: int, n_rounds: int) -> Any:
        """Train to the end of a round and average; return a RoundReport, a Failure, or Lost."""
        return _kept(lambda: self.advance(number, n_rounds))

    def advance(self, number: int, n_rounds: int) -> RoundReport:
        """Like `round`, in this process."""
        before, clock = self._seen.counters.words, [time.perf_counter()]
        self._trainer.advance(number * self._trainer.run.n_steps // n_rounds)
        clock.append(time.perf_counter())
        self._exchange.gather(np.zeros(1, np.uint8))
        clock.append(time.perf_counter())
        sent, received = self._averager.average(self._touched, self._due(number, n_rounds))
        clock.append(time.perf_counter())
        counters = self._seen.counters
        trained, waited, averaged = np.diff(clock).tolist()
        return RoundReport(counters, counters.words - before, trained, waited, averaged, sent, received)

    def _due(self, number: int, n_rounds: int) -> Bytes:
        """The rows to average after a round, (n_rows,): all of them in the last one and every LONGEST-th before it."""
        plan = self._trainer.run.plan
        n_words = int(plan.vocabulary.counts.sum()) * plan.recipe.n_epochs / n_rounds
        return np.asarray((n_rounds - number) % periods_of(self._shares, n_words) == 0, np.uint8)

    @property
    def state(self) -> TrainingState:
        """The rows as they are now."""
        return self._trainer.run.state

    def save_checkpoint(self, number: int, counters: list[dict[str, Any]]) -> Any:
        """Save a checkpoint after a round, when all workers have the same rows."""
        step = sum(each["step"] for each in counters)
        checkpoint = Checkpoint(step, self.state.arrays(), {"round": number, "counters": counters})
        return guarded(lambda: Checkpoints(Path(self._job.output) / RUN).save(checkpoint))

    def finish(self, counters: Counters) -> Any:
        """Write the model, if the streams have passed their check; return None, or a Failure."""
        return guarded(lambda: self._finish(counters))

    def _finish(self, counters: Counters) -> None:
        self._checking.result()
        job, state = self._job, self.state
        plan = replace(self._trainer.run.plan, mix=job.part(0, 1))
        state.counters = counters
        self._exchange.close()
        del self._trainer, self._averager, self._exchange  # makes room for the model
        model = Run(plan, state).model(**together(job.n_workers, job.average_every))
        save(model, job.output, log=Path(job.output) / RUN / LOG)


def _kept(work: Callable[[], Any]) -> Any:
    """The result of `work`, a Failure, or Lost."""
    try:
        return guarded(work)
    except PeerLostError as error:
        return Lost(str(error))


class LoneWorker:
    """The only worker of a job: local training, observed from the driver."""

    def __init__(self, job: TrainingJob, number: int, saving: Saving, restart: bool) -> None:
        self._job, self._saving, self._restart = job, saving, restart
        self._words, self._note, self._said = 0.0, "", list[str]()

    def ready(self) -> bool:
        """Called once the worker has a node."""
        return True

    def run(self) -> Any:
        """Train; return None, or a Failure."""
        return guarded(self._run)

    def _run(self) -> None:
        job = self._job
        job.check_files()
        train_into(
            job.output, job.recipe, job.part(0, 1), saving=self._saving, restart=self._restart,
            threads=job.threads, progress=self,
        )  # fmt: skip

    def advance(self, amount: float, note: str = "") -> None:
        """See `Progress`."""
        self._words, self._note = self._words + amount, note or self._note

    def say(self, message: str) -> None:
        """See `Progress`."""
        self._said.append(message)

    def peek(self) -> tuple[float, str, list[str]]:
        """Words so far, the note, and the messages."""
        return self._words, self._note, self._said
