"""Recipes: all settings of a training run, frozen and checked. Each option is described once, in its field.

The field (see `base.option_fields`) defines the check, the option of `siamese-cbow train` with its help, the key in
TOML files and, by `paper=`, the value in the published recipe. A recipe knows nothing about the text, and the number of
threads is not part of it: no result depends on it. `training.siamese_cbow` trains with recipes, reads and writes them.
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

AUTO = "auto"  # how users write None
AUTOMATIC = ("epochs", "learning_rate")  # options chosen by the size of the text unless set
NEW_RATE = 0.05  # for a new model


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Settings for training word vectors whose means are close for adjacent sentences.

    `SiameseCBOW(temperature=0)` -> SettingsError: temperature is 0; expected a number above 0
    """

    objective: ObjectiveName = option(
        "contrastive",
        f"Loss function; {sampled_objectives(False)} use the whole batch, the others sample negatives.",
        paper="softmax",
    )
    dim: int = option(
        300,
        "Vector size; with --init, defaults to that of the model.",
        at_least=1,
        at_most=65_536,
        also="vector_size size",
    )
    # None ("auto"): `training.plan.fitted_to` chooses it by the size of the text.
    epochs: int | None = option(
        None,
        "Passes over the text; auto: 1 to 20, depending on its size.",
        paper=1,
        at_least=1,
        at_most=1_000_000,
        also="iter epoch n_epochs",
    )
    seed: int = option(1, "Random seed.", at_least=0, at_most=2**64 - 1, also="random_state")

    # batches
    batch_size: int = option(
        256, "Sentences per batch.", paper=100, at_least=1, at_most=1_000_000, group="Batches and negatives"
    )
    run_length: int = option(
        4, "Consecutive sentences that stay together in a batch.", paper=20, program=1, at_least=1, at_most=1_000_000
    )
    triples: bool = option(
        False,
        "Learn only from sentences with one before and one after.",
        program=True,
        switch="--triples/--all-sentences",
    )
    negatives: int = option(
        2, f"Negatives per sentence for {sampled_objectives()}.", at_least=1, at_most=100_000, also="negative neg"
    )
    negatives_from: NegativesFrom = option("corpus", "Where to sample negatives; batch is almost three times faster.")
    any_negative: bool = option(
        False,
        "Allow the sentence itself or its neighbours as negatives.",
        program=True,
        switch="--any-negative/--distant-negatives",
    )
    subsample: float = option(
        1e-4,
        "Randomly drop words more frequent than this share of the text, as word2vec does; 0: never.",
        paper=0.0,
        at_least=0,
        also="sample",
    )
    max_tokens: int | None = option(
        None,
        "Truncate sentences to this many words, and report how many were dropped.",
        program=50,
        at_least=1,
        at_most=2**31,
    )

    # objective
    temperature: float = option(0.05, "Temperature of the softmax over cosines.", paper=1.0, above=0, group="Objective")
    margin: float = option(0.4, f"Margin of the objectives {users_of('margin')}.", at_least=0)
    gamma: float = option(10.0, f"Steepness of the objective {users_of('gamma')}.", above=0)
    word_weights: WordWeights = option("none", "Word weights in the input sentences; information: tf-idf, as in S2Net.")
    separate_matrices: bool = option(
        False,
        "Learn separate input and context matrices; the input matrix becomes the model.",
        switch="--separate-matrices/--one-matrix",
    )

    # words: during training (see `training.stems`) and at the end (see `transform.postprocessing`)
    share_stems: bool = option(
        True, "Tie the vectors of words with the same stem: play, plays, playing.", paper=False, group="Words"
    )
    # Beyond these powers, the lengths of rare and frequent words no longer fit one float32 model.
    idf_power: float = option(
        1.0,
        "After training, scale each vector by this power of its word's information content; 0: off.",
        paper=0.0,
        at_least=0,
        at_most=10,
    )
    length_power: float = option(
        0.5, "After training, raise vector lengths to this power; 1: off.", paper=1.0, at_least=0, at_most=4
    )
    common_directions: int = option(
        2, "After training, remove this many directions shared by all words.", paper=0, at_least=0
    )

    spelling: float = option(
        10.0,
        (
            "After training, pull rare words towards the vector of their character n-grams, with weight S / (S + "
            "sqrt(count)); 0: off."
        ),
        paper=0.0,
        at_least=0,
        at_most=1e6,
    )
    fallback: Fallback = option("ngrams", "How the model treats unknown words; see `encode --help`.", paper="none")

    # optimiser
    optimizer: OptimizerName = option("adagrad", "Update rule.", paper="sgd", group="Optimiser and starting point")
    learning_rate: float | None = option(
        None,
        "Initial learning rate; auto: 0.05, or lower with --init, depending on the size of the text.",
        paper=0.0001,
        above=0,
        short="--lr",
        also="alpha lr",
    )
    # Adagrad slows down by itself: linear decay on top of it cost .006 on STS.
    decay: Decay = option("constant", "Learning rate schedule.", paper="linear")
    decay_epochs: int | None = option(
        None, "Epochs over which the learning rate decays; by default all.", program=5, at_least=1, at_most=1_000_000
    )
    min_learning_rate_ratio: float = option(
        1e-4, "Lowest learning rate, as a share of the initial one.", above=0, at_most=1
    )
    # Closer to 1, float32 rounds it to 1.
    momentum: float = option(0.9, f"Momentum of {users_of('momentum')}.", at_least=0, at_most=0.999999)
    second_momentum: float = option(
        0.999, f"Second momentum of {users_of('second_momentum')}.", at_least=0, at_most=0.999999
    )
    clip_gradient: float | None = option(None, "Maximum gradient norm per row and batch.", above=0)
    l2: float = option(0.0, "L2 regularisation weight.", at_least=0)
    l2_towards: Anchor = option(
        "zero", "zero: penalise length; start: penalise the distance from the initial vectors, as in Wieting et al."
    )

    # start
    init: str | None = option(
        None, "Start from this model (a folder, `pretrained`, user/name on the Hub) or word vector file."
    )
    init_std: float = option(0.01, "Standard deviation of the random initial vectors.", above=0, at_most=1e6)

    # end
    postprocess: Postprocess | None = option(
        None, "Post-processing steps: a `Postprocess`, or a table of its fields in a TOML file."
    )

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
    def preset(cls, name: str, /, **changes: Any) -> Self:
        """A named recipe, with changes: `SiameseCBOW.preset("paper", dim=100)`."""
        if name not in tuple(PRESETS):
            raise SettingsError(f"recipe is {name!r}; expected one of {', '.join(PRESETS)}")
        return cls(**{**PRESETS[name], **changes})

    @classmethod
    def paper(cls, /, **changes: Any) -> Self:
        """The published recipe (Kenter, Borisov, de Rijke 2016), with changes: `SiameseCBOW.paper(negatives=5)`."""
        return cls.preset("paper", **changes)

    @property
    def name(self) -> str:
        """The name of the preset with this objective, or the objective's own: "paper", "contrastive", "margin"..."""
        return "paper" if self.objective == "softmax" else self.objective

    @property
    def n_epochs(self) -> int:
        """Passes over the text; 1 if the recipe has not been fitted to a text."""
        return self.epochs or 1

    @property
    def rate(self) -> float:
        """The initial learning rate; by default that of a new model."""
        return self.learning_rate or NEW_RATE

    @property
    def end(self) -> Postprocess:
        """The steps on the rows at the end of every run, before `postprocess`."""
        return Postprocess(
            idf_power=self.idf_power, length_power=self.length_power, common_directions=self.common_directions
        )

    def settings(self) -> dict[str, Any]:
        """Name and value of every option that is set: `settings()["dim"]` -> 300."""
        steps = {} if self.postprocess is None else {"postprocess": self.postprocess.settings()}
        return {key: value for key, value in {**asdict(self), **steps}.items() if value is not None}


