"""What an unknown word counts as: nothing, or the known word with the longest common beginning.

    known: play, plays, player          playfully -> play          (common beginning `play`, four letters left over)
                                        xylophonist -> nothing

At least three letters in common, at most four left over on either side; of several such words the most frequent one.
So it is a known word's id that comes out, and nothing else has to know of unknown words. It was measured against
regression from character n-grams, pairs of words that make up the unknown one, and means of several near words:
`benchmarks/unknown_words.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from siamese_cbow.base.arrays import Ids, Offsets
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import IN_COMMON, LEFT_OVER, Vocabulary

Fallback: TypeAlias = Literal["none", "prefix"]

REMEMBERED = 100_000  # unknown words


class Nearest:
    """A vocabulary that finds an id for unknown words, too."""

    def __init__(self, vocabulary: Vocabulary, *, few: bool = False) -> None:
        self._known = vocabulary.id_of if few else vocabulary.index.get
        self._first_like = vocabulary.first_like
        self._seen: dict[str, int | None] = {}

    def id_of(self, word: str) -> int | None:
        """The id of the word, or of the known word it counts as; None where there is none."""
        found = self._known(word)
        if found is not None:
            return found
        if word not in self._seen:
            if len(self._seen) >= REMEMBERED:
                self._seen.clear()
            self._seen[word] = self._nearest(word)
        return self._seen.get(word)

    def _nearest(self, word: str) -> int | None:
        for length in range(len(word), max(IN_COMMON, len(word) - LEFT_OVER) - 1, -1):
            found = self._first_like(word[:length])
            if found is not None:
                return found
        return None


class NearestLookup:
    """Many texts -> ids, unknown words included: the face of `lookup.Lookup`, in plain Python."""

    def __init__(self, vocabulary: Vocabulary, tokenizer: Tokenizer) -> None:
        self._id_of, self._words = Nearest(vocabulary).id_of, tokenizer.words

    def ids(self, texts: Sequence[str]) -> tuple[Ids, Offsets]:
        """Text i has `ids[offsets[i]:offsets[i + 1]]`."""
        found = [[i for i in map(self._id_of, self._words(text)) if i is not None] for text in texts]
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, found), np.int64, len(found)), out=offsets[1:])
        return np.fromiter(itertools.chain.from_iterable(found), np.int32, int(offsets[-1])), offsets


def finder(vocabulary: Vocabulary, fallback: Fallback, *, few: bool = False) -> Callable[[str], int | None]:
    """Word -> id or None, one way or the other: `finder(vocabulary, "prefix")("playfully")` -> the id of play.

    few  only a few words will be asked for, so that it is not worth while to make an index of all
    """
    if fallback == "prefix":
        return Nearest(vocabulary, few=few).id_of
    return vocabulary.id_of if few else vocabulary.index.get
