"""A set of sentence pairs with gold scores, and what can be said of its text without any model.

Does not read files: `sts.py` and `benchmarks.py` do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.errors import InputError
from siamese_cbow.words.tokenizer import Tokenizer

Floats: TypeAlias = NDArray[np.float64]
Collection: TypeAlias = Literal["STS", "STS-Benchmark", "SICK"]

LOWEST, HIGHEST = 0.0, 5.0
WORDS = Tokenizer(punctuation=False)  # gives the paper's 6.63 words a sentence for MSRvid; a full stop is no overlap
LEAST_SCORED = 3  # two points lie on a line: their correlation is always 1 or -1


@dataclass(frozen=True, eq=False)
class PairSet:
    """Sentence pairs and how similar people found them, from 0 (unrelated) to 5 (the same).

    `PairSet(2014, "images", (("a cat", "a kitten"), ...), gold=[4.2, nan, ...])`; NaN is a pair without a score.
    """

    year: int
    dataset: str
    pairs: tuple[tuple[str, str], ...]
    gold: Floats  # (n_pairs,)
    collection: Collection = "STS"
    source: str = ""  # the file, for messages

    def __post_init__(self) -> None:
        where = self.source or self.name
        if len(self.pairs) != len(self.gold):
            raise InputError(f"{where}: {len(self.pairs)} pairs, but {len(self.gold)} gold scores; expected as many")
        if (bad := np.flatnonzero((self.gold < LOWEST) | (self.gold > HIGHEST))).size:
            raise InputError(f"{where}: gold score {self.gold[bad[0]]:g} of pair {bad[0] + 1} is not within 0 to 5")
        if self.n_scored < LEAST_SCORED:
            raise InputError(
                f"{where}: {self.n_scored} pairs have a gold score; a correlation needs at least {LEAST_SCORED}"
            )

    @property
    def name(self) -> str:
        """`2014 images`, or `STS-Benchmark test`."""
        return f"{self.year if self.collection == 'STS' else self.collection} {self.dataset}"

    @property
    def sentences(self) -> list[str]:
        """All of them, the two of a pair one after the other: (("a", "b"), ("a", "c")) -> ["a", "b", "a", "c"]."""
        return [sentence for pair in self.pairs for sentence in pair]

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which pairs have a gold score, (n_pairs,)."""
        return ~np.isnan(self.gold)

    @property
    def n_scored(self) -> int:
        """How many pairs have a gold score."""
        return int(self.scored.sum())

    @cached_property
    def _texts(self) -> dict[Tokenizer, TextFacts]:
        return {}

    def text(self, tokenizer: Tokenizer = WORDS) -> TextFacts:
        """What `tokenizer` makes of the text; worked out once for each tokenizer."""
        if tokenizer not in self._texts:
            self._texts[tokenizer] = _text_facts(self, tokenizer)
        return self._texts[tokenizer]


@dataclass(frozen=True)
class TextFacts:
    """How long the sentences of a set are and how much the two of a pair share.

    One pair ("the cat", "the old dog") -> n_words 5, words_per_sentence 2.5, overlap 1/4 (the; cat old dog).
    """

    n_words: int
    words_per_sentence: float
    overlap: float  # mean over pairs of |A and B| / |A or B|, each word counted once
    counts: Counter[str]

    def n_unknown(self, vocabulary: object) -> int | None:
        """How many of the words `vocabulary` lacks; None if it can't tell, as with subword models."""
        if not hasattr(vocabulary, "__contains__"):
            return None
        return sum(count for word, count in self.counts.items() if word not in vocabulary)


def _text_facts(pair_set: PairSet, tokenizer: Tokenizer) -> TextFacts:
    counts: Counter[str] = Counter()
    overlap = 0.0
    for left, right in pair_set.pairs:
        a, b = tokenizer.words(left), tokenizer.words(right)
        counts.update(a)
        counts.update(b)
        union = set(a) | set(b)
        overlap += len(set(a) & set(b)) / len(union) if union else 0.0
    n_words = counts.total()
    n_pairs = len(pair_set.pairs)
    return TextFacts(n_words, n_words / (2 * n_pairs), overlap / n_pairs, counts)
