"""HTML, Markdown and PDF: what a reader would read becomes rows, and nothing else does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from document_files import pdf
from siamese_cbow.errors import InputError, MissingExtra
from siamese_cbow.text import documents, layout
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.layout import rejoined, unwrapped
from siamese_cbow.text.records import NoText, TextSettings
from siamese_cbow.text.row_reader import RowReader

MARKDOWN = """---
title: secret
tags: [secret]
---
# A *title*
Wrapped text with hyphen-
ated words, `inline` code and
[a link](http://secret.example "secret") or <https://secret.example>.
Cr&egrave;me &amp; br&ucirc;l&eacute;e.

- item one
- item two,
  wrapped

| a | b |
|---|---|
| c | d |

```secret
secret
```

    secret

<div class="secret">some <b>bold</b> html<script>secret</script></div>

![a picture](secret.png)
"""
MARKDOWN_ROWS = [
    (5, "A title"),
    (6, "Wrapped text with hyphenated words, inline code and a link or . Crème & brûlée."),
    (11, "item one"),
    (12, "item two, wrapped"),
    (15, "a b"),
    (17, "c d"),
    (25, "some bold html"),
    (27, "a picture"),
]
HTML = """<!DOCTYPE html><html><head><title>secret</title><style>p {secret: 1}</style></head><body class="secret">
<h1>A &amp; B</h1><p>First para<b>graph</b> with <a href="secret">a link</a>,<br>two
lines.<!-- secret --></p>loose text<script>secret()</script><pre>secret</pre><ul><li>one<li>two</ul>
<table><tr><td>c</td><td>d</td></tr></table><p>caf&eacute; &lt;tag&gt;&nbsp;soft&shy;ened</p><p hidden>secret</p>
<template>secret</template><noscript>secret</noscript><div>e<p>f</p>g</div></body></html>"""
HTML_ROWS = ["A & B", "First paragraph with a link, two lines.", "loose text", "one", "two", "c d",
             "café <tag> softened", "e", "f", "g"]  # fmt: skip


def rows(path: Path, **options: Any) -> list[tuple[int, str]]:
    reader = RowReader(path, TextSettings(**{"unit": "auto", **options}))
    lines = [line for block in reader.blocks() for line in reader.rows(block).lines(0, 1000)]
    return [tuple(line) for line in lines]


def write(folder: Path, name: str, content: str | bytes) -> Path:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / name


@pytest.mark.parametrize("unit", ["auto", "line", "paragraph"])
def test_markdown(tmp_path: Path, unit: str) -> None:
    path = write(tmp_path, "a.md", MARKDOWN)
    assert rows(path, unit=unit) == MARKDOWN_ROWS
    assert rows(write(tmp_path, "b.markdown", "\ufeff" + MARKDOWN.replace("\n", "\r\n")), unit=unit) == MARKDOWN_ROWS
    with_code = [text for _, text in rows(path, unit=unit, code=True)]
    assert with_code.count("secret") == 2


def test_other_units_of_a_document(tmp_path: Path) -> None:
    path = write(tmp_path, "a.md", MARKDOWN)
    sentences = rows(path, unit="sentence", language="en")
    assert (6, "Crème & brûlée.") in sentences
    assert len(sentences) == len(MARKDOWN_ROWS) + 1
    assert rows(path, unit="document") == [(1, " ".join(text for _, text in MARKDOWN_ROWS))]


def test_front_matter_is_not_a_rule(tmp_path: Path) -> None:
    assert rows(write(tmp_path, "a.md", "---\n\nText between rules\n\n---\nmore\n")) == [
        (3, "Text between rules"),
        (6, "more"),
    ]
    assert rows(write(tmp_path, "b.md", "+++\ntitle = 'secret'\n+++\n\nbody\n")) == [(5, "body")]
    assert rows(write(tmp_path, "c.md", "---\n# why\nkey: secret\n...\nbody")) == [(5, "body")]
    assert rows(write(tmp_path, "d.md", "")) == []


def test_html(tmp_path: Path) -> None:
    path = write(tmp_path, "a.html", HTML)
    assert rows(path) == list(enumerate(HTML_ROWS, 1))
    assert "secret" in [text for _, text in rows(path, code=True)]
    assert rows(write(tmp_path, "b.htm", "a frag<i>ment</i> &euro;")) == [(1, "a fragment €")]
    assert rows(write(tmp_path, "c.html", "")) == []
    assert rows(write(tmp_path, "d.html", "<div>" * 20_000 + "deep")) == [(1, "deep")]


def test_a_page_without_text_is_left_out_of_folders_and_refused_by_name(tmp_path: Path) -> None:
    path = write(
        tmp_path, "a.html", "<html><head><title>x</title></head><frameset><frame src='b.html'></frameset></html>"
    )
    with pytest.raises(NoText, match=r"a\.html has no text of its own"):
        rows(path)
    write(tmp_path, "b.html", "<p>The cat sat.")
    reader = RowReader(tmp_path, say=lambda message: None)
    assert list(reader.texts()) == ["The cat sat."]
    assert any(f"skipped 1 file without readable text: {path}" in each for each in reader.remarks)


@pytest.mark.parametrize(
    ("declared", "encoding", "text"),
    [
        ("windows-1251", "cp1251", "Да"),
        ("ISO-8859-1", "cp1252", "Straße “für”"),
        ("shift_jis", "cp932", "日本"),
        ("iso-8859-2", "iso8859_2", "zażółć"),
        ("gb2312", "gb18030", "汉字"),
        ("koi8-r", "utf-8", "Straße für"),  # valid UTF-8 is read as UTF-8, whatever the page declares
        ("utf-8", "cp1252", "Straße für alle"),
        ("nonsense", "cp1252", "Straße für alle"),
    ],
)
def test_pages_say_their_encoding(tmp_path: Path, declared: str, encoding: str, text: str) -> None:
    page = write(tmp_path, "a.html", f'<meta charset="{declared}"><p>{text}'.encode(encoding))
    assert rows(page) == [(1, text)]
    page = write(tmp_path, "b.xhtml", f'<?xml version="1.0" encoding="{declared}"?><p>{text}</p>'.encode(encoding))
    assert rows(page) == [(1, text)]


def test_pdf(tmp_path: Path) -> None:
    path = write(tmp_path, "a.pdf", pdf([["A title", "Some words in a line that is hyphen-", "ated, and more of it."],
                                         ["The second page."]]))  # fmt: skip
    assert rows(path) == [
        (1, "A title"),
        (1, "Some words in a line that is hyphenated, and more of it."),
        (2, "The second page."),
    ]
    with pytest.raises(InputError, match="no text on its 1 pages, only images"):
        rows(write(tmp_path, "b.pdf", pdf([[]])))
    with pytest.raises(InputError, match=r"can't read .*c\.pdf as a PDF"):
        rows(write(tmp_path, "c.pdf", b"%PDF-1.4 nothing"))


def test_pdf_without_its_library_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "a.pdf", pdf([["x"]]))
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(MissingExtra, match=r"the extra pdf .*pip install .*\[pdf\]'"):
        rows(path)


def test_a_document_is_not_larger_than_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_BYTES", 1 << 20)
    for name in ("a.md", "a.html"):
        with pytest.raises(InputError, match=r"is larger than 1 MB, the limit for a document"):
            rows(write(tmp_path, name, "word " * 300_000))
    with pytest.raises(InputError, match="100 deep"):
        rows(write(tmp_path, "b.md", ">" * 150 + " x"))


def test_a_file_is_a_document_for_training(tmp_path: Path) -> None:
    write(tmp_path, "a.md", MARKDOWN)
    write(tmp_path, "b.html", HTML)
    corpus = Corpus(tmp_path, TextSettings(language="en"))
    text = b"".join(corpus.lines(block).text for block in corpus.blocks()).decode()
    first, second = text.strip().split("\n\n")
    assert [line.strip() for line in second.splitlines()] == HTML_ROWS
    assert first.count("\n") == len(MARKDOWN_ROWS)
    assert set(corpus.layouts.values()) == {"paragraphs"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("an exam-\nple here", "an example here"),
        ("well-\nknown, a well-known thing", "well-known, a well-known thing"),
        ("it is well-\nknown and known well", "it is well-known and known well"),
        ("wellknown is well-\nknown", "wellknown is wellknown"),
        ("an Anglo-\nSaxon and 1990-\n1995", "an Anglo-Saxon and 1990-1995"),
        ("pre-\nand post-war" + " and" * 9, "pre- and post-war" + " and" * 9),
        ("soft\u00ad\nened and un-exam-\npled", "softened and un-exampled"),
        ("a dash -\nand--\nmore", "a dash - and-- more"),
        ("Straßen-\nbahn und", "Straßenbahn und"),
    ],
)
def test_words_broken_at_the_end_of_a_line(text: str, expected: str) -> None:
    joined = rejoined(text.encode())
    assert joined.count(b"\n") == text.count("\n")  # line numbers stay the same
    assert unwrapped(joined).decode() == expected


@given(st.text("ab1-\u2010\u00ad'’_.( \t\n\n", max_size=40))
def test_only_lines_that_end_in_a_hyphen_have_to_be_looked_at(text: str) -> None:
    everywhere = layout._BROKEN_WORD.finditer(text)
    assert [match.span() for match in layout._broken_words(text)] == [match.span() for match in everywhere]


def test_chinese_lines_are_joined_without_a_space() -> None:
    assert unwrapped("我们\n今天，\n去。\n\n한국어\n문장".encode()).decode() == "我们今天，去。\n한국어 문장"


@pytest.mark.parametrize(
    ("page", "reason"),
    [("<div>" * 400_000, "400,000 unclosed tags"), (f"<p {'a=1 ' * 500_000}>", "a tag of 2,000,0")],
)
def test_pages_that_would_take_hours_are_refused(tmp_path: Path, page: str, reason: str) -> None:
    """The parser visits all open tags at each tag, and all attributes at each attribute."""
    path = tmp_path / "a.html"
    path.write_text(page)
    with pytest.raises(NoText, match=reason):
        documents.html_paragraphs(path, Decoding())


def test_large_honest_pages_are_read(tmp_path: Path) -> None:
    picture = f'<img alt="a" src="data:image/png;base64,{"AB/=" * 100_000}">'
    page = "<div><p>one<p>two<br></div>" * 12_000 + picture + "<ul>" + "<li>three" * 30_000 + "</ul>"
    assert len(documents.html_texts(page, code=False)) == 54_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\n\nThe ship: a story\n\n---\n\nA song.\n", ["The ship: a story", "A song."]),
        ("---\nThe ship: a story\nof the sea\n---\n\nA song.\n", ["The ship: a story of the sea", "A song."]),
        ("---\na: >\n  b\n\n  c\nd:\n- e\nmy key: 3\nf: [g,\nh:\n]\n...\nA song.\n", ["A song."]),
        ("A note[^1].\n\n[^1]: Ibid.\n[^b]: Two\n    lines\n", ["A note.", "Ibid.", "Two lines"]),
        ("- [ ] wash\n- [x] cook\n", ["wash", "cook"]),
    ],
)
def test_markdown_loses_no_text_and_adds_none(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert [row for _, row in rows(write(tmp_path, "a.md", text))] == expected


def test_a_page_of_xhtml_continues_after_a_self_closing_tag(tmp_path: Path) -> None:
    page = '<?xml version="1.0"?><html><head><title/><script src="x"/></head><body><p>shown</p></body></html>'
    assert rows(write(tmp_path, "a.xhtml", page)) == [(1, "shown")]


def test_what_a_page_does_not_display_is_no_text(tmp_path: Path) -> None:
    page = '<p style="color: red; DISPLAY : none">secret</p><p style="display: block">shown</p>'
    assert rows(write(tmp_path, "a.html", page)) == [(1, "shown")]


SRT = (
    "\ufeff1\r\n00:00:01,000 --> 00:00:02,000\r\n<i>A ship</i> &amp;\r\n{\\an8}a song\r\n\r\n"
    "2\r\n00:00:03,000 --> 00:00:04,000\r\n\r\n"
)
VTT = (
    "WEBVTT - secret\nKind: secret\n\nNOTE secret\n\nSTYLE\n::cue{secret}\n\nsecret\n"
    "00:01.000 --> 00:02.000 align:left\n"
    "<v Anna>The <00:01.500><c.blue>ship</c>\n\n01:00:02.000 --> 01:00:03.000\nA song\n"
)


def test_subtitles_are_what_is_shown(tmp_path: Path) -> None:
    assert rows(write(tmp_path, "a.srt", SRT)) == [(3, "A ship & a song")]
    assert rows(write(tmp_path, "a.vtt", VTT)) == [(11, "The ship"), (14, "A song")]
    with pytest.raises(NoText, match=r"has no times .*rename it to \.txt"):
        rows(write(tmp_path, "b.srt", "A ship\n"))
