r"""What was given: names of files, folders and globs become a sorted, checked list; anything else is the text itself.

    Inputs("books", endings)                     -> every text file below `books`, sorted, hidden files left out
    Inputs(["books/*.txt.gz", "-"], endings)     -> the matches, then None, which stands for standard input
    Inputs([["A cat.", "It purrs."]], endings)   -> a document; `Texts([...])` where strings are no names of files

Opens nothing. An iterable of strings is read like the lines of a file: a string is a line, an empty string ends a
document. A string with line ends in it is a document of its own, and so is a list of strings.
"""

from __future__ import annotations

import glob
import itertools
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siamese_cbow.errors import InputError
from siamese_cbow.text.opening import ending_of
from siamese_cbow.text.records import BLOCK_BYTES, MARK

ITERABLE = "the iterable"
_LOOK_AT = 100  # documents that are looked at to tell sentences from words


@dataclass(frozen=True)
class Texts:
    """Says that strings are text where they could be mistaken for names of files: `Texts(["A cat.", "It purrs."])`."""

    texts: Iterable[str | Iterable[str]]

    def __iter__(self) -> Iterator[str | Iterable[str]]:
        return iter(self.texts)


class Inputs:
    """A path, a folder, a glob, "-" or a list of those; or texts: `Texts`, or an iterable of other things than paths.

    items        the texts; None where names of files were given
    paths        the files behind the names, in the order given; None stands for standard input
    files        the same where all of them are files, to tell by whether the text has changed; else empty
    total_bytes  the size of the files on disk, for a progress bar; None where it can't be known
    """

    def __init__(self, inputs: Any, endings: tuple[str, ...]) -> None:
        self.items = _items(inputs)
        names = [inputs] if isinstance(inputs, str | Path) else [] if self.items is not None else list(inputs)
        self._named = {Path(name).expanduser() for name in names}
        self.paths = find_files(names, endings) if self.items is None else []
        files = [path for path in self.paths if path is not None and path.is_file()]
        self.files: list[Path] = files if len(files) == len(self.paths) else []
        self.total_bytes: int | None = sum(path.stat().st_size for path in files) if self.files else None

    @property
    def can_be_read_again(self) -> bool:
        """False for standard input, pipes and generators: their text is gone after it was read once."""
        return bool(self.files) if self.items is None else not isinstance(self.items, Iterator)

    def is_named(self, path: Path | None) -> bool:
        """Whether a file was given by its own name, and not by its folder or a pattern."""
        return path is None or path in self._named


def _items(inputs: Any) -> Iterable[Any] | None:
    """The iterable of texts that was given, or None where names of files were."""
    items: Iterable[Any] = inputs.texts if isinstance(inputs, Texts) else inputs
    if isinstance(inputs, Texts) and isinstance(items, str):
        raise InputError(f"Texts({items[:40]!r}) holds one string; expected an iterable of strings: Texts([...])")
    if isinstance(items, str | Path):
        return None
    if isinstance(inputs, list | tuple) and all(isinstance(item, str | Path) for item in inputs):
        return None
    if isinstance(items, bytes | bytearray | Mapping | Set) or not hasattr(items, "__iter__"):
        raise InputError(
            f"the input is a {type(items).__name__}; expected paths, '-', or an iterable (with an order) of strings or "
            "of lists of strings"
        )
    return items


# Names of files


def find_files(names: Iterable[str | Path], endings: tuple[str, ...]) -> list[Path | None]:
    """The files behind `names`, in the order given; inside a folder those with `endings`, sorted. None is stdin."""
    paths = [path for name in names for path in _expand(name, endings)]
    if not paths:
        raise InputError("no input was given; expected files, folders, globs or - for standard input")
    if paths.count(None) > 1:
        raise InputError("standard input (-) was given twice, but can be read only once; give it once")
    return paths


def _expand(name: str | Path, endings: tuple[str, ...]) -> Iterator[Path | None]:
    if name == "-":
        yield None
        return
    path = Path(name).expanduser()
    if _exists(path):
        yield from _in_folder(path, endings) if path.is_dir() else [path]
    elif isinstance(name, str) and glob.has_magic(name):
        yield from _matches(name, endings)
    else:
        raise InputError(f"no such file or folder: {str(name)[:200]}; check the path{_text_hint(str(name))}")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long, or with a NUL: no file, and the message says so
        return False


def _text_hint(name: str) -> str:
    """Sentences are handed in as names of files easily: `prepare(["The cat sat."])`."""
    if " " not in name:
        return ""
    return " (to hand in the text itself, wrap it: Texts([...]), or give lists of sentences, one list per document)"


def _matches(pattern: str, endings: tuple[str, ...]) -> Iterator[Path]:
    # not Path.glob: it refuses absolute patterns
    matches = sorted(Path(match) for match in glob.iglob(str(Path(pattern).expanduser()), recursive=True))  # noqa: PTH207
    if not matches:
        raise InputError(f"nothing matches {pattern}; expected at least one file: check the pattern")
    for match in matches:
        if not match.is_dir():
            yield match
        elif "**" not in pattern:  # with **, the files below are matches themselves
            yield from _in_folder(match, endings)


def _in_folder(folder: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    try:
        files = sorted(path for path in folder.rglob("*") if path.is_file() and _is_visible(path.relative_to(folder)))
    except OSError as error:
        raise InputError(f"can't list {folder}: {error.strerror}; check its permissions") from error
    texts = [path for path in files if ending_of(path) in endings]
    if not texts:
        seen = sorted({path.suffix or "(none)" for path in files})[:8]
        there = f"{len(files)} files with endings {', '.join(seen)}" if files else "no files"
        raise InputError(
            f"no text in the folder {folder}: it holds {there}; expected {', '.join(endings)}, each also with "
            ".gz .bz2 .xz .zst; give other files by name"
        )
    yield from texts


def _is_visible(path: Path) -> bool:
    return not any(part.startswith(".") for part in path.parts)


# Texts


def item_batches(items: Iterable[Any], *, groups: bool = False) -> Iterator[tuple[bytes, int, int]]:
    """About 4 MB of an iterable's items as bytes, how many, and their size, again and again.

    Every document ends with a mark; strings that are lines of one document stand together before one.
    """
    batch: list[bytes] = []
    size = 0
    is_open = False  # lines were written and no mark after them
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
            return b"", True  # ends what came before it
        return (text + b"\n" + MARK, True) if b"\n" in text else (text + b"\n", False)
    if isinstance(item, list | tuple) and all(isinstance(line, str) for line in item):
        return lines_bytes(item) + MARK, True
    shown = repr(item)
    expected = "a list of two or more paraphrases" if groups else "a string or a list of strings (a document)"
    advice = "; give paths as a list" if isinstance(item, Path) else ""
    raise InputError(
        f"item {position:,} of the iterable is {type(item).__name__} {shown[:60]}{'...' if len(shown) > 60 else ''}; "
        f"expected {expected}{advice}"
    )


def _checked(items: Iterable[Any]) -> Iterator[Any]:
    """The items, after a look at the first ones: lists of words would be read as documents of one-word sentences."""
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
