"""A lazily parsed vocabulary equals one that is parsed at once."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_cbow.errors import FormatError
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import load
from siamese_cbow.words import vocabulary as vocabularies
from siamese_cbow.words.vocabulary import LazyVocabulary, Vocabulary

WORDS = st.text(st.sampled_from("ab3é日.+\\"), min_size=1, max_size=6)


@given(st.lists(WORDS, unique=True, min_size=1), st.lists(WORDS | st.sampled_from(["", "a b", "a\n1 b", "\n", " "])))
def test_the_same_answers_as_at_once(words: list[str], asked: list[str]) -> None:
    plain = Vocabulary(words, np.arange(len(words), 0, -1))
    lazy = LazyVocabulary(plain.to_text())
    assert len(lazy) == len(plain)
    for word in [*asked, *words][: vocabularies.FEW // 4]:
        assert lazy.id_of(word) == plain.id_of(word)
        assert (word in lazy) == (word in plain)
        assert lazy.first_like(word) == plain.first_like(word)
    assert not {"words", "counts", "index"} & set(vars(lazy))
    assert lazy == plain
    assert repr(lazy) == repr(plain)
    assert lazy.hash() == plain.hash()
    assert pickle.loads(pickle.dumps(lazy)) == plain


def test_many_questions_make_the_dictionary() -> None:
    lazy = LazyVocabulary("3 the\n2 cat\n")
    for _ in range(vocabularies.FEW):
        assert lazy.id_of("cat") == 1
    assert "index" not in vars(lazy)
    assert lazy.id_of("cat") == 1
    assert lazy.first_like("cat") == 1
    assert "index" in vars(lazy)
    assert lazy.id_of("dog") is None


def test_plain_text_only() -> None:
    assert LazyVocabulary.plain("3 the\n2 cat\n")
    for text in ("", "3 the", "3 new york\n", " the\n", "\n3 the\n"):
        assert not LazyVocabulary.plain(text)
    with pytest.raises(FormatError, match="has no count"):
        _ = LazyVocabulary("3 the\nx cat\n").counts


def test_a_loaded_model_answers_before_its_words_are_cut(tmp_path: Path) -> None:
    words = ["the", "new york", "cat", "sat"]
    model = Model(Vocabulary(words[:1] + words[2:], np.arange(3)), np.eye(3, dtype=np.float32))
    model.save(tmp_path / "m")
    for fallback in ("none", "prefix"):
        loaded = load(tmp_path / "m").with_fallback(fallback)
        assert loaded.similarity("the cats", "the cat sat") == model.with_fallback(fallback).similarity(
            "the cats", "the cat sat"
        )
        assert not {"words", "counts", "index"} & set(vars(loaded.vocabulary))
        for _ in range(vocabularies.FEW):
            assert loaded.encode("cat").tolist() == [0, 1, 0]
        assert "index" in vars(loaded.vocabulary)
        assert loaded == model.with_fallback(fallback)
    Model(Vocabulary(words, np.arange(4)), np.eye(4, dtype=np.float32)).save(tmp_path / "spaces")
    assert load(tmp_path / "spaces").vocabulary.words == words


def test_numpy_with_one_thread_leaves_no_trace() -> None:
    code = (
        "import os, sys; from siamese_cbow.cli.looking import import_numpy_quickly as quick; quick(); "
        "print('numpy' in sys.modules, os.environ.get('OPENBLAS_NUM_THREADS'))"
    )
    for given_one, expected in (("", "True None\n"), ("2", "False 2\n")):
        environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
        environment |= {"OPENBLAS_NUM_THREADS": given_one} if given_one else {}
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        assert run.stdout == expected
