"""Walks folders as ripgrep does: hidden, ignored and binary files are skipped and counted, and so is our own output.

    Walk(["*.md"]).files(Path("notes"))   -> the Markdown files below notes, sorted

A file is ignored if the .gitignore and .ignore files beside and above it say so, up to the root of its git repository.
Links are followed, but nothing is read twice, and loops are not followed. Globs are like the lines of a .gitignore
file, inverted: `*.md` keeps only these files, `!drafts/` leaves those out; the last match wins, except over hidden
folders. Looks only at names and the first bytes of files: `reader` reads them.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from siamese_cbow.errors import InputError, SettingsError, install_command
from siamese_cbow.text.encodings import wide_encoding
from siamese_cbow.text.opening import check_is_no_other_file, check_is_text, ending_of, open_bytes

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_IGNORE_FILES, _EXCLUDE = (".gitignore", ".ignore"), ".git/info/exclude"
_HEAD_BYTES = 1 << 13
_MOST_DEEP = 5  # occurrences of ** in a pattern: each tries all folders of a path
# Kind of skipped file -> its name in the singular and plural.
KINDS = {
    "binary": ("{} binary file", "{} binary files"),
    "ignored": ("{} ignored by .gitignore",) * 2,
    "hidden": ("{} hidden",) * 2,
    "glob": ("{} by --glob",) * 2,
    "forbidden": ("{} without read permission",) * 2,
    "broken": ("{} broken link", "{} broken links"),
    "again": ("{} link to a file already read", "{} links to files already read"),
    "special": ("{} pipe or device", "{} pipes and devices"),
    "other": ("{} of another format",) * 2,
    "own": ("{} folder of siamese-cbow (a stream, a model, an index)",
            "{} folders of siamese-cbow (streams, models, indexes)"),
    "pdf": ("{} PDF (to read it: {install})", "{} PDFs (to read them: {install})"),
}  # fmt: skip


# Files that identify a folder that we wrote: its vocabulary and its log are readable, but not the user's text.
_OWN = (
    {"stream.json", "ids.npy"},
    {"config.json", "vocabulary.txt", "model.safetensors"},
    {"run.json", "log.jsonl"},
    {"index.json", "segment-*"},
)


class _Rules(NamedTuple):
    """The rules of an ignore file for the paths below a folder."""

    folder: str
    spec: GitIgnoreSpec

    @classmethod
    def of(cls, folder: Path, file: Path) -> _Rules:
        """No rules if the file can't be read."""
        try:
            lines = file.read_text("utf-8", "replace").splitlines()
        except OSError:
            lines = []
        return cls(str(folder), _spec(lines, str(file)))


class Walk:
    """Finds the files of folders.

    globs     which files are wanted, as for ripgrep
    is_read   whether a file of this name can be read
    left_out  kind -> number of files or folders skipped so far
    """

    def __init__(self, globs: Sequence[str] = (), is_read: Callable[[Path], bool] = lambda path: True) -> None:
        self.left_out: Counter[str] = Counter()
        self._is_read = is_read
        self._globs = _spec(globs, "--glob") if globs else None
        self._only = any(not glob.startswith("!") for glob in globs)

    def files(self, folder: Path) -> list[Path]:
        """The files below a folder that hold text, sorted."""
        self._seen: set[str] = set()
        links: list[str] = []
        found = list(self._below(str(folder), str(folder), _rules_above(folder), links))
        while links:  # linked folders come last, so a folder inside the tree keeps its own name
            found += self._below(links.pop(0), str(folder), [], links)
        real = {os.path.realpath(path) for path in found if not path.is_symlink()}
        files = []
        for path in sorted(found):
            target = os.path.realpath(path)
            if path.is_symlink() and target in real:
                self.left_out["again"] += 1
                continue
            real.add(target)
            kind = self._kind(path)
            if kind is None:
                files.append(path)
            else:
                self.left_out[kind] += 1
        return files

    def _below(self, folder: str, root: str, rules: list[_Rules], links: list[str]) -> Iterator[Path]:
        """The files below one folder that are neither hidden nor ignored; `links` receives linked folders."""
        todo = [(folder, rules)]
        while todo:
            current, rules = todo.pop()
            if (real := os.path.realpath(current)) in self._seen:
                self.left_out["again"] += 1
                continue
            self._seen.add(real)
            try:
                with os.scandir(current) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                if current == root:
                    raise InputError(
                        f"can't list {current}: {error.strerror or error}; check its permissions"
                    ) from error
                self.left_out["forbidden"] += 1
                continue
            if _is_own(entries):
                self.left_out["own"] += 1
                continue
            rules = [*rules, *_rules_in(current, entries)]
            for entry in entries:
                is_folder = _is_folder(entry)
                if reason := self._reason(entry, root, rules, is_folder=is_folder):
                    self.left_out[reason] += 1
                elif not is_folder:
                    yield Path(entry.path)
                elif entry.is_symlink():
                    links.append(entry.path)
                else:
                    todo.append((entry.path, rules))

    def _reason(self, entry: os.DirEntry[str], root: str, rules: Sequence[_Rules], *, is_folder: bool) -> str | None:
        """Why an entry is skipped, judging by its name; None if it is not."""
        slash = "/" if is_folder else ""
        if self._globs:
            wanted = self._globs.check_file(os.path.relpath(entry.path, root) + slash).include
            if wanted is not None and (not wanted or not is_folder):
                return None if wanted else "glob"
            if self._only and not is_folder:
                return "glob"
        if entry.name.startswith("."):
            return "hidden"
        for folder, spec in reversed(rules):  # the nearest rule that applies decides
            ignored = spec.check_file(os.path.relpath(entry.path, folder) + slash).include
            if ignored is not None:
                return "ignored" if ignored else None
        return None

    def _kind(self, path: Path) -> str | None:
        """Why a file is skipped, judging by its content; None if it is text."""
        if not path.is_file():
            return "special" if path.exists() else "broken"
        if not os.access(path, os.R_OK):
            return "forbidden"
        if not self._is_read(path):
            return "other"
        if ending_of(path) == ".pdf":
            return None if importlib.util.find_spec("pypdf") else "pdf"
        return "binary" if ending_of(path) != ".parquet" and _is_binary(path) else None


