"""A saved folder opened by other libraries: the same words and the same vectors for any text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siamese_cbow import Model, Tokenizer, Vocabulary

# fmt: off
WORDS = [
    "the", "cat", "sat", "on", "mat", "a", "b", ".", ",", "!", "'", "(", "[", "]", "-", "—", "“", "”", "€", "🎈", "❤",
    "™", "don't", "o'neil", "unk", "3", "3.14", "1,000", "42nd", "x²", "½", "café", "naïve", "straße", "σ", "λόγος",
    "привет", "i̇stanbul", "日", "本", "語", "ひ", "カタカナ", "한국어", "नमस्ते", "שלום", "مرحبا",
]
# fmt: on

NASTY = [
    "",
    " ",
    "\n\n",
    "blorf",
    "The CAT sat on the mat.",
    "Don’t! o'neil’s cat's 'quoted'",
    "3.14, 1,000 and 42nd; 3. 4 .5",
    "CAFÉ naïve STRASSE straße ΛΌΓΟΣ Σ ς",
    "日本語のカタカナ、한국어。",
    "🎈❤️👨‍👩‍👧‍👦 €5 ™",
    "[UNK] [PAD] </s> <unk>",
    "the\x00cat\tsat\r\non\u2028mat\u3000the\xa0cat\ufeff\ufffd",
    "İSTANBUL ıstanbul x² ½ ﬁ Ǆ",
    "नमस्ते שלום مرحبا é é",
    "the cat sat on a mat " * 10,
    "x" * 5000,
]

TOKENIZERS = {
    "words": Tokenizer(),
    "no punctuation": Tokenizer(punctuation=False),
    "cased": Tokenizer(lowercase=False),
    "whitespace": Tokenizer("whitespace"),
}


class Trio:
    """One model in three libraries."""

    def __init__(self, folder: Path, tokenizer: Tokenizer) -> None:
        model2vec = pytest.importorskip("model2vec")
        sentence_transformers = pytest.importorskip("sentence_transformers")
        vectors = np.random.default_rng(5).standard_normal((len(WORDS), 16)).astype(np.float32)
        self.ours = Model(Vocabulary.of_words(WORDS), vectors, tokenizer)
        self.ours.save(folder)
        self.others: list[Any] = [
            model2vec.StaticModel.from_pretrained(folder),
            sentence_transformers.SentenceTransformer(str(folder), device="cpu"),
        ]

    def check(self, texts: list[str], tolerance: float = 1e-6) -> None:
        expected = self.ours.encode(texts, normalize_embeddings=True)
        for other in self.others:
            found = other.encode(texts, show_progress_bar=False)
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance, err_msg=type(other).__name__)


@pytest.fixture(scope="module", params=TOKENIZERS)
def trio(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trio:
    return Trio(tmp_path_factory.mktemp("interop") / "model", TOKENIZERS[request.param])


@pytest.mark.filterwarnings("default")  # theirs are not ours to fix
def test_nasty_texts(trio: Trio) -> None:
    trio.check(NASTY)
    for text in NASTY:
        trio.check([text])


@pytest.mark.filterwarnings("default")
def test_long_texts(trio: Trio) -> None:
    # By default model2vec truncates after 512 words. The other libraries add up in float32 throughout.
    trio.check(["the " * 5_000, "the cat " * 300 + "mat " * 300], tolerance=1e-4)


words = st.lists(st.sampled_from([*WORDS, "blorf", "THE", "’", "Don’t", "\u200d", "\u0301"]), max_size=10)
texts = st.one_of(words.map(" ".join), words.map("".join), st.text(max_size=30))


@given(texts=st.lists(texts, min_size=1, max_size=6))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("default")
def test_any_text(trio: Trio, texts: list[str]) -> None:
    trio.check(texts)


@pytest.mark.filterwarnings("default")
def test_they_know_its_size_and_similarity(trio: Trio) -> None:
    static, transformer = trio.others
    assert static.dim == trio.ours.dim
    assert transformer.get_embedding_dimension() == trio.ours.get_embedding_dimension()
    assert len(static.tokens) == len(WORDS) + 1
    a, b = ["the cat", "blorf", "3.14"], ["the mat", "cat"]
    theirs = transformer.similarity(transformer.encode(a), transformer.encode(b)).numpy()
    np.testing.assert_allclose(trio.ours.similarity(a, b), theirs, atol=1e-6)


@pytest.mark.filterwarnings("default")
def test_gensim_means_are_ours(tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models")
    vectors = np.random.default_rng(5).standard_normal((len(WORDS), 16)).astype(np.float32)
    model = Model(Vocabulary.of_words(WORDS), vectors)
    peer = gensim.KeyedVectors(16)
    peer.add_vectors(WORDS, vectors)
    text = "The cat sat on 3.14 blorfs, don't!"
    theirs = peer.get_mean_vector(model.tokenizer.words(text), pre_normalize=False)
    np.testing.assert_allclose(model.encode(text), theirs, atol=1e-6)
