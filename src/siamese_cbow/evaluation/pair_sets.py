"""A set of sentence pairs with gold scores, which of its pairs count, and statistics of its text.

Two protocols say which pairs count, because the paper's differs from everybody else's:

    official  pairs with a gold score: what SemEval and all later papers report
    paper     every released pair, with 0 where there is no gold score

In 2015 SemEval released 8,500 pairs and scored 3,000. The paper's timing table counts all 17,608 pairs, and counting
the unscored ones as 0 gives its figures. Use `paper` only next to the paper's own tables.

Does not read files: `sts` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import compress
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats
from siamese_cbow.base.option_fields import checked_list, checked_value
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.words.tokenizer import Tokenizer

Flags: TypeAlias = NDArray[np.bool_]
Collection: TypeAlias = Literal["STS", "STS-Benchmark", "SICK", "pairs"]
Protocol: TypeAlias = Literal["official", "paper"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)

LOWEST, HIGHEST = 0.0, 5.0
# The tokenizer that gives the paper's 6.63 words per sentence for MSRvid; without punctuation, so that full stops don't
# count as overlap.
WORDS = Tokenizer(punctuation=False, rule=1)
LEAST_SCORED = 3  # the correlation of two points is always 1 or -1


@dataclass(frozen=True, eq=False)
class PairSet:
    """Sentence pairs and human similarity scores, from 0 (unrelated) to 5 (equivalent); your own may use any scale.

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
        object.__setattr__(self, "pairs", _checked_pairs(self.pairs, where))
        object.__setattr__(self, "gold", _as_scores(self.gold, where))
        if len(self.pairs) != len(self.gold):
            raise InputError(
                f"{where}: {len(self.pairs)} pairs but {len(self.gold)} gold scores; expected one for each"
            )
        if self.collection != "pairs" and (bad := np.flatnonzero((self.gold < LOWEST) | (self.gold > HIGHEST))).size:
            raise InputError(f"{where}: gold score {self.gold[bad[0]]:g} of pair {bad[0] + 1} is not within 0 to 5")
        if self.n_scored < LEAST_SCORED:
            raise InputError(
                f"{where}: only {self.n_scored} pairs have a gold score; a correlation needs at least {LEAST_SCORED}"
            )

    @property
    def group(self) -> str:
        """The group it is averaged with: its year for SemEval sets, otherwise its collection."""
        return str(self.year) if self.collection == "STS" else self.collection

    @property
    def name(self) -> str:
        """`2014 images`, `STS-Benchmark test`, or the name of your own file."""
        return self.dataset if self.collection == "pairs" else f"{self.group} {self.dataset}"

    @property
    def sentences(self) -> list[str]:
        """All sentences, the two of a pair adjacent: (("a", "b"), ("a", "c")) -> ["a", "b", "a", "c"]."""
        return [sentence for pair in self.pairs for sentence in pair]

    @property
    def scored(self) -> Flags:
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
        """Statistics of the text under `tokenizer`, computed once for each tokenizer."""
        checked_value("tokenizer", tokenizer, Tokenizer)
        if tokenizer not in self._texts:
            self._texts[tokenizer] = _text_facts(self, tokenizer)
        return self._texts[tokenizer]


def _checked_pairs(pairs: Any, where: str) -> tuple[tuple[str, str], ...]:
    """Pairs of two texts each: a text of two letters would pass for one."""
    listed = checked_list(f"{where}: pairs", pairs, "pairs of texts")
    for number, pair in enumerate(listed, start=1):
        if isinstance(pair, str | bytes) or not isinstance(pair, Sequence) or [*map(type, pair)] != [str, str]:
            raise InputError(f"{where}: pair {number} is {pair!r:.60}; expected two texts: ('a cat', 'a kitten')")
    return tuple(listed)


def _as_scores(gold: Any, where: str) -> Floats:
    """Scores as an array, (n_pairs,): [4.2, nan] or a column of a table; None is a missing one, too."""
    if isinstance(gold, np.ndarray) and gold.ndim == 1 and gold.dtype.kind in "fiu":
        return gold
    listed = checked_list(f"{where}: gold", gold, "numbers")
    try:
        return np.array(listed, np.float64).reshape(len(listed))
    except (TypeError, ValueError):
        raise InputError(
            f"{where}: gold is {gold!r:.60}; expected one number for each pair, NaN without a score"
        ) from None


def counting(pair_set: PairSet, protocol: Protocol) -> Flags:
    """Which pairs count, (n_pairs,): gold [4, nan, 2] -> official [True, False, True], paper all."""
    return pair_set.scored if checked_protocol(protocol) == "official" else np.ones(len(pair_set.gold), bool)


def checked_protocol(protocol: Protocol) -> Protocol:
    """The name of a protocol; an error if there is no protocol of this name."""
    if protocol not in PROTOCOLS:
        raise SettingsError(f"protocol is {protocol!r}; expected {' or '.join(PROTOCOLS)}")
    return protocol


@lru_cache(maxsize=128)  # the same sets are used for every model, and cache the statistics of their text
def counted(pair_set: PairSet, protocol: Protocol) -> PairSet:
    """The pairs that count, each with a score: gold [4, nan, 2] -> official [4, 2], paper [4, 0, 2]."""
    counts = counting(pair_set, protocol)
    gold = np.nan_to_num(pair_set.gold[counts], nan=0.0)
    return replace(pair_set, pairs=tuple(compress(pair_set.pairs, counts)), gold=gold)


@dataclass(frozen=True, eq=False)
class TextFacts:
    """How long the sentences of a set are, and how many words the two sentences of a pair share.

    One pair ("the cat", "the old dog") -> n_words 5, words_per_sentence 2.5, overlap 1/4 (the; cat old dog).
    """

    lengths: Floats  # (n_pairs,) words per sentence
    overlaps: Floats  # (n_pairs,) |A and B| / |A or B|, each word counted once
    counts: Counter[str]

    @property
    def n_words(self) -> int:
        """Words of all sentences."""
        return self.counts.total()

    @property
    def words_per_sentence(self) -> float:
        """The mean length of a sentence."""
        return float(self.lengths.mean())

    @property
    def overlap(self) -> float:
        """The mean overlap of a pair."""
        return float(self.overlaps.mean())

    def n_unknown(self, vocabulary: object) -> int | None:
        """How many of the words are not in `vocabulary`; None if it can't tell, as with subword models."""
        if not hasattr(vocabulary, "__contains__"):
            return None
        return sum(count for word, count in self.counts.items() if word not in vocabulary)


def _text_facts(pair_set: PairSet, tokenizer: Tokenizer) -> TextFacts:
    counts: Counter[str] = Counter()
    lengths, overlaps = [], []
    for left, right in pair_set.pairs:
        a, b = tokenizer.words(left), tokenizer.words(right)
        counts.update(a)
        counts.update(b)
        union = set(a) | set(b)
        lengths.append((len(a) + len(b)) / 2)
        overlaps.append(len(set(a) & set(b)) / len(union) if union else 0.0)
    return TextFacts(np.array(lengths), np.array(overlaps), counts)
