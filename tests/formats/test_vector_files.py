"""Word vector files: every layout is read, every damage is reported, and what is written is read back to the bit."""

from __future__ import annotations

import bz2
import gzip
import lzma
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_cbow.errors import InputError
from siamese_cbow.formats.vector_files import read_word_vectors, write_word_vectors
from siamese_cbow.progress import Silent

ROWS = b"the 0.5 -1e-3\ncat 2 4\n"
VALUES = np.array([[0.5, -1e-3], [2, 4]], dtype=np.float32)
BINARY = b"2 2\n" + b"".join(
    word + b" " + row.tobytes() for word, row in zip((b"the", b"cat"), VALUES.astype("<f4"), strict=True)
)


class Said(Silent):
    def __init__(self) -> None:
        self.messages: list[str] = []

    def say(self, message: str) -> None:
        self.messages.append(message)


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "vectors"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(ROWS, id="glove"),
        pytest.param(ROWS.rstrip(), id="no newline at the end"),
        pytest.param(b"2 2\n" + ROWS, id="word2vec text"),
        pytest.param(b"2 2\n" + ROWS.replace(b"\n", b" \n"), id="fastText ends lines with a space"),
        pytest.param(b"2 2\r\n" + ROWS.replace(b"\n", b"\r\n"), id="windows"),
        pytest.param(b"2 2\n" + ROWS.replace(b" ", b"\t"), id="tabs"),
        pytest.param(b"2 2\n" + ROWS + b"\n", id="blank line at the end"),
        pytest.param(BINARY, id="binary of gensim"),
        pytest.param(BINARY.replace(b"cat", b"\ncat") + b"\n", id="binary of word2vec.c"),
        pytest.param(gzip.compress(b"2 2\n" + ROWS), id="gz"),
        pytest.param(b"\xef\xbb\xbf2 2\n" + ROWS, id="a mark before UTF-8"),
        pytest.param(gzip.compress(b"\xef\xbb\xbf" + ROWS), id="the same in GloVe, compressed"),
        pytest.param(bz2.compress(BINARY), id="bz2"),
        pytest.param(lzma.compress(ROWS), id="xz"),
    ],
)
def test_every_layout_gives_the_same_words_and_numbers(tmp_path: Path, content: bytes) -> None:
    words, vectors = read_word_vectors(written(tmp_path, content))
    assert words == ["the", "cat"]
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    np.testing.assert_array_equal(vectors, VALUES)


def test_numbers_as_words_are_not_taken_for_a_header(tmp_path: Path) -> None:
    words, vectors = read_word_vectors(written(tmp_path, b"5 3\n6 4\n"))
    assert words == ["5", "6"]
    assert vectors.tolist() == [[3], [4]]


def test_a_newline_inside_the_first_number_does_not_end_the_line(tmp_path: Path) -> None:
    for n_words in (1, 2, 24):
        vectors = np.tile(np.frombuffer(b"9\n>\xbf\x00\x00\x80?", "<f4"), (n_words, 1))
        write_word_vectors(tmp_path / "binary", [f"w{i}" for i in range(n_words)], vectors, binary=True)
        np.testing.assert_array_equal(read_word_vectors(tmp_path / "binary")[1], vectors)


def test_words_with_spaces_duplicates_broken_and_missing_words_are_handled_and_reported(tmp_path: Path) -> None:
    said = Said()
    content = b"6 2\nNew York 1 2\n. . . 3 4\ncat 5 6\ncat 7 8\n\xff 9 9\n 1 1\n"
    words, vectors = read_word_vectors(written(tmp_path, content), progress=said)
    assert words == ["New York", ". . .", "cat", "\ufffd"]
    assert vectors.tolist() == [[1, 2], [3, 4], [5, 6], [9, 9]]
    assert len(said.messages) == 4
    for message, part in zip(
        said.messages, ["'cat'", "2 words with spaces", "UTF-8", "skipped 1 row without a word"], strict=True
    ):
        assert part in message


def test_keep_leaves_the_other_words_out(tmp_path: Path) -> None:
    words, vectors = read_word_vectors(written(tmp_path, BINARY), keep={"cat", "dog"})
    assert words == ["cat"]
    assert vectors.tolist() == [[2, 4]]
    assert read_word_vectors(written(tmp_path, BINARY), keep=set())[1].shape == (0, 2)


