"""Sentence splitting: hard cases, the same result in bulk and one by one, and no text that makes it slow or crash."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_cbow.text import splitters
from siamese_cbow.text.splitters import split_lines


def split_sentences(paragraph: str, language: str = "en") -> list[str]:
    text, _ = split_lines(" ".join(paragraph.split()).encode("utf-8", "replace"), language)
    return [line.strip() for line in text.decode().split("\n") if line.strip()]


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", ["Dr. Smith met Mrs. Jones.", "They had tea."]),
        ("en", ["J. R. R. Tolkien wrote it in 1937.", "C. S. Lewis read it first."]),
        ("en", ["The rate rose by 3.5 percent.", "Nobody noticed!", "Why?"]),
        ("en", ["Some fruits, e.g. apples, are red.", "Go to www.example.com/index.html now."]),
        ("en", ['"Are you well?" she asked.', "He nodded."]),
        ("en", ["I don't know...", "Maybe he will come."]),
        ("de", ["Am 3. Oktober 1990 wurde gefeiert.", "Das gilt z. B. für Dr. Müller."]),
        ("fr", ["Elle habite à Paris.", "Voilà !"]),
        ("es", ["¿Dónde está el Sr. García?", "¡No lo sé!"]),
        ("ru", ["А. С. Пушкин родился в 1799 г. в Москве.", "Он был поэтом."]),
        ("hi", ["वह घर गया।", "मैं भी गया।"]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(language: str, expected: list[str]) -> None:
    assert split_sentences(" ".join(expected), language) == expected


def test_languages_without_spaces() -> None:
    assert split_sentences("他来了。你看见他了吗？我没有！", "zh") == ["他来了。", "你看见他了吗？", "我没有！"]


def test_nothing_in_nothing_out() -> None:
    assert split_sentences("") == split_sentences(" \n ") == []


def some_paragraphs(n: int) -> list[str]:
    rng = random.Random(1)
    text = "the a cat Dr. Mr. sat. ran! Who? said 3.5 etc. e.g. U.S. “yes. No.” (see 2.) Ann Bob é ü 東 it's"
    return [" ".join(rng.choices(text.split(), k=rng.randint(1, 60))) for _ in range(n)]


def test_in_bulk_as_one_by_one() -> None:
    paragraphs = some_paragraphs(400)
    text, n_cut = split_lines("".join(line + "\n" for line in paragraphs).encode(), "en", end="\n\n")
    together = [part.split("\n") for part in text.decode().split("\n\n")[:-1]]
    assert [[line.strip() for line in part] for part in together] == [split_sentences(line) for line in paragraphs]
    assert n_cut == 0
    assert len(text) > 3 * splitters._BATCH


def test_breaks_that_the_splitter_loses_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitters, "_BATCH", 1 << 20)  # beyond 10 KB the splitter loses some
    paragraphs = some_paragraphs(400)
    text, _ = split_lines("".join(line + "\n" for line in paragraphs).encode(), "en", end="\n\n")
    assert len(text.decode().split("\n\n")) == 401


def test_a_splitter_that_panics_is_replaced_by_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def panic(language: str, text: str) -> list[str]:
        raise PanicException

    monkeypatch.setattr("sentencex.segment", panic)
    text, _ = split_lines(b"The cat sat. It ran. Dr. Who came.\nYes.\n", "en", end="\n\n")
    assert text == b"The cat sat. \nIt ran. \nDr. Who came.\n\nYes.\n\n"


@pytest.mark.parametrize("space", ["\u00a0", "\u0085", "\u2003", "\u2028", "\u202f", "\u3000", "\u1680", "\u205f"])
def test_wide_white_space_before_a_full_stop(space: str) -> None:
    for language in ("en", "fr", "hi", "zh"):
        text, _ = split_lines(f"Plan A{space}. Then B{space}.\n".encode(), language)
        assert " ".join(text.decode().split()) == "Plan A . Then B ."


def test_long_speech_is_split_and_short_speech_is_not() -> None:
    short = 'He said, "It is late. We must go." and left.'
    long = 'He said, "' + "We have walked for hours and hours in the rain. " * 9 + 'Mr. Smith is tired." and left.'
    assert split_sentences(short) == [short]
    assert len(split_sentences(long)) == 10
    assert split_sentences(long)[-1].endswith('Mr. Smith is tired." and left.')


@pytest.mark.parametrize(
    ("text", "language", "is_cut"),
    [
        ("他来了。" * 60_000, "zh", False),
        ("没有句号" * 20_000, "zh", True),
        ("“a b. " * 40_000, "en", True),
        ("word " * 100_000, "en", True),
        ("x" * 500_000, "en", True),
        ("A. " * 100_000, "en", True),
        ("The cat sat on the mat. " * 20_000, "en", False),
    ],
)
def test_endless_paragraphs_take_no_endless_time(text: str, language: str, is_cut: bool) -> None:
    # In quadratic time, each of these would take minutes.
    lines, n_cut = split_lines(text.encode(), language)
    assert (n_cut > 0) == is_cut
    assert max(map(len, lines.decode().split("\n"))) <= 2 * splitters._LONG
    assert "".join(lines.decode().split()) == "".join(text.split())


LANGUAGES = st.sampled_from(["en", "de", "fr", "zh", "ja", "hi", "ar", "xx"])
MARKS = st.text(st.sampled_from("aB9 .!?…\"'“”()[]。！？」é漢\u00a0\u2028\u3000\r\t@/😀"), max_size=80)


@given(paragraphs=st.lists(st.one_of(st.text(st.characters(exclude_categories=["Cs"])), MARKS)), language=LANGUAGES)
@settings(max_examples=300)
def test_every_word_stays_in_its_place(paragraphs: list[str], language: str) -> None:
    lines = [re.sub(r"[\n\0]", "", line).strip() for line in paragraphs]
    lines = [line for line in lines if line]
    text, _ = split_lines("".join(line + "\n" for line in lines).encode(), language, end="\n\n")
    parts = text.decode().split("\n\n")
    assert parts[-1] == ""
    assert ["".join(part.split()) for part in parts[:-1]] == ["".join(line.split()) for line in lines]
