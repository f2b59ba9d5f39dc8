"""Training on a cluster: every worker trains on its part of the text, and rows are averaged after each round.

    part of worker 0   batches  0 .. 99 | 100 .. 199 | ...      a round: about the same number of batches for each
    part of worker 1   batches  0 .. 98 |  99 .. 197 | ...      after it: `averaging`

A worker is a process on some node with the whole matrix and the ordinary training loop. The driver only coordinates:
it holds neither text nor rows. Checkpoints, log and model are written where local training puts them, on storage that
all nodes see. When a worker or a node is lost, all workers restart from the last checkpoint; when the driver is lost,
repeating the command does the same. A single worker is local training on a node.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from siamese_cbow.base.files import one_writer
from siamese_cbow.cluster.averaging import LONGEST
from siamese_cbow.cluster.node import PeerLostError
from siamese_cbow.cluster.session import PLACE_SECONDS, Session, clear_errors, unwrapped
from siamese_cbow.cluster.training_job import TrainingJob, threads_of, together, training_job
from siamese_cbow.cluster.training_worker import LoneWorker, Lost, RoundReport, TrainingWorker
from siamese_cbow.errors import ClusterError
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import RUN, check_target, load
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.training.checkpoint import TrainingLog
from siamese_cbow.training.optimizers import learning_rates
from siamese_cbow.training.recipe import Recipe, Saving
from siamese_cbow.training.saved_run import LOG, about_run, clear_run, is_finished, open_run
from siamese_cbow.training.state import Counters

MOST_LOSSES = 20  # lost workers without a checkpoint in between
PEEK_SECONDS = 0.5


def train(
    session: Session,
    recipe: Recipe,
    folders: Sequence[Path | str],
    output: Path | str,
    *,
    passes: Sequence[float] = (),
    average_every: int | None = None,
    saving: Saving | None = None,
    restart: bool = False,
    progress: Progress = SILENT,
) -> Model:
    """Train on the cluster and save the model in a folder; resume an unfinished job with the same settings."""
    job, mix = training_job(session, recipe, folders, output, passes, average_every)
    folder = Path(job.output)
    about = about_run(job.recipe, mix) | together(job.n_workers, job.average_every)
    if not restart and is_finished(folder, about):
        progress.say(f"{output} is up to date: the recipe, the text and the workers have not changed")
        return load(folder)
    check_target(folder, trains=True)
    session.check_shared(folder.parent)
    del mix  # the driver needs no text
    if job.n_workers == 1:
        _train_alone(session, job, saving or Saving(), restart, progress)
    else:
        with one_writer(folder):
            if restart:
                clear_run(folder)
            open_run(folder, about)
            _train_together(session, job, saving or Saving(), progress)
    return load(folder)


def _place(session: Session, job: TrainingJob, kind: type, *arguments: Any, **options: Any) -> list[Any]:
    """Place the workers of a job on the nodes; split again if a node is lost before they have a place."""
    n, deadline = job.n_workers, time.monotonic() + PLACE_SECONDS
    while True:
        threads = threads_of(session.live_nodes(), n)
        remote = session.ray.remote(num_cpus=threads, scheduling_strategy="SPREAD", **options)(kind)
        workers = [remote.remote(replace(job, threads=max(1, threads)), i, *arguments) for i in range(n)]
        calls = [worker.ready.remote() for worker in workers]
        missing = calls
        while missing and time.monotonic() < deadline and threads_of(session.live_nodes(), n) == threads:
            missing = session.ray.wait(calls, num_returns=n, timeout=PEEK_SECONDS)[1]
        if not missing:
            session.ray.get(calls)
            return workers
        _end(session, workers)
        if time.monotonic() >= deadline:
            raise ClusterError(
                f"no room for {len(missing)} of {n} workers of {threads} cores after {PLACE_SECONDS:.0f} s: "
                "the cluster is busy (see `ray status`); use fewer --workers, or wait"
            )


def _end(session: Session, workers: Sequence[Any]) -> None:
    for worker in workers:
        session.ray.kill(worker)


@contextmanager
def _losses(session: Session, lost: list[str], progress: Progress) -> Iterator[None]:
    """Report a lost worker and continue; raise if it happens again and again."""
    errors = session.ray.exceptions
    try:
        yield
    except (errors.RayActorError, errors.NodeDiedError, PeerLostError) as error:
        lost.append(type(error).__name__)
        if len(lost) > MOST_LOSSES:
            raise ClusterError(
                f"lost {len(lost)} workers since the last checkpoint ({lost[-1]}); check `ray status` and the "
                "memory of the nodes, then run the same command to resume"
            ) from error
        progress.say(f"lost a worker ({lost[-1]}); resuming from the last checkpoint")


def _train_alone(session: Session, job: TrainingJob, saving: Saving, restart: bool, progress: Progress) -> None:
    lost: list[str] = []
    words = 0.0
    while True:
        with _losses(session, lost, progress):
            [worker] = _place(session, job, LoneWorker, saving, restart and not lost, max_concurrency=2)
            run, is_done, n_said = worker.run.remote(), False, 0
            while not is_done:
                is_done = bool(session.ray.wait([run], timeout=PEEK_SECONDS)[0])
                so_far, note, remarks = session.ray.get(worker.peek.remote())
                progress.advance(max(0.0, so_far - words), note)
                for message in remarks[n_said:]:
                    progress.say(message)
                words, n_said = max(words, so_far), len(remarks)
            _checked(session, run)
            return


def _train_together(session: Session, job: TrainingJob, saving: Saving, progress: Progress) -> None:
    lost: list[str] = []
    workers: list[Any] = []
    while True:
        with _losses(session, lost, progress):
            try:
                workers = _place(session, job, TrainingWorker)
                rounds = _Rounds(session, job, workers, saving, progress, lost)
                rounds.finish(rounds.run())
                return
            finally:
                _end(session, workers)


class _Rounds:
    """Runs round after round on the placed workers."""

    def __init__(
        self,
        session: Session,
        job: TrainingJob,
        workers: Sequence[Any],
        saving: Saving,
        progress: Progress,
        lost: list[str],
    ) -> None:
        self._session, self._job, self._workers = session, job, workers
        self._saving, self._progress, self._lost = saving, progress, lost
        self._log = TrainingLog(Path(job.output) / RUN / LOG)

    def run(self) -> Counters:
        """Run all remaining rounds; return the combined counters of all workers."""
        job, progress = self._job, self._progress
        begun = self._all("begin", self._all("listen"), secrets.token_bytes(32))
        if len({number for number, _, _ in begun}) > 1:
            raise ClusterError(
                f"the nodes see different checkpoints in {job.output}; write to storage that all nodes share"
            )
        first, counters = begun[0][0], [Counters(**each) for each in begun[0][2]]
        sizes = [n_batches for _, n_batches, _ in begun]
        per_epoch = -(-max(sizes) // job.average_every)
        n_rounds = job.recipe.n_epochs * per_epoch
        words = sum(each.words for each in counters)
        if first:
            progress.say(f"resuming {job.output} after round {first:,} of {n_rounds:,}")
            progress.advance(words)
        self._log.cut_after(sum(each.step for each in counters))
        saved_at = time.monotonic()
        for number in range(first + 1, n_rounds + 1):
            reports, note = self._round(number, n_rounds)
            counters = [report.counters for report in reports]
            tally = _tally(counters)
            rate = learning_rates(job.recipe, tally.step - 1, 1, job.recipe.n_epochs * sum(sizes))
            self._log.write(tally, float(rate[0]))
            progress.advance(tally.words - words, note)
            words = tally.words
            if number % per_epoch == 0:
                progress.say(
                    f"epoch {tally.epoch}: loss {tally.mean_loss:.4f} over {tally.loss_examples:,} examples; {note}"
                )
            is_due = time.monotonic() - saved_at > 60 * self._saving.checkpoint_minutes
            n_left = n_rounds - number
            if is_due and n_left and n_left % LONGEST == 0:  # when all workers have the same rows
                self._save(number, counters, ended=number % per_epoch == 0)
                saved_at = time.monotonic()
        return replace(_tally(counters), epoch=job.recipe.n_epochs)

    def finish(self, counters: Counters) -> None:
        """Write the model."""
        _checked(self._session, self._workers[0].finish.remote(counters))

    def _round(self, number: int, n_rounds: int) -> tuple[list[RoundReport], str]:
        reports: list[RoundReport] = self._all("round", number, n_rounds)
        speeds = " ".join(f"{each.words / max(each.trained, 1e-9) / 1e6:.2f}" for each in reports)
        trained, waited, averaged = (
            sum(getattr(each, part) for each in reports) for part in ("trained", "waited", "averaged")
        )
        total, n_bytes = trained + waited + averaged, max(each.sent + each.received for each in reports)
        return reports, (
            f"{speeds} M words/s per worker, averaging {n_bytes / 1e6:,.0f} MB takes {averaged / total:.0%} of the "
            f"time, waiting for the slowest {waited / total:.0%}"
        )

    def _save(self, number: int, counters: Sequence[Counters], *, ended: bool) -> None:
        """Save a checkpoint; an epoch that has `ended` counts as finished in it."""
        begun = {"batch": 0, "loss": 0.0, "loss_examples": 0} if ended else {}
        plain = [asdict(each) | {"epoch": each.epoch + ended} | begun for each in counters]
        _checked(self._session, self._workers[0].save_checkpoint.remote(number, plain))
        self._lost.clear()

    def _all(self, method: str, *arguments: Any) -> list[Any]:
        """The results of all workers; raises as soon as one fails, because the others may be waiting for it."""
        calls = [getattr(worker, method).remote(*arguments) for worker in self._workers]
        waiting = calls
        while waiting:
            ready, waiting = self._session.ray.wait(waiting, num_returns=1)
            for ref in ready:
                _checked(self._session, ref)
        return [_checked(self._session, ref) for ref in calls]


def _checked(session: Session, ref: Any) -> Any:
    """A value, or raise the error that came instead; `_losses` handles lost workers."""
    try:
        value = session.ray.get(ref)
    except session.ray.exceptions.RayTaskError as error:  # a bug, not a loss
        with clear_errors(session.ray, session.address):
            raise error
    if isinstance(value, Lost):
        raise PeerLostError(value.message)
    return unwrapped(value)


def _tally(counters: Sequence[Counters]) -> Counters:
    """The sum over all workers; the epoch is the same for all."""
    sums = {field.name: sum(getattr(each, field.name) for each in counters) for field in fields(Counters)}
    return Counters(**sums | {"epoch": counters[0].epoch})
