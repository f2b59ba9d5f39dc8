"""Recipes: all settings of a training, frozen. Recipe + stream -> model.

    SiameseCBOW(dim=300, seed=1).train(stream)      contrastive, the default: a batch's other sentences are negatives
    SiameseCBOW.paper().train(stream)               what was published: two sampled negatives, softmax of cosines, SGD

A recipe trains nothing by being made, and knows nothing of the text. The number of threads is not part of it:
the result does not depend on them. To files and back: see `training.recipe_file`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from siamese_cbow.errors import SettingsError
from siamese_cbow.progress import SILENT, Progress, shown
from siamese_cbow.transform.settings import Postprocess

if TYPE_CHECKING:
    from siamese_cbow.model.model import Model
    from siamese_cbow.stream.mix import Mix
    from siamese_cbow.stream.stream import Stream
    from siamese_cbow.training.callbacks import Callback

ObjectiveName: TypeAlias = Literal["contrastive", "softmax", "sigmoid", "margin", "logistic"]
OptimizerName: TypeAlias = Literal["sgd", "nesterov", "adagrad", "adadelta", "adam", "adamax"]
Decay: TypeAlias = Literal["linear", "constant"]
NegativesFrom: TypeAlias = Literal["corpus", "batch"]

SAMPLED = ("softmax", "sigmoid", "logistic")  # objectives with sampled negatives; the others use the whole batch

# What each named recipe changes of the defaults below.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "contrastive": {},
    "paper": {
        "objective": "softmax",
        "temperature": 1.0,
        "batch_size": 100,
        "run_length": 20,
        "subsample": 0.0,
        "optimizer": "sgd",
        "learning_rate": 0.0001,
        "decay": "linear",
        "share_stems": False,
        "idf_power": 0.0,
        "length_power": 1.0,
        "common_directions": 0,
    },
}


@dataclass(frozen=True, kw_only=True)
class SiameseCBOW:
    """Settings for learning word vectors whose means are near for sentences that stand side by side.

    `SiameseCBOW(temperature=0)` -> SettingsError: temperature is 0; expected a number above 0
    """

    objective: ObjectiveName = "contrastive"
    dim: int = 300
    epochs: int = 1
    seed: int = 1

    # batches
    batch_size: int = 256  # sentences
    run_length: int = 4  # sentences that follow one another in the corpus and in a batch
    negatives: int = 2  # sampled for each sentence by softmax, sigmoid and logistic
    negatives_from: NegativesFrom = (
        "corpus"  # "batch": means are computed once and serve in all roles, three times faster
    )
    subsample: float = 1e-4  # frequent words are left out at random, as in word2vec; 0: never
    max_tokens: int | None = None  # words of a sentence beyond this are left out, and counted

    # objective
    temperature: float = 0.05  # of softmax and contrastive
    margin: float = 0.4  # of margin
    gamma: float = 10.0  # of logistic
    separate_matrices: bool = False  # one matrix for anchors, which becomes the model, and one for their candidates

    # words
    share_stems: bool = True  # words of one stem share a second row, see `training.kin`; not with sigmoid
    idf_power: float = 1.0  # at the end, rows are scaled by this power of log(1 + 1 / the word's share of the text),
    length_power: float = 0.5  # and their lengths are raised to this one, see `transform.postprocessing`
    common_directions: int = 2  # so many strongest directions of the running words are then taken out of all rows

    # optimiser
    optimizer: OptimizerName = "adagrad"
    learning_rate: float = 0.05
    decay: Decay = "constant"  # Adagrad slows down by itself: linear decay on top of it cost .006 on STS
    min_learning_rate_ratio: float = 1e-4  # linear decay stops at this share of the learning rate
    momentum: float = 0.9  # nesterov; adadelta's memory; the first one of adam and adamax
    second_momentum: float = 0.999  # of adam and adamax
    clip_gradient: float | None = None  # longest gradient of a row
    l2: float = 0.0  # weight of the squared lengths of the rows a batch touches

    # start
    init: str | None = None  # a model's folder, "pretrained" or a word2vec file; see `training.start`
    init_std: float = 0.01

    # end
    postprocess: Postprocess | None = None  # a table in a file: {components = 1, whiten = 0.2}

    def __post_init__(self) -> None:
        if self.postprocess is not None:  # a table, or the text that recipes of 0.1.0 hold
            object.__setattr__(self, "postprocess", Postprocess.of(self.postprocess))
        _check(self)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> SiameseCBOW:
        """A named recipe, with changes: `SiameseCBOW.preset("paper", dim=100)`."""
        if name not in PRESETS:
            raise SettingsError(f"recipe is {name!r}; expected one of {', '.join(PRESETS)}")
        return cls(**{**PRESETS[name], **changes})

    @classmethod
    def paper(cls, **changes: Any) -> SiameseCBOW:
        """What was published (Kenter, Borisov, de Rijke 2016), with changes: `SiameseCBOW.paper(negatives=5)`."""
        return cls.preset("paper", **changes)

    @property
    def name(self) -> str:
        """The name of the preset with this objective, or the objective's own: "paper", "contrastive", "margin"..."""
        return "paper" if self.objective == "softmax" else self.objective

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

    def train(
        self,
        streams: Stream | Mix | Sequence[Stream],
        *,
        threads: int | None = None,
        progress: Progress | bool = SILENT,
        callbacks: Sequence[Callback] = (),
    ) -> Model:
        """Learn word vectors from a stream, or several: the same bytes each time, on any number of threads.

        `train([text, pairs])` goes through both in an epoch; a `Mix` says how often through each.
        `progress=True` shows a bar, in a terminal or a notebook.
        """
        from siamese_cbow.stream.mix import Mix
        from siamese_cbow.training.loop import train

        mix = Mix.of(streams)
        with shown(progress, "training", self.epochs * mix.n_tokens, unit="words") as told:
            return train(self, mix, threads=threads, progress=told, callbacks=callbacks).model()


