"""Corpora: the blocks and lines of files and iterables, in every layout."""

from __future__ import annotations

import doctest
import re
import textwrap
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.text import chunks
from siamese_cbow.text.chunks import line_chunks, valid_utf8
from siamese_cbow.text.corpus import Corpus, look_at
from siamese_cbow.text.inputs import Texts
from siamese_cbow.text.layout import sample_evidence
from siamese_cbow.text.records import RawBlock, TextSettings
from siamese_cbow.text.sentences import sentence_lines

SENTENCES = TextSettings(layout="sentences")


def read(inputs: Any, **options: Any) -> str:
    corpus = Corpus(inputs, TextSettings(**options))
    text = b"".join(corpus.lines(block).text for block in corpus.blocks()).decode()
    return tidy(text)


def tidy(text: str) -> str:
    """Without what has no meaning: white space at line ends, repeated boundaries, boundaries at the start."""
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text)).lstrip("\n")


def write(folder: Path, text: str | bytes, name: str = "a.txt") -> Path:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


# layouts and boundaries


def test_sentences_keep_their_lines_and_a_file_ends_with_a_boundary(tmp_path: Path) -> None:
    file = write(tmp_path, b"\xef\xbb\xbfone two\r\nthree\0four\n \t\r\nfive \xff\n\nsix")
    corpus = Corpus(file, SENTENCES)
    (block,) = corpus.blocks()
    assert corpus.lines(block).text.decode() == "one two\nthree four\n\nfive \ufffd\n\nsix\n\n"
    assert corpus.lines(block).n_broken == 1
    assert block.n_source_bytes == corpus.total_bytes == file.stat().st_size


RUNNING = "It rains. We stay.\nYes.\n\nNew document. It goes on.\n"
WRAPPED = "It rains. We\nstay.\n\nYes.\n \nNew paragraph. It goes\non.\n"


