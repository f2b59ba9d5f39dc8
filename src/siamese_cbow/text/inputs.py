r"""Inputs: names of files, folders and globs become a sorted, checked list; anything else is the text itself.

    Inputs("books", Walk())                     -> every text file below `books`, sorted: see `folders`
    Inputs(["books/*.txt.gz", "-"], Walk())     -> the matches, then None, which stands for standard input
    Inputs([["A cat.", "It purrs."]], Walk())   -> a document; `Texts([...])` if strings are not names of files

An iterable of strings is read like the lines of a file: a string is a line, an empty string ends a document. A string
with line ends is its own document, and so is a list of strings. Does not open the files: see `reader`.
"""

from __future__ import annotations

import glob
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siamese_cbow.base.disk import as_path
from siamese_cbow.errors import InputError, counted, listed
from siamese_cbow.text import FORMATS
from siamese_cbow.text.folders import Walk, left_out_remark
from siamese_cbow.text.opening import ending_of
from siamese_cbow.text.records import BLOCK_BYTES, MARK, NoText, RawBlock

ITERABLE = "the iterable"
# Files read as plain text although they contain markup: ending -> name of the format.
MARKUP = {
    ".tex": "LaTeX", ".rst": "reStructuredText", ".org": "Org", ".adoc": "AsciiDoc", ".textile": "Textile",
    ".wiki": "wiki text", ".mediawiki": "wiki text", ".xml": "XML", ".tei": "XML", ".tmx": "XML", ".svg": "XML",
    ".ipynb": "notebooks", ".ass": "subtitles", ".eml": "mail", ".mbox": "mail", ".mhtml": "mail", ".mht": "mail",
}  # fmt: skip
PANDOC = {"LaTeX", "reStructuredText", "Org", "Textile", "notebooks"}  # formats that pandoc turns into text
_LOOK_AT = 100  # documents examined to distinguish sentences from words


@dataclass(frozen=True)
class Texts:
    """Marks strings as text where they could be mistaken for file names: `Texts(["A cat.", "It purrs."])`."""

    texts: Iterable[str | Iterable[str]]

    def __post_init__(self) -> None:
        if isinstance(self.texts, str | Path) or not hasattr(self.texts, "__iter__"):
            what = "a single string" if isinstance(self.texts, str) else type(self.texts).__name__
            raise InputError(f"Texts({self.texts!r:.40}) got {what}; expected an iterable of strings: Texts([...])")

    def __iter__(self) -> Iterator[str | Iterable[str]]:
        return iter(self.texts)


class Inputs:
    """A path, a folder, a glob, "-" or a list of those; or texts: `Texts`, or an iterable of anything but paths.

    items        the texts; None if names of files were given
    paths        the files behind the names, in the order given; None stands for standard input
    files        the same paths if all of them are files, to detect changes of the text; else empty
    total_bytes  the size of the files on disk, for a progress bar; None if unknown
    """

    def __init__(self, inputs: Any, walk: Walk) -> None:
        self.items = _items(inputs)
        names = [inputs] if isinstance(inputs, str | Path) else [] if self.items is not None else list(inputs)
        self._named = {as_path(name) for name in names}
        self.paths = find_files(names, walk) if self.items is None else []
        self._left_out, self._without_text = walk.left_out, dict[str, NoText]()
        files = [path for path in self.paths if path is not None and path.is_file()]
        self.files: list[Path] = files if len(files) == len(self.paths) else []
        self.total_bytes: int | None = sum(path.stat().st_size for path in files) if self.files else None

    @property
    def can_be_read_again(self) -> bool:
        """False for standard input, pipes and generators: their text can be read only once."""
        return bool(self.files) if self.items is None else not isinstance(self.items, Iterator)

    @property
    def remarks(self) -> list[str]:
        """Lines about files skipped in folders, files without text, and markup read as text.

        Complete once everything has been read.
        """
        without_text = no_text_remark(list(self._without_text))
        return [*left_out_remark(self._left_out), *without_text, *markup_remark(self.paths)]

    def blocks(self, read: Callable[[Path | None], Iterator[RawBlock]]) -> Iterator[RawBlock]:
        """The blocks of all files; those without text are skipped if they come from a folder."""
        self._without_text.clear()
        for path in self.paths:
            try:
                yield from read(path)
            except NoText as error:
                if self.is_named(path):
                    raise
                self._without_text[str(path)] = error
        if self._without_text and len(self._without_text) == len(self.paths):
            raise next(iter(self._without_text.values()))

    def is_named(self, path: Path | None) -> bool:
        """Whether a file was named explicitly, rather than through its folder or a pattern."""
        return path is None or path in self._named


