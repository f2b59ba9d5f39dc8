"""The words that have a vector, by decreasing count.

    3 the
    2 cat
    2 sat      <- as frequent as cat; ties are in the order of their UTF-8 bytes, so the order is total

Word i has id i everywhere: in streams, in vectors, in `tokenizer.json`. A file has one `count word` per line. Does not
count words: `stream.counting` does.

With several languages, the words of one follow those of another, each written with its language: `de:haus`.

`LazyVocabulary` parses the text of such a file only when more than a few words are looked up:

    "3 the\\n2 cat\\n"  ->  id_of("cat") looks for " cat\\n" and counts the lines before it: 1

For a model of 300,000 words, splitting the file into a list and building a dictionary would take a fifth of a second;
finding ten words in the text takes a few milliseconds.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts, without_caches
from siamese_cbow.base.disk import as_path
from siamese_cbow.base.option_fields import checked_list, checked_value
from siamese_cbow.errors import FormatError, InputError

# Letters of words with the same prefix, see `unknown_words`.
IN_COMMON = 3  # at least
LEFT_OVER = 4  # at most

FEW = 64  # words looked up in the text of a lazy vocabulary; the next one builds the dictionary


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words and their counts."""

    words: Sequence[str]  # (n_words,)
    counts: Counts  # (n_words,) int64
    languages: tuple[str, ...] = ()  # of the words; empty if there is only one

    def __post_init__(self) -> None:
        for name in ("words", "counts"):
            if not hasattr(value := getattr(self, name), "__len__") or isinstance(value, str | bytes | Mapping):
                raise InputError(f"{name} is {value!r:.60} ({type(value).__name__}); expected a list")
        if len(self.words) != len(self.counts):
            raise InputError(f"{len(self.words):,} words but {len(self.counts):,} counts; expected one count per word")
        counts: Any = self.counts
        if not isinstance(counts, np.ndarray):
            object.__setattr__(self, "counts", np.array(counts))
        if self.counts.dtype.kind not in "iu" and len(self.counts):
            raise InputError(f"counts are {self.counts.dtype}; expected whole numbers: np.array(counts, np.int64)")
        self.check_words()

    def check_words(self) -> None:
        """Raises an error unless all words are strings and differ: only one vector of a repeated word would be used."""
        for position, word in enumerate(self.words if {*map(type, self.words)} != {str} else ()):
            if not isinstance(word, str):
                raise InputError(f"word {position:,} is {word!r:.60} ({type(word).__name__}); expected a string")
        if len(set(self.words)) < len(self.words):
            twice = next(word for word, n in Counter(self.words).items() if n > 1)
            raise InputError(f"the word {twice!r} occurs twice in the vocabulary; remove one")

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.id_of(word) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        same_words = self.languages == other.languages and list(self.words) == list(other.words)
        return same_words and np.array_equal(self.counts, other.counts)

    def __repr__(self) -> str:
        first = " ".join(self.words[:5])
        return f"<Vocabulary of {len(self):,} words: {first}{' ...' if len(self) > 5 else ''}>"

    def __getstate__(self) -> dict[str, Any]:
        return without_caches(self)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Word -> id; built on first use."""
        return {word: i for i, word in enumerate(self.words)}

    def id_of(self, word: str) -> int | None:
        """The id of a word, or None."""
        return self.index.get(word)

    def first_like(self, beginning: str) -> int | None:
        """The first (so most frequent) word with this prefix of IN_COMMON letters or more, and at most LEFT_OVER more.

        plays, play, player: `first_like("play")` -> 0; `first_like("playe")` -> 2; `first_like("pl")` -> None
        """
        return self._beginnings.get(beginning)

    @cached_property
    def _beginnings(self) -> Mapping[str, int]:
        first: dict[str, int] = {}
        for i, word in enumerate(self.words):
            for length in range(max(IN_COMMON, len(word) - LEFT_OVER), len(word) + 1):
                first.setdefault(word[:length], i)
        return first

    @classmethod
    def of_counts(cls, counts: Mapping[str, int], *, min_count: int = 1, max_words: int | None = None) -> Vocabulary:
        """`Vocabulary.of_counts({"sat": 2, "the": 3, "cat": 2}).words` -> ["the", "cat", "sat"]."""
        if not isinstance(counts, Mapping):
            raise InputError(f"counts is {counts!r:.60} ({type(counts).__name__}); expected a table: {{'the': 3}}")
        checked_value("min_count", min_count, int, at_least=0)
        checked_value("max_words", max_words, int, optional=True, at_least=0)
        for word, n in counts.items():
            if not isinstance(word, str) or not isinstance(n, int | np.integer):
                raise InputError(f"counts has {word!r:.60}: {n!r:.60}; expected words with their counts: {{'the': 3}}")
        frequent = [(word, n) for word, n in counts.items() if n >= min_count]
        frequent.sort(key=lambda pair: (-pair[1], pair[0].encode("utf-8", "surrogatepass")))
        frequent = frequent[:max_words]
        return cls([word for word, _ in frequent], np.array([n for _, n in frequent], np.int64))

    @classmethod
    def of_words(cls, words: Iterable[str]) -> Vocabulary:
        """Words in their own order, for vectors that came without counts: every count is 0."""
        listed = checked_list("words", words, "words")
        return cls(listed, np.zeros(len(listed), np.int64))

    @classmethod
    def joint(cls, parts: Mapping[str, Vocabulary]) -> Vocabulary:
        """The words of several languages: {"en": <house>, "de": <haus>} -> en:house de:haus."""
        checked_value("parts", parts, Mapping, described="a vocabulary for each language: {'en': ..., 'de': ...}")
        words = [f"{language}:{word}" for language, part in parts.items() for word in part.words]
        return cls(words, np.concatenate([part.counts for part in parts.values()]), tuple(parts))

    def of_language(self, language: str) -> tuple[Vocabulary, NDArray[np.int64]]:
        """The words of one language, without its name, and their ids here: en:house de:haus -> haus, [1]."""
        prefix = f"{language}:"
        ids = np.flatnonzero([word.startswith(prefix) for word in self.words])
        return Vocabulary([self.words[i][len(prefix) :] for i in ids.tolist()], self.counts[ids]), ids

    def frequent(self, n: int) -> dict[str, int]:
        """The first n words of each language, with their counts."""
        checked_value("n", n, int, at_least=0)
        parts = [self.of_language(language)[1][:n] for language in self.languages] or [np.arange(len(self))[:n]]
        return {self.words[i]: int(self.counts[i]) for i in np.concatenate(parts).tolist()}

    @classmethod
    def read(cls, path: Path | str, *, languages: Sequence[str] = ()) -> Vocabulary:
        """Reads a file of `count word` lines; the order of the lines is the order of the ids."""
        languages = checked_list("languages", languages, "languages")
        try:
            text = as_path(path, "the vocabulary").read_bytes().decode()
        except (FileNotFoundError, IsADirectoryError):
            raise InputError(f"no file {path}; expected a vocabulary of `count word` lines") from None
        except UnicodeDecodeError as error:
            raise FormatError(f"{path} is not UTF-8 (byte {error.start:,}); expected `count word` lines") from None
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        pairs = [line.partition(" ")[::2] for line in lines]
        try:
            counts = np.array([count for count, _ in pairs], "U20").astype(np.int64)
        except (ValueError, OverflowError):
            raise _bad_line(path, lines) from None
        words = [word for _, word in pairs]
        if len(set(words)) < len(words) or "" in words or (len(counts) and counts.min() < 0):
            raise _bad_line(path, lines)
        return cls(words, counts, tuple(languages))

    def to_text(self) -> str:
        """The file's content: one `count word` per line."""
        return "".join(f"{n} {word}\n" for n, word in zip(self.counts.tolist(), self.words, strict=True))

    def hash(self) -> str:
        """A hash of words and counts (16 bytes, hexadecimal)."""
        return hashlib.blake2b(self.to_text().encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def write(self, path: Path | str) -> None:
        """Writes the file that `read` reads."""
        from siamese_cbow.base.files import atomic_file  # readers don't need it

        with atomic_file(as_path(path, "the vocabulary", home=False)) as file:
            file.write_text(self.to_text(), encoding="utf-8", newline="\n")


def most_frequent(counts: Counts, n: int) -> NDArray[np.int64]:
    """The ids of the n words with the highest counts, in their order: counts [5, 1, 5, 3], n 3 -> [0, 2, 3]."""
    return np.sort(np.argsort(-counts, kind="stable")[:n])


def _bad_line(path: Path | str, lines: Sequence[str]) -> FormatError:
    """The error for the first line that is not a `count word`, or repeats a word."""
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        count, _, word = line.partition(" ")
        if not (count.isascii() and count.isdigit() and word):
            return FormatError(f"{path} line {number}: {line[:80]!r}; expected a count, a space and a word")
        if word in seen:
            return FormatError(f"{path} line {number}: {word[:80]!r} is already on line {seen[word]}; remove one")
        seen[word] = number
    return FormatError(f"{path}: a count has more than 18 digits; expected `count word` lines")


class LazyVocabulary(Vocabulary):
    """A vocabulary equal to the one that `Vocabulary.read` makes of the same text, but ready at once.

    text       `count word` lines, with no other spaces: text that passes `plain`
    languages  as in `Vocabulary`
    name       of the file, for messages
    """

    def __init__(self, text: str, languages: Sequence[str] = (), name: str = "the vocabulary") -> None:
        # Bypasses the frozen dataclass, which would need the words and the counts now.
        self.__dict__.update(languages=tuple(languages), _text=text, _n=text.count("\n"), _asked=0, _name=name)

    _name: str
    _text: str
    _n: int
    _asked: int

    @staticmethod
    def plain(text: str) -> bool:
        """Whether every line seems to be a count, one space and a word: False if a word contains a space."""
        return text.endswith("\n") and text.count(" ") == text.count("\n") and not text.startswith((" ", "\n"))

    def __len__(self) -> int:
        return self._n

    @cached_property
    def _fields(self) -> list[str]:
        return self._text.replace("\n", " ").split(" ")

    @cached_property
    def words(self) -> Sequence[str]:
        """All words, (n_words,)."""
        return self._fields[1::2]

    @cached_property
    def counts(self) -> Counts:
        """How often each word was seen, (n_words,) int64."""
        fields = " ".join(self._fields[:-1:2])
        is_digits = fields.isascii() and fields.replace(" ", "").isdigit()
        counts = np.fromstring(fields, np.int64, sep=" ") if is_digits else np.zeros(0, np.int64)
        if len(counts) != self._n:
            raise FormatError(f"a line of {self._name} has no count; expected `count word` lines; create it again")
        return counts

    def id_of(self, word: str) -> int | None:
        """The id of a word, or None: found in the text until a dictionary pays off."""
        if not self._is_one_of_few():
            return self.index.get(word)
        if not word or " " in word or "\n" in word:
            return None
        return self._line_of(self._text.find(f" {word}\n"))

    def first_like(self, beginning: str) -> int | None:
        """As in `Vocabulary`: found in the text until a dictionary pays off."""
        if not self._is_one_of_few():
            return super().first_like(beginning)
        if len(beginning) < IN_COMMON or " " in beginning or "\n" in beginning:
            return None
        match = re.search(rf" {re.escape(beginning)}[^\n]{{0,{LEFT_OVER}}}\n", self._text)
        return self._line_of(match.start() if match else -1)

    def _is_one_of_few(self) -> bool:
        self.__dict__["_asked"] += 1
        return self._asked <= FEW and "index" not in self.__dict__

    def _line_of(self, place: int) -> int | None:
        return None if place < 0 else self._text.count("\n", 0, place)
