from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_cbow.errors import FormatError, InputError
from siamese_cbow.stream.counting import WordCounter, merge
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

WORDS = st.text(st.sampled_from("abcé日"), min_size=1, max_size=3)


def test_order_is_by_count_then_bytes() -> None:
    vocabulary = Vocabulary.of_counts({"sat": 2, "the": 3, "cat": 2, "é": 2, "rare": 1}, min_count=2)
    assert vocabulary.words == ["the", "cat", "sat", "é"]
    assert vocabulary.counts.tolist() == [3, 2, 2, 2]
    assert Vocabulary.of_counts({"a": 1, "b": 2}, max_words=1).words == ["b"]
    assert "cat" in vocabulary
    assert "dog" not in vocabulary
    assert repr(vocabulary) == "<Vocabulary of 4 words: the cat sat é>"


@given(counts=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1),
                              st.integers(0, 2**62)))  # fmt: skip
def test_file_round_trip(tmp_path_factory: pytest.TempPathFactory, counts: dict[str, int]) -> None:
    path = tmp_path_factory.mktemp("vocabulary") / "words.txt"
    vocabulary = Vocabulary.of_counts(counts, min_count=0)
    vocabulary.write(path)
    assert Vocabulary.read(path) == vocabulary


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("3 the\ncat\n", "line 2: 'cat'; expected a count"),
        ("3 the\nx cat\n", "line 2: 'x cat'"),
        ("3 the\n\n2 cat\n", "line 2: ''"),
        ("3 the\n2 the\n", "line 2: 'the' is already on line 1"),
        ("-3 the\n", "line 1"),
        ("3 \n", "line 1"),
        ("99999999999999999999999 the\n", "more than 18 digits"),
    ],
)
def test_bad_file(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "words.txt"
    path.write_text(content)
    with pytest.raises(FormatError, match=message):
        Vocabulary.read(path)


def test_missing_and_binary_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file"):
        Vocabulary.read(tmp_path / "none.txt")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="not UTF-8"):
        Vocabulary.read(tmp_path / "binary")


def counters(folder: Path, blocks: list[list[str]], n: int, max_distinct: int = 10**6) -> list[WordCounter]:
    made = [
        WordCounter(Tokenizer("whitespace", lowercase=False), max_distinct=max_distinct, folder=folder)
        for _ in range(n)
    ]
    for i, block in enumerate(blocks):
        made[i % n].scan((" ".join(block) + "\n").encode())
    return made


@given(blocks=st.lists(st.lists(WORDS), min_size=1, max_size=6), min_count=st.integers(1, 2))
def test_counting_equals_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, blocks: list[list[str]], min_count: int
) -> None:
    counts = collections.Counter(word for block in blocks for word in block)
    made = counters(tmp_path_factory.getbasetemp(), blocks, 3)
    expected = Vocabulary.of_counts(counts, min_count=min_count)
    if len(expected):
        merged = merge(made, min_count=min_count, max_words=None, vocabulary=None)
        assert merged.vocabulary == expected
        assert merged.n_distinct == len(counts)
    else:
        with pytest.raises(InputError, match=r"no word"):
            merge(made, min_count=min_count, max_words=None, vocabulary=None)


def test_tables_grow(tmp_path: Path) -> None:
    words = [f"word{i}" for i in range(200_000)]
    (counter,) = counters(tmp_path, [words], 1)
    assert counter.n_words == 200_000
    assert counter.words(np.array([123_456])) == [b"word123456"]
    assert (counter.counts == 1).all()


def test_forgetting_keeps_frequent_words_and_remaps_old_ids(tmp_path: Path) -> None:
    """An endless supply of rare strings: memory stays bounded, frequent words keep exact counts and ids."""
    counter = WordCounter(Tokenizer(), max_distinct=100, folder=tmp_path)
    scans = []
    for block in range(20):
        line = "the cat " * 10 + " ".join(f"rare{block}x{i}" for i in range(60))
        ids, _ = counter.scan((line + "\n").encode())
        scans.append((ids, counter.generation))
    assert counter.n_forgotten > 900
    assert counter.n_words <= 100 + 60
    merged = merge([counter], min_count=5, max_words=None, vocabulary=None)
    assert merged.vocabulary == Vocabulary(["cat", "the"], np.array([200, 200]))
    for ids, generation in scans:
        assert merged.remaps[0][generation][ids].tolist() == [1, 0] * 10 + [-1] * 60


def test_a_given_vocabulary_decides(tmp_path: Path) -> None:
    made = counters(tmp_path, [["b", "a", "c"], ["a"]], 2)
    given_one = Vocabulary.of_words(["a", "z", "b"])
    merged = merge(made, min_count=5, max_words=None, vocabulary=given_one)
    assert merged.vocabulary is given_one
    assert [remap[0].tolist() for remap in merged.remaps] == [[2, 0, -1], [0]]
    with pytest.raises(InputError, match="no word of the text is among the 1"):
        merge(made, min_count=1, max_words=None, vocabulary=Vocabulary.of_words(["z"]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a", "b", "a"], "the word 'a' occurs twice in the vocabulary; remove one"),
        (["a", 5], r"word 1 is 5 \(int\); expected a string"),
        ([b"a", "b"], r"word 0 is b'a' \(bytes\); expected a string"),
        (["a", ["b"]], "word 1 is"),
    ],
)
def test_words_are_strings_and_differ(words: list[Any], message: str) -> None:
    for make in (Vocabulary.of_words, lambda words: Vocabulary(words, np.ones(len(words), np.int64))):
        with pytest.raises(InputError, match=message):
            make(words)
