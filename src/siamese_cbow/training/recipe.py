"""Recipes: all settings of a training, frozen and checked. What is known of an option stands in its field, once.

From its field (see `base.options`) come the check, the option of `siamese-cbow train` with its help, the key in TOML
files and, by `paper=`, the published recipe. A recipe knows nothing of the text, and the number of threads is not part
of it: no result depends on them. To train by one, and to keep one in a file: see `training.siamese_cbow`.
"""

# ruff: noqa: RUF009 (`option` makes fields of dataclasses)

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, TypeAlias

from siamese_cbow.base.option_fields import check_options, option, options
from siamese_cbow.errors import SettingsError
from siamese_cbow.kernels.tables import (
    OBJECTIVES,
    ObjectiveName,
    OptimizerName,
    sampled_objectives,
    users_of,
)
from siamese_cbow.transform.settings import Postprocess
from siamese_cbow.words.unknown_words import Fallback

Decay: TypeAlias = Literal["linear", "constant"]
NegativesFrom: TypeAlias = Literal["corpus", "batch"]
Anchor: TypeAlias = Literal["zero", "start"]
WordWeights: TypeAlias = Literal["none", "information"]

AUTO = "auto"  # for None, as people write it
AUTOMATIC = ("epochs", "learning_rate")  # options that the size of the text decides unless said
NEW_RATE = 0.05  # to start a model


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Settings for learning word vectors whose means are close for sentences that stand side by side.

    `SiameseCBOW(temperature=0)` -> SettingsError: temperature is 0; expected a number above 0
    """

    objective: ObjectiveName = option(
        "contrastive",
        f"The loss; {sampled_objectives(False)} use the whole batch, the others sample.",
        paper="softmax",
    )
    dim: int = option(300, "Size of a vector; with --init, by default that of the model.", at_least=1, at_most=65_536)
    # None is what `training.plan.fitted_to` makes of the size of the text: "auto".
    epochs: int | None = option(
        None, "Passes over the text; auto: 1 to 20, by its size.", paper=1, at_least=1, at_most=1_000_000
    )
    seed: int = option(1, "All randomness comes from it.", at_least=0, at_most=2**64 - 1)

    # batches
    batch_size: int = option(
        256, "Sentences per batch.", paper=100, at_least=1, at_most=1_000_000, group="Batches and negatives"
    )
    run_length: int = option(
        4, "Consecutive sentences that enter a batch together.", paper=20, program=1, at_least=1, at_most=1_000_000
    )
    triples: bool = option(
        False,
        "Learn only from sentences that have one before and one after them.",
        program=True,
        switch="--triples/--all-sentences",
    )
    negatives: int = option(
        2, f"Sentences to sample for each one, by {sampled_objectives()}.", at_least=1, at_most=100_000
    )
    negatives_from: NegativesFrom = option("corpus", "Where to sample them; the batch is about three times faster.")
    any_negative: bool = option(
        False,
        "A negative may be the sentence itself or one beside it.",
        program=True,
        switch="--any-negative/--distant-negatives",
    )
    subsample: float = option(
        1e-4, "Leave out words above this share of the text at random, as word2vec; 0: never.", paper=0.0, at_least=0
    )
    max_tokens: int | None = option(
        None, "Leave out, and count, the words of a sentence beyond this.", program=50, at_least=1, at_most=2**31
    )

    # objective
    temperature: float = option(
        0.05, "Cosines are divided by it before the softmax.", paper=1.0, above=0, group="Objective"
    )
    margin: float = option(0.4, f"Of the objective {users_of('margin')}.", at_least=0)
    gamma: float = option(10.0, f"Steepness of the objective {users_of('gamma')}.", above=0)
    word_weights: WordWeights = option(
        "none", "Weights of words in the sentences that are learnt from, as the tf-idf vectors of S2Net have them."
    )
    separate_matrices: bool = option(
        False,
        "One matrix for sentences, which becomes the model, and one for those they are compared with.",
        switch="--separate-matrices/--one-matrix",
    )

    # words, while they learn (see `training.stems`) and at the end (see `transform.postprocessing`)
    share_stems: bool = option(
        True, "Words of one stem (play, plays, playing) learn together.", paper=False, group="Words"
    )
    # Beyond these powers, lengths of rare and frequent words no longer fit into one float32 model.
    idf_power: float = option(
        1.0,
        "At the end, scale vectors by this power of the word's information; 0: don't.",
        paper=0.0,
        at_least=0,
        at_most=10,
    )
    length_power: float = option(
        0.5, "At the end, raise the lengths of vectors to this power; 1: don't.", paper=1.0, at_least=0, at_most=4
    )
    common_directions: int = option(
        2, "At the end, remove this many of the directions that all words share.", paper=0, at_least=0
    )

    spelling: float = option(
        10.0,
        "At the end, draw rare words towards what their letters say, by this / (this + root of their count); 0: don't.",
        paper=0.0,
        at_least=0,
        at_most=1e6,
    )
    fallback: Fallback = option(
        "ngrams", "What unknown words count as in the model: see --fallback of `encode`.", paper="none"
    )

    # optimiser
    optimizer: OptimizerName = option(
        "adagrad", "How gradients move the vectors.", paper="sgd", group="Optimiser and starting point"
    )
    learning_rate: float | None = option(
        None,
        "The learning rate to start with; auto: 0.05, and to go on with a model less, by the size of the text.",
        paper=0.0001,
        above=0,
        short="--lr",
    )
    # Adagrad slows down by itself: linear decay on top of it cost .006 on STS.
    decay: Decay = option("constant", "How the learning rate falls.", paper="linear")
    decay_epochs: int | None = option(
        None, "Epochs that the decay is spread over; by default all.", program=5, at_least=1, at_most=1_000_000
    )
    min_learning_rate_ratio: float = option(1e-4, "Decay stops at this share of it.", above=0, at_most=1)
    # Nearer to 1 than this, float32 takes it for 1.
    momentum: float = option(0.9, f"Of {users_of('momentum')}.", at_least=0, at_most=0.999999)
    second_momentum: float = option(0.999, f"Of {users_of('second_momentum')}.", at_least=0, at_most=0.999999)
    clip_gradient: float | None = option(None, "The longest gradient that a row may get in a batch.", above=0)
    l2: float = option(0.0, "Weight of the squared lengths of the vectors.", at_least=0)
    l2_towards: Anchor = option(
        "zero", "start: weight of the squared distances from where the vectors started, as Wieting et al. have it."
    )

    # start
    init: str | None = option(
        None, "Go on with this model (a folder, `pretrained`, user/name on the Hub) or start with a file's vectors."
    )
    init_std: float = option(0.01, "Standard deviation of the random numbers to start from.", above=0, at_most=1e6)

    # end
    postprocess: Postprocess | None = option(None, "Steps after the end, see `Postprocess`; a table in a file.")

    def __post_init__(self) -> None:
        for name in AUTOMATIC:
            if getattr(self, name) == AUTO:
                object.__setattr__(self, name, None)
        init: Any = self.init
        if isinstance(init, os.PathLike):
            object.__setattr__(self, "init", os.fspath(init))
        if self.postprocess is not None:  # a table, or the text that recipes of 0.1.0 hold
            object.__setattr__(self, "postprocess", Postprocess.of(self.postprocess))
        check_options(self)
        _check_together(self)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """A named recipe, with changes: `SiameseCBOW.preset("paper", dim=100)`."""
        if name not in tuple(PRESETS):
            raise SettingsError(f"recipe is {name!r}; expected one of {', '.join(PRESETS)}")
        return cls(**{**PRESETS[name], **changes})

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """What was published (Kenter, Borisov, de Rijke 2016), with changes: `SiameseCBOW.paper(negatives=5)`."""
        return cls.preset("paper", **changes)

    @property
    def name(self) -> str:
        """The name of the preset with this objective, or the objective's own: "paper", "contrastive", "margin"..."""
        return "paper" if self.objective == "softmax" else self.objective

    @property
    def n_epochs(self) -> int:
        """Passes over the text; of a recipe that no text has been fitted to, 1."""
        return self.epochs or 1

    @property
    def rate(self) -> float:
        """The learning rate to start with; unless said, that of a new model."""
        return self.learning_rate or NEW_RATE

    @property
    def end(self) -> Postprocess:
        """What is done to the rows at the end of every training, before `postprocess`."""
        return Postprocess(
            idf_power=self.idf_power, length_power=self.length_power, common_directions=self.common_directions
        )

    def settings(self) -> dict[str, Any]:
        """Name and value of every option that is set: `settings()["dim"]` -> 300."""
        steps = {} if self.postprocess is None else {"postprocess": self.postprocess.settings()}
        return {key: value for key, value in {**asdict(self), **steps}.items() if value is not None}


