r"""Documents: the visible text of HTML, Markdown, PDF and subtitles, as paragraphs, each with its number.

    markdown_paragraphs(Path("a.md"), decoding)   ->   [(1, "A title"), (3, "A paragraph\nin two lines")]

Tags, scripts, styles, comments, front matter and the targets of links are left out; entities are decoded; code blocks
are read only if `code` is set; code inside a sentence is part of it. A paragraph is numbered by its line in Markdown
and subtitles, by its page in a PDF, and consecutively in HTML. A whole document is held in memory, so its size is
limited. Runs no scripts and no OCR.
"""

from __future__ import annotations

import html
import io
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from siamese_cbow.text.chunks import open_text, valid_utf8
from siamese_cbow.text.encodings import Decoding
from siamese_cbow.text.opening import open_bytes
from siamese_cbow.text.records import NoText

Paragraphs: TypeAlias = list[tuple[int, str]]  # numbers, and texts that may have line ends

MAX_BYTES = 16 << 20  # of a document other than PDF: parsing HTML or Markdown takes fifty times as much memory
MAX_PDF_BYTES = 256 << 20


def _whole(path: Path, decoding: Decoding, advice: str) -> str:
    r"""The text of a file that is not too large, with `\n` only."""
    pieces: list[bytes] = []
    with open_text(path, decoding) as text:
        for piece in text.reads():
            pieces.append(piece)
            if sum(map(len, pieces)) > MAX_BYTES:
                raise NoText(f"{path} is larger than {MAX_BYTES >> 20} MB, the limit for a document; {advice}")
    valid, n_broken = valid_utf8(b"".join(pieces), str(path))
    decoding.broken[str(path)] += n_broken
    return valid.decode().replace("\r\n", "\n").replace("\r", "\n")


# HTML

# Elements that are not text, or are not shown in place.
_NO_TEXT = {"script", "style", "template", "noscript", "head", "title", "svg", "math", "iframe", "object", "canvas",
            "audio", "video", "datalist", "rp", "rt", "select", "textarea"}  # fmt: skip
_CODE = {"pre", "code", "samp", "kbd", "listing", "xmp"}
_BLOCKS = {"address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "dir",
           "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
           "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "p", "pre", "section",
           "summary", "table", "tbody", "tfoot", "thead", "tr", "ul", "listing", "xmp"}  # fmt: skip
_SPACES = {"br", "td", "th", "option", "button", "input", "img", "label"}  # they separate words
_WHITE = re.compile(r"\s+")
_OPEN_TAG, _CLOSED_TAG = re.compile(r"<([a-zA-Z][^\s/>]*)"), re.compile(r"</([a-zA-Z][^\s/>]*)")
_XHTML = re.compile(r"<\?xml\s|xmlns\s*=\s*[\"']http://www\.w3\.org/1999/xhtml", re.IGNORECASE)
_CLOSED_AT_ONCE = re.compile(r"<(script|style|title|textarea|iframe|noscript)\b([^<>]*)/>", re.IGNORECASE)
_NOT_SHOWN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_DEEPEST_TAGS, _LONGEST_TAG = 20_000, 100_000  # half a second each; an image inside its tag is not counted
_LONG_TAG = re.compile(rf"<[^<]{{{_LONGEST_TAG},}}")
# Void tags, which need no closing.
_UNCLOSED = {"area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html", "img", "input",
             "li", "link", "meta", "option", "p", "param", "source", "tbody", "td", "tfoot", "th", "thead", "tr",
             "track", "wbr"}  # fmt: skip


def html_paragraphs(path: Path, decoding: Decoding, *, code: bool = False) -> Paragraphs:
    """The paragraphs of a page: the texts of its blocks."""
    page = _whole(path, decoding, "split it, or save it as plain text (.txt)")
    texts = html_texts(page, code=code, name=str(path))
    if page.strip() and not texts:
        raise NoText(
            f"{path} has no text of its own, only frames, scripts, pictures or code; save and pass the pages it shows"
        )
    return list(enumerate(texts, 1))


def html_texts(page: str, *, code: bool, name: str = "the page") -> list[str]:
    """`html_texts("<p>A &amp; B<p>C", code=False)` -> ['A & B', 'C']."""
    from selectolax.lexbor import LexborHTMLParser

    _check_tags(page, name)
    if _XHTML.search(page[: 1 << 12]):  # <title/> is closed in XHTML; in HTML, the rest of the page would be the title
        page = _CLOSED_AT_ONCE.sub(r"<\1\2></\1>", page)
    root = LexborHTMLParser(page).body
    texts = "".join(_html_pieces(root, code)).split("\0") if root is not None else []
    paragraphs = (_WHITE.sub(" ", text).strip() for text in texts)
    return [paragraph for paragraph in paragraphs if paragraph]