@dataclass(frozen=True)
class Saving:
    """When training into a folder saves checkpoints and snapshots: see `training.saved_run`."""

    checkpoint_minutes: float = option(5.0, "Minutes between checkpoints.", at_least=0)
    snapshot_batches: int = option(0, "Save a snapshot as OUTPUT@N every so many batches; 0: never.", at_least=0)
    snapshot_epochs: int = option(0, "Save a snapshot as OUTPUT@epochN every so many epochs; 0: never.", at_least=0)

    def __post_init__(self) -> None:
        check_options(self)


def check_batch(batch_size: int, run_length: int) -> None:
    """Checks that a batch can hold a run."""
    if batch_size < run_length:
        raise SettingsError(
            f"batch_size is {batch_size} but run_length is {run_length}; expected a batch size of at least one run"
        )


# How each named recipe differs from the defaults.
_PAPER = {entry.name: entry.paper for entry in options(Recipe) if entry.paper is not None}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "contrastive": {},
    "paper": _PAPER,
    # What the program behind the paper's figures did beyond what the paper says: it took the vectors after the first of
    # five epochs, shuffled single sentences, used only those with two neighbours, and didn't check the negatives drawn.
    "paper-program": {
        **_PAPER,
        **{entry.name: entry.program for entry in options(Recipe) if entry.program is not None},
    },
}


def _check_together(recipe: Recipe) -> None:
    """Checks that options which are valid on their own fit together."""
    check_batch(recipe.batch_size, recipe.run_length)
    sampled = OBJECTIVES[recipe.objective].sampled
    if recipe.run_length < 2 and (not sampled or recipe.negatives_from == "batch"):
        why = "negatives_from='batch'" if sampled else f"the objective {recipe.objective}"
        raise SettingsError(
            f"run_length is 1; expected 2 or more, because with {why} the positives come from the same run"
        )
    if recipe.word_weights != "none" and (recipe.share_stems or recipe.init is not None):
        raise SettingsError(
            f"word_weights is {recipe.word_weights!r}, which works neither with shared stems nor with --init; "
            "add --no-share-stems and drop --init"
        )
    if recipe.any_negative and not (sampled and recipe.negatives_from == "corpus"):
        raise SettingsError("any_negative applies only to negatives sampled from the corpus; drop --any-negative")
    if recipe.decay_epochs is not None and recipe.decay_epochs < recipe.n_epochs:
        raise SettingsError(
            f"decay_epochs is {recipe.decay_epochs} but epochs is {recipe.epochs}; expected at least as many: "
            f"--decay-epochs {recipe.epochs}"
        )
    if recipe.postprocess is not None and recipe.postprocess.components >= recipe.dim:
        raise SettingsError(
            f"postprocess has {recipe.postprocess.components} components but dim is {recipe.dim}; expected "
            "fewer components than dimensions"
        )
