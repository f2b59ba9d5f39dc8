"""One suite for every baseline. To join it, add a row to BASELINES.

The toy world has two topics, kitchen and sea. Every document keeps to one of them, so a system that learns from
neighbouring words or sentences must find sentences of one topic closer than sentences of two.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siamese_cbow.baselines.fastsent import FastSent
from siamese_cbow.baselines.random_vectors import RandomVectors, random_rows
from siamese_cbow.baselines.skip_thought.run import SkipThought
from siamese_cbow.baselines.weighting import SIF, USIF, Plain, TfIdf
from siamese_cbow.baselines.word2vec import Word2Vec
from siamese_cbow.evaluation.systems import open_system
from siamese_cbow.formats.vector_files import VectorFile, write_word_vectors
from siamese_cbow.model.model import Model
from siamese_cbow.stream.stream import Stream

TOPICS = {
    "kitchen": ["bread", "oven", "flour", "butter", "knife", "plate", "soup", "salt"],
    "sea": ["boat", "wave", "sail", "harbour", "fish", "anchor", "storm", "deck"],
}
COMMON = ["the", "a", "and", "of"]
EVERYWHERE = [word for words in TOPICS.values() for word in words] + COMMON


@dataclass(frozen=True)
class Row:
    """A baseline: how to make it (given a word vector file of the toy world), and whether it learns from text."""

    name: str
    make: Callable[[Path], Any]
    learns: bool = True
    needs: str | None = None  # a library that it needs


def word2vec(algorithm: Any, **settings: Any) -> Word2Vec:
    # Every word of this world is frequent, so subsampling would leave nothing.
    return Word2Vec(algorithm, **{"dim": 12, "sample": 0.0, "epochs": 20, "alpha": 0.05, "window": 3, **settings})


def skip_thought(kind: Any, dim: int) -> SkipThought:
    return SkipThought(kind, dim=dim, dim_word=8, samples=20, batch_size=32, learning_rate=0.02, epochs=2)


BASELINES = [
    Row("random", lambda file: RandomVectors(dim=12), learns=False),
    Row("vector file", lambda file: VectorFile(str(file)), learns=False),
    Row("tf-idf of random", lambda file: TfIdf(RandomVectors(dim=12)), learns=False),
    Row("FastSent", lambda file: FastSent(dim=12, subsample=0.0, epochs=3)),
    Row("FastSent+AE", lambda file: FastSent(autoencode=True, dim=12, subsample=0.0, epochs=3)),
    Row("cbow", lambda file: word2vec("cbow"), needs="gensim"),
    Row("skipgram", lambda file: word2vec("skipgram"), needs="gensim"),
    Row("tf-idf", lambda file: TfIdf(word2vec("skipgram")), needs="gensim"),
    Row("SIF", lambda file: SIF(word2vec("skipgram"), a=0.05, n_components=0), needs="gensim"),
    Row("uSIF", lambda file: USIF(word2vec("skipgram"), n_components=2), needs="gensim"),
    # With two topics, the topic is the strongest component; removing it would defeat the test of learning.
    Row("plain less components", lambda file: Plain(word2vec("skipgram")), learns=False, needs="gensim"),
    Row("SIF less components", lambda file: SIF(word2vec("skipgram")), learns=False, needs="gensim"),
    Row("skip-thought", lambda file: skip_thought("uni", dim=12), needs="torch"),
    Row("skip-thought, combined", lambda file: skip_thought("combine", dim=6), needs="torch"),
    Row("SIF of a vector file", lambda file: SIF(VectorFile(str(file))), learns=False),
]


@pytest.fixture(scope="session")
def toy_stream() -> Stream:
    return Stream.of_words(toy_documents(np.random.default_rng(1), 300))


def toy_documents(rng: np.random.Generator, n: int) -> list[list[list[str]]]:
    documents = []
    for i in range(n):
        topic = list(TOPICS.values())[i % 2]
        documents.append([[*rng.choice(topic, 4), *rng.choice(COMMON, 2)] for _ in range(5)])
        for sentence in documents[-1]:
            rng.shuffle(sentence)
    return documents


@pytest.fixture(scope="session")
def toy_vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vectors") / "toy.vec"
    words = [*EVERYWHERE[:-1], "elsewhere"]  # lacks one word of the stream and has one extra word
    write_word_vectors(path, words, np.random.default_rng(2).normal(size=(len(words), 12)).astype(np.float32))
    return path


@pytest.fixture(scope="session", params=BASELINES, ids=lambda row: row.name)
def row(request: pytest.FixtureRequest) -> Row:
    found: Row = request.param
    if found.needs:
        pytest.importorskip(found.needs)
    return found


@pytest.fixture(scope="session")
def model(row: Row, toy_stream: Stream, toy_vectors: Path) -> Any:
    return row.make(toy_vectors).train(toy_stream, threads=1)


def test_vectors_have_the_right_shape_and_no_nan(model: Any) -> None:
    vectors = model.encode(["the bread", "a boat of fish", ""])
    assert vectors.shape == (3, 12)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()


def test_empty_and_unknown_text_gives_zeros(model: Any) -> None:
    vectors = model.encode(["", "   ", "zzz qqq", "bread"])
    assert not vectors[:3].any()
    assert vectors[3].any()
    assert model.encode([]).shape == (0, 12)


def test_a_vector_does_not_depend_on_the_other_sentences(model: Any) -> None:
    alone = model.encode(["bread and salt"])
    among = model.encode(["boat", "bread and salt", "the storm"])
    np.testing.assert_array_equal(alone[0], among[1])


@pytest.mark.parametrize("row", [row for row in BASELINES if row.learns], ids=lambda row: row.name, indirect=True)
def test_sentences_of_one_topic_are_closer(model: Any) -> None:
    rng = np.random.default_rng(5)
    sentences = [
        " ".join([*rng.choice(words, 4, replace=False), "the"]) for words in TOPICS.values() for _ in range(10)
    ]
    units = model.encode(sentences).astype(np.float64)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    cosines = units @ units.T
    within = np.r_[cosines[:10, :10][np.triu_indices(10, 1)], cosines[10:, 10:][np.triu_indices(10, 1)]]
    assert within.mean() > cosines[:10, 10:].mean() + 0.2


def test_the_same_seed_gives_the_same_bytes(row: Row, model: Any, toy_stream: Stream, toy_vectors: Path) -> None:
    again = row.make(toy_vectors).train(toy_stream, threads=1)
    assert again == model
    assert again.encode(EVERYWHERE).tobytes() == model.encode(EVERYWHERE).tobytes()


def test_saving_and_loading_changes_nothing(model: Any, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    again: Any = open_system(str(tmp_path / "model"))
    assert again == model
    texts = ["the bread", "zzz", "a boat of fish"]
    np.testing.assert_array_equal(again.encode(texts), model.encode(texts))


def test_the_vocabulary_is_the_streams(model: Any, toy_stream: Stream) -> None:
    words = list(model.vocabulary.words)
    assert set(words) <= set(toy_stream.vocabulary.words)
    places = [toy_stream.vocabulary.index[word] for word in words]
    assert places == sorted(places)
    np.testing.assert_array_equal(model.vocabulary.counts, toy_stream.vocabulary.counts[places])
    assert model.tokenizer == toy_stream.tokenizer


def test_a_model_says_where_it_comes_from(model: Any, toy_stream: Stream) -> None:
    assert model.info["recipe"]["name"]
    assert model.info["corpus"] == toy_stream.fingerprint


@pytest.mark.slow
def test_nothing_depends_on_pythons_hash_seed(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    script = """
import hashlib
from tests.baselines.test_contract import *
stream = Stream.of_words(toy_documents(np.random.default_rng(1), 20))
for recipe in (RandomVectors(dim=5), word2vec("cbow", epochs=2), SIF(RandomVectors(dim=5))):
    print(hashlib.sha256(recipe.train(stream, threads=1).vectors.tobytes()).hexdigest())
