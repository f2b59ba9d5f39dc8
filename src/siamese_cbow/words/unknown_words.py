"""What an out-of-vocabulary word counts as: nothing, a vector made of its letters, or a word with the same prefix.

    ngrams   kdoe77 -> <k kd do oe e7 77 7>, <kd kdo doe oe7 e77 77>, <kdo kdoe doe7 oe77 e77>
             each of these character n-grams has a vector, in one of a few thousand buckets; the vector of the word
             combines theirs with a direction that only this word has, see `kernels.means_reference.compose`
    prefix   known: play, plays, player          playfully -> play          (common prefix `play`)
                                                 xylophonist -> nothing
    none     skipped

`prefix` requires at least three letters in common and at most four more on either side; of several such words the
most frequent wins. It confuses different words (covid and cover), so `ngrams` is the default in training:
results/languages.md and results/unknown_words.md compare them.

The definitions here are in plain Python, for small calls; `word_parts` has the same for bulk work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids, Offsets
from siamese_cbow.words.vocabulary import IN_COMMON, LEFT_OVER, Vocabulary

Fallback: TypeAlias = Literal["none", "prefix", "ngrams"]

REMEMBERED = 100_000  # unknown words

# Characters of an n-gram; with a mark at either end of the word there are three n-grams per character. Measured:
# 3 to 6, as in fastText, are as good and take up more buckets; 1 to 4 are worse (benchmarks/unknown_words.py).
LONGEST = 4  # the shortest has 2
PER_CHARACTER = LONGEST - 1
CUT = 64  # characters of a word whose n-grams count: the rest of a longer word adds nothing
BEGIN, END, ZERO, NINE = 0x02, 0x03, 0x30, 0x39  # code points; no word contains either of the first two
KEYS_ONLY = -1  # instead of a number of buckets: words get their key, and no n-grams
NONE = -1  # instead of the bucket of an n-gram with a digit: 2.19.0 is not nearly the same as 2.19.1

_SEED, _MULTIPLIER, _ALL = 0xCBF29CE484222325, 0x9E3779B97F4A7C15, 2**64 - 1


class UnknownWords(NamedTuple):
    """Out-of-vocabulary words, as the kernels take them: text i has those from offsets[i] to offsets[i + 1]."""

    buckets: Ids  # (n_ngrams,) of all words, one after another; NONE for an n-gram that does not count
    starts: Offsets  # (n_words + 1,): word k has buckets[starts[k] : starts[k + 1]]
    keys: NDArray[np.uint64]  # (n_words,) see `key_of`
    offsets: Offsets  # (n_texts + 1,)


class LookedUp(NamedTuple):
    """The words of texts first to last - 1 of many: text first + i has ids[offsets[i] : offsets[i + 1]]."""

    first: int
    last: int
    ids: Ids
    offsets: Offsets  # (last - first + 1,)
    unknown: UnknownWords


def no_unknown_words(n_texts: int) -> UnknownWords:
    """An empty record, for texts whose unknown words are skipped or count as known words."""
    none = np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.uint64)
    return UnknownWords(*none, np.zeros(n_texts + 1, np.int64))


def finder(vocabulary: Vocabulary, fallback: Fallback, *, few: bool = False) -> Callable[[str], int | None]:
    """A function word -> id or None: `finder(vocabulary, "prefix")("playfully")` -> the id of play.

    few  only a few words will be looked up, so an index of all is not worth building
    """
    known = vocabulary.id_of if few else vocabulary.index.get
    return _Nearest(known, vocabulary).id_of if fallback == "prefix" else known


def ngrams(word: str, n_buckets: int) -> list[int]:
    """The buckets of a word's n-grams, three for each character; NONE for those with a digit.

    `ngrams("ab", 1024)` -> six numbers below 1024, of <a <ab <ab> ab ab> b>; `ngrams("7", 1024)` -> [-1, -1, -1]

    n_buckets  a power of two
    """
    points = [BEGIN, *map(ord, word[:CUT]), END]
    buckets = []
    for first in range(len(points) - 1):
        hashed, has_digit = _mix(_SEED, points[first]), ZERO <= points[first] <= NINE
        for point in points[first + 1 : first + LONGEST]:
            hashed, has_digit = _mix(hashed, point), has_digit or ZERO <= point <= NINE
            buckets.append(NONE if has_digit else hashed & (n_buckets - 1))
    return buckets


def key_of(word: str) -> int:
    """A 64-bit number that identifies a word: the seed of its own direction."""
    hashed = _SEED
    for point in map(ord, word):
        hashed = _mix(hashed, point)
    return hashed


def _mix(hashed: int, point: int) -> int:
    hashed = (hashed ^ point) * _MULTIPLIER & _ALL
    return hashed ^ (hashed >> 32)


class _Nearest:
    """Finds ids of known and unknown words, and remembers the latter; a class, so that models can be pickled."""

    def __init__(self, known: Callable[[str], int | None], vocabulary: Vocabulary) -> None:
        self._known, self._first_like = known, vocabulary.first_like
        self._seen: dict[str, int | None] = {}

    def id_of(self, word: str) -> int | None:
        """The id of the word, or of the known word it counts as; None if there is none."""
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
