"""Which files are meant: paths, folders and globs become a sorted, checked list. Opens nothing.

`find_files(["books"])` -> every text file below `books`, sorted, hidden files left out;
`find_files(["books/*.txt.gz", "-"])` -> the matches, then None, which stands for standard input.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from pathlib import Path

from siamese_cbow.errors import InputError
from siamese_cbow.text.sniff import COMPRESSIONS

TEXT_ENDINGS = (".txt", ".text", ".md", ".sentences", ".tok")
TABLE_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
LIST_ENDINGS = (".jsonl", ".ndjson", ".json", ".parquet")  # tables whose cells can hold lists, so also groups
GROUP_ENDINGS = (*TEXT_ENDINGS, ".tsv", ".ppdb", *LIST_ENDINGS)


def find_files(
    paths: Iterable[str | Path], *, endings: tuple[str, ...] = TEXT_ENDINGS + TABLE_ENDINGS
) -> list[Path | None]:
    """The files behind `paths`, in the order given; inside a folder or glob sorted by name. None is standard input."""
    found: list[Path | None] = []
    for given in paths:
        found.extend(_expand(given, endings))
    if not found:
        raise InputError("no input was given; expected files, folders, globs or - for standard input")
    if found.count(None) > 1:
        raise InputError("standard input (-) was given twice, but can be read only once; give it once")
    return found


def ending_of(path: Path) -> str:
    """The ending that tells the format, without the compression: `ending_of(Path("a.JSONL.gz"))` -> '.jsonl'."""
    inner = Path(path.stem) if path.suffix.lower() in COMPRESSIONS else path
    return inner.suffix.lower()


def _expand(given: str | Path, endings: tuple[str, ...]) -> Iterator[Path | None]:
    if given == "-":
        yield None
        return
    path = Path(given).expanduser()
    if _exists(path):
        yield from _in_folder(path, endings) if path.is_dir() else [path]
    elif isinstance(given, str) and glob.has_magic(given):
        yield from _matches(given, endings)
    else:
        raise InputError(f"no such file or folder: {str(given)[:200]}; check the path{_text_hint(str(given))}")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long, or with a NUL: no file, and the message says so
        return False


def _text_hint(given: str) -> str:
    """Sentences are handed in as names of files easily: `prepare(["The cat sat."])`."""
    if " " not in given:
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
        known = ", ".join(endings)
        raise InputError(
            f"no text in the folder {folder}: it holds {there}; expected {known}, each also with .gz .bz2 .xz .zst; "
            "give other files by name"
        )
    yield from texts


def _is_visible(path: Path) -> bool:
    return not any(part.startswith(".") for part in path.parts)