@dataclass(frozen=True)
class Saving:
    """When a training into a folder saves something: see `training.saved_run`."""

    checkpoint_minutes: float = option(5.0, "Minutes between checkpoints, to go on from after a crash.", at_least=0)
    snapshot_batches: int = option(0, "Save the model as OUTPUT@N every so many batches; 0: never.", at_least=0)
    snapshot_epochs: int = option(0, "Save the model as OUTPUT@epochN every so many epochs; 0: never.", at_least=0)

    def __post_init__(self) -> None:
        check_options(self)


def check_batch(batch_size: int, run_length: int) -> None:
    """Whether a batch can hold what it is made of."""
    if batch_size < run_length:
        raise SettingsError(f"batch_size is {batch_size} and run_length {run_length}; a batch holds at least one run")


# What each named recipe changes of the defaults.
_PAPER = {entry.name: entry.paper for entry in options(Recipe) if entry.paper is not None}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "contrastive": {},
    "paper": _PAPER,
    # What the program behind the paper's figures did beside what the paper says: vectors after the first of five
    # epochs, single sentences shuffled, only those with two neighbours, negatives drawn without looking at them.
    "paper-program": {
        **_PAPER,
        **{entry.name: entry.program for entry in options(Recipe) if entry.program is not None},
    },
}


