"""Unknown words: which words they count as, on both paths, and how they are counted."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from siamese_cbow.cli import group
from siamese_cbow.errors import FormatError, InputError, SettingsError
from siamese_cbow.kernels.means import means
from siamese_cbow.kernels.means_reference import compose, mean_of_rows, signs
from siamese_cbow.kernels.ngram_rows import (
    BLOCK,
    LATEST,
    compose_rows,
    made_rows,
    normal_product,
    padded,
    rows_as_asked_for,
    transposed_product,
)
from siamese_cbow.model import encoding
from siamese_cbow.model.model import Model
from siamese_cbow.model.ngram_vectors import NGramVectors, fitted
from siamese_cbow.model.packed_rows import codes_of_bytes
from siamese_cbow.model.storage import load
from siamese_cbow.words.lookup import Lookup
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.unknown_words import CUT, NONE, UnknownWords, finder, key_of, ngrams
from siamese_cbow.words.vocabulary import IN_COMMON, LEFT_OVER, Vocabulary

WORDS = ["the", "plays", "play", "player", "pla", "international", "ab"]


def toy() -> Model:
    return Model(Vocabulary(WORDS, np.arange(7, 0, -1)), np.eye(7, dtype=np.float32))


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("play", "play"),  # known
        ("playful", "plays"),  # `play` is the longest prefix; plays is the most frequent of plays, play and player
        ("playerx", "player"),
        ("playe", "player"),  # the known word may be longer
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
    """The ids that the scanner finds, in plain Python."""
    id_of = finder(vocabulary, "prefix")
    rows = [[i for i in map(id_of, tokenizer.words(text)) if i is not None] for text in texts]
    return list(itertools.chain.from_iterable(rows)), list(itertools.accumulate(map(len, rows), initial=0))


# Few letters, so that prefixes coincide; some are case-folded, some have two to four bytes.
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
    words = [f"{chr(97 + i % 26)}{i * 7919:06d}xyz" for i in range(2000)]  # few share a prefix
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
    with pytest.raises(SettingsError, match="expected one of none, prefix, ngrams"):
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
    assert "3 out-of-vocabulary words, 2 distinct" in result.output
    similarity = ["similarity", "playful", "plays", "--model", str(tmp_path / "m")]
    assert float(CliRunner().invoke(group, [*similarity, "--fallback", "prefix"]).stdout) == 1
    assert "0.000000" in CliRunner().invoke(group, similarity).output


@pytest.mark.parametrize("dtype", ["float32", "int4"])
def test_the_card_says_what_unknown_words_count_as(tmp_path: Path, dtype: str) -> None:
    for fallback, expected in (
        ("none", "Unknown words are ignored."),
        ("prefix", "the known word with the longest common prefix"),
    ):
        toy().compress(dtype).with_fallback(fallback).save(tmp_path / fallback)
        assert expected in (tmp_path / fallback / "README.md").read_text("utf-8")


# n-grams


def world(n: int = 60, dim: int = 200) -> Model:
    """Words of two syllables; each row is the sum of its syllables' rows."""
    rng = np.random.default_rng(1)
    syllables = ["ka", "lo", "mi", "nu", "pe", "ra", "so", "ti"]
    of = dict(zip(syllables, rng.standard_normal((8, dim)), strict=True))
    pairs = [(a, b) for a in syllables for b in syllables if (a, b) != ("so", "mi")][:n]
    rows = np.array([of[a] + of[b] for a, b in pairs], np.float32)
    return Model(Vocabulary([a + b for a, b in pairs], np.arange(n, 0, -1)), rows)


def test_the_ngrams_of_a_word() -> None:
    assert len(ngrams("ab", 1024)) == 6
    assert ngrams("7", 1024) == [NONE] * 3
    assert sum(bucket == NONE for bucket in ngrams("kdoe77", 1024)) == 9  # e7 77 7> and so on
    assert ngrams("x" * 1000, 64) == ngrams("x" * 999, 64)  # truncated, and yet two words:
    assert key_of("x" * 1000) != key_of("x" * 999)
    assert len(ngrams("x" * 1000, 64)) == 3 * CUT
    assert signs(1, 70).tolist() != signs(2, 70).tolist()
    assert set(signs(1, 70).tolist()) == {-1, 1}


