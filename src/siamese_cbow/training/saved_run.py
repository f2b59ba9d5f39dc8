"""Training into a folder: with a log, checkpoints, and a way to go on after anything.

    models/books/training/      while the run is unfinished: run.json, log.jsonl, checkpoints
    models/books/               when it is done: the model, and the log as training.jsonl
    models/books@epoch1/        models on the way, where asked for

A run goes on by itself when the same command is given again. A folder that holds anything else is never touched.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siamese_cbow.base.files import atomic_file
from siamese_cbow.errors import FormatError, InputError, Interrupted, SiameseCBOWError
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import RUN, check_target, load, save
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.mix import Mix
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.callbacks import Callback
from siamese_cbow.training.checkpoint import Checkpoint, Checkpoints
from siamese_cbow.training.interrupt import StopWish, stop_wishes
from siamese_cbow.training.recipe import SiameseCBOW
from siamese_cbow.transform.settings import Postprocess

if TYPE_CHECKING:
    from siamese_cbow.training.loop import Run

LOG, ABOUT = "log.jsonl", "run.json"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Saving:
    """When to save.

    checkpoint_minutes  a checkpoint, to go on from after a crash
    snapshot_batches    a model as it is, after every so many batches (0: never)
    snapshot_epochs     the same after every so many epochs
    """

    checkpoint_minutes: float = 5.0
    snapshot_batches: int = 0
    snapshot_epochs: int = 0


def train_into(
    output: Path | str,
    recipe: SiameseCBOW,
    streams: Stream | Mix | Sequence[Stream],
    *,
    saving: Saving | None = None,
    restart: bool = False,
    threads: int | None = None,
    progress: Progress = SILENT,
    callbacks: Sequence[Callback] = (),
) -> Model:
    """Trains and saves the model in `output`; goes on where an unfinished run of the same recipe and streams stopped.

    restart  throw away the model or the unfinished run that `output` holds, and start anew
    """
    from siamese_cbow.training.log import TrainingLog
    from siamese_cbow.training.loop import carry_out
    from siamese_cbow.training.plan import plan_of
    from siamese_cbow.training.state import first_state

    mix = Mix.of(streams)
    folder, about = Path(output), _about(recipe, mix)
    if restart:
        _clear(folder)
    elif _is_finished(folder, about):
        progress.say(f"{folder} is up to date: the recipe and the text have not changed")
        return load(folder)
    plan = plan_of(recipe, mix)  # checks both before any work
    state = first_state(recipe, plan.vocabulary, progress, kin=plan.kin)
    log = TrainingLog(folder / RUN / LOG, n_steps=plan.n_steps)
    checkpoints = _open_run(folder, about)
    checkpoint = checkpoints.newest()
    if checkpoint:
        state.restore(checkpoint.arrays, checkpoint.state)
        progress.say(f"going on with {folder} after batch {checkpoint.step:,} of {plan.n_steps:,}")
        progress.advance(state.counters.words)
    log.cut_after(state.counters.step)
    saving = saving or Saving()
    with stop_wishes() as wish:
        checkpointer = _Checkpointer(folder, checkpoints, saving.checkpoint_minutes, wish, callbacks)
        listeners = [log, _Snapshots(folder, saving), *callbacks, checkpointer]
        run = carry_out(plan, threads=threads, progress=progress, callbacks=listeners, state=state)
    model = run.model()
    save(model, folder, log=log.path)
    return model


class _Checkpointer(Callback):
    """Saves checkpoints, and ends the run when asked to."""

    def __init__(
        self, folder: Path, checkpoints: Checkpoints, minutes: float, wish: StopWish, callbacks: Sequence[Callback]
    ) -> None:
        self._folder, self._checkpoints, self._minutes, self._wish = folder, checkpoints, minutes, wish
        self._callbacks = callbacks
        self._saved_at = time.monotonic()

    def on_batch(self, run: Run) -> None:
        if self._wish.signal is not None:
            self._save(run)
            raise Interrupted(
                f"stopped by {self._wish.signal.name} after batch {run.state.counters.step:,} of {run.n_steps:,}; "
                "everything is saved: give the same command again to go on",
                self._wish.signal,
            )
        if time.monotonic() - self._saved_at > 60 * self._minutes:
            self._save(run)

    def _save(self, run: Run) -> None:
        counters = run.state.counters
        self._checkpoints.save(Checkpoint(counters.step, run.state.arrays(), asdict(counters)))
        self._saved_at = time.monotonic()
        for callback in self._callbacks:
            callback.on_checkpoint(run, self._folder / RUN)


class _Snapshots(Callback):
    """Saves the model as it is, on the way."""

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


def _about(recipe: SiameseCBOW, mix: Mix) -> dict[str, Any]:
    """What decides whether a run may be gone on with."""
    return {"format_version": FORMAT_VERSION, "recipe": recipe.settings(), "corpus": mix.fingerprint}


def _is_finished(folder: Path, about: dict[str, Any]) -> bool:
    """Whether `folder` holds the model of just this run; raises where it holds another, or anything else."""
    if not folder.exists() or (folder / RUN).is_dir() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    try:
        info = load(folder).info
    except SiameseCBOWError:
        raise InputError(f"{folder} exists and is no model of ours; choose another output, or remove it") from None
    recipe = {name: value for name, value in (info.recipe or {}).items() if name != "name"}
    if _values(recipe) == about["recipe"] and info.fingerprint == about["corpus"]:
        return True
    raise InputError(
        f"{folder} holds a model of other settings or another text; "
        "choose another output, or give --restart to replace it"
    )


def _values(recipe: dict[str, Any]) -> dict[str, Any]:
    """The settings of a recipe as they are written today; 0.1.0 wrote those of post-processing as a text."""
    steps = recipe.get("postprocess")
    return recipe if steps is None else {**recipe, "postprocess": Postprocess.of(steps).settings()}


def _open_run(folder: Path, about: dict[str, Any]) -> Checkpoints:
    """The checkpoints of the run in `folder`, begun now or before; refuses a run of something else."""
    path = folder / RUN / ABOUT
    if (folder / RUN).is_dir():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            found["recipe"] = _values(found["recipe"])
        except (OSError, ValueError, LookupError, TypeError):
            raise FormatError(f"{path} is missing or broken; give --restart to start this run anew") from None
        changed = _differences(found, about)
        if changed:
            raise InputError(
                f"{folder} holds an unfinished run of other settings ({changed}); "
                "choose another output, or give --restart to throw that run away"
            )
    else:
        path.parent.mkdir(parents=True)
        with atomic_file(path) as file:
            file.write_text(json.dumps(about, indent=1), encoding="utf-8")
    return Checkpoints(folder / RUN)


def _differences(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    """`corpus, dim 300 -> 100`: what differs between two runs, for a message."""
    old, new = found.get("recipe", {}), wanted["recipe"]
    options = [
        f"{key} {old.get(key)} -> {new.get(key)}" for key in sorted({*old, *new}) if old.get(key) != new.get(key)
    ]
    others = [key for key in ("format_version", "corpus") if found.get(key) != wanted[key]]
    return ", ".join([*others, *options])


def _clear(folder: Path) -> None:
    """Removes an unfinished run; a finished model is replaced when the new one is there."""
    if (folder / RUN / ABOUT).is_file():
        shutil.rmtree(folder / RUN)
    elif folder.exists() and any(folder.iterdir()):
        check_target(folder)
