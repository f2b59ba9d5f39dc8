"""The training loop and its callbacks: a plan becomes a run, and the run gives the model.

Between two chunks of batches, the loop checks the loss and calls the callbacks. It writes no files: see
`training.saved_run` for checkpoints and logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from siamese_cbow.base.arrays import Bytes, Vectors, thread_count
from siamese_cbow.base.option_fields import checked_list
from siamese_cbow.errors import SettingsError, counted
from siamese_cbow.kernels.batch.batch_records import Objective
from siamese_cbow.kernels.tables import OBJECTIVES, SCORES
from siamese_cbow.machine.threads import ThreadTeam
from siamese_cbow.model.geometry import float32_lengths
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.training.batches import epoch_keys, text_arrays
from siamese_cbow.training.engine import ChunkReport, Engine
from siamese_cbow.training.optimizers import learning_rates, rule_of
from siamese_cbow.training.plan import Plan
from siamese_cbow.training.recipe import Recipe
from siamese_cbow.training.state import TrainingState, first_state
from siamese_cbow.training.strips import layout_of
from siamese_cbow.transform.postprocessing import drawn_to_letters, folded, postprocess


@dataclass(frozen=True)
class Run:
    """A training run: its plan and its current state."""

    plan: Plan
    state: TrainingState

    @property
    def recipe(self) -> Recipe:
        """The settings."""
        return self.plan.recipe

    @property
    def n_batches(self) -> int:
        """Batches of an epoch."""
        return self.plan.schedule.n_batches

    @property
    def n_steps(self) -> int:
        """Batches of all epochs."""
        return self.plan.n_steps

    def model(self, **together: int) -> Model:
        """The current model; further training does not change it.

        together  numbers to record about a run shared by several workers
        """
        mix, vocabulary, counters = self.plan.mix, self.plan.vocabulary, self.state.counters
        trained = {"epochs": counters.epoch, "examples": counters.examples, "words": counters.words, **together}
        info = {
            "recipe": {"name": self.recipe.name, **self.recipe.settings()},
            "corpus": mix.about(),
            "trained": trained,
            "unknown_words": None if self.recipe.fallback == "none" else self.recipe.fallback,
            "language": mix.known_language,
            **({} if self.plan.start is None else _inherited(self.plan.start)),
        }
        learnt = self.state.folded(self.plan.stems)
        if len(self.plan.word_weights):  # so that a plain mean of the model's rows includes the weights
            learnt *= self.plan.word_weights[:, None]
        self._check_lengths(learnt)
        vectors, undo = folded(learnt, vocabulary, self.plan.end, overwrite=True)
        largest_removed = max(undo.removed.max(initial=0), -undo.removed.min(initial=0))
        if max(vectors.max(), -vectors.min()) <= 1e-6 * largest_removed:  # zero, up to rounding
            raise SettingsError(
                "post-processing reduces every vector to zero; try --common-directions 0, --length-power 1 "
                "and --idf-power 0, or prepare more text"
            )
        ngrams = drawn_to_letters(vocabulary, vectors, self.plan.spelling) if self.plan.spelling else None
        model = Model(vocabulary, vectors, mix.tokenizer, info, ngrams=ngrams)
        if self.recipe.postprocess is None:
            return model
        return postprocess(model, mix.streams[0], self.recipe.postprocess)

    def _check_lengths(self, vectors: Vectors) -> None:
        """Raises an error if a row is so long that its length overflows: it would be scaled to zero."""
        is_number = np.isfinite(float32_lengths(vectors))
        if not is_number.all():
            raise SettingsError(
                f"the vector of {self.plan.vocabulary.words[int(np.argmin(is_number))]!r} overflowed at "
                f"learning rate {self.recipe.rate}; lower --learning-rate or set --clip-gradient"
            )


def _inherited(model: Model) -> dict[str, Any]:
    """What stays true of a starting model when training continues: its origin.

    {"licence": "CC BY-SA", "scores": {}} -> {"start": {"licence": "CC BY-SA"}}
    """
    origin = {name: model.info[name] for name in ("data", "licence", "corpus", "start") if name in model.info}
    return {"start": origin} if origin else {}


class Callback:
    """Code that runs during training, always between two batches. Override what you need.

    >>> class Curve(Callback):
    ...     every = 10  # batches
    ...
    ...     def on_batch(self, run: Run) -> None:
    ...         counters = run.state.counters
    ...         print(f"{counters.step} of {run.n_steps} batches, {counters.examples} examples")
    >>> model = SiameseCBOW(dim=16, epochs=1, batch_size=8, subsample=0).train(stream, callbacks=[Curve()])
    10 of 20 batches, 66 examples
    20 of 20 batches, 124 examples

    every: `on_batch` is called exactly after each `every` batches, counted over all epochs, and after the last one of
    an epoch. 0: after every chunk of batches, some tens of milliseconds, wherever that ends.

    An exception raised in a callback ends the run. The state is then that of a completed batch, so `train` can resume
    from it.
    """

    every: int = 0

    def on_start(self, run: Run) -> None:
        """Called before the first batch."""

    def on_batch(self, run: Run) -> None:
        """Called between two batches, as often as `every` says."""

    def on_checkpoint(self, run: Run, path: Path) -> None:
        """Called after a checkpoint has been saved in the folder `path`."""

    def on_epoch(self, run: Run) -> None:
        """Called after each epoch."""

    def on_end(self, run: Run) -> None:
        """Called after the last epoch."""


def checked_callbacks(callbacks: Any) -> Sequence[Callback]:
    """Raises an error unless these are objects like `Callback`: before any work, as they are called much later."""
    for each in (several := checked_list("callbacks", callbacks, "callbacks, such as [Curve()]")):
        if isinstance(each, type) or not all(hasattr(each, name) for name in dir(Callback) if name[0] != "_"):
            made = f"{each.__name__}()" if isinstance(each, type) else "one of a class derived from Callback"
            raise SettingsError(f"a callback is {each!r:.60}; expected an object: {made}")
    return several


def train(
    plan: Plan,
    *,
    threads: int | None = None,
    progress: Progress = SILENT,
    callbacks: Sequence[Callback] = (),
    state: TrainingState | None = None,
) -> Run:
    """Trains to the end, from the start or from `state`, which is changed in place. Nothing else affects the result.

    `progress` advances by words; its total is `plan.recipe.n_epochs * mix.n_tokens`.
    """
    run = Run(plan, state or first_state(plan.recipe, plan.vocabulary, progress, stems=plan.stems))
    with ThreadTeam(thread_count(threads)) as team:
        trainer = BatchTrainer(run, team, progress, callbacks)
        _tell(callbacks, "on_start", run)
        trainer.advance(plan.n_steps)
        _tell(callbacks, "on_end", run)
    return run


class BatchTrainer:
    """Advances a run batch by batch: `advance(100)` stops after batch 100, counted over all epochs."""

    def __init__(
        self, run: Run, team: ThreadTeam, progress: Progress = SILENT, callbacks: Sequence[Callback] = ()
    ) -> None:
        self.run, self._progress, self._callbacks = run, progress, callbacks
        self._engines = _engines(run.plan, team)

    def watch(self, touched: Bytes) -> None:
        """From now on, sets touched[w], (n_rows,), to 1 where a batch moves row w."""
        for engine in self._engines:
            engine.touched = touched

    def advance(self, step: int) -> None:
        """Trains up to the end of batch `step`; closes an epoch that ends there."""
        run = self.run
        while run.state.counters.epoch < run.recipe.n_epochs:
            if run.state.counters.batch == run.n_batches:
                _end_epoch(run, self._progress)
                _tell(self._callbacks, "on_epoch", run)
            elif run.state.counters.step < step:
                most = step - run.state.counters.step
                _chunk(run, self._engines, self._callbacks, self._progress, most)
            else:
                return


def _engines(plan: Plan, team: ThreadTeam) -> list[Engine]:
    """One for each stream."""
    recipe = plan.recipe
    objective, layout = objective_of(recipe), layout_of(recipe)
    momenta = recipe.momentum, recipe.second_momentum
    rule = rule_of(
        recipe.optimizer, recipe.dim, *momenta, recipe.clip_gradient, recipe.l2, recipe.l2_towards == "start"
    )
    texts = [
        text_arrays(stream, plan.word_weights, subsample=recipe.subsample, stems=plan.stems, vocabulary=plan.vocabulary)
        for stream in plan.mix.streams
    ]
    return [Engine(text, shape, objective, rule, layout, team) for text, shape in zip(texts, plan.shapes, strict=True)]


def objective_of(recipe: Recipe) -> Objective:
    """The recipe's objective, as numbers for the kernels."""
    kind = OBJECTIVES[recipe.objective]
    return Objective(
        kind=kind.number,
        sampled=kind.sampled,
        sharpness=np.float32(recipe.gamma if kind.setting == "gamma" else 1 / recipe.temperature),
        margin=np.float32(recipe.margin),
        score=SCORES[kind.score],
        shared=not recipe.separate_matrices,
    )