@given(
    st.lists(st.text(st.sampled_from("abé日😀i̇σ'"), min_size=1, max_size=9), unique=True, min_size=1),
    st.lists(st.text(st.sampled_from(LETTERS + " .1"), max_size=40), min_size=1, max_size=5),
    st.sampled_from(["words", "whitespace"]),
)
def test_the_scanner_finds_the_same_ngrams(words: list[str], texts: list[str], kind: str) -> None:
    vocabulary, tokenizer = Vocabulary.of_words(words), Tokenizer(kind)  # type: ignore[arg-type]
    _, _, unknown = Lookup(vocabulary, tokenizer, "ngrams", 256).words(texts)
    listed = [[word for word in tokenizer.words(text) if word not in vocabulary] for text in texts]
    flat = list(itertools.chain.from_iterable(listed))
    assert unknown.offsets.tolist() == list(itertools.accumulate(map(len, listed), initial=0))
    assert unknown.keys.tolist() == list(map(key_of, flat))
    buckets = np.split(unknown.buckets, unknown.starts[1:-1]) if flat else []
    assert [part.tolist() for part in buckets] == [ngrams(word, 256) for word in flat]


@given(st.integers(0, 1000), st.integers(1, 150), st.integers(0, 6))
def test_rows_are_those_of_the_reference(seed: int, dim: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = NGramVectors(rng.integers(1, 255, (16, (dim + 1) // 2), np.uint8), dim, 0.3, 0.2, 5.0)
    sizes = rng.integers(0, 40, n)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    buckets = np.maximum(rng.integers(-3 if seed % 2 else 0, 16, int(starts[-1])), -1).astype(np.int32)
    keys = rng.integers(0, 2**63, n).astype(np.uint64)
    out = np.empty((n, -(-dim // 64) * 64), np.float32)
    unknown = UnknownWords(buckets, starts, keys, np.array([0, len(keys)]))
    compose_rows(unknown, padded(vectors.codes), dim, np.array([0.3, 0.2, 5.0]), out)
    for k in range(n):
        own = buckets[starts[k] : starts[k + 1]]
        codes = codes_of_bytes(vectors.pairs[own[own >= 0]], dim).astype(np.int64)
        np.testing.assert_array_equal(out[k, :dim], compose(codes, len(own), int(keys[k]), 0.3, 0.2, 5.0))
        if dim > 8:  # in one or two dimensions, the two parts of a row may cancel out
            assert np.linalg.norm(out[k, :dim]) == pytest.approx(5, rel=1e-4)


def test_words_that_come_again_and_words_of_one_key() -> None:
    rng = np.random.default_rng(4)
    vectors = NGramVectors(rng.integers(0, 256, (16, 35), np.uint8), 70, 0.3, 0.2, 5.0)
    words = [(7, [1, 2, 3]), (7, [1, 2, 4]), (7, [1, 2]), (8, [1, 2, 3]), (7 + 2**40, [0] * 30), (9, [])]
    order = rng.integers(0, len(words), 200).tolist()
    starts = np.array(list(itertools.accumulate((len(words[i][1]) for i in order), initial=0)), np.int64)
    buckets = np.array([bucket for i in order for bucket in words[i][1]], np.int32)
    out, dim = np.empty((200, 128), np.float32), 70
    keys = np.array([words[i][0] for i in order], np.uint64)
    unknown = UnknownWords(buckets, starts, keys, np.array([0, len(keys)]))
    compose_rows(unknown, padded(vectors.codes), dim, np.array([0.3, 0.2, 5.0]), out)
    for row, i in zip(out, order, strict=True):
        key, own = words[i]
        codes = codes_of_bytes(vectors.pairs[own], 70).astype(np.int64).reshape(-1, 70)
        np.testing.assert_array_equal(row[:dim], compose(codes, len(own), key, 0.3, 0.2, 5.0))


@pytest.mark.parametrize("n_unknown", [0, 1, 5, 300])
@pytest.mark.parametrize("n_known", [0, 3, 9, 300])
@pytest.mark.parametrize("normalize", [False, True])
def test_means_with_unknown_words(n_known: int, n_unknown: int, normalize: bool) -> None:
    rng = np.random.default_rng(3)
    vectors, extra = (rng.standard_normal((n, 20), dtype=np.float32) for n in (50, n_unknown))
    ids = rng.integers(0, 50, n_known).astype(np.int32)
    for dim in (20, 7):
        out = np.empty((1, dim), np.float32)
        offsets = [np.array([0, n], np.int64) for n in (n_known, n_unknown)]
        means(vectors, ids, offsets[0], normalize, out, made_rows(extra, offsets[1]))
        expected = mean_of_rows(vectors, ids, dim, normalize=normalize, unknown=extra)
        np.testing.assert_array_equal(out[0], expected)


def test_means_with_rows_composed_on_the_way() -> None:
    rng, dim, n_texts = np.random.default_rng(5), 70, 60
    ngram_vectors = NGramVectors(rng.integers(0, 256, (16, 35), np.uint8), dim, 0.3, 0.2, 5.0)
    known = rng.standard_normal((50, dim), dtype=np.float32)
    n_words = rng.integers(0, 2 * LATEST, len(known))  # more distinct words than are kept, some repeated
    words = ["".join(map(chr, rng.integers(97, 100, rng.integers(1, 6)))) for _ in range(int(n_words.sum()))]
    texts = [list(part) for part in np.split(np.array(words), np.cumsum(n_words)[:-1])][:n_texts]
    flat = [word for text in texts for word in text]
    starts = np.array(list(itertools.accumulate((len(ngrams(word, 16)) for word in flat), initial=0)), np.int64)
    buckets = np.array([bucket for word in flat for bucket in ngrams(word, 16)], np.int32)
    offsets = np.array(list(itertools.accumulate(map(len, texts), initial=0)), np.int64)
    unknown = UnknownWords(buckets, starts, np.array(list(map(key_of, flat)), np.uint64), offsets)
    ids, out = np.arange(len(texts), dtype=np.int32) % 50, np.empty((len(texts), dim), np.float32)
    numbers = np.array([0.3, 0.2, 5.0])
    made = rows_as_asked_for(unknown, padded(ngram_vectors.codes), dim, numbers)
    means(known, ids, np.arange(len(texts) + 1), False, out, made)
    for i, text in enumerate(texts):
        rows = np.array([ngram_vectors.row(word) for word in text], np.float32).reshape(-1, dim)
        np.testing.assert_array_equal(out[i], mean_of_rows(known, ids[i : i + 1], dim, unknown=rows))


def test_the_sums_of_the_fit() -> None:
    rng = np.random.default_rng(2)
    buckets, starts = np.array([0, 3, -1, 3, 1], np.int32), np.array([0, 2, 2, 5], np.int64)
    dense = np.zeros((3, 4))
    dense[0, [0, 3]] = 2**-0.5
    dense[2, [3, 1]] = 3**-0.5
    values, targets = (rng.standard_normal((n, BLOCK), dtype=np.float32) for n in (4, 3))
    out = np.empty((4, BLOCK), np.float32)
    transposed_product(buckets, starts, targets, out)
    np.testing.assert_allclose(out, dense.T @ targets, atol=1e-6)
    normal_product(buckets, starts, 0.5, values, np.empty(BLOCK, np.float32), out)
    np.testing.assert_allclose(out, dense.T @ (dense @ values) + 0.5 * values, atol=1e-5)


def test_a_word_is_made_of_what_its_letters_say() -> None:
    model = world().with_fallback("ngrams")
    assert model.ngrams == fitted(model.vocabulary, model.vectors, threads=1)
    row = model.encode("somi")
    near = [word for word, _ in model.neighbours("somi", k=6)]
    assert sum(word.startswith("so") or word.endswith("mi") for word in near) >= 4
    assert np.linalg.norm(row) == pytest.approx(model.ngrams.length, rel=1e-4)
    assert "near" in model.made_of("somi")
    assert model.made_of("7") == "built from its letters; no known word is near"
    # Two texts that share a name are similar, two codes differ, and no word equals another.
    assert model.similarity("kalo zyx", "nupe zyx") > model.similarity("kalo zyx", "nupe wvu") + 0.1
    assert model.similarity("2.19.0", "2.19.1") < 0.9
    assert model.similarity("kdoe77", "kdoe78") < 0.99
    assert model.similarity("kalor", "kalo") < 0.999


def test_ngrams_on_both_paths_in_the_folder_and_in_other_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = world().with_fallback("ngrams")
    texts = ["kalo somi", "", "7", "Somi somi 日本 kalokalo", "kalo"]
    expected = model.encode(texts)
    assert not expected[1].any()
    assert expected[2].any()
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m", verify=True)
    assert loaded == model
    assert loaded.ngrams == model.ngrams
    for one in (
        loaded,
        pickle.loads(pickle.dumps(loaded)),
        loaded.in_memory(),
        loaded.with_fallback("none").with_fallback("ngrams"),
    ):
        np.testing.assert_array_equal(one.encode(texts), expected)
    monkeypatch.setattr(encoding, "MUCH_TEXT", 0)
    np.testing.assert_array_equal(load(tmp_path / "m").encode(texts), expected)
    assert loaded.compress("int8").ngrams == model.ngrams
    assert loaded.compress(dim=4).encode("somi").shape == (4,)
    adapted = loaded.adapt(texts * 20)
    assert adapted.encode("somi").any()
    assert adapted.similarity("somi", "kalo") == pytest.approx(model.similarity("somi", "kalo"), abs=0.2)
    assert loaded.with_fallback("none") == world()


def test_damaged_vectors_of_ngrams_are_refused(tmp_path: Path) -> None:
    model = world().with_fallback("ngrams")
    model.save(tmp_path / "m")
    path = tmp_path / "m" / "ngrams.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FormatError, match=r"ngrams.safetensors has .* bytes"):
        load(tmp_path / "m")
    arrays = model.ngrams.arrays()
    for changes, problem in (
        ({"pairs": arrays["pairs"][:-1]}, "power of two"),
        ({"pairs": arrays["pairs"][:, :-1]}, "bytes each"),
        ({"numbers": arrays["numbers"] + 1}, "rule 2"),
        ({"numbers": np.array([1, model.dim, np.nan, 1, 1])}, "nan for scale"),
        ({"numbers": np.array([1, model.dim, 1, 1, -1])}, "-1.0 for length"),
        ({"numbers": np.array([1, 5, 1, 1, 1])}, "5 dimensions"),
    ):
        with pytest.raises(InputError, match=problem):
            NGramVectors.of_arrays({**arrays, **changes}, model.dim)


def test_commands_say_what_an_unknown_word_was_made_of(tmp_path: Path) -> None:
    world().with_fallback("ngrams").save(tmp_path / "m")
    (tmp_path / "in.txt").write_text("kalo somi\nsomi 77\n")
    unknown, run = tmp_path / "unknown.txt", CliRunner().invoke
    base = ["encode", str(tmp_path / "in.txt"), "--model", str(tmp_path / "m"), "-o", str(tmp_path / "out.npy")]
    assert run(group, [*base, "--unknown", str(unknown)]).exit_code == 0
    lines = unknown.read_text().splitlines()
    assert lines[0].startswith("2 somi\tbuilt from its letters; near ")
    assert lines[1] == "1 77\tbuilt from its letters; no known word is near"
    assert "somi (built from its letters" in run(group, ["neighbours", "somi", "--model", str(tmp_path / "m")]).output
    several = run(group, ["neighbours", "kalo", "Somi", "--model", str(tmp_path / "m")])
    assert several.exit_code == 0
    assert "somi (built from its letters" in several.output
    lost = run(group, ["convert", str(tmp_path / "m"), str(tmp_path / "v.bin")]).output
    assert "n-gram vectors" in lost