def _check_together(recipe: Recipe) -> None:
    """Whether options that are right each by itself go together."""
    check_batch(recipe.batch_size, recipe.run_length)
    sampled = OBJECTIVES[recipe.objective].sampled
    if recipe.run_length < 2 and (not sampled or recipe.negatives_from == "batch"):
        why = "negatives_from='batch'" if sampled else f"the objective {recipe.objective}"
        raise SettingsError(f"run_length is 1; with {why} positives are found in a run: expected 2 or more")
    if recipe.word_weights != "none" and (recipe.share_stems or recipe.init is not None):
        raise SettingsError(
            f"word_weights is {recipe.word_weights!r}; it goes neither with stems nor with a start from other vectors: "
            "add --no-share-stems, leave out --init"
        )
    if recipe.any_negative and not (sampled and recipe.negatives_from == "corpus"):
        raise SettingsError("any_negative is for negatives that are sampled from the corpus; leave out --any-negative")
    if recipe.decay_epochs is not None and recipe.decay_epochs < recipe.n_epochs:
        raise SettingsError(
            f"decay_epochs is {recipe.decay_epochs} and epochs {recipe.epochs}; expected at least as many: "
            f"--decay-epochs {recipe.epochs}"
        )
    if recipe.postprocess is not None and recipe.postprocess.components >= recipe.dim:
        raise SettingsError(
            f"postprocess has {recipe.postprocess.components} components and dim is {recipe.dim}; "
            "expected fewer components than dimensions"
        )
