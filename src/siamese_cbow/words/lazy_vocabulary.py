"""The words of a vocabulary's file, cut only when somebody asks for more than a few of them.

    "3 the\\n2 cat\\n"  ->  id_of("cat") looks for " cat\\n" and counts the lines before it: 1

A model of 300,000 words is loaded and asked for ten of them: cutting its file into a list and that into a dictionary
would take a fifth of a second, and finding ten words in the text takes some milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from siamese_cbow.base.arrays import Counts
from siamese_cbow.errors import FormatError
from siamese_cbow.words.vocabulary import IN_COMMON, LEFT_OVER, Vocabulary

FEW = 64  # words that are looked for in the text; with the next one the dictionary is made


class LazyVocabulary(Vocabulary):
    """A vocabulary that equals the one `Vocabulary.read` makes of the same text, and is there at once.

    text       `count word` lines, with no other spaces: what `plain` says yes to
    languages  as in `Vocabulary`
    """

    def __init__(self, text: str, languages: Sequence[str] = ()) -> None:
        # Everything goes past the frozen dataclass: it would want the words and the counts now.
        self.__dict__.update(languages=tuple(languages), _text=text, _n=text.count("\n"), _asked=0)

    _text: str
    _n: int
    _asked: int

    @staticmethod
    def plain(text: str) -> bool:
        """Whether every line seems to be a count, one space and a word: not so where a word has a space in it."""
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
        counts = " ".join(self._fields[:-1:2])
        if not (counts.isascii() and counts.replace(" ", "").isdigit()):
            raise FormatError("a line of the vocabulary has no count; expected `count word` lines")
        return np.fromstring(counts, np.int64, sep=" ")

    def id_of(self, word: str) -> int | None:
        """The id of a word, or None: found in the text, until the dictionary is worth its while."""
        if not self._is_one_of_few():
            return self.index.get(word)
        if not word or " " in word or "\n" in word:
            return None
        return self._line_of(self._text.find(f" {word}\n"))

    def first_like(self, beginning: str) -> int | None:
        """The first word with this beginning and little more, in the same two ways."""
        if not self._is_one_of_few():
            return super().first_like(beginning)
        if len(beginning) < IN_COMMON or " " in beginning or "\n" in beginning:
            return None
        found = re.search(rf" {re.escape(beginning)}[^\n]{{0,{LEFT_OVER}}}\n", self._text)
        return self._line_of(found.start() if found else -1)

    def _is_one_of_few(self) -> bool:
        self.__dict__["_asked"] += 1
        return self._asked <= FEW and "index" not in self.__dict__

    def _line_of(self, place: int) -> int | None:
        return None if place < 0 else self._text.count("\n", 0, place)
