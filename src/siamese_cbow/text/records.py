"""The data types of this room: settings in, raw blocks, finished lines out. Reads nothing: see `reader`."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_type_hints

from siamese_cbow.base.option_fields import named_options
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.text.languages import AUTO, language_code

if TYPE_CHECKING:
    from siamese_cbow.text.encodings import Decoding

TextLayout: TypeAlias = Literal["sentences", "paragraphs", "wrapped"]
GroupLayout: TypeAlias = Literal["PPDB", "TSV", "groups"]  # the last: lists from Python or a table
AnyLayout: TypeAlias = TextLayout | GroupLayout | Literal["document"]  # the last: a file is one row
BLOCK_BYTES = 4 << 20  # big enough that calls cost nothing, small enough that a few blocks in flight fit any machine
MAX_LINE_BYTES = 16 << 20
MAX_ROW_BYTES = 64 << 20  # of a row that is never cut: a line to encode, a record of a table
SAMPLE_BYTES = 1 << 20  # read before the first block, to detect what the text is
MARK = b"\0\n"  # inside a raw block, a line of one NUL ends a record; NULs of the input have become spaces


@named_options()
@dataclass(frozen=True)
class TextSettings:
    """How text is read, in every command and function that reads text.

    layout       sentences: one sentence per line, an empty line between documents;
                 paragraphs: one paragraph per line, to be split into sentences, an empty line between documents;
                 wrapped: running text with short lines, an empty line between paragraphs, a file is a document;
                 auto: detect it
    boundary     what neighbouring sentences never cross in training: the end of a document or of a paragraph
    language     of the text, by name or tag ("German", "de", "pt-br"); auto: detect it. Determines sentence splitting
                 and, for training, stemming and tokenisation
    text_column  the column of JSON lines, CSV, TSV and Parquet that holds the text; each row is a record
    unit         what a row is (search, encode, ...): a line (in a table, a record); a sentence or a paragraph of
                 running text; a document (a file or a record); auto: a paragraph of wrapped text, else a line. Training
                 always reads sentences
    encoding     of the text, such as "cp1252"; detected by default
    kind         groups: each line holds paraphrases (PPDB or tab-separated) instead of running text; for training only
    globs        which files of folders are read, as for ripgrep: ("*.md",) only these, ("!drafts/",) all but those
    code         include code blocks of HTML and Markdown
    languages    for groups of translations, the language of each column: ("en", "de"); each has its own words
    """

    layout: Literal["auto", "sentences", "paragraphs", "wrapped"] = "auto"
    boundary: Literal["document", "paragraph"] = "document"
    language: str = AUTO
    text_column: str = "text"
    unit: Literal["auto", "line", "sentence", "paragraph", "document"] = "line"
    encoding: str | None = None
    kind: Literal["text", "groups"] = "text"
    languages: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    code: bool = False

    def __post_init__(self) -> None:
        _check_kinds(self)
        hints = get_type_hints(TextSettings)
        for name in ("layout", "boundary", "unit", "kind"):
            if getattr(self, name) not in get_args(hints[name]):
                allowed = ", ".join(get_args(hints[name]))
                raise SettingsError(f"{name} is {getattr(self, name)!r}; expected one of {allowed}")
        object.__setattr__(self, "language", language_code(self.language))
        _check_encoding(self.encoding)
        object.__setattr__(self, "globs", _strings("globs", self.globs, "['*.md']"))
        object.__setattr__(self, "languages", _checked_languages(self.languages, self.kind))

    @property
    def n_columns(self) -> int | None:
        """The number of columns in a line of groups; None for two or more."""
        return len(self.languages) or None

    def decoding(self) -> Decoding:
        """How bytes become text, and where to record what was detected."""
        from siamese_cbow.text.encodings import Decoding

        return Decoding(self.encoding)

    def for_training(self) -> dict[str, Any]:
        """The settings that determine how text becomes training data, as plain values; newer options only if set."""
        plain = {**asdict(self), "languages": list(self.languages), "globs": list(self.globs)}
        del plain["unit"]
        later = ("languages", "encoding", "globs", "code")
        return {name: value for name, value in plain.items() if value or name not in later}


def text_settings(text: Any, *, unit: Literal["auto", "line"] = "line") -> TextSettings:
    """The argument `text` of a function that reads text: settings, or None for the defaults."""
    if text is None:
        return TextSettings(unit=unit)
    if not isinstance(text, TextSettings):
        expected = "expected settings, such as TextSettings(text_column='body'), or None"
        raise SettingsError(f"text is {text!r:.60} ({type(text).__name__}); {expected}")
    return text


_KINDS: dict[str, tuple[Any, str]] = {
    "text_column": (str, "the name of a column, or several with commas: 'title,body'"),
    "encoding": (str | None, "the name of an encoding, such as 'cp1252', or None"),
    "code": (bool, "True or False"),
}


def _check_kinds(settings: TextSettings) -> None:
    """Raises an error for a value of the wrong type, which would fail far from here or not at all."""
    for name, (kind, expected) in _KINDS.items():
        if not isinstance(value := getattr(settings, name), kind):
            raise SettingsError(f"{name} is {value!r:.60}; expected {expected}")


def _check_encoding(encoding: str | None) -> None:
    if encoding is None:
        return
    try:
        b"a".decode(encoding, "replace")
        codecs.getincrementaldecoder(encoding)("replace").decode(b"a")
    except (LookupError, ValueError):
        raise SettingsError(
            f"encoding is {encoding!r}; expected one that Python knows, such as utf-8, utf-16, windows-1252, cp932 "
            "(Shift-JIS) or gb18030"
        ) from None


def _strings(name: str, values: Sequence[str], example: str) -> tuple[str, ...]:
    """The values of an option that takes several; a single string would be read letter by letter, so it is an error."""
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        kind = "string" if isinstance(values, str) else type(values).__name__
        raise SettingsError(f"{name} is the {kind} {values!r:.60}; expected a list of strings, such as {example}")
    return tuple(values)


def _checked_languages(languages: Sequence[str], kind: str) -> tuple[str, ...]:
    """A language for each column of groups, or none at all."""
    languages = [language_code(name) for name in _strings("languages", languages, "['en', 'de']")]
    if AUTO in languages:
        raise SettingsError("languages has auto; expected the language of each column, such as --languages en,de")
    listed = ",".join(languages)
    if languages and kind != "groups":
        raise SettingsError(f"languages are {listed} but kind is {kind!r}; only groups have languages: --kind groups")
    if len(languages) == 1 or len(set(languages)) < len(languages):
        raise SettingsError(f"languages are {listed}; expected two or more distinct ones, one per column")
    return tuple(languages)


class NoText(InputError):  # noqa: N818 (a kind of input, which may be skipped)
    """A file without text of the kind its ending promises: a table without the column, a PDF of images.

    An error if the file was named; inside a folder it is skipped, with a message.
    """


@dataclass(frozen=True)
class RawBlock:
    r"""About 4 MB of one source as read, cut only between records; views (`corpus`, `row_reader`) do the rest.

    `data` ends with a line end. A line of one NUL ends a file of lines or, if the block is `marked`, a record:
    `b"a b\n\nc\n\0\n"` -> three lines, and the file ends there; or one record of three lines.
    """

    data: bytes
    source: str  # for messages: a path, "standard input" or "the iterable"
    layout: AnyLayout
    n_source_bytes: int  # of the file on disk (compressed), or of the text: what a progress bar advances by
    first: int = 1  # the number of its first line, or record, in the source, from 1
    n_cut: int = 0  # overlong lines that had to be cut to make this block
    numbers: tuple[int, ...] | None = None  # of each line, if not consecutive, as in a document
    marked: bool = False  # each record ends with a mark (rows of a table, documents from Python); else a line is one

    @property
    def blank_ends_document(self) -> bool:
        """False: an empty line only ends a paragraph, documents end at marks."""
        return self.layout != "wrapped" and not self.marked

    def start(self, size: int) -> RawBlock:
        """The block's first records, about `size` bytes of them."""
        record_end = MARK if self.marked else b"\n"
        end = self.data.find(record_end, size)
        return self if end < 0 else replace(self, data=self.data[: end + len(record_end)])


@dataclass(frozen=True)
class Lines:
    r"""Finished text: each line is a sentence and ends with `\n`; an empty line is a boundary. Always valid UTF-8.

    Several empty lines in a row, or at the start, mean no more than one. In groups, each line is a member and one empty
    line ends the group; with languages, every group has one line per language.
    """

    text: bytes
    n_broken: int = 0  # broken UTF-8 sequences replaced by U+FFFD
    n_cut: int = 0  # overlong paragraphs cut into pieces at white space
    n_short: int = 0  # lines of groups with fewer than two members, or not one per language: skipped
    short_at: tuple[str, ...] = ()  # where the first of them are: ("pairs.tsv line 3", ...)
