"""Sentences cut into pieces: every word keeps its place, and no piece crosses a sentence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_cbow.errors import SettingsError
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.siamese_cbow import SiameseCBOW

SENTENCES = st.lists(st.text("abc", min_size=1, max_size=30).map(list), min_size=1, max_size=5)


@given(documents=st.lists(SENTENCES, min_size=1, max_size=4), n_words=st.integers(1, 12))
def test_pieces_are_the_same_text(documents: list[list[list[str]]], n_words: int) -> None:
    stream = Stream.of_words(documents)
    pieces = stream.in_pieces(n_words)
    assert np.array_equal(pieces.ids, stream.ids)
    assert set(stream.sentences.tolist()) <= set(pieces.sentences.tolist())  # no piece crosses a sentence
    assert np.array_equal(pieces.sentences[pieces.documents], stream.sentences[stream.documents])
    lengths = np.diff(pieces.sentences)
    assert (lengths >= 1).all()
    assert (lengths <= max(1.5 * n_words, 1)).all()


def test_a_sentence_of_seven_words() -> None:
    pieces = Stream.of_words([[list("abcdefg"), list("ab")]]).in_pieces(3)
    assert np.diff(pieces.sentences).tolist() == [3, 4, 2]
    assert pieces.documents.tolist() == [0, 3]


def test_pieces_are_another_text_to_train_on() -> None:
    stream = Stream.of_words([[list("abcdefgh") * 3] * 8])
    pieces = stream.in_pieces(4)
    assert pieces.fingerprint != stream.fingerprint
    model = SiameseCBOW(dim=8, epochs=1, subsample=0).train(pieces)
    assert model.vocabulary == stream.vocabulary


def test_no_pieces_without_words() -> None:
    with pytest.raises(SettingsError, match="expected a whole number, 1 or more"):
        Stream.of_words([[["a", "b"]]]).in_pieces(0)
