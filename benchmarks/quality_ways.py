"""Other ways to train or finish than the library offers, for the quality search: each a few lines around its loop."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.quality_streams import documents
from siamese_cbow.base.arrays import Vectors
from siamese_cbow.baselines.fastsent import FastSent
from siamese_cbow.baselines.word2vec import Word2Vec
from siamese_cbow.model.geometry import lengths, units
from siamese_cbow.model.model import Model
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.loop import Callback, Run, train
from siamese_cbow.training.plan import plan_of
from siamese_cbow.training.siamese_cbow import SiameseCBOW
from siamese_cbow.training.state import Counters
from siamese_cbow.training.stems import stems_of
from siamese_cbow.words.vocabulary import Vocabulary


def changed(model: Model, vectors: Vectors) -> Model:
    """The same words with other rows."""
    return Model(model.vocabulary, np.ascontiguousarray(vectors, np.float32), model.tokenizer, model.info)


def in_stages(recipe: SiameseCBOW, stream: Stream, temperatures: tuple[float, ...]) -> Model:
    """Trains on equal shares of the documents, one after the other, each at its own temperature."""
    state = None
    bounds = np.linspace(0, stream.n_documents, len(temperatures) + 1).astype(int)
    for temperature, first, end in zip(temperatures, bounds, bounds[1:], strict=False):
        run = train(plan_of(replace(recipe, temperature=temperature), documents(stream, first, end)), state=state)
        state = run.state
        state.counters = Counters()
    return run.model()


def mean_of_checkpoints(recipe: SiameseCBOW, stream: Stream) -> Model:
    """The mean of the rows at eight points in the second half of training."""

    class Mean(Callback):
        def on_start(self, run: Run) -> None:
            self.every = max(1, run.n_steps // 16)
            self.total, self.n = np.zeros(run.model().vectors.shape), 0

        def on_batch(self, run: Run) -> None:
            if run.state.counters.step > run.n_steps // 2 and run.state.counters.step % self.every == 0:
                self.total += run.model().vectors
                self.n += 1

    seen = Mean()
    model = recipe.train(stream, callbacks=[seen])
    return changed(model, seen.total / seen.n)


def from_word2vec(recipe: SiameseCBOW, stream: Stream) -> Model:
    """Starts from the rows of word2vec (CBOW, one epoch) on the same text, scaled to our initial lengths."""
    theirs = Word2Vec("cbow", dim=recipe.dim, epochs=1, seed=recipe.seed).train(stream)
    with tempfile.TemporaryDirectory() as folder:
        scale = recipe.init_std * recipe.dim**0.5 / np.linalg.norm(theirs.vectors, axis=1).mean()
        changed(theirs, theirs.vectors * scale).save(Path(folder) / "word2vec")
        return replace(recipe, init=str(Path(folder) / "word2vec")).train(stream)


def fastsent(recipe: SiameseCBOW, stream: Stream) -> Model:
    """FastSent with the same number of dimensions."""
    return FastSent(dim=recipe.dim, seed=recipe.seed).train(stream)


def skipgram(recipe: SiameseCBOW, stream: Stream) -> Model:
    """word2vec's skip-gram with the same number of dimensions and its own five epochs."""
    return Word2Vec("skipgram", dim=recipe.dim, seed=recipe.seed).train(stream)


def towards_neighbours(model: Model, stream: Stream, share: float) -> Model:
    """Moves each row towards the mean of its 10 nearest of the 30,000 most frequent words; lengths stay."""
    rows = units(model.vectors)
    frequent, drawn = rows[:30_000], np.empty_like(rows)
    for start in range(0, len(rows), 1024):
        some = rows[start : start + 1024]
        nearest = np.argpartition(-(some @ frequent.T), 10, axis=1)[:, :10]
        drawn[start : start + 1024] = (1 - share) * some + share * frequent[nearest].mean(axis=1)
    return changed(model, units(drawn) * lengths(model.vectors)[:, None])


def longer_without_kin(model: Model, stream: Stream, factor: float) -> Model:
    """Gives more weight to words that share their stem with no other word."""
    alone = stems_of(SiameseCBOW(), model.vocabulary).rows < 0
    return changed(model, model.vectors * np.where(alone, factor, 1)[:, None])


def numbers_by_shape(recipe: SiameseCBOW, stream: Stream) -> Model:
    """Numbers with as many digits share a row, like words of one stem: 1984 and 2016 both train 0000."""
    words = ["".join("0" if c.isdigit() else c for c in word) for word in stream.vocabulary.words]
    model = recipe.train(replace(stream, vocabulary=Vocabulary(words, stream.vocabulary.counts)))
    return Model(stream.vocabulary, model.vectors, model.tokenizer, model.info)


def one_number(stream: Stream) -> Stream:
    """Replaces all numbers by the most frequent one."""
    numbers, counts = is_number(stream.vocabulary), np.array(stream.vocabulary.counts)
    first = int(np.argmax(numbers))
    spot = np.where(numbers, first, np.arange(len(counts))).astype(np.int32)
    total = counts[numbers].sum()
    counts[numbers] = 0
    counts[first] = total
    return replace(stream, ids=spot[stream.ids], vocabulary=Vocabulary(stream.vocabulary.words, counts))


def one_number_for_all(model: Model, stream: Stream) -> Model:
    """Gives all numbers the row of the most frequent one."""
    numbers, vectors = is_number(model.vocabulary), model.vectors.copy()
    vectors[numbers] = vectors[int(np.argmax(numbers))]
    return changed(model, vectors)


def is_number(vocabulary: Vocabulary) -> np.ndarray:
    """Which words begin with a digit and have no letter: 1984 and 3.14, but not 4u."""
    return np.array([word[0].isdigit() and not any(c.isalpha() for c in word) for word in vocabulary.words])


def side_by_side(models: list[Model], dim: int | None = None) -> Model:
    """Concatenates several models with equal weight; `dim` keeps only the strongest directions."""
    counts = np.asarray(models[0].vocabulary.counts)[:, None]
    scaled = [m.vectors / np.sqrt((counts * m.vectors**2.0).sum() / counts.sum()) for m in models]
    vectors = np.concatenate(scaled, axis=1).astype(np.float32)
    if dim is not None:
        vectors = vectors @ np.linalg.eigh((counts * vectors).T @ vectors)[1][:, -dim:].astype(np.float32)
    return changed(models[0], vectors)


def mean_of_aligned(models: list[Model]) -> Model:
    """The mean of the rows of several models, each rotated to fit the first one best."""
    first, total = models[0].vectors, models[0].vectors.copy()
    for model in models[1:]:
        left, _, right = np.linalg.svd(model.vectors.T @ first)
        total += model.vectors @ (left @ right)
    return changed(models[0], total / len(models))