def _check(recipe: SiameseCBOW) -> None:
    for name, choices in {
        "objective": ObjectiveName,
        "optimizer": OptimizerName,
        "decay": Decay,
        "negatives_from": NegativesFrom,
    }.items():
        if getattr(recipe, name) not in get_args(choices):
            raise SettingsError(f"{name} is {getattr(recipe, name)!r}; expected one of {', '.join(get_args(choices))}")
    for name in ("dim", "epochs", "batch_size", "run_length", "negatives", "max_tokens"):
        _check_whole(name, getattr(recipe, name), 1)
    for name in ("seed", "common_directions"):
        _check_whole(name, getattr(recipe, name), 0)
    for name in ("learning_rate", "temperature", "gamma", "init_std", "clip_gradient", "min_learning_rate_ratio"):
        _check_number(name, getattr(recipe, name), above_zero=True)
    for name in ("subsample", "margin", "l2", "momentum", "second_momentum", "idf_power", "length_power"):
        _check_number(name, getattr(recipe, name), above_zero=False)
    for name in ("momentum", "second_momentum", "min_learning_rate_ratio"):
        if getattr(recipe, name) > (1 if name == "min_learning_rate_ratio" else 0.999999):
            raise SettingsError(f"{name} is {getattr(recipe, name)}; expected a number below 1")
    if recipe.postprocess is not None and recipe.postprocess.components >= recipe.dim:
        raise SettingsError(
            f"postprocess has {recipe.postprocess.components} components and dim is {recipe.dim}; "
            "expected fewer components than dimensions"
        )
    if recipe.batch_size < recipe.run_length:
        raise SettingsError(
            f"batch_size is {recipe.batch_size} and run_length {recipe.run_length}; a batch holds at least one run"
        )
    if recipe.objective not in SAMPLED and recipe.run_length < 2:
        raise SettingsError(f"run_length is 1; {recipe.objective} finds its positives in a run: expected 2 or more")
    if recipe.objective in SAMPLED and recipe.negatives_from == "batch" and recipe.run_length < 2:
        raise SettingsError(
            "run_length is 1; with negatives_from='batch' positives are found in a run: expected 2 or more"
        )


def _check_whole(name: str, value: int | None, lowest: int) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < lowest):
        raise SettingsError(f"{name} is {value!r}; expected a whole number, {lowest} or more")


def _check_number(name: str, value: float | None, *, above_zero: bool) -> None:
    if value is None:
        return
    fine = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not fine or value < 0 or (above_zero and value == 0):
        raise SettingsError(f"{name} is {value!r}; expected a number {'above 0' if above_zero else 'of 0 or more'}")