def _items(inputs: Any) -> Iterable[Any] | None:
    """The given iterable of texts, or None if names of files were given."""
    items: Iterable[Any] = inputs.texts if isinstance(inputs, Texts) else inputs
    if isinstance(items, str | Path):
        return None
    if isinstance(inputs, list | tuple) and all(isinstance(item, str | Path) for item in inputs):
        return None
    check_is_no_table(items)
    if isinstance(items, bytes | bytearray | Mapping | Set) or not hasattr(items, "__iter__"):
        raise InputError(
            f"the input is a {type(items).__name__}; expected paths, '-', or a list (or another "
            "ordered iterable) of strings or of lists of strings"
        )
    return items


def check_is_no_table(items: Any) -> None:
    """Raises an error for a data frame or a matrix: iterating over it gives its column names, or its rows."""
    if not isinstance(items, list | tuple) and (getattr(items, "ndim", 1) > 1 or hasattr(items, "columns")):
        raise InputError(f"the input is a table ({type(items).__name__}); pass its text column: table['text']")


def no_text_remark(names: Sequence[str]) -> list[str]:
    """The line about files without text in folders, if any."""
    advice = "name one of them to see why; tables have --text-column"
    without = f"skipped {counted(len(names), 'file')} without readable text: {listed(names)}; {advice}"
    return [without] if names else []


def markup_remark(paths: Sequence[Path | None]) -> list[str]:
    """The line about files in formats that are not parsed, if any."""
    marked = [path for path in paths if path is not None and ending_of(path) in MARKUP]
    kinds = list(dict.fromkeys(MARKUP[ending_of(path)] for path in marked))
    names = f"{listed([str(path) for path in marked])} ({', '.join(kinds)})"
    how = ": pandoc -t plain FILE -o FILE.txt" if PANDOC.intersection(kinds) else ""
    return [f"read as plain text, markup and all: {names}; to leave it out, convert them first{how}"] if marked else []


# Names of files


def find_files(names: Iterable[str | Path], walk: Walk) -> list[Path | None]:
    """The files behind `names`, in the order given; those of a folder sorted. None is standard input."""
    listed = list(names)
    paths = [path for name in listed for path in _expand(name, walk, listed)]
    if not paths:
        raise InputError("no input was given; expected files, folders, globs or - for standard input")
    if paths.count(None) > 1:
        raise InputError("standard input (-) was given twice, but can be read only once; give it once")
    return paths


def _expand(name: str | Path, walk: Walk, names: Sequence[str | Path]) -> Iterator[Path | None]:
    if name == "-":
        yield None
        return
    if not str(name).strip():  # such as an unset variable of a shell; Path("") would be the current folder
        expected = "expected a file or folder (. is the current folder)"
        raise InputError(f"got an empty path, {str(name)!r}; {expected}{_text_hint(name, names)}")
    path = as_path(name)
    if _exists(path):
        yield from _in_folder(path, walk) if path.is_dir() else [path]
    elif isinstance(name, str) and glob.has_magic(name):
        yield from _matches(name, walk, _text_hint(name, names))
    elif "://" in str(name):
        raise InputError(f"{str(name)[:200]} is a URL; expected a file: download it first, such as with curl -LO URL")
    else:
        raise InputError(f"no such file or folder: {str(name)[:200]}; check the path{_text_hint(name, names)}")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long, or with a NUL: not a file, and the message says so
        return False


def is_name(text: str) -> bool:
    """Whether a string names something that exists: a file, a folder, a glob with a match, "-"."""
    if text == "-" or (0 < len(text) < 4096 and "\n" not in text and _exists(as_path(text))):
        return True
    return looks_like_name(text) and glob.has_magic(text) and any(glob.iglob(text, recursive=True))  # noqa: PTH207


def looks_like_name(text: str) -> bool:
    """Whether a string can only be meant as a name: "notes/may.txt", "my notes.csv.gz"; not "and", "a b" or "Why?"."""
    if len(text) > 255 or "\n" in text:
        return False
    has_ending = ending_of(Path(text)) in {ending for each in FORMATS for ending in each.endings}
    return has_ending or (not any(letter.isspace() for letter in text) and ("/" in text or "*" in text))