def left_out_remark(left_out: Counter[str]) -> list[str]:
    """{"binary": 3, "hidden": 1} -> ["skipped 3 binary files, 1 hidden; files named explicitly are always read"]."""
    install = install_command("pdf") if left_out["pdf"] else ""
    counts = [phrases[left_out[kind] > 1].format(f"{left_out[kind]:,}", install=install)
              for kind, phrases in KINDS.items() if left_out[kind]]  # fmt: skip
    return [f"skipped {', '.join(counts)}; files named explicitly are always read"] if counts else []


def _is_own(entries: Sequence[os.DirEntry[str]]) -> bool:
    names = {"segment-*" if entry.name.startswith("segment-") else entry.name for entry in entries}
    return any(files <= names for files in _OWN)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _rules_in(folder: str, entries: Sequence[os.DirEntry[str]]) -> list[_Rules]:
    names = [entry.name for entry in entries if entry.name in _IGNORE_FILES]
    return [_Rules.of(Path(folder), Path(folder) / name) for name in sorted(names)]


def _rules_above(folder: Path) -> list[_Rules]:
    """The rules of the folders above, up to the root of the repository; none without a repository."""
    folder = folder.resolve()
    if (folder / ".git").exists():
        return [_Rules.of(folder, folder / _EXCLUDE)]
    root = next((each for each in folder.parents if (each / ".git").exists()), None)
    if root is None:
        return []
    above = [each for each in reversed(folder.parents) if each == root or root in each.parents]
    rules = [_Rules.of(root, root / _EXCLUDE)]
    rules += [_Rules.of(each, each / name) for each in above for name in _IGNORE_FILES]
    is_ignored = any(each.spec.check_file(os.path.relpath(folder, each.folder) + "/").include for each in rules)
    return [] if is_ignored else rules  # an ignored folder that was named is read anyway


def _spec(lines: Sequence[str], name: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    def pattern(line: str) -> GitIgnoreSpecPattern:
        regex, include = GitIgnoreSpecPattern.pattern_to_regex(line)
        if regex is None or include is None:  # an empty line, a comment
            return GitIgnoreSpecPattern(None)
        return GitIgnoreSpecPattern(re.compile(_quick(regex) if "*" in line or "[" in line else regex), include)

    try:
        return GitIgnoreSpec.from_lines(lines, pattern, backend="simple")  # other backends lack atomic groups
    except (ValueError, TypeError, re.error) as error:
        raise SettingsError(f"{name} has an invalid pattern: {error}; correct it") from None


_STAR = "[^/]*"
_TOKENS = re.compile(r"(?P<star>\[\^/\]\*)|(?P<text>\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|[^][\\()/?+*|.^$])|.", re.DOTALL)


def _quick(regex: str) -> str:
    """The regular expression of a pattern, without backtracking between several `*` in a name.

    `*a*b` on the name "aaaaaa": the text between two stars can be matched once and for all at its first occurrence,
    since the second star takes the rest. Otherwise, twenty stars in a .gitignore would keep a command busy for ever.
    """
    if regex.count(".+") > _MOST_DEEP:
        raise ValueError(f"more than {_MOST_DEEP} times **")
    parts: list[str] = []
    literal: str | None = None  # the text after the last star
    for token in _TOKENS.finditer(regex):
        if token["star"]:
            if literal:
                parts.append(f"(?>{_STAR}?{literal})")
            literal = ""
            continue
        letter = f"(?!/){_set(token[0])}" if token[0][0] == "[" else token[0]  # as in git, [!a] does not match a slash
        if token["text"] and literal is not None:
            literal += letter
        else:
            parts.append(letter if literal is None else _STAR + literal + letter)
            literal = None
    return "".join(parts) + ("" if literal is None else _STAR + literal)


def _set(letters: str) -> str:
    """Escaped, since Python warns about characters in a set that may gain a meaning: `[[a-c&&]` -> `[\\[a-c\\&\\&]`."""
    start = "[^" if letters.startswith("[^") else "["
    items = re.finditer(r"(\\\\|.)(?:-(\\\\|.))?", letters[len(start) : -1], re.DOTALL)  # a letter, or a range
    ends = (filter(None, item.groups()) for item in items)
    return start + "".join("-".join(end if len(end) > 1 else re.escape(end) for end in pair) for pair in ends) + "]"


def _is_binary(path: Path) -> bool:
    """Whether a file is binary, by its first bytes; one that can't be opened is left to the reader."""
    try:
        with open_bytes(path) as stream:
            head = stream.read(_HEAD_BYTES)
    except InputError:
        return False
    wide = wide_encoding(head)
    try:
        check_is_no_other_file(head, str(path))
        if not wide:
            check_is_text(head, str(path))
    except InputError:
        return True
    if b"\0" not in head or ending_of(path) in (".txt", ".text", ".csv", ".tsv"):
        return False
    text = head.decode(wide, "ignore") if wide else ""  # noise may decode by accident, but then it has no spaces
    return sum(text.count(each) for each in " \n\u3000\u3001\u3002") * 50 < len(text) or not text
