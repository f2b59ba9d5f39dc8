"""What a word out of the vocabulary counts as: nothing, or the known word with the longest common beginning.

    known: play, plays, player          playfully -> play          (common beginning `play`, four letters left over)
                                        xylophonist -> nothing

At least three letters in common, at most four left over on either side; of several such words the most frequent one.
So what comes out is the id of a known word, and nothing else has to know of unknown words. It was measured against
regression from character n-grams, pairs of words that make up the unknown one, and means of several near words:
`benchmarks/unknown_words.py`. The scanner finds the same words in a hash table (`hash_table.beginnings_of`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from siamese_cbow.words.vocabulary import IN_COMMON, LEFT_OVER, Vocabulary

Fallback: TypeAlias = Literal["none", "prefix"]

REMEMBERED = 100_000  # unknown words


def finder(vocabulary: Vocabulary, fallback: Fallback, *, few: bool = False) -> Callable[[str], int | None]:
    """Word -> id or None, one way or the other: `finder(vocabulary, "prefix")("playfully")` -> the id of play.

    few  only a few words will be asked for, so that an index of all is not worth making
    """
    known = vocabulary.id_of if few else vocabulary.index.get
    return _Nearest(known, vocabulary).id_of if fallback == "prefix" else known


class _Nearest:
    """Finds the ids of known words and of unknown ones, which it remembers; a class, so that models can be pickled."""

    def __init__(self, known: Callable[[str], int | None], vocabulary: Vocabulary) -> None:
        self._known, self._first_like = known, vocabulary.first_like
        self._seen: dict[str, int | None] = {}

    def id_of(self, word: str) -> int | None:
        """The id of the word, or of the known word it counts as; None where there is none."""
        known = self._known(word)
        if known is not None:
            return known
        if word not in self._seen:
            if len(self._seen) >= REMEMBERED:
                self._seen.clear()
            self._seen[word] = self._nearest(word)
        return self._seen.get(word)

    def _nearest(self, word: str) -> int | None:
        for length in range(len(word), max(IN_COMMON, len(word) - LEFT_OVER) - 1, -1):
            known = self._first_like(word[:length])
            if known is not None:
                return known
        return None
