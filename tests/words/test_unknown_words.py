"""Unknown words: who they count as, on both paths, and how they are counted."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from siamese_cbow.cli import group
from siamese_cbow.errors import SettingsError
from siamese_cbow.model import encoding
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import load
from siamese_cbow.words.lookup import Lookup
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.unknown_words import finder
from siamese_cbow.words.vocabulary import IN_COMMON, LEFT_OVER, Vocabulary

WORDS = ["the", "plays", "play", "player", "pla", "international", "ab"]


def toy() -> Model:
    return Model(Vocabulary(WORDS, np.arange(7, 0, -1)), np.eye(7, dtype=np.float32))


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("play", "play"),  # known
        ("playful", "plays"),  # `play` is the longest beginning; of plays, play and player the most frequent
        ("playerx", "player"),
        ("playe", "player"),  # the known one may be longer
        ("internationally", "international"),
        ("internat", None),  # five letters left over
        ("intern", None),
        ("playwrights", None),  # seven left over
        ("then", "the"),
        ("abc", None),  # nothing shares three letters
        ("x", None),
    ],
)
def test_who_an_unknown_word_counts_as(word: str, expected: str | None) -> None:
    found = finder(toy().vocabulary, "prefix")(word)
    assert found == (None if expected is None else WORDS.index(expected))


@given(
    st.lists(st.text("abc", min_size=1, max_size=8), unique=True, min_size=1), st.text("abc", min_size=1, max_size=9)
)
def test_against_the_plain_way(words: list[str], word: str) -> None:
    def common(known: str) -> int:
        return next((i for i in range(min(len(known), len(word))) if known[i] != word[i]), min(len(known), len(word)))

    fits = [
        (-common(known), i)
        for i, known in enumerate(words)
        if common(known) >= IN_COMMON and max(len(known), len(word)) - common(known) <= LEFT_OVER
    ]
    expected = words.index(word) if word in words else min(fits)[1] if fits else None
    for few in (True, False):
        assert finder(Vocabulary.of_words(words), "prefix", few=few)(word) == expected


def plain_ids(vocabulary: Vocabulary, tokenizer: Tokenizer, texts: list[str]) -> tuple[list[int], list[int]]:
    """What the scanner finds, in plain Python."""
    id_of = finder(vocabulary, "prefix")
    rows = [[i for i in map(id_of, tokenizer.words(text)) if i is not None] for text in texts]
    return list(itertools.chain.from_iterable(rows)), list(itertools.accumulate(map(len, rows), initial=0))


# Few letters, so that beginnings meet; some that are folded, and some of two to four bytes.
LETTERS = "abAé日😀İΣ'"


@given(
    st.lists(st.text(st.sampled_from("abé日😀i̇σ'"), min_size=1, max_size=9), unique=True, min_size=1),
    st.lists(st.text(st.sampled_from(LETTERS + " .1"), max_size=40), min_size=1, max_size=5),
    st.sampled_from(["words", "whitespace"]),
)
def test_the_scanner_finds_the_same_words(words: list[str], texts: list[str], kind: str) -> None:
    vocabulary, tokenizer = Vocabulary.of_words(words), Tokenizer(kind)  # type: ignore[arg-type]
    expected = plain_ids(vocabulary, tokenizer, texts)
    for found, wanted in zip(Lookup(vocabulary, tokenizer, "prefix").ids(texts), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_the_table_of_the_scanner_grows() -> None:
    words = [f"{chr(97 + i % 26)}{i * 7919:06d}xyz" for i in range(2000)]  # few have a beginning in common
    vocabulary, tokenizer = Vocabulary.of_words(words), Tokenizer()
    texts = [word[:-2] + "qq" for word in words]
    ids, _ = Lookup(vocabulary, tokenizer, "prefix").ids(texts)
    np.testing.assert_array_equal(ids, plain_ids(vocabulary, tokenizer, texts)[0])
    assert len(ids) == len(words)


def test_both_paths_and_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = toy().with_fallback("prefix")
    texts = ["the playful internationally", "", "zzz", "playerx"]
    expected = np.zeros((4, 7), np.float32)
    expected[0, [0, 1, 5]] = 1 / 3
    expected[3, 3] = 1
    np.testing.assert_allclose(model.encode(texts), expected)
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded == model
    assert loaded.compress("int8").fallback == "prefix"
    monkeypatch.setattr(encoding, "MUCH_TEXT", 0)
    np.testing.assert_array_equal(loaded.encode(texts), model.encode(texts))
    np.testing.assert_allclose(model.with_fallback("none").encode("the playful"), np.eye(7)[0])
    assert model.with_fallback("none") == toy()
    with pytest.raises(SettingsError, match="expected one of none, prefix"):
        toy().with_fallback("suffix")  # type: ignore[arg-type]


def test_unknown_words_are_counted() -> None:
    texts = ["the blorf plays", "blorf blip"]
    for model in (toy(), toy().with_fallback("prefix")):
        assert list(model.unknown_counts(texts).items()) == [("blorf", 2), ("blip", 1)]
        assert model.unknown_words("the playful blorf") == ["playful", "blorf"]


def test_commands(tmp_path: Path) -> None:
    toy().save(tmp_path / "m")
    (tmp_path / "in.txt").write_text("the blorf plays\nblorf blip\n")
    unknown = tmp_path / "unknown.txt"
    base = ["encode", str(tmp_path / "in.txt"), "--model", str(tmp_path / "m"), "-o", str(tmp_path / "out.npy")]
    result = CliRunner().invoke(group, [*base, "--unknown", str(unknown)])
    assert result.exit_code == 0, result.output
    assert unknown.read_text() == "2 blorf\n1 blip\n"
    assert "3 words without a vector, 2 different ones" in result.output
    similarity = ["similarity", "playful", "plays", "--model", str(tmp_path / "m")]
    assert float(CliRunner().invoke(group, [*similarity, "--fallback", "prefix"]).output) == 1
    assert "0.000000" in CliRunner().invoke(group, similarity).output


@pytest.mark.parametrize("dtype", ["float32", "int4"])
def test_the_card_says_what_unknown_words_count_as(tmp_path: Path, dtype: str) -> None:
    for fallback, expected in (("none", "Unknown words are left out."), ("prefix", "the known one that begins alike")):
        toy().compress(dtype).with_fallback(fallback).save(tmp_path / fallback)
        assert expected in (tmp_path / fallback / "README.md").read_text("utf-8")
