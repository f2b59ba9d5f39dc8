"""A small model with every difficult kind of word, for the tests of other libraries."""

from __future__ import annotations

import numpy as np

from siamese_cbow import Model, Tokenizer, Vocabulary

# fmt: off
WORDS = [
    "the", "cat", "sat", "on", "mat", "a", "dog", ".", ",", "!", "'", "don't", "3.14", "1,000", "café", "straße", "σ",
    "привет", "i̇stanbul", "日", "ひ", "カタカナ", "🎈", "€",
]
TEXTS = [
    "", " ", "blorf", "The cat sat on the mat.", "Don’t! the 'cat'", "3.14, 1,000 dogs", "CAFÉ  STRASSE straße\nΣ",
    "日ひカタカナ。", "🎈€5 привет", "the\x00cat\tsat\u2028on", "İSTANBUL", "a dog " * 40,
]
# fmt: on


def small_model(tokenizer: Tokenizer | None = None) -> Model:
    vectors = np.random.default_rng(5).standard_normal((len(WORDS), 16)).astype(np.float32)
    counts = np.arange(len(WORDS), 0, -1, dtype=np.int64)
    info = {"recipe": {"name": "contrastive", "dim": 16}}
    return Model(Vocabulary(WORDS, counts), vectors, tokenizer or Tokenizer(), info)