def _check_tags(page: str, name: str) -> None:
    """Raises an error if the parser would take hours: its time is quadratic in depth and attributes."""
    depth = 0
    if page.count("<") > _DEEPEST_TAGS:
        tags = Counter(tag.lower() for tag in _OPEN_TAG.findall(page))
        closed = Counter(tag.lower() for tag in _CLOSED_TAG.findall(page))
        depth = sum(max(0, n - closed[tag]) for tag, n in tags.items() if tag not in _UNCLOSED)
    if depth > _DEEPEST_TAGS:
        raise NoText(f"{name} has {depth:,} unclosed tags; save it as plain text (.txt)")
    for piece in _LONG_TAG.findall(page):
        if len(_QUOTED.sub("", piece).partition(">")[0]) > _LONGEST_TAG:
            raise NoText(f"{name} has a tag of {len(piece):,} characters; save it as plain text (.txt)")


def _html_pieces(root: Any, code: bool) -> Iterator[str]:
    """The text below a node, with a NUL where a block begins or ends. A loop: pages may nest thousands deep."""
    node = root.child
    while node is not None:
        tag = node.tag
        if node.is_text_node:
            yield (node.text_content or "").replace("\0", " ").replace("\u00ad", "")
        elif tag in _BLOCKS:
            yield "\0"
        elif tag in _SPACES:
            yield " "
        is_code_block = tag in _CODE and tag in _BLOCKS
        skipped = tag in _NO_TEXT or (is_code_block and not code) or _is_hidden(node.attributes)
        if node.child is not None and not skipped:
            node = node.child
            continue
        while node is not None and node.next is None:
            node = node.parent
            if node is None or node.mem_id == root.mem_id:
                return
            yield "\0" if node.tag in _BLOCKS else ""
        if node is not None:
            yield "\0" if node.tag in _BLOCKS else " " if node.tag in _SPACES else ""
            node = node.next


def _is_hidden(attributes: dict[str, str | None] | None) -> bool:
    attributes = attributes or {}
    return "hidden" in attributes or bool(_NOT_SHOWN.search(attributes.get("style") or ""))


# Markdown

# Each line of YAML is a key, an item, a comment, empty or indented. Two horizontal rules look the same, but the lines
# between them are text: they follow an empty line, or are of other kinds.
_YAML_LINE = r"(?:|[ \t#\]}-][^\n]*|[\w\"'][^\n:]*:(?:[ \t][^\n]*)?)\n"
_FRONT_MATTER = re.compile(
    rf"\A(?:---[ \t]*\n(?![ \t]*\n)(?:#[^\n]*\n)*(?=[\w\"'][^\n:]*:(?:\s|$))(?:{_YAML_LINE})*?(?:---|\.\.\.)[ \t]*$"
    r"|\+\+\+[ \t]*\n(?:[ \t]*(?:#.*)?\n)*(?=[\w\"'.-]+\s*=|\[).*?^\+\+\+[ \t]*$)",  # TOML
    re.DOTALL | re.MULTILINE,
)
_FOOTNOTE = re.compile(r"^ {0,3}\[\^[^\]\s]+\]:[ \t]", re.MULTILINE)
_REFERENCE, _TASK = re.compile(r"\[\^[^\]\s]+\]"), re.compile(r"\A\[[ xX]\] ")
_DEEPEST = 100  # nested lists and quotations


def markdown_paragraphs(path: Path, decoding: Decoding, *, code: bool = False) -> Paragraphs:
    """The paragraphs, headings, list items and rows of tables, each with the number of its first line."""
    text = _whole(path, decoding, "split it, or rename it to .txt to read it as plain text")
    return markdown_texts(text, str(path), code=code)


def markdown_texts(text: str, name: str, *, code: bool) -> Paragraphs:
    """`markdown_texts("# A\\n\\n[b](c)", "a.md", code=False)` -> [(1, 'A'), (3, 'b')]."""
    from markdown_it import MarkdownIt

    front = _FRONT_MATTER.match(text)
    if front:  # lines keep their numbers
        text = "\n" * front[0].count("\n") + text[front.end() :]
    text = _FOOTNOTE.sub("- ", text)  # to the parser, "[^1]: Ibid." is the target of a link
    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable(["table", "strikethrough"])
    tokens = parser.parse(text)
    if max((token.level for token in tokens), default=0) >= _DEEPEST - 1:
        raise NoText(f"{name} has lists or quotations {_DEEPEST} deep; expected a document: rename it to .txt")
    paragraphs: Paragraphs = []
    cells: list[str] | None = None
    for token in tokens:
        number = (token.map or [0])[0] + 1
        if token.type == "tr_open":
            cells, row = [], number
        elif token.type == "tr_close":
            paragraphs.append((row, " ".join(cells or ())))
            cells = None
        elif token.type == "inline":
            inline = _inline(token.children or ())
            paragraphs.append((number, inline)) if cells is None else cells.append(inline)
        elif token.type == "html_block":
            paragraphs += [(number, each) for each in html_texts(token.content, code=code, name=name)]
        elif token.type in ("fence", "code_block") and code:
            paragraphs.append((number + (token.type == "fence"), token.content))
    whole = ((number, "\n".join(filter(str.strip, text.split("\n")))) for number, text in paragraphs)
    return [(number, text) for number, text in whole if text]


