"""What a line is, in several scripts and anywhere in a file; and what a row is when lines are wrapped."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from siamese_cbow.errors import InputError
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.inputs import Texts
from siamese_cbow.text.layout import sample_evidence
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import RowReader

NOVEL = [  # speech on separate lines with an occasional paragraph: most lines hold one sentence
    "— Vous êtes seul ?",
    "— Oui, dit le vieux.",
    "— Depuis longtemps ?",
    "Il se leva lentement. La lampe fumait encore ! « Je ne sais plus », murmura-t-il. Au dehors, la pluie tombait "
    "toujours. — Partez donc ! cria une voix. Personne ne répondit. Le chien gémit. La porte s'ouvrit enfin.",
]
HINDI = [
    "राम घर गया। वह बहुत थका हुआ था। उसने खाना खाया। फिर वह सो गया।",
    "सुबह बारिश हुई। बच्चे बाहर नहीं गए। माँ ने चाय बनाई। सब हँसने लगे।",
]
TAMIL = ["அவன் வீட்டுக்கு வந்தான். அம்மா சமைத்தாள். அனைவரும் சாப்பிட்டார்கள். பிறகு தூங்கினார்கள்."]
URDU = ["وہ گھر گیا۔ بارش ہو رہی تھی۔ سب خوش تھے۔ کیا تم آؤ گے؟ ہاں ضرور۔"]
CHINESE = ["老人去了山里，再也没有回来。他的狗在门口等着，但没有用。大家都知道会这样，可是没有人说什么话。"]
ENGLISH = (
    "The old house stood at the end of the lane. Nobody had lived there for years, and the garden had gone wild. "
    "When Anna came back to the village in May, she went to look at it first. The door was open. She went in. "
)


@pytest.mark.parametrize("paragraphs", [NOVEL, HINDI, TAMIL, URDU, CHINESE])
def test_one_paragraph_per_line(paragraphs: list[str]) -> None:
    text = "".join(line + "\n" for line in paragraphs * 60)
    assert sample_evidence(text.encode()).layout == "paragraphs"


def test_all_hindi_sentences_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(line + "\n" for line in HINDI * 30), "utf-8")
    corpus = Corpus(tmp_path / "a.txt")
    assert sum(corpus.lines(block).text.strip().count(b"\n") + 1 for block in corpus.blocks()) == 240


@pytest.mark.parametrize(
    "sentences",
    [
        ["वह घर गया।", "बच्चे बाहर नहीं गए।"],
        ["— Oui, dit-il.", "« Non ! » cria-t-elle.", "Il partit."],
        ["他来了。", "你看见他了吗？"],
        ["وہ گھر گیا۔", "بارش ہو رہی تھی۔"],
        ["he said . then he left .", "`` no , '' she said ."],
    ],
)
def test_one_sentence_per_line(sentences: list[str]) -> None:
    text = "".join(line + "\n" for line in sentences * 60)
    assert sample_evidence(text.encode()).layout == "sentences"


@pytest.mark.parametrize("text", [" ".join(NOVEL), HINDI[0], TAMIL[0], URDU[0], ENGLISH])
@pytest.mark.parametrize("width", [50, 72])
def test_wrapped_lines(text: str, width: int) -> None:
    text = "\n\n".join([textwrap.fill(" ".join([text] * 4), width)] * 9)
    assert sample_evidence(text.encode()).layout == "wrapped"


def test_chinese_is_wrapped_between_any_two_characters() -> None:
    paragraph = CHINESE[0] * 4
    text = "\n".join(paragraph[i : i + 36] for i in range(0, len(paragraph), 36))
    assert sample_evidence("\n\n".join([text] * 9).encode()).layout == "wrapped"


def test_books_of_different_widths_in_one_file() -> None:
    books = ["\n\n".join([textwrap.fill(ENGLISH * 2, width)] * 200) for width in (50, 64, 78)]
    assert sample_evidence("\n\n\n".join(books).encode()).layout == "wrapped"


def test_a_file_is_looked_at_in_several_places(tmp_path: Path) -> None:
    """A megabyte of titles, then the books."""
    titles = "".join(f"The history of the year {i} in words\n" for i in range(40_000))
    books = (ENGLISH + "\n") * 30_000
    assert len(titles) > 1 << 20
    for text in (titles + books, titles + "\n\n".join([textwrap.fill(ENGLISH, 60)] * 20_000)):
        (tmp_path / "a.txt").write_text(text, "utf-8")
        corpus = Corpus(tmp_path / "a.txt")
        next(corpus.blocks())
        assert corpus.layout_of(tmp_path / "a.txt") == ("paragraphs" if text.endswith(books) else "wrapped")
        (tmp_path / "a.txt").write_text(text, "utf-16")
        corpus = Corpus(tmp_path / "a.txt")
        next(corpus.blocks())
        assert corpus.layout_of(tmp_path / "a.txt") == ("paragraphs" if text.endswith(books) else "wrapped")


# rows

WRAPPED = "\n\n".join(textwrap.fill(ENGLISH.replace("house", f"house number {i}"), 50) for i in range(9)) + "\n"


def rows(inputs: object, **settings: str) -> list[tuple[int, str]]:
    reader = RowReader(inputs, TextSettings(**settings))  # type: ignore[arg-type]
    return [(line.number, line.text) for found in reader.row_blocks() for line in found.lines(0, len(found))]


@pytest.fixture
def wrapped(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text(WRAPPED, "utf-8")
    return tmp_path / "a.txt"


def test_the_unit_of_wrapped_text(wrapped: Path) -> None:
    paragraphs = rows(wrapped, unit="auto")
    assert [text for _, text in paragraphs] == [ENGLISH.replace("house", f"house number {i}").strip() for i in range(9)]
    lines = WRAPPED.split("\n")
    assert all(text.startswith(lines[number - 1]) for number, text in paragraphs)
    assert rows(wrapped, unit="paragraph") == paragraphs
    assert len(rows(wrapped, unit="sentence")) == 45
    assert len(rows(wrapped, unit="line")) == len(lines) - 1
    assert rows(wrapped, unit="document") == [(1, " ".join(WRAPPED.split("\n")).strip())]
    assert list(RowReader(wrapped, TextSettings(unit="auto")).texts()) == [text for _, text in paragraphs]


def test_a_remark_says_that_lines_are_not_the_rows(wrapped: Path) -> None:
    for unit, n_remarks in (("auto", 1), ("paragraph", 0), ("line", 0)):
        said: list[str] = []
        assert list(RowReader(wrapped, TextSettings(unit=unit), say=said.append).texts())  # type: ignore[arg-type]
        assert len(said) == n_remarks
        assert all("each paragraph is a row" in line and "--unit line" in line for line in said)


def test_the_unit_of_other_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n\nthree\n", "utf-8")
    assert rows(tmp_path / "a.txt", unit="auto") == [(1, "one"), (2, "two"), (3, ""), (4, "three")]
    assert rows(tmp_path / "a.txt", unit="paragraph") == [(1, "one two"), (4, "three")]
    assert rows(tmp_path / "a.txt", unit="document") == [(1, "one two  three")]
    (tmp_path / "a.csv").write_text('text\n"one\ntwo\n\nthree"\nfour\n', "utf-8")
    for unit in ("auto", "line", "document"):
        assert [number for number, _ in rows(tmp_path / "a.csv", unit=unit)] == [1, 2]
    assert rows(tmp_path / "a.csv", unit="paragraph") == [(1, "one two"), (1, "three"), (2, "four")]
    for unit in ("auto", "line", "document", "paragraph"):
        assert rows(Texts(["one", "two"]), unit=unit) == [(1, "one"), (2, "two")]


def test_a_document_is_one_row_up_to_a_limit_and_an_error_beyond(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some words in a line\n" * 2_000_000, "utf-8")  # 42 MB
    reader = RowReader(tmp_path / "a.txt", TextSettings(unit="document"))
    assert [len(block.data) >= 42_000_000 for block in reader.blocks()] == [True]
    (tmp_path / "a.txt").write_text("some words in a line\n" * 4_000_000, "utf-8")  # 84 MB
    with pytest.raises(InputError, match="longer than 67,108,864 bytes"):
        list(RowReader(tmp_path / "a.txt", TextSettings(unit="document")).blocks())
