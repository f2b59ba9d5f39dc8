"""Word weights for a trained model, and removal of what all sentences have in common.

    TfIdf   weight idf: words that occur in few sentences count more
    SIF     weight a / (a + p), then the first common component is removed      (Arora, Liang and Ma 2017)
    USIF    weight a / (a/2 + p), `a` from the corpus, then 5 components are removed, each by its share of the variance
            (Ethayarajh 2018)
    Plain   no weights; with `n_components`, only the removal of common components

All of this is linear in a sentence's words, so it is folded into the rows (see `transform`): the result is an ordinary
model, averaged like any other. Common components are estimated on sentences of the corpus, never on the text to be
encoded, so a sentence has the same vector whatever is encoded with it. Two steps of the published uSIF code are left
out for these reasons: it divides each dimension by its norm within the sentence, and estimates components on the test
set.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Protocol

from siamese_cbow.errors import SettingsError
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream.stream import Stream
from siamese_cbow.transform.postprocessing import folded, ids_in
from siamese_cbow.transform.settings import Postprocess


class Trainable(Protocol):
    """Anything that trains a model on a stream."""

    def train(self, stream: Stream, *, threads: int | None = None, progress: Progress = SILENT) -> Model:
        """Train a model on the stream."""


@dataclass(frozen=True)
class Weighted:
    """The vectors of `base`, changed by the steps of a subclass."""

    base: Trainable
    name: ClassVar[str]

    def train(self, stream: Stream, *, threads: int | None = None, progress: Progress = SILENT) -> Model:
        """Train `base`, then `apply`."""
        return self.apply(self.base.train(stream, threads=threads, progress=progress), stream)

    def apply(self, model: Model, stream: Stream) -> Model:
        """A new model from a trained one, as a separate baseline: its info says so, and nothing can be undone."""
        steps = self.steps()
        if not 0 <= steps.components < model.dim:
            raise SettingsError(f"n_components is {steps.components}; expected 0 to {model.dim - 1}, less than dim")
        ids_in(model.vocabulary, stream)  # every word must be in the stream
        rows, _ = folded(model.vectors, model.vocabulary, steps, stream)
        settings = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "base"}
        info = {"recipe": {"name": self.name, **settings, "base": model.info.recipe}, "corpus": stream.fingerprint}
        return Model(model.vocabulary, rows, model.tokenizer, info)

    def steps(self) -> Postprocess:
        """The steps applied to the rows."""
        raise NotImplementedError


@dataclass(frozen=True)
class Plain(Weighted):
    """The vectors of `base`, without their common components if `n_components` is more than 0."""

    n_components: int = 1
    seed: int = 1
    name = "plain"

    def steps(self) -> Postprocess:
        """No weights."""
        return Postprocess(components=self.n_components, seed=self.seed)


@dataclass(frozen=True)
class TfIdf(Weighted):
    """Each word weighted by its idf, ln((1 + sentences) / (1 + sentences with the word)) + 1, as in scikit-learn."""

    n_components: int = 0
    seed: int = 1
    name = "tf-idf"

    def steps(self) -> Postprocess:
        """Weights by the sentences of the stream."""
        return Postprocess(weights="idf", components=self.n_components, seed=self.seed)


@dataclass(frozen=True)
class SIF(Weighted):
    """Smooth inverse frequency: a / (a + p), where p is the share of the word in the corpus."""

    a: float = 1e-3
    n_components: int = 1
    seed: int = 1
    name = "SIF"

    def __post_init__(self) -> None:
        if not self.a > 0:
            raise SettingsError(f"a is {self.a}; expected a number above 0, such as 0.001")

    def steps(self) -> Postprocess:
        """Weights by counts."""
        return Postprocess(weights="sif", a=self.a, components=self.n_components, seed=self.seed)


@dataclass(frozen=True)
class USIF(Weighted):
    """Unsupervised SIF: `a` follows from the vocabulary and the mean length of sentences."""

    n_components: int = 5
    seed: int = 1
    name = "uSIF"

    def steps(self) -> Postprocess:
        """Weights by counts, and components by their share."""
        return Postprocess(weights="usif", components=self.n_components, by_share=True, seed=self.seed)
