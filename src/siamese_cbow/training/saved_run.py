"""Training into a folder: with a log, checkpoints, and resuming after any interruption.

    models/books/training/      while the run is unfinished: run.json, log.jsonl, checkpoints
    models/books/               when it is done: the model, and the log as training.jsonl
    models/books@epoch1/        intermediate models, if requested

Running the same command again resumes the run. A folder that holds anything else is never touched. Ctrl-C, SIGTERM and
SIGHUP stop the run between two batches, after saving a checkpoint; after the last batch, the model is still saved. A
folder has one writer at a time.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType
from typing import Any

from siamese_cbow.base.disk import remove_ours, what_reads, written_by
from siamese_cbow.base.files import atomic_file, one_writer
from siamese_cbow.base.option_fields import options
from siamese_cbow.errors import FormatError, InputError, Interrupted, SiameseCBOWError
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import MODEL_FILES, RUN, RUN_FILE, check_target, load, save
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.mix import Mix
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.checkpoint import Checkpoint, Checkpoints, TrainingLog
from siamese_cbow.training.loop import Callback, Run, checked_callbacks, train
from siamese_cbow.training.optimizers import learning_rates
from siamese_cbow.training.plan import Plan, fitted_to, plan_of, remarks_on_fit
from siamese_cbow.training.recipe import Recipe, Saving
from siamese_cbow.training.state import Counters, first_state
from siamese_cbow.transform.settings import Postprocess

LOG = "log.jsonl"
FORMAT_VERSION, WITH_DRAWN_OFFSETS = 2, 1  # a run of version 1 continues as it began, see `Plan.in_turn`
TOGETHER = ("workers", "average_every")  # of a run shared by several workers of a cluster
LOG_LINES = 1000  # of a run, about
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def train_into(
    output: Path | str,
    recipe: Recipe,
    streams: Stream | Mix | Sequence[Stream],
    *,
    saving: Saving | None = None,
    restart: bool = False,
    threads: int | None = None,
    progress: Progress = SILENT,
    callbacks: Sequence[Callback] = (),
) -> Model:
    """Trains and saves the model in `output`: `train_into("models/books", SiameseCBOW(), stream)`.

    An unfinished run of the same recipe and streams is resumed.

    restart  discard the model or the unfinished run in `output` and start over
    """
    mix, callbacks = Mix.of(streams), checked_callbacks(callbacks)
    given, recipe = recipe, fitted_to(recipe, mix)
    for remark in remarks_on_fit(given, recipe, mix):
        progress.say(remark)
    folder, about = Path(output), about_run(recipe, mix)
    if not restart and is_finished(folder, about):
        progress.say(f"{folder} is up to date: the recipe and the text have not changed")
        return load(folder)
    check_target(folder, trains=True)  # before any work
    with one_writer(folder):
        if restart:
            clear_run(folder)
        return _train_into(folder, about, recipe, mix, saving or Saving(), threads, progress, callbacks)


def _train_into(
    folder: Path,
    about: dict[str, Any],
    recipe: Recipe,
    mix: Mix,
    saving: Saving,
    threads: int | None,
    progress: Progress,
    callbacks: Sequence[Callback],
) -> Model:
    plan = plan_of(recipe, mix)  # checks both before any work
    state = first_state(recipe, plan.vocabulary, progress, stems=plan.stems)
    log = TrainingLog(folder / RUN / LOG)
    checkpoints = open_run(folder, about)
    plan = replace(plan, in_turn=_read_about(folder / RUN / RUN_FILE)["format_version"] != WITH_DRAWN_OFFSETS)
    checkpoint = checkpoints.newest()
    if checkpoint:
        state.restore(checkpoint.arrays, checkpoint.state)
        _check_place(state.counters, plan)
        progress.say(f"resuming {folder} after batch {checkpoint.step:,} of {plan.n_steps:,}")
        progress.advance(state.counters.words)
    log.cut_after(state.counters.step)
    with _stop_signals() as received:
        checkpointer = _Checkpointer(folder / RUN, checkpoints, saving.checkpoint_minutes, received, callbacks)
        listeners = [_Logger(log, plan.n_steps), _Snapshots(folder, saving), *callbacks, checkpointer]
        run = train(plan, threads=threads, progress=progress, callbacks=listeners, state=state)
        model = run.model()
        save(model, folder, log=log.path)
    return model


def _check_place(counters: Counters, plan: Plan) -> None:
    """Raises an error unless this position exists in the plan: the checkpoint may be damaged or of another schedule."""
    n_batches = plan.schedule.n_batches
    step = counters.epoch * n_batches + counters.batch
    if not (0 <= counters.epoch <= plan.recipe.n_epochs and 0 <= counters.batch <= n_batches and counters.step == step):
        place = f"batch {counters.batch} of epoch {counters.epoch} is number {counters.step}"
        raise FormatError(
            f"the checkpoint says that {place}, but the run has {plan.recipe.n_epochs} epochs of "
            f"{n_batches:,} batches; add --restart to start over"
        )


@contextmanager
def _stop_signals() -> Iterator[list[signal.Signals]]:
    """Collects signals while the block runs. A second signal of the same kind acts at once, as without this handler.

    Only the main thread can listen; elsewhere the list stays empty.
    """
    received: list[signal.Signals] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    if before[signal.SIGHUP] is signal.SIG_IGN:  # as set by nohup
        del before[signal.SIGHUP]

    def listen(number: int, frame: FrameType | None) -> None:
        received.append(signal.Signals(number))
        signal.signal(number, before[received[-1]])

    for number in before:
        signal.signal(number, listen)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Logger(Callback):
    """Writes the log."""

    def __init__(self, log: TrainingLog, n_steps: int) -> None:
        self._log, self.every = log, max(1, n_steps // LOG_LINES)

    def on_batch(self, run: Run) -> None:
        counters = run.state.counters
        self._log.write(counters, float(learning_rates(run.recipe, counters.step - 1, 1, run.n_steps)[0]))


class _Checkpointer(Callback):
    """Saves checkpoints, and ends the run on request."""

    def __init__(
        self,
        folder: Path,
        checkpoints: Checkpoints,
        minutes: float,
        signals: list[signal.Signals],
        callbacks: Sequence[Callback],
    ) -> None:
        self._folder, self._checkpoints, self._minutes = folder, checkpoints, minutes
        self._signals, self._callbacks = signals, callbacks
        self._saved_at = time.monotonic()

    def on_batch(self, run: Run) -> None:
        if self._signals:
            self._save(run)
            raise Interrupted(
                f"stopped by {self._signals[-1].name} after batch {run.state.counters.step:,} of "
                f"{run.n_steps:,}; everything is saved: run the same command again to resume",
                self._signals[-1],
            )
        if time.monotonic() - self._saved_at > 60 * self._minutes:
            self._save(run)

    def _save(self, run: Run) -> None:
        counters = run.state.counters
        self._checkpoints.save(Checkpoint(counters.step, run.state.arrays(), asdict(counters)))
        self._saved_at = time.monotonic()
        for callback in self._callbacks:
            callback.on_checkpoint(run, self._folder)


class _Snapshots(Callback):
    """Saves intermediate models."""

    def __init__(self, folder: Path, saving: Saving) -> None:
        self._folder, self.every, self._epochs = folder, saving.snapshot_batches, saving.snapshot_epochs

    def on_batch(self, run: Run) -> None:
        step = run.state.counters.step
        if self.every and step % self.every == 0:
            self._save(run, f"{step}")

    def on_epoch(self, run: Run) -> None:
        epoch = run.state.counters.epoch
        if self._epochs and epoch % self._epochs == 0:
            self._save(run, f"epoch{epoch}")

    def _save(self, run: Run, when: str) -> None:
        save(run.model(), self._folder.with_name(f"{self._folder.name}@{when}"))


def about_run(recipe: Recipe, mix: Mix) -> dict[str, Any]:
    """The recipe and the text of a run, which must be equal for it to be resumed."""
    return {"format_version": FORMAT_VERSION, "recipe": recipe.settings(), "corpus": mix.fingerprint}


def is_finished(folder: Path, about: dict[str, Any]) -> bool:
    """Whether `folder` holds the model of exactly this run; raises an error if it holds anything else."""
    if not folder.exists() or (folder / RUN).is_dir() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    try:
        info = load(folder).info
    except SiameseCBOWError:
        raise InputError(
            f"{folder} exists and is not a siamese-cbow model; choose another output or remove it"
        ) from None
    recipe = {name: value for name, value in (info.recipe or {}).items() if name != "name"}
    trained = info.trained or {}
    alike = all(trained.get(name) == about.get(name) for name in TOGETHER)
    if _values(recipe) == about["recipe"] and info.fingerprint == about["corpus"] and alike:
        return True
    raise InputError(
        f"{folder} holds a model with other settings or other text; choose another output, or add --restart "
        "to replace it"
    )


def _values(recipe: dict[str, Any]) -> dict[str, Any]:
    """The settings of a recipe as written today; 0.1.0 wrote post-processing as a string."""
    steps = recipe.get("postprocess")
    return recipe if steps is None else {**recipe, "postprocess": Postprocess.of(steps).settings()}


def open_run(folder: Path, about: dict[str, Any]) -> Checkpoints:
    """The checkpoints of the run in `folder`, new or existing; refuses a different run."""
    path, checkpoints = folder / RUN / RUN_FILE, Checkpoints(folder / RUN)
    if path.exists() or checkpoints.paths():
        begun = _read_about(path)
        changed = _differences(begun, about)
        if changed:
            raise InputError(
                f"{folder} holds an unfinished run with other settings ({changed}); choose another output, or "
                "add --restart to discard that run"
            )
    else:
        with atomic_file(path) as file:
            file.write_text(json.dumps({**about, "written_by": written_by()}, indent=1), encoding="utf-8")
    return checkpoints


def _read_about(path: Path) -> dict[str, Any]:
    """The description of a run, checked to be of a known version."""
    try:
        begun = json.loads(path.read_text(encoding="utf-8"))
        version, recipe, _ = (begun[name] for name in ("format_version", "recipe", "corpus"))
        recipe = _values(recipe) if version in (FORMAT_VERSION, WITH_DRAWN_OFFSETS) else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FormatError(f"{path} is missing or damaged; add --restart to start over") from None
    if version not in (FORMAT_VERSION, WITH_DRAWN_OFFSETS):
        raise FormatError(
            f"{path} has format version {version}, but this siamese-cbow reads {FORMAT_VERSION}; "
            f"{what_reads(begun)} to finish the run with the version that began it, or add --restart to start "
            "over"
        )
    return {**begun, "recipe": recipe}


def _differences(begun: dict[str, Any], wanted: dict[str, Any]) -> str:
    """`corpus, dim 300 -> 100`: what differs between two runs, for a message."""
    usual = {option.name: option.default for option in options(Recipe)}  # for options that an older run lacks
    usual |= dict.fromkeys(TOGETHER)
    old, new = ({**usual, **run["recipe"], **{k: run[k] for k in TOGETHER if k in run}} for run in (begun, wanted))
    changed = [f"{name} {old[name]} -> {new[name]}" for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    return ", ".join([*([] if begun["corpus"] == wanted["corpus"] else ["corpus"]), *changed])


def clear_run(folder: Path) -> None:
    """Removes an unfinished run, even a damaged one; a finished model is replaced once the new one is ready."""
    check_target(folder, trains=True)
    remove_ours(folder / RUN, [name.removeprefix(f"{RUN}/") for name in MODEL_FILES if name.startswith(f"{RUN}/")])
