"""Weights and common components against their formulas, and the folded model against the direct computation."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siamese_cbow.baselines.random_vectors import RandomVectors
from siamese_cbow.baselines.weighting import SIF, USIF, Plain, TfIdf
from siamese_cbow.baselines.word2vec import Word2Vec
from siamese_cbow.errors import InputError, MissingExtra, SettingsError
from siamese_cbow.formats.vector_files import VectorFile, write_word_vectors
from siamese_cbow.model.geometry import strength_shares, strongest
from siamese_cbow.model.model import Model
from siamese_cbow.progress import Silent
from siamese_cbow.stream.stream import Stream
from siamese_cbow.transform import estimates
from siamese_cbow.transform.estimates import idf, sentence_counts, sentence_moments, sif, usif
from siamese_cbow.words.vocabulary import Vocabulary
from stream_world import short_documents

DIM = 6


@pytest.fixture
def stream() -> Stream:
    return short_documents(shortest=1)


def plain_sentences(stream: Stream) -> list[list[int]]:
    return [stream.ids[a:b].tolist() for a, b in zip(stream.sentences[:-1], stream.sentences[1:], strict=True)]


def test_formulas() -> None:
    np.testing.assert_allclose(sif(np.array([8, 2]), 0.2), [0.2, 0.5])
    np.testing.assert_allclose(idf(np.array([2, 1]), 2), [1, math.log(1.5) + 1])
    # 4 words, mean length 2: the threshold is 1 - (3/4)^2 = .4375, one word of four is above it
    counts = np.array([7, 1, 1, 1])
    a = (1 - 0.25) / (0.25 * 2)
    np.testing.assert_allclose(usif(counts, 2), a / (a / 2 + counts / 10))
    np.testing.assert_array_equal(usif(np.array([1, 1]), 50), [2, 2])


def test_sentence_counts(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = np.zeros(len(stream.vocabulary), dtype=np.int64)
    for sentence in plain_sentences(stream):
        for word in set(sentence):
            expected[word] += 1
    np.testing.assert_array_equal(sentence_counts(stream), expected)
    for block in (1, 17):
        monkeypatch.setattr(estimates, "TOKENS", block)
        np.testing.assert_array_equal(sentence_counts(stream), expected)


def test_the_folded_model_is_sif_done_the_plain_way(stream: Stream) -> None:
    base = RandomVectors(dim=DIM).train(stream)
    weights = sif(stream.vocabulary.counts, 1e-3)
    means = np.array([np.mean([weights[i] * base.vectors[i] for i in ids], axis=0) for ids in plain_sentences(stream)])
    _, _, directions = np.linalg.svd(means, full_matrices=False)
    expected = means - means @ directions[:1].T @ directions[:1]
    model = SIF(RandomVectors(dim=DIM)).train(stream)
    texts = [" ".join(stream.vocabulary.words[i] for i in ids) for ids in plain_sentences(stream)]
    np.testing.assert_allclose(model.encode(texts), expected, atol=1e-5)
    assert model.info["recipe"] == {
        "name": "SIF", "a": 1e-3, "n_components": 1, "seed": 1, "base": {"name": "random", "dim": DIM, "seed": 1},
    }  # fmt: skip
    np.testing.assert_array_equal(SIF(RandomVectors()).apply(base, stream).vectors, model.vectors)


def test_usif_removes_each_component_by_its_share(stream: Stream) -> None:
    base = RandomVectors(dim=DIM).train(stream)
    model = USIF(RandomVectors(dim=DIM), n_components=3).train(stream)
    weights = usif(stream.vocabulary.counts, stream.n_tokens / stream.n_sentences)
    rows = base.vectors * weights[:, None]
    means = np.array([rows[ids].mean(axis=0) for ids in plain_sentences(stream)])
    _, values, directions = np.linalg.svd(means, full_matrices=False)
    for share, direction in zip(values[:3] ** 2 / (values[:3] ** 2).sum(), directions, strict=False):
        rows = rows - share * np.outer(rows @ direction, direction)
    np.testing.assert_allclose(model.vectors, rows, atol=2e-5)


def test_components_of_words_without_vectors_and_of_a_sample(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(3).normal(size=(10, DIM)).astype(np.float32) + 1
    ids = np.arange(5, 15)  # the other words of the stream have no vector

    def common_components(n: int, seed: int) -> tuple[Any, Any]:
        return strongest(sentence_moments(rows, ids, stream, seed=seed).gram, n)

    found, strengths = common_components(2, 1)
    means = [
        np.mean([rows[i - 5] for i in sentence if 5 <= i < 15], axis=0)
        for sentence in plain_sentences(stream)
        if any(5 <= i < 15 for i in sentence)
    ]
    _, values, directions = np.linalg.svd(np.array(means), full_matrices=False)
    np.testing.assert_allclose(abs(np.sum(found * directions[:2], axis=1)), [1, 1], atol=1e-6)
    np.testing.assert_allclose(strength_shares(strengths), values[:2] ** 2 / (values[:2] ** 2).sum(), rtol=1e-6)
    monkeypatch.setattr("siamese_cbow.transform.estimates.BLOCK", 7)
    blocks, _ = common_components(2, 1)
    np.testing.assert_allclose(abs(np.sum(found * blocks, axis=1)), [1, 1], atol=1e-9)
    monkeypatch.setattr("siamese_cbow.transform.estimates.SAMPLE", 50)
    one, again, other = (common_components(1, seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_settings_are_checked(stream: Stream) -> None:
    with pytest.raises(SettingsError, match="a is 0; expected a number above 0"):
        SIF(RandomVectors(), a=0)
    for make in (Plain, SIF, USIF, TfIdf):
        with pytest.raises(SettingsError, match=f"n_components is {DIM}; expected 0 to {DIM - 1}"):
            make(RandomVectors(dim=DIM), n_components=DIM).train(stream)
    with pytest.raises(SettingsError, match="dim is 0"):
        RandomVectors(dim=0)
    with pytest.raises(SettingsError, match="algorithm is 'glove'; expected one of cbow, skipgram"):
        Word2Vec("glove")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="window is 0"):
        Word2Vec(window=0)


def test_a_model_of_other_words_is_refused(stream: Stream) -> None:
    model = Model(Vocabulary.of_words(["w1", "elsewhere"]), np.ones((2, DIM), dtype=np.float32))
    with pytest.raises(InputError, match="the word 'elsewhere' of the model is not in the stream"):
        SIF(RandomVectors()).apply(model, stream)


def test_a_vector_file_in_the_order_of_the_stream(stream: Stream, tmp_path: Path) -> None:
    words = [*reversed(stream.vocabulary.words[:5]), "elsewhere"]
    write_word_vectors(tmp_path / "v.txt", words, np.arange(12, dtype=np.float32).reshape(6, 2))
    model = VectorFile(str(tmp_path / "v.txt")).train(stream)
    assert list(model.vocabulary.words) == list(stream.vocabulary.words[:5])
    assert model.vectors[:, 0].tolist() == [8, 6, 4, 2, 0]
    write_word_vectors(tmp_path / "other.txt", ["elsewhere"], np.ones((1, 2), dtype=np.float32))
    with pytest.raises(InputError, match="has no word of the stream"):
        VectorFile(str(tmp_path / "other.txt")).train(stream)


def test_word2vec_without_gensim_says_what_to_type(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(MissingExtra, match=r"the extra baselines .*pip install .*\[baselines\]'"):
        Word2Vec().train(stream)


class Counting(Silent):
    n = 0.0

    def advance(self, amount: float, note: str = "") -> None:
        self.n += amount


def test_word2vec_sees_every_token_of_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gensim")
    from siamese_cbow.baselines import word2vec

    monkeypatch.setattr(word2vec, "BLOCK", 3)
    monkeypatch.setattr(word2vec, "LONGEST", 4)
    stream = Stream.of_words([[["a", "b"] * 5, ["c"]], [["a", "c", "b"], ["b"], ["a"] * 4]])
    sentences = list(word2vec._Sentences(stream, Silent()))
    assert max(map(len, sentences)) == 4
    assert sum(map(len, sentences)) == stream.n_tokens
    assert "".join(word for sentence in sentences for word in sentence) == "ab" * 5 + "cacbb" + "aaaa"
    counting = Counting()
    word2vec.Word2Vec(dim=4, epochs=3, sample=0).train(stream, threads=1, progress=counting)
    assert counting.n == 3 * stream.n_tokens


@pytest.mark.parametrize(("algorithm", "rate"), [("cbow", 0.05), ("skipgram", 0.025)])
def test_word2vec_is_gensims_own_at_the_rates_of_word2vec(algorithm: Any, rate: float) -> None:
    gensim = pytest.importorskip("gensim.models")
    rng = np.random.default_rng(1)
    # All counts differ: gensim orders ties, and so the initial rows, at random.
    words = [f"w{i}" for i in range(20) for _ in range(10 + i)]
    rng.shuffle(words)
    sentences = [words[i : i + 5] for i in range(0, len(words), 5)]
    settings: dict[str, Any] = {"window": 2, "negative": 3, "sample": 1e-2, "epochs": 3, "seed": 7}
    ours = Word2Vec(algorithm, dim=8, **settings).train(Stream.of_words([sentences]), threads=1)
    theirs = gensim.Word2Vec(
        sentences, vector_size=8, sg=int(algorithm == "skipgram"), min_count=1, hs=0, workers=1, alpha=rate, **settings
    )
    assert list(ours.vocabulary.words) == theirs.wv.index_to_key
    np.testing.assert_array_equal(ours.vectors, theirs.wv.vectors)
