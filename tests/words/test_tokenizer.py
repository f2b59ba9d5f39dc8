"""One definition of words: plain Python, the scanner and the `tokenizers` library must agree on any text."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_cbow.errors import SettingsError
from siamese_cbow.stream.counting import WordCounter
from siamese_cbow.words import characters
from siamese_cbow.words.lookup import Lookup, as_lines
from siamese_cbow.words.tokenizer import UNKNOWN, Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

TOKENIZERS = [
    Tokenizer(kind, lowercase=lowercase, punctuation=punctuation)
    for kind, lowercase, punctuation in itertools.product(("words", "whitespace"), (True, False), (True, False))
]
NAMES = [f"{t.kind}-{'lower' if t.lowercase else 'cased'}-{'marks' if t.punctuation else 'bare'}" for t in TOKENIZERS]

# Characters that decide something: apostrophes, points in numbers, marks, ideographs, odd lower cases, separators.
TRICKY = "aZ09.,'’!-_ \t\r\x00\x1f\x85\xa0é̈ÉİΣςσßẞⅫ½²日のァーह्❤\ufe0f\u200d\ufffd\u2028😀𝔸𐐀"
texts = st.one_of(
    st.text(st.sampled_from(TRICKY), max_size=40),
    st.text(max_size=40),
    st.text(st.characters(codec="ascii"), max_size=40),
    st.lists(st.text(st.sampled_from("aZ09'é."), min_size=6, max_size=20), max_size=4).map(" ".join),  # eights of bytes
)


def scanned(tokenizer: Tokenizer, text: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The words that the counting scanner sees."""
    counter = WordCounter(tokenizer, max_distinct=1000, folder=tmp_path_factory.getbasetemp())
    ids, _ = counter.scan(as_lines([text]).tobytes())
    return [word.decode() for word in counter.words(ids)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don’t panic: 3.14 is 4U!", ["don't", "panic", ":", "3.14", "is", "4u", "!"]),
        ("1,000,000.5x 3. .5 1.2.a", ["1,000,000.5", "x", "3", ".", ".", "5", "1.2", ".", "a"]),
        ("rock 'n' roll's '90s", ["rock", "'", "n", "'", "roll's", "'", "90s"]),
        ("日本語のテスト", ["日", "本", "語", "の", "テスト"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("İstanbul ΟΔΟΣ", ["i̇stanbul", "οδοσ"]),
        ("snake_case a-b", ["snake", "_", "case", "a", "-", "b"]),
        ("\x00\ufffd \ud800", []),
        ("", []),
    ],
)
def test_words_by_example(text: str, words: list[str]) -> None:
    assert Tokenizer().words(text) == words


def test_options() -> None:
    assert Tokenizer(lowercase=False).words("The Cat") == ["The", "Cat"]
    assert Tokenizer(punctuation=False).words("it's, well, 3.14!") == ["it's", "well", "3.14"]
    assert Tokenizer("whitespace").words("He said .\tIt's") == ["he", "said", ".", "it's"]
    with pytest.raises(SettingsError, match="'letters'"):
        Tokenizer("letters")  # type: ignore[arg-type]


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=NAMES)
def test_settings_round_trip(tokenizer: Tokenizer) -> None:
    assert Tokenizer.from_settings(tokenizer.settings()) == tokenizer
    with pytest.raises(SettingsError, match="colour"):
        Tokenizer.from_settings({"colour": "red"})