def _chunk(run: Run, engines: Sequence[Engine], callbacks: Sequence[Callback], progress: Progress, most: int) -> None:
    """Trains on the next batches of one stream, at most `most`, up to the next one that a callback waits for."""
    counters = run.state.counters
    stream, turn, first, n = run.plan.schedule.stretch(counters.epoch, counters.batch)
    engine, shape = engines[stream], run.plan.shapes[stream]
    keys = epoch_keys(run.recipe.seed, shape, turn, in_turn=run.plan.in_turn)
    n = min(engine.batches_per_chunk, n, most)
    n = min([n, *(callback.every - counters.step % callback.every for callback in callbacks if callback.every)])
    rates = learning_rates(run.recipe, counters.step, n, run.n_steps)
    report = engine.run(keys, first, rates, counters.step + 1, run.state.left, run.state.right)
    _check_finite(run, report)
    _count(run, report)
    progress.advance(int(report.words.sum()), f"loss {report.loss.sum() / max(1, report.examples.sum()):.4f}")
    for callback in callbacks:
        if not callback.every or counters.step % callback.every == 0 or counters.batch == run.n_batches:
            callback.on_batch(run)


def _check_finite(run: Run, report: ChunkReport) -> None:
    if not np.isfinite(report.loss).all():
        counters = run.state.counters
        batch = counters.batch + int(np.flatnonzero(~np.isfinite(report.loss))[0])
        raise SettingsError(
            f"the loss is not a number in batch {batch:,} of epoch {counters.epoch}: the vectors overflowed "
            f"at learning rate {run.recipe.rate}; lower --learning-rate or set --clip-gradient"
        )


