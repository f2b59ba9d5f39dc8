"""Tokenizers of other programs: a text has the same ids on both paths, whatever its kind of tokens."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from siamese_cbow.model import encoding
from siamese_cbow.model.model import Model
from siamese_cbow.words.json_tokenizer import JsonTokenizer
from siamese_cbow.words.lookup import lookup_of
from siamese_cbow.words.unknown_words import finder
from siamese_cbow.words.vocabulary import Vocabulary

tokenizers = pytest.importorskip("tokenizers")

TOKENS = ["<unk>", "play", "playing", "s", "a"]
TEXTS = ["plays a xyz", "", "playing playi", "qq \ud800 a"]


def tokenizer(kind: str) -> JsonTokenizer:
    ids = {token: i for i, token in enumerate(TOKENS)}
    model = {
        "Unigram": tokenizers.models.Unigram([(token, -1.0) for token in TOKENS], unk_id=0),
        "WordPiece": tokenizers.models.WordPiece(ids, unk_token="<unk>", continuing_subword_prefix=""),
        "WordLevel": tokenizers.models.WordLevel(ids, unk_token="<unk>"),
    }[kind]
    library = tokenizers.Tokenizer(model)
    library.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return JsonTokenizer(json=library.to_str())


@pytest.mark.parametrize("kind", ["Unigram", "WordPiece", "WordLevel"])
@pytest.mark.parametrize("fallback", ["none", "prefix"])
@pytest.mark.parametrize("words", [TOKENS, TOKENS[1:4], ["playing", "<unknown>"]])
def test_both_paths_find_the_same_ids(
    kind: str, fallback: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    vocabulary, cut = Vocabulary.of_words(words), tokenizer(kind)
    id_of = finder(vocabulary, fallback)  # type: ignore[arg-type]
    expected = [[i for i in map(id_of, cut.words(text)) if i is not None] for text in TEXTS]
    ids, offsets = lookup_of(vocabulary, cut, fallback).ids(TEXTS)  # type: ignore[arg-type]
    assert [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)] == expected
    model = Model(vocabulary, np.eye(len(words), dtype=np.float32), cut).with_fallback(fallback)  # type: ignore[arg-type]
    few = model.encode(TEXTS)
    monkeypatch.setattr(encoding, "MUCH_TEXT", 0)
    np.testing.assert_array_equal(model.encode(TEXTS), few)


def test_unknown_text_is_the_token_for_it() -> None:
    for kind in ("Unigram", "WordPiece", "WordLevel"):
        assert tokenizer(kind).words("play xyz a") == ["play", "<unk>", "a"]