def test_rule_1_stays_what_it_was() -> None:
    """Streams and models say by which rule they were cut. Other words for any text are another rule: see RULES."""
    table = Path(characters.__file__).with_name("unicode_tables.txt")
    hashed = hashlib.blake2b(table.read_bytes(), digest_size=16)
    triples = " ".join(map("".join, itertools.product(TRICKY, repeat=3)))
    for tokenizer in TOKENIZERS:
        hashed.update("\n".join(replace(tokenizer, rule=1).words(triples)).encode())
    assert hashed.hexdigest() == "dacce926305dd846038111007d3fd077"


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=NAMES)
@settings(max_examples=300)
@given(text=texts)
def test_scanner_equals_definition(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    assert scanned(tokenizer, text, tmp_path_factory) == tokenizer.words(text)


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=NAMES)
@settings(max_examples=300)
@given(text=st.one_of(st.text(st.sampled_from(TRICKY), max_size=40), st.text(max_size=40)))
def test_tokenizers_library_equals_definition(tokenizer: Tokenizer, text: str) -> None:
    library = pytest.importorskip("tokenizers")
    theirs = library.Tokenizer.from_str(tokenizer.to_json([]))
    normal = theirs.normalizer.normalize_str(text)
    assert [word for word, _ in theirs.pre_tokenizer.pre_tokenize_str(normal)] == tokenizer.words(text)


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", [Tokenizer(), Tokenizer("whitespace")], ids=["words", "whitespace"])
def test_every_code_point_is_cut_as_the_tokenizers_library_cuts_it(
    tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Exhaustive: each code point between two letters, between two digits, and alone."""
    library = pytest.importorskip("tokenizers")
    theirs = library.Tokenizer.from_str(tokenizer.to_json([]))
    # Beyond these, Unicode has assigned nothing or leaves it to private use; one in a hundred of the rest will do.
    assigned = [*range(0xD800), *range(0xE000, 0x33480), *range(0xE0000, 0xE0200)]
    points = [chr(i) for i in [*assigned, *range(0x33480, characters.N_CODE_POINTS, 100)] if i != ord("\n")]
    for start in range(0, len(points), 10_000):
        text = "".join(f" a{point}b 1{point}2 {point} " for point in points[start : start + 10_000])
        words = tokenizer.words(text)
        normal = theirs.normalizer.normalize_str(text)
        assert [word for word, _ in theirs.pre_tokenizer.pre_tokenize_str(normal)] == words
        counter = WordCounter(tokenizer, max_distinct=1_000_000, folder=tmp_path_factory.getbasetemp())
        ids, _ = counter.scan(as_lines([text]).tobytes())
        assert [word.decode() for word in counter.words(ids)] == words


def test_ids_of_the_tokenizers_library() -> None:
    library = pytest.importorskip("tokenizers")
    theirs = library.Tokenizer.from_str(Tokenizer().to_json(["the", "cat"]))
    assert theirs.encode("The [UNK] cat", add_special_tokens=False).ids == [0, 2, 2, 2, 1]
    # A corpus that comes tokenised may hold the word [UNK] itself.
    spelled = Tokenizer("whitespace", lowercase=False).to_json(["the", UNKNOWN])
    assert library.Tokenizer.from_str(spelled).encode("the [UNK] x").ids == [0, 1, 2]


@settings(max_examples=200)
@given(lines=st.lists(st.one_of(texts, st.text(st.sampled_from("aaaaaaaAé' "), max_size=40)), max_size=8))
def test_lookup_equals_index(lines: list[str]) -> None:
    tokenizer = Tokenizer()
    long = ["aaaaaaa", "aaaaaaaa", "aaaaaaaaa", "a" * 16, "aaaaaaé", "aaaaaaaé", "aaaaaaaa'a"]
    vocabulary = Vocabulary.of_words(["a", "z", "the", "don't", "9", "σ", "日", "😀", "é", *long])
    ids, offsets = Lookup(vocabulary, tokenizer).ids(lines)
    known = [[vocabulary.index[word] for word in tokenizer.words(line) if word in vocabulary] for line in lines]
    assert [ids[start:end].tolist() for start, end in itertools.pairwise(offsets)] == known
    assert ids.dtype == np.int32, "16 bits are too few for the paper's 315,643 words"


def test_lookup_of_many_pieces() -> None:
    lines = ["the cat " * (i % 50) + "x" * (i % 7) for i in range(20_000)]
    lookup = Lookup(Vocabulary.of_words(["the", "cat"]), Tokenizer())
    _, offsets = lookup.ids(lines)
    assert np.array_equal(np.diff(offsets), [2 * (i % 50) for i in range(20_000)])
    long, bounds = lookup.ids(["cat " * 300_000, "the"])
    assert bounds.tolist() == [0, 300_000, 300_001]
    assert long[-1] == 0