@pytest.mark.parametrize(
    ("text", "layout", "boundary", "expected"),
    [
        (RUNNING, "sentences", "document", "It rains. We stay.\nYes.\n\nNew document. It goes on.\n\n"),
        (RUNNING, "sentences", "paragraph", "It rains. We stay.\nYes.\n\nNew document. It goes on.\n\n"),
        (RUNNING, "paragraphs", "document", "It rains.\nWe stay.\nYes.\n\nNew document.\nIt goes on.\n\n"),
        (RUNNING, "paragraphs", "paragraph", "It rains.\nWe stay.\n\nYes.\n\nNew document.\nIt goes on.\n\n"),
        (WRAPPED, "wrapped", "document", "It rains.\nWe stay.\nYes.\nNew paragraph.\nIt goes on.\n\n"),
        (WRAPPED, "wrapped", "paragraph", "It rains.\nWe stay.\n\nYes.\n\nNew paragraph.\nIt goes on.\n\n"),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_layouts_and_boundaries(
    tmp_path: Path, text: str, layout: str, boundary: str, expected: str, line_end: str
) -> None:
    file = write(tmp_path, text.replace("\n", line_end))
    assert read(file, layout=layout, boundary=boundary) == expected
    assert read([file, file], layout=layout, boundary=boundary) == expected * 2


def test_odd_white_space_makes_an_empty_line(tmp_path: Path) -> None:
    file = write(tmp_path, "  \none\n\u00a0\ntwo\n\t \x0c\nthree\n\u3000\u00a0 \nfour\n \n")
    assert read(file, layout="sentences") == "one\n\ntwo\n\nthree\n\nfour\n\n"
    assert read(write(tmp_path, "  indented\nplain\n"), layout="sentences") == "  indented\nplain\n\n"


def test_other_line_ends_are_no_line_ends(tmp_path: Path) -> None:
    file = write(tmp_path, "one\x0btwo\x0cthree\u2028four\x85five\rsix\n")
    assert read(file, layout="sentences") == "one\x0btwo\x0cthree\u2028four\x85five six\n\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [("layout", "lines"), ("boundary", "file"), ("kind", "pairs"), ("language", "klingon!"), ("language", "")],
)
def test_settings_that_make_no_sense(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is {value!r}; expected"):
        TextSettings(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"text_column": 5}, "text_column is 5; expected the name of a column"),
        ({"text_column": ["title", "body"]}, "several with commas: 'title,body'"),
        ({"encoding": b"utf-8"}, "encoding is b'utf-8'; expected the name of an encoding"),
        ({"code": "yes"}, "code is 'yes'; expected True or False"),
        ({"globs": "*.md"}, r"globs is the string '\*.md'; expected a list of strings, such as \['\*.md'\]"),
        ({"globs": [5]}, "globs is the list"),
        ({"languages": 5}, "languages is the int 5"),
        ({"lang": "de"}, "unknown option 'lang'; did you mean language"),
    ],
)
def test_settings_of_a_wrong_type(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        TextSettings(**settings)


def test_settings_are_settings(tmp_path: Path) -> None:
    for wrong in (5, "de", {}, {"language": "de"}):
        with pytest.raises(SettingsError, match=r"text is .*; expected settings, such as TextSettings\("):
            Corpus(write(tmp_path, "a b\n"), wrong)  # type: ignore[arg-type]


# choosing the layout


PROSE = (
    "The old house stood at the end of the lane. Nobody had lived there for years, and the garden had gone wild. "
    "When Anna came back to the village in May, she went to look at it first. The door was open. She went in. "
)
TORONTO = "he said . then he left the room .\n`` i do n't know , '' she said .\nwhat was that ?\n"


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ((PROSE + "\n") * 9, "paragraphs"),
        (PROSE, "paragraphs"),
        (PROSE.replace(". ", ".\n") * 9, "sentences"),
        ("\n\n".join([textwrap.fill(PROSE, 72)] * 9), "wrapped"),
        ("\r\n\r\n".join([textwrap.fill(PROSE, 60).replace("\n", "\r\n")] * 9), "wrapped"),
        (textwrap.fill(PROSE * 9, 80), "wrapped"),
        (TORONTO * 99, "sentences"),
        (PROSE.lower() * 3, "sentences"),
        ("a line without any mark\n" * 99, "sentences"),
        ("one word and fifty more in each line of the same length\n" * 99, "sentences"),
        ("他来了。你看见他了吗？我没有！\n" * 9, "paragraphs"),
        ("他来了。\n你看见他了吗？\n他说：“我来了。”\n" * 9, "sentences"),
        ("Dr. Smith met Mr. J. Brown in St. Louis.\n" * 9, "sentences"),
        ("short line\nother one\n", "sentences"),
        ("", "sentences"),
    ],
)
def test_auto_finds_the_layout_and_says_so(tmp_path: Path, text: str, layout: str) -> None:
    file = write(tmp_path, text)
    corpus = Corpus(file)
    assert [block.layout for block in corpus.blocks()] == [layout]
    assert corpus.layout_of(file) == layout


def test_each_file_has_its_own_layout_and_short_ones_follow_the_others(tmp_path: Path) -> None:
    files = [
        write(tmp_path, (PROSE + "\n") * 60, "long.txt"),
        write(tmp_path, TORONTO * 60, "toronto.txt"),
        write(tmp_path, (PROSE + "\n") * 20, "short.txt"),
        write(tmp_path, "A heading\n", "tiny.txt"),
    ]
    corpus = Corpus(files)
    layouts = [block.layout for block in corpus.blocks()]
    assert layouts == ["paragraphs", "sentences", "paragraphs"]  # the last two share a block
    assert list(corpus.layouts.values()) == ["paragraphs", "sentences", "paragraphs", "paragraphs"]


def test_the_layout_of_real_text(shared_data: Path) -> None:
    for name in ("wikipedia-en-2015.txt.xz", "eltec-eng-100-novels.txt.xz"):
        block = next(Corpus(shared_data / "corpora" / name).blocks())
        assert block.layout == "paragraphs"
        text = sentence_lines(block, TextSettings()).text
        assert sample_evidence(text).layout == "sentences"  # split text looks split


