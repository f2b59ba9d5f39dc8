"""The records that travel from readers to whoever counts words: settings in, raw blocks, finished lines out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from siamese_cbow.errors import SettingsError

Layout: TypeAlias = Literal["sentences", "paragraphs", "wrapped"]
GroupLayout: TypeAlias = Literal["PPDB", "TSV", "groups"]  # the last one: lists that came from Python or a table
BLOCK_BYTES = 4 << 20  # big enough that calls cost nothing, small enough that a few blocks in flight fit any machine
MAX_LINE_BYTES = 16 << 20
SAMPLE_BYTES = 1 << 20  # read before the first block, to see what the text is
MARK = b"\0\n"  # inside a raw block, a line of one NUL ends a document; NULs of the input have become spaces


@dataclass(frozen=True)
class TextSettings:
    """How text is read.

    layout      sentences: one sentence a line, an empty line between documents
                paragraphs: one paragraph a line, to be split into sentences, an empty line between documents
                wrapped: running text with short lines, an empty line between paragraphs, a file is a document
                auto: look at the first megabyte and choose
    boundary    what adjacency never crosses: a document's end, or already a paragraph's
    language    of the sentence splitter, as a code such as "en", "de", "zh"
    text_column the column of JSON lines, CSV, TSV and Parquet that holds the text; each row is a document
    kind        groups: each line holds paraphrases (PPDB or tab separated) instead of running text
    languages   of groups of translations, the language of each column: ("en", "de"); each gets words of its own
    """

    layout: Literal["auto", "sentences", "paragraphs", "wrapped"] = "auto"
    boundary: Literal["document", "paragraph"] = "document"
    language: str = "en"
    text_column: str = "text"
    kind: Literal["text", "groups"] = "text"
    languages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _one_of("layout", self.layout, ("auto", *get_args(Layout)))
        _one_of("boundary", self.boundary, ("document", "paragraph"))
        _one_of("kind", self.kind, ("text", "groups"))
        _check_code("language", self.language)
        object.__setattr__(self, "languages", _checked_languages(self.languages, self.kind))

    @property
    def n_columns(self) -> int | None:
        """How many columns a line of groups must have; None where two or more will do."""
        return len(self.languages) or None


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise SettingsError(f"{name} is {value!r}; expected one of {', '.join(allowed)}")


def _check_code(name: str, code: str) -> None:
    if not code.replace("-", "").replace("_", "").isalnum():
        raise SettingsError(f"{name} is {code!r}; expected a code such as 'en', 'de' or 'zh'")


def _checked_languages(languages: Sequence[str], kind: str) -> tuple[str, ...]:
    """A language for each column of groups, or none at all."""
    if isinstance(languages, str):
        raise SettingsError(f"languages is the string {languages!r}; expected a list of codes, such as ['en', 'de']")
    for code in languages:
        _check_code("a language", code)
    shown = ",".join(languages)
    if languages and kind != "groups":
        raise SettingsError(f"languages are {shown} and kind is {kind!r}; only groups have languages: --kind groups")
    if len(languages) == 1 or len(set(languages)) < len(languages):
        raise SettingsError(f"languages are {shown}; expected two or more, each once: one for each column")
    return tuple(languages)


@dataclass(frozen=True)
class RawBlock:
    r"""About 4 MB of input as it was found, cut where no sentence is: `Corpus.lines` does the rest.

    `data` ends with a line end. `b"a b\n\nc\n\0\n"` -> the file ended after `c`: a line of one NUL ends a document.
    """

    data: bytes
    source: str  # for messages: a path, "standard input" or "the iterable"
    layout: Layout | GroupLayout
    n_source_bytes: int  # of the file on disk (compressed), or of the text: what a progress bar advances by
    first_line: int = 1  # its number in the source, counted from 1
    blank_ends_document: bool = True  # False: an empty line only ends a paragraph, documents end at marks
    n_cut: int = 0  # overlong lines that had to be cut to make this block


@dataclass(frozen=True)
class Lines:
    r"""Finished text: each line is a sentence and ends with `\n`; an empty line is a boundary. Always valid UTF-8.

    Boundaries may come in a row (two empty lines) and may come first; they mean no more than one would. Of groups, each
    line is a member and one empty line ends the group; with languages, every group has a line for each of them.
    """

    text: bytes
    n_broken: int = 0  # broken UTF-8 sequences replaced by U+FFFD
    n_cut: int = 0  # overlong paragraphs cut into pieces at white space
    n_short: int = 0  # lines of groups with fewer than two members, or not one for each language: left out
    short_at: tuple[str, ...] = ()  # where the first of them are: ("pairs.tsv line 3", ...)