def _inline(tokens: Sequence[Any]) -> str:
    """The text of a paragraph: the visible text of links, the alternative text of images."""
    pieces: list[str] = []
    in_address = False  # <https://...>: a target that is its own text
    for token in tokens:
        if token.type == "link_open" or token.type == "link_close":
            in_address = token.type == "link_open" and token.markup == "autolink"
        elif token.type == "image":
            pieces.append(_inline(token.children or ()))
        elif token.type in ("softbreak", "hardbreak"):
            pieces.append("\n")
        elif token.type == "html_inline":
            pieces.append(" " if token.content.lower().startswith("<br") else "")
        elif not in_address:
            pieces.append(token.content)
    text = _REFERENCE.sub("", _TASK.sub("", "".join(pieces)))
    lines = (line.strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


# PDF


def pdf_paragraphs(path: Path, decoding: Decoding, *, code: bool = False) -> Paragraphs:
    """The paragraphs of all pages, each with the number of its page; code can't be distinguished from text."""
    import pypdf

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # users need not know about its repairs
    with open_bytes(path) as stream:
        data = stream.read(MAX_PDF_BYTES + 1)
    if len(data) > MAX_PDF_BYTES:
        raise NoText(f"{path} is larger than {MAX_PDF_BYTES >> 20} MB, the limit for a PDF; split it")
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise NoText(f"{path} is password-protected; save it without a password")
        texts = [page.extract_text() for page in reader.pages]
    except NoText:
        raise
    except Exception as error:  # pypdf raises anything for broken files
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise NoText(f"can't read {path} as a PDF: {reason}; check the file") from error
    paragraphs = [(number, text) for number, page in enumerate(texts, 1) for text in _page_paragraphs(page)]
    if texts and not paragraphs:
        raise NoText(f"{path} has no text on its {len(texts):,} pages, only images; run OCR on it first")
    return paragraphs


def _page_paragraphs(page: str) -> Iterator[str]:
    """The paragraphs of a page: one ends at an empty line, or after a line that is clearly shorter than the others."""
    lines = [_WHITE.sub(" ", line).strip() for line in page.replace("\0", " ").split("\n")]
    lengths = sorted(len(line) for line in lines if line)
    width = lengths[int(0.9 * len(lengths))] if lengths else 0
    paragraph: list[str] = []
    for line in lines:
        if line:
            paragraph.append(line)
        ends = line.endswith((".", "!", "?", ":", "。", "！", "？", "।", "؟", "”", '"')) and len(line) < 0.85 * width
        if paragraph and (not line or ends or (len(line) < 0.6 * width and not line.endswith(("-", ",")))):
            yield "\n".join(paragraph)
            paragraph = []
    if paragraph:
        yield "\n".join(paragraph)


# Subtitles

_TIMES = re.compile(r"^(?:\d+:)?\d+:\d\d[.,]\d+[ \t]*-->.*$", re.MULTILINE)
_NO_CUE = re.compile(r"\A(?:WEBVTT|NOTE|STYLE|REGION)\b")
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|<\d[\d:.,]*>|\{\\[^{}]*\}")  # <i>, <c.blue>, <00:01.000>, {\an8}


def subtitle_paragraphs(path: Path, decoding: Decoding, *, code: bool = False) -> Paragraphs:
    """The captions, each with its line number; counters, times, settings and notes are not text."""
    text = _whole(path, decoding, "split it")
    if not _TIMES.search(text):
        raise NoText(f"{path} has no times (00:00:01,000 --> 00:00:02,000), so no subtitles; rename it to .txt")
    return subtitle_texts(text)


def subtitle_texts(text: str) -> Paragraphs:
    """`subtitle_texts("1\\n00:01.0 --> 00:02.0\\n<i>A cat</i>\\n")` -> [(3, 'A cat')]."""
    paragraphs: Paragraphs = []
    number = 1
    for block in text.split("\n\n"):
        times = _TIMES.search(block)
        if times and not _NO_CUE.match(block.strip()):
            shown = html.unescape(_MARKUP.sub("", block[times.end() :])).strip()
            paragraphs += [(number + block.count("\n", 0, times.end()) + 1, shown)] if shown else []
        number += block.count("\n") + 2
    return paragraphs