# blocks


LINES = st.lists(st.text(st.sampled_from("ab .é漢\r\t"), max_size=12), max_size=40)


@given(
    texts=LINES,
    size=st.integers(1, 60),
    layout=st.sampled_from(["sentences", "paragraphs", "wrapped"]),
    boundary=st.sampled_from(["document", "paragraph"]),
    broken=st.booleans(),
    end=st.sampled_from(["", "\n"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_blocks_of_any_size_give_the_same_lines(
    tmp_path: Path, texts: list[str], size: int, layout: str, boundary: str, broken: bool, end: str
) -> None:
    content = "\n".join(texts).encode() + end.encode()
    file = write(tmp_path, content[:-1] if broken else content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks.TextStream.reads, "__defaults__", (size,))
        in_pieces = read(file, layout=layout, boundary=boundary)
    assert in_pieces == read(file, layout=layout, boundary=boundary)


@given(texts=LINES, size=st.integers(1, 60), limit=st.integers(5, 40), by=st.sampled_from(["line", "paragraph"]))
@settings(max_examples=300)
def test_chunks_are_whole_lines_and_lose_nothing(texts: list[str], size: int, limit: int, by: Any) -> None:
    content = "\n".join(texts).encode()
    pieces = [content[i : i + size] for i in range(0, len(content), size)]
    found = list(line_chunks(iter(pieces), "x", by=by, limit=limit))
    assert b"".join(chunk.data for chunk in found).split() == content.split() or any(chunk.n_cut for chunk in found)
    assert b"".join(b"".join(chunk.data for chunk in found).split()) == b"".join(content.split())
    assert all(chunk.data.endswith(b"\n") for chunk in found)
    assert all(len(line) <= limit + 1 for chunk in found for line in chunk.data.split(b"\n"))
    if by == "line" and not any(chunk.n_cut for chunk in found):
        first_lines = [1 + b"".join(c.data for c in found[:i]).count(b"\n") for i in range(len(found))]
        assert [chunk.first_line for chunk in found] == first_lines


def test_big_files_come_in_blocks_of_about_four_megabytes(tmp_path: Path) -> None:
    file = write(tmp_path, b"a line of some words\n" * 600_000)
    corpus = Corpus(file, SENTENCES)
    blocks = list(corpus.blocks())
    assert 3 <= len(blocks) <= 5
    assert max(len(block.data) for block in blocks) < 5 << 20
    assert sum(block.n_source_bytes for block in blocks) == corpus.total_bytes
    assert [block.first for block in blocks][:2] == [1, 1 + blocks[0].data.count(b"\n")]


@pytest.mark.parametrize("layout", ["sentences", "paragraphs", "wrapped"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, layout: str) -> None:
    file = write(tmp_path, (PROSE + "\n\n") * 300_000)
    corpus = Corpus(file, TextSettings(layout=layout))  # type: ignore[arg-type]
    next(corpus.blocks())  # imports and caches
    tracemalloc.start()
    for n_blocks, block in enumerate(corpus.blocks(), 1):
        if n_blocks == 1 or layout == "sentences":
            corpus.lines(block)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_blocks > 10
    assert file.stat().st_size > 60 << 20
    assert peak < 36 << 20


def test_small_files_share_a_block(tmp_path: Path) -> None:
    files = [write(tmp_path, f"text of file {i}\n", f"{i:03}.txt") for i in range(200)]
    corpus = Corpus(tmp_path, SENTENCES)
    (block,) = corpus.blocks()
    assert corpus.files == files
    assert block.n_source_bytes == corpus.total_bytes
    assert corpus.lines(block).text.decode() == "".join(f"text of file {i}\n\n" for i in range(200))
    assert len(corpus.layouts) == 200


def test_lines_are_the_same_in_any_thread(tmp_path: Path) -> None:
    file = write(tmp_path, (PROSE + "\n") * 60_000)
    corpus = Corpus(file, TextSettings(layout="paragraphs"))
    blocks = list(corpus.blocks())
    alone = [corpus.lines(block) for block in blocks[:2]]
    barrier = threading.Barrier(2)

    def together(block: RawBlock) -> object:
        barrier.wait()
        return corpus.lines(block)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(together, blocks[:2])) == alone


def test_nothing_is_read_before_it_is_asked_for(tmp_path: Path) -> None:
    corpus = Corpus(write(tmp_path, b"%PDF"))
    blocks = corpus.blocks()
    with pytest.raises(InputError, match="is a PDF"):
        next(blocks)


# overlong lines


def test_an_overlong_line_of_sentences_is_an_error_with_its_number(tmp_path: Path) -> None:
    file = write(tmp_path, b"one\ntwo\n" + b"word " * (4 << 20) + b"\nfour\n")
    with pytest.raises(InputError, match=r"a\.txt line 3 is longer than 16,777,216 bytes; .*--layout paragraphs"):
        read(file, layout="sentences")


@pytest.mark.parametrize("layout", ["paragraphs", "wrapped"])
def test_an_overlong_line_of_running_text_is_cut_and_counted(tmp_path: Path, layout: str) -> None:
    file = write(tmp_path, b"One.\n\n" + b"Some words. " * (3 << 19) + b"\n\nFour.\n")
    corpus = Corpus(file, TextSettings(layout=layout))  # type: ignore[arg-type]
    found = [corpus.lines(block) for block in corpus.blocks()]
    assert sum(part.n_cut for part in found) == 1
    assert max(len(part.text) for part in found) < 20 << 20
    text = b"".join(part.text for part in found)
    assert text.count(b"words.") == 3 << 19
    assert text.split()[-1] == b"Four."


def test_text_without_white_space_is_cut_between_characters() -> None:
    found = list(line_chunks(iter(["漢字".encode() * 20]), "x", limit=50))
    assert [len(line) for chunk in found for line in chunk.data.decode().split()] == [16, 16, 8]


# UTF-8


@given(st.binary(max_size=200))
def test_broken_utf8_is_replaced_and_counted(data: bytes) -> None:
    text, n_broken = valid_utf8(data)
    assert text.decode() == data.decode("utf-8", "replace")
    assert n_broken == text.decode().count("\ufffd") - data.count(b"\xef\xbf\xbd")


@pytest.mark.parametrize("tail", [b"", b"\xe9", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"])
def test_big_blocks_are_checked_the_same_way(tail: bytes) -> None:
    data = "é漢😀 text ".encode() * 10_000 + tail
    text, n_broken = valid_utf8(data)
    assert text.decode() == data.decode("utf-8", "replace")
    assert (n_broken > 0) == bool(tail)


# iterables


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (Texts(["a b", "c d"]), "a b\nc d\n\n"),
        (Texts(["a b", "", "c d"]), "a b\n\nc d\n\n"),
        (Texts(["a b", "c\nd\n\ne", "f"]), "a b\n\nc\nd\ne\n\nf\n\n"),
        ([["a b", "c d"], ["e"]], "a b\nc d\n\ne\n\n"),
        ([("a b", "c\nd"), []], "a b\nc d\n\n"),
        (["a b", ["c d"], "e"], "a b\n\nc d\n\ne\n\n"),
        (iter(["a b", "c d"]), "a b\nc d\n\n"),
        ((line for line in ["a\0b", "c \ud800"]), "a b\nc \ufffd\n\n"),
        (Texts([]), ""),
    ],
)
def test_iterables_of_lines_and_of_documents(items: Any, expected: str) -> None:
    assert read(items, layout="sentences") == expected


def test_iterables_are_split_where_they_need_it() -> None:
    assert read(Texts([PROSE] * 3)).count("\n") == 16
    assert read([[PROSE, PROSE]], boundary="paragraph").count("\n\n") == 2
    corpus = Corpus(Texts([PROSE]))
    assert [block.layout for block in corpus.blocks()] == ["paragraphs"]
    assert corpus.layout_of("the iterable") == "paragraphs"


def test_lone_surrogates_are_counted() -> None:
    corpus = Corpus(Texts(["a \ud800 b \udfff"]))
    (block,) = corpus.blocks()
    assert corpus.lines(block).n_broken == 2


def test_long_iterables_come_in_blocks() -> None:
    corpus = Corpus(("some words in a line" for _ in range(500_000)), SENTENCES)
    sizes = [block.n_source_bytes for block in corpus.blocks()]
    assert len(sizes) == 3
    assert sum(sizes) == 500_000 * 21
    assert (corpus.files, corpus.total_bytes) == ([], None)


def test_a_generator_is_read_once_and_a_list_again() -> None:
    once = Corpus(Texts(iter(["a b"])))
    assert not once.can_be_read_again
    list(once.blocks())
    with pytest.raises(InputError, match="can be read only once and was already read; pass files, a list"):
        once.blocks()
    again = Corpus([["a b"]])
    assert again.can_be_read_again
    assert list(again.blocks()) == list(again.blocks())


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (7, "the input is a int; expected paths"),
        (b"text", "the input is a bytes"),
        ({"a": 1}, "the input is a dict"),
        ({"a", "b"}, "the input is a set"),
        (Texts([7]), r"item 0 of the iterable is int 7; expected a string or a list of strings"),
        ([["a b"], ["c", 7]], r"item 1 of the iterable is list \['c', 7\]"),
        (iter([Path("a.txt")]), "pass paths as a list"),
        ([["the", "cat", "sat"], ["on", "the", "mat"]] * 9, r"look like words \('the', 'cat', .*' '.join\(words\)"),
    ],
)
def test_iterables_of_other_things(inputs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(Corpus(inputs).blocks())


@pytest.mark.parametrize("wrong", ["text", Path("notes.txt"), 7, None])
def test_texts_are_several(wrong: Any) -> None:
    with pytest.raises(InputError, match=r"Texts\(.*\) got .*; expected an iterable of strings: Texts\(\[...\]\)"):
        Texts(wrong)


def test_standard_input_next_to_files_makes_the_size_unknown(tmp_path: Path) -> None:
    mixed = Corpus([write(tmp_path, "a\n"), "-"])
    assert (mixed.files, mixed.total_bytes, mixed.can_be_read_again) == ([], None, False)


def test_a_sentence_handed_in_as_a_path_gets_a_hint() -> None:
    with pytest.raises(InputError, match=r"no such file or folder: The cat sat\..*Texts"):
        Corpus(["The cat sat.", "It purred."])


def test_the_page_on_text_tells_the_truth() -> None:
    page = Path(__file__).parents[2] / "docs" / "text.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted >= 5
    assert result.failed == 0


def test_a_data_frame_is_not_the_names_of_its_columns() -> None:
    for table in (pd.DataFrame({"text": ["a b"], "n": [1]}), np.array([["a", "b"]])):
        with pytest.raises(InputError, match=r"the input is a table \((DataFrame|ndarray)\); pass its text column"):
            Corpus(table)
        with pytest.raises(InputError, match=r"pass its text column: table\['text'\]"):
            Corpus(Texts(table))
    assert next(Corpus(pd.Series(["a b"])).blocks()).data == b"a b\n\0\n"


@pytest.mark.parametrize(
    ("encoding", "is_cuttable"),
    [(None, True), ("utf-8", True), ("UTF8", True), ("u8", True), ("utf-8-sig", True), ("cp1252", False)],
)
def test_files_in_utf8_are_cut_however_it_is_spelt(tmp_path: Path, encoding: str | None, is_cuttable: bool) -> None:
    (tmp_path / "a.txt").write_text("A cat.\nIt purrs.\n", "utf-8")
    assert look_at(tmp_path / "a.txt", TextSettings(encoding=encoding)).is_cuttable == is_cuttable
