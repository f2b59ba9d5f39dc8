"""The training loop. Between two chunks of batches it looks at the loss and tells others how things go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from siamese_cbow.base.arrays import thread_count
from siamese_cbow.errors import SettingsError
from siamese_cbow.kernels.batch.phases import Objective
from siamese_cbow.kernels.objectives import in_batch, sampled
from siamese_cbow.machine.crew import Crew
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.mix import Mix
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.batches import epoch_keys, text_arrays
from siamese_cbow.training.callbacks import Callback
from siamese_cbow.training.engine import ChunkReport, Engine
from siamese_cbow.training.layout import layout_of
from siamese_cbow.training.optimizers import learning_rates, rule_of
from siamese_cbow.training.plan import Plan, plan_of
from siamese_cbow.training.recipe import ObjectiveName, SiameseCBOW
from siamese_cbow.training.start import inherited
from siamese_cbow.training.state import TrainingState, first_state
from siamese_cbow.transform.postprocessing import folded, postprocess

OBJECTIVES: dict[ObjectiveName, int] = {
    "contrastive": in_batch.CONTRASTIVE,
    "margin": in_batch.MARGIN,
    "softmax": sampled.SOFTMAX,
    "sigmoid": sampled.SIGMOID,
    "logistic": sampled.LOGISTIC,
}


@dataclass(frozen=True)
class Run:
    """A training under way: what it is about, and where it stands."""

    plan: Plan
    state: TrainingState

    @property
    def recipe(self) -> SiameseCBOW:
        """The settings."""
        return self.plan.recipe

    @property
    def n_batches(self) -> int:
        """Batches of an epoch."""
        return self.plan.course.n_batches

    @property
    def n_steps(self) -> int:
        """Batches of all epochs."""
        return self.plan.n_steps

    def model(self) -> Model:
        """The model as it is now: a copy that goes on as it is."""
        mix, vocabulary, counters = self.plan.mix, self.plan.vocabulary, self.state.counters
        trained = {"epochs": counters.epoch, "examples": counters.examples, "words": counters.words}
        info = {
            "recipe": {"name": self.recipe.name, **self.recipe.settings()},
            "corpus": mix.about(),
            "trained": trained,
            **({} if self.plan.start is None else inherited(self.plan.start)),
        }
        vectors, _ = folded(self.state.folded(self.plan.kin), vocabulary, self.plan.end, overwrite=True)
        model = Model(vocabulary, vectors, mix.tokenizer, info)
        if self.recipe.postprocess is None:
            return model
        return postprocess(model, mix.streams[0], self.recipe.postprocess)


def train(
    recipe: SiameseCBOW,
    streams: Stream | Mix | Sequence[Stream],
    *,
    threads: int | None = None,
    progress: Progress = SILENT,
    callbacks: Sequence[Callback] = (),
    state: TrainingState | None = None,
) -> Run:
    """Train to the end, from the start or from a given state (which is changed). The result depends on nothing else.

    `progress` advances by words; give its bar `recipe.epochs * Mix.of(streams).n_tokens` as total.
    """
    plan = plan_of(recipe, streams)
    return carry_out(plan, threads=threads, progress=progress, callbacks=callbacks, state=state)


def carry_out(
    plan: Plan,
    *,
    threads: int | None = None,
    progress: Progress = SILENT,
    callbacks: Sequence[Callback] = (),
    state: TrainingState | None = None,
) -> Run:
    """As `train`, for a training that is planned already."""
    n_threads = thread_count(threads)
    run = Run(plan, state or first_state(plan.recipe, plan.vocabulary, progress, kin=plan.kin))
    with Crew(n_threads) as crew:
        engines = _engines(plan, crew)
        _tell(callbacks, "on_start", run)
        while run.state.counters.epoch < plan.recipe.epochs:
            while run.state.counters.batch < run.n_batches:
                _chunk(run, engines, callbacks, progress)
            _end_epoch(run, progress)
            _tell(callbacks, "on_epoch", run)
        _tell(callbacks, "on_end", run)
    return run


def _engines(plan: Plan, crew: Crew) -> list[Engine]:
    """One for each stream."""
    objective, rule, layout = objective_of(plan.recipe), rule_of(plan.recipe), layout_of(plan.recipe)
    return [
        Engine(
            text_arrays(plan.recipe, stream, plan.kin, vocabulary=plan.vocabulary), shape, objective, rule, layout, crew
        )
        for stream, shape in zip(plan.mix.streams, plan.shapes, strict=True)
    ]


def objective_of(recipe: SiameseCBOW) -> Objective:
    """What the recipe minimises, as numbers."""
    return Objective(
        kind=OBJECTIVES[recipe.objective],
        sharpness=np.float32(recipe.gamma if recipe.objective == "logistic" else 1 / recipe.temperature),
        margin=np.float32(recipe.margin),
        unit=recipe.objective != "sigmoid",
        shared=not recipe.separate_matrices,
    )


def _chunk(run: Run, engines: Sequence[Engine], callbacks: Sequence[Callback], progress: Progress) -> None:
    """Some batches of one stream, up to the next one after which somebody wants to look."""
    counters = run.state.counters
    stream, turn, first, n = run.plan.course.stretch(counters.epoch, counters.batch)
    engine, keys = engines[stream], epoch_keys(run.recipe, run.plan.shapes[stream], turn)
    n = min(engine.batches_per_chunk, n)
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
            f"the loss is no longer a number in batch {batch:,} of epoch {counters.epoch}: the vectors have "
            f"grown beyond all bounds at learning rate {run.recipe.learning_rate}; try a smaller "
            "--learning-rate or set --clip-gradient"
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
    progress.say(f"epoch {counters.epoch}: loss {counters.mean_loss:.4f} over {counters.loss_examples:,} examples")
    if counters.words_cut:
        progress.say(f"{counters.words_cut:,} words stood beyond {run.recipe.max_tokens} in their sentences: left out")
    if counters.loss_examples == 0:
        raise SettingsError(
            f"no example in epoch {counters.epoch}: no batch had a sentence with a neighbour and something to "
            "compare it with; raise --run-length or --batch-size, prepare more text, or set --subsample 0"
        )
    counters.epoch, counters.batch, counters.loss, counters.loss_examples = counters.epoch + 1, 0, 0.0, 0


def _tell(callbacks: Sequence[Callback], event: str, run: Run) -> None:
    for callback in callbacks:
        getattr(callback, event)(run)
