"""The word tables in docs/prepare.md match the tokenizer."""

from __future__ import annotations

import re
from pathlib import Path

from siamese_cbow.text.languages import _table
from siamese_cbow.words.tokenizer import Tokenizer

DOCS = Path(__file__).parents[2] / "docs"
WORDS = Tokenizer(punctuation=False)


def test_the_tables_are_true() -> None:
    page = (DOCS / "prepare.md").read_text("utf-8").partition("## Tokenisation")[2].partition("## The vocabulary")[0]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines() if line[:2] == "| "]
    of_words = [row for row in rows[1:] if " · " in row[1] or (len(row) == 3 and row[0] == "anna.b@example.org")]
    assert len(of_words) >= 12
    for text, words, _ in of_words:
        assert " · ".join(WORDS.words(text)) == words
    by_language = [row for row in rows if re.fullmatch("[a-z]{2}", row[0])]
    assert len(by_language) == 4
    for code, text, words in by_language:
        assert " · ".join(WORDS.of_language(code).words(text)) == words


def test_the_list_of_languages_is_whole() -> None:
    page = (DOCS / "languages.md").read_text("utf-8")
    assert [f"{each}" for each in _table()[0].values() if each.code != "und" and f"{each}" not in page] == []