def _count(run: Run, report: ChunkReport) -> None:
    counters = run.state.counters
    counters.batch += len(report.loss)
    counters.step += len(report.loss)
    counters.examples += int(report.examples.sum())
    counters.words += int(report.words.sum())
    counters.words_cut += int(report.cut.sum())
    counters.loss_examples += int(report.examples.sum())
    for loss in report.loss:  # one by one: the tally must not depend on where chunks end
        counters.loss += float(loss)


def _end_epoch(run: Run, progress: Progress) -> None:
    counters = run.state.counters
    progress.say(
        f"epoch {counters.epoch}: loss {counters.mean_loss:.4f} over {counted(counters.loss_examples, 'example')}"
    )
    if counters.words_cut:
        progress.say(
            f"dropped {counted(counters.words_cut, 'word')} beyond word {run.recipe.max_tokens} of their sentences"
        )
    if counters.examples == 0:  # a later epoch without examples, on very little text, does no harm
        raise SettingsError(
            f"no training example in epoch {counters.epoch}: no batch had a sentence with both a neighbour "
            "and a negative; raise --run-length or --batch-size, prepare more text, or set --subsample 0"
        )
    counters.epoch, counters.batch, counters.loss, counters.loss_examples = counters.epoch + 1, 0, 0.0, 0


def _tell(callbacks: Sequence[Callback], event: str, run: Run) -> None:
    for callback in callbacks:
        getattr(callback, event)(run)
