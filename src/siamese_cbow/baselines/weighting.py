"""Weights for the words of a finished model, and removal of what all sentences have in common.

    TfIdf   weight idf: words that stand in few sentences count more
    SIF     weight a / (a + p), then the first common component is removed      (Arora, Liang and Ma 2017)
    USIF    weight a / (a/2 + p), `a` from the corpus, then 5 components are removed, each by its share of the variance
            (Ethayarajh 2018)
    Plain   no weights; with `n_components` the plain removal of common components

All of it is linear in a sentence's words, so it is folded into the rows: the result is an ordinary model that is
averaged like any other. Common components are estimated on sentences of the corpus, never on the text to be encoded,
so a sentence has one vector whatever stands beside it. Two steps of the published uSIF code are left out for that
reason: it divides each dimension by its norm within the sentence, and estimates components on the test set.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.arrays import Vectors
from siamese_cbow.baselines.components import common_components, without_components
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.stream import Stream

Floats: TypeAlias = NDArray[np.float64]
BLOCK = 1 << 20  # tokens counted at a time; bounds the memory


class Recipe(Protocol):
    """Anything that makes a model of a stream."""

    def train(self, stream: Stream, *, threads: int | None = None, progress: Progress = SILENT) -> Model:
        """The model."""


@dataclass(frozen=True)
class Plain:
    """The vectors of `base`, less common components if `n_components` is more than 0."""

    base: Recipe
    n_components: int = 1
    seed: int = 1

    def train(self, stream: Stream, *, threads: int | None = None, progress: Progress = SILENT) -> Model:
        """Train `base`, then `apply`."""
        return self.apply(self.base.train(stream, threads=threads, progress=progress), stream)

    def apply(self, model: Model, stream: Stream) -> Model:
        """A new model from a finished one; the words and the corpus say what is common."""
        return _changed(model, stream, "plain", self, np.ones(len(model.vocabulary)), self.n_components)


@dataclass(frozen=True)
class TfIdf:
    """Each word by its idf, ln((1 + sentences) / (1 + sentences with the word)) + 1, as scikit-learn has it."""

    base: Recipe
    n_components: int = 0
    seed: int = 1

    def train(self, stream: Stream, *, threads: int | None = None, progress: Progress = SILENT) -> Model:
        """Train `base`, then `apply`."""
        return self.apply(self.base.train(stream, threads=threads, progress=progress), stream)

    def apply(self, model: Model, stream: Stream) -> Model:
        """A new model from a finished one."""
        weights = idf(sentence_counts(stream), stream.n_sentences)[_ids(model, stream)]
        return _changed(model, stream, "tf-idf", self, weights, self.n_components)


@dataclass(frozen=True)
class SIF:
    """Smooth inverse frequency: a / (a + p), where p is the share of the word in the corpus."""

    base: Recipe
    a: float = 1e-3
    n_components: int = 1
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.a > 0:
            raise SettingsError(f"a is {self.a}; expected a number above 0, such as 0.001")

    def train(self, stream: Stream, *, threads: int | None = None, progress: Progress = SILENT) -> Model:
        """Train `base`, then `apply`."""
        return self.apply(self.base.train(stream, threads=threads, progress=progress), stream)

    def apply(self, model: Model, stream: Stream) -> Model:
        """A new model from a finished one."""
        weights = sif(stream.vocabulary.counts, self.a)[_ids(model, stream)]
        return _changed(model, stream, "SIF", self, weights, self.n_components)


@dataclass(frozen=True)
class USIF:
    """Unsupervised SIF: `a` follows from the vocabulary and the mean length of sentences."""

    base: Recipe
    n_components: int = 5
    seed: int = 1

    def train(self, stream: Stream, *, threads: int | None = None, progress: Progress = SILENT) -> Model:
        """Train `base`, then `apply`."""
        return self.apply(self.base.train(stream, threads=threads, progress=progress), stream)

    def apply(self, model: Model, stream: Stream) -> Model:
        """A new model from a finished one."""
        weights = usif(stream.vocabulary.counts, stream.n_tokens / stream.n_sentences)[_ids(model, stream)]
        return _changed(model, stream, "uSIF", self, weights, self.n_components, by_share=True)


def sif(counts: NDArray[np.int64], a: float) -> Floats:
    """counts [8, 2], a 0.2 -> [.2 / (.2 + .8), .2 / (.2 + .2)] = [.2, .5]."""
    weights: Floats = a / (a + counts / counts.sum())
    return weights


def usif(counts: NDArray[np.int64], mean_length: float) -> Floats:
    """The weights of uSIF. Where no word is frequent enough to stand apart, `a` is infinite and all weights are 2."""
    p = counts / counts.sum()
    n_words = len(counts)
    # alpha: the share of words that are likelier than a random word is to come up in a sentence at all
    alpha = float((p > 1 - (1 - 1 / n_words) ** mean_length).mean())
    if alpha == 0:
        return np.full(n_words, 2.0)
    a = (1 - alpha) / (alpha * n_words / 2)
    weights: Floats = a / (a / 2 + p)
    return weights


def idf(sentence_counts: NDArray[np.int64], n_sentences: int) -> Floats:
    """2 sentences, words that stand in [2, 1] of them -> [ln(3/3) + 1, ln(3/2) + 1] = [1, 1.41]."""
    weights: Floats = np.log((1 + n_sentences) / (1 + sentence_counts)) + 1
    return weights


def sentence_counts(stream: Stream) -> NDArray[np.int64]:
    """In how many sentences each word stands, (n_words,): [[a, a, b], [a]] -> [2, 1]."""
    n_words = len(stream.vocabulary)
    counts = np.zeros(n_words, dtype=np.int64)
    first = 0
    while first < stream.n_sentences:
        last = int(np.searchsorted(stream.sentences, stream.sentences[first] + BLOCK, side="right")) - 1
        last = max(first + 1, last)
        offsets = np.asarray(stream.sentences[first : last + 1])
        ids = np.asarray(stream.ids[offsets[0] : offsets[-1]], dtype=np.int64)
        keys = np.repeat(np.arange(last - first), np.diff(offsets)) * n_words + ids
        keys.sort()  # np.unique hashes since NumPy 2.3, which is several times slower for so many different keys
        counts += np.bincount(keys[np.r_[True, keys[1:] != keys[:-1]]] % n_words, minlength=n_words)
        first = last
    return counts


def _ids(model: Model, stream: Stream) -> NDArray[np.int64]:
    """The stream's id of each word of the model."""
    index = stream.vocabulary.index
    try:
        return np.array([index[word] for word in model.vocabulary.words], dtype=np.int64)
    except KeyError as error:
        raise InputError(f"the word {error} of the model is not in the stream; weights need its count") from None


def _changed(
    model: Model,
    stream: Stream,
    name: str,
    recipe: Any,
    weights: Floats,
    n_components: int,
    *,
    by_share: bool = False,
) -> Model:
    """The model with weighted rows, less the common components of the stream's sentences."""
    if not 0 <= n_components < model.dim:
        raise SettingsError(f"n_components is {n_components}; expected 0 to {model.dim - 1}, less than dim")
    rows: Vectors = (model.vectors * weights[:, None]).astype(np.float32)
    if n_components:
        found = common_components(rows, _ids(model, stream), stream, n=n_components, seed=recipe.seed)
        rows = without_components(rows, found, by_share=by_share)
    settings = {one.name: getattr(recipe, one.name) for one in fields(recipe) if one.name != "base"}
    info = {"recipe": {"name": name, **settings, "base": model.info.get("recipe")}, "corpus": stream.fingerprint}
    return Model(model.vocabulary, rows, model.tokenizer, info)