"""
    seen = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        )
        seen.add(done.stdout)
    assert len(seen) == 1


def test_another_seed_gives_other_vectors(toy_stream: Stream) -> None:
    pytest.importorskip("gensim")
    for make in (lambda seed: RandomVectors(dim=5, seed=seed), lambda seed: word2vec("cbow", seed=seed, epochs=1)):
        one, other = (make(seed).train(toy_stream, threads=1).vectors for seed in (1, 2))
        assert not np.array_equal(one, other)


def test_random_rows_depend_on_the_word_alone() -> None:
    words = [f"w{i}" for i in range(5000)]
    rows = random_rows(words, 7, 1)
    np.testing.assert_array_equal(random_rows(["w4999", "new", "w3"], 7, 1)[[0, 2]], rows[[4999, 3]])
    assert abs(rows.mean()) < 0.02
    assert abs(rows.std() - 1) < 0.02
    assert abs(np.corrcoef(rows.T) - np.eye(7)).max() < 0.06
    encoded = RandomVectors(dim=7).encode(["W3 w4", "", "w3"])
    np.testing.assert_allclose(encoded[0], rows[3:5].mean(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(encoded[1:], [np.zeros(7), rows[3]])
    assert RandomVectors(dim=7).encode([]).shape == (0, 7)
    assert isinstance(RandomVectors(dim=7).train(Stream.of_words([[["w3"]]])), Model)