def _text_hint(name: str | Path, names: Sequence[str | Path]) -> str:
    """A hint for texts passed where file names are expected: `prepare(["The cat sat."])`, `prepare(["a", "b"])`."""
    is_text = " " in str(name) and not looks_like_name(str(name))
    if not is_text and (len(names) < 2 or any(is_name(each) or looks_like_name(each) for each in map(str, names))):
        return ""
    return (
        " (to pass the text itself, pipe it in: echo TEXT | siamese-cbow COMMAND -; in Python, wrap it: Texts([...]), "
        "or pass lists of sentences, one list per document)"
    )


def _matches(pattern: str, walk: Walk, hint: str) -> Iterator[Path]:
    # not Path.glob, which refuses absolute patterns
    matches = sorted(Path(match) for match in glob.iglob(str(as_path(pattern)), recursive=True))  # noqa: PTH207
    if not matches:
        raise InputError(f"nothing matches {pattern[:200]}; check the pattern{hint}")
    for match in matches:
        if not match.is_dir():
            yield match
        elif "**" not in pattern:  # with **, the files below are matches themselves
            yield from _in_folder(match, walk)


def _in_folder(folder: Path, walk: Walk) -> list[Path]:
    before = walk.left_out.total()
    files = walk.files(folder)
    if not files:
        remarks = left_out_remark(walk.left_out) if walk.left_out.total() > before else ["it is empty"]
        raise InputError(f"no text in the folder {folder}: {remarks[0]}; name other folders, or the files themselves")
    return files


# Texts


def item_batches(items: Iterable[Any], *, groups: bool = False) -> Iterator[tuple[bytes, int, int]]:
    """Batches of an iterable's items, about 4 MB each: the bytes, the number of items, and their size.

    Every document ends with a mark; strings that are lines of one document share it.
    """
    batch: list[bytes] = []
    size = 0
    is_open = False  # lines were written without a mark after them
    for position, item in enumerate(items if groups else _checked(items)):
        text, is_document = _item_bytes(item, position, groups)
        batch += (MARK, text) if is_document and is_open else (text,)
        is_open = not is_document
        size += len(text)
        if size >= BLOCK_BYTES:
            yield b"".join(batch), len(batch), size
            batch, size = [], 0
    if batch:
        yield b"".join((*batch, MARK) if is_open else batch), len(batch), size


def _item_bytes(item: Any, position: int, groups: bool) -> tuple[bytes, bool]:
    r"""An item and whether it is a document: "a b" -> (b"a b\n", False); ["a", "b"] -> (b"a\nb\n\0\n", True)."""
    if isinstance(item, str) and not groups:
        text = encoded(item).strip(b"\n")
        if not text:
            return b"", True  # ends the document before it
        return (text + b"\n" + MARK, True) if b"\n" in text else (text + b"\n", False)
    if isinstance(item, list | tuple) and all(isinstance(line, str) for line in item):
        return lines_bytes(item) + MARK, True
    shown = repr(item)
    expected = "a list of two or more paraphrases" if groups else "a string or a list of strings (a document)"
    advice = "; pass paths as a list" if isinstance(item, Path) else ""
    raise InputError(
        f"item {position:,} of the iterable is {type(item).__name__} {shown[:60]}{'...' if len(shown) > 60 else ''}; "
        f"expected {expected}{advice}"
    )


def _checked(items: Iterable[Any]) -> Iterator[Any]:
    """The items, after checking the first ones: lists of words would be read as documents of one-word sentences."""
    iterator = iter(items)
    first = list(itertools.islice(iterator, _LOOK_AT))
    lists = [item for item in first if isinstance(item, list | tuple) and item]
    words = [word for item in lists for word in item if isinstance(word, str)]
    if len(words) >= 10 and len(words) > len(lists) and all(word.isascii() and " " not in word for word in words):
        raise InputError(
            f"the lists look like words ({', '.join(map(repr, words[:4]))}, ...); expected a list of sentences per "
            "document: join the words of each sentence, ' '.join(words), and use the whitespace tokenizer"
        )
    return itertools.chain(first, iterator)


def lines_bytes(lines: Iterable[str]) -> bytes:
    r"""["a", "b\nc"] -> b"a\nb c\n": in a list, one item is one line."""
    return b"".join(encoded(line).replace(b"\n", b" ") + b"\n" for line in lines)


def encoded(text: str) -> bytes:
    """UTF-8 without NULs; a lone surrogate becomes one broken byte, so that it is replaced and counted later."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = b"".join(b"\xff" if "\ud800" <= letter <= "\udfff" else letter.encode() for letter in text)
    return data.replace(b"\0", b" ") if b"\0" in data else data