def test_rows_beyond_the_first_buffer(tmp_path: Path) -> None:
    path = tmp_path / "many"
    vectors = np.random.default_rng(1).normal(size=(3000, 3)).astype(np.float32)
    for binary in (False, True):
        write_word_vectors(path, [f"w{i}" for i in range(3000)], vectors, binary=binary)
        words, again = read_word_vectors(path)
        assert words[2999] == "w2999"
        np.testing.assert_array_equal(again, vectors)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not look like word vectors"),
        (b"hello\nworld\n", "does not look like word vectors"),
        (b"the 1 2\ncat 1 x\n", r"vectors, line 2: expected 2 numbers after 'cat' \(.*x"),
        (b"the 1 2\ndog 1 2\ncat 1\n", r"vectors, line 3: expected 2 numbers after 'cat' \(found 1\)"),
        (b"3 2\n" + ROWS, "promises 3 words, but the file has 2"),
        (b"1 2\n" + ROWS, "promises 1 words, but the file has more"),
        (b"900000000 300\n" + ROWS, "promises 900,000,000 words of dim 300, at least 540,900,000,000 bytes"),
        (b"2 300\nthe " + b"1 " * 299 + b"\n", "at least"),
        (BINARY[:-3], "promises 2 words of dim 2, at least 20 bytes|not a whole row"),
        (BINARY.replace(b"2 2\n", b"9 2\n") + bytes(100), "not a whole row|promises 9"),
        (BINARY + b"rest", "the last 4 bytes are not a whole row"),
        (BINARY.replace(b"2 2\n", b"1 2\n"), "promises 1 words, but the file has more"),
        (b"the 1 nan\n", "the vector of 'the' has NaN"),
        (b"the 1 1e99\n", "the vector of 'the' has NaN or infinity"),
        (pickle.dumps({"a": 1}), "a pickle, which could run code when loaded"),
        (b"\xba\x16\x4f\x2f\x0c\x00\x00\x00", "a fastText model; use the .vec file"),
        (b"PK\x03\x04....", "a zip archive"),
        (b"0 2\n", "contains no word vectors"),
        (b"5 3\n", "promises 5 words of dim 3"),
        (b"1000000000000 3\ncat 1 2 3\n", "promises 1,000,000,000,000 words"),
        ("2 2\ncat 1 2\n".encode("utf-16"), "UTF-16 text; save it as UTF-8"),
        (b"-3 4\ncat " + bytes(1000), r"found .{,80}\); it is damaged"),
        (gzip.compress(b"9000000000 300\n" + ROWS, mtime=0)[:-9], "can't read|expected 300 numbers"),
        (gzip.compress(ROWS * 1000, mtime=0)[:-9], "can't read .*vectors"),
        (b"1 2\nthe 1 " + b"2" * 70_000 + b"\n", "line 2 is longer than"),
    ],
)
def test_damage_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_word_vectors(written(tmp_path, content))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(str(tmp_path / "nothing"))):
        read_word_vectors(tmp_path / "nothing")


@settings(max_examples=150)
@given(
    content=st.one_of(
        st.binary(max_size=400),
        st.builds(lambda cut, tail: BINARY[:cut] + tail, st.integers(0, 40), st.binary(max_size=40)),
    )
)
def test_any_bytes_give_vectors_or_a_clear_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    try:
        words, vectors = read_word_vectors(written(tmp_path_factory.mktemp("fuzz"), content))
    except InputError:
        return
    assert len(words) == len(set(words)) == len(vectors) > 0
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("binary", [False, True])
def test_what_is_written_comes_back_here_and_in_gensim(tmp_path: Path, binary: bool) -> None:
    gensim = pytest.importorskip("gensim.models")
    words = ["the", "Straße", "日本", "cat's", "\u00a0x"]
    vectors = np.random.default_rng(3).normal(size=(5, 7)).astype(np.float32) * np.float32(1e-5)
    path = tmp_path / "vectors"
    write_word_vectors(path, words, vectors, binary=binary)
    again, values = read_word_vectors(path)
    assert again == words
    np.testing.assert_array_equal(values, vectors)
    theirs = gensim.KeyedVectors.load_word2vec_format(path, binary=binary)
    assert theirs.index_to_key == words
    np.testing.assert_array_equal(theirs.vectors, vectors)
    theirs.save_word2vec_format(path, binary=binary)
    np.testing.assert_array_equal(read_word_vectors(path)[1], vectors)


@pytest.mark.parametrize("word", ["New York", "", "a\tb", "a\nb"])
def test_a_word_that_the_format_cant_hold_is_refused_and_nothing_written(tmp_path: Path, word: str) -> None:
    with pytest.raises(InputError, match="can't hold"):
        write_word_vectors(tmp_path / "vectors", ["the", word], VALUES)
    assert not list(tmp_path.iterdir())


def test_words_and_rows_must_be_as_many(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"1 words but vectors of shape \(2, 2\)"):
        write_word_vectors(tmp_path / "vectors", ["the"], VALUES)
