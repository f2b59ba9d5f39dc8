"""Useful neighbours: one form of each word, and no rare words, whose vectors are mostly chance.

nearest to guitar: guitar's guitars humbucker guitarists ...   ->   bass banjo drums ...
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.base.option_fields import at_least_1
from siamese_cbow.model.info import ModelInfo
from siamese_cbow.text.languages import ASSUMED
from siamese_cbow.words.stemmers import word_stems
from siamese_cbow.words.vocabulary import Vocabulary

# How many words can be neighbours in a large vocabulary; rarer ones only if all forms are requested. With 30,000, the
# answers to analogies include rare places and names (apulia and modena before rome); with 10,000, capitals are missing.
FREQUENT = 15_000


class _HasWords(Protocol):
    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def info(self) -> ModelInfo: ...

    def nearest_words(self, target: Vectors, k: int, without: Collection[int]) -> list[tuple[str, float]]: ...


def one_of_each_stem(model: _HasWords, target: Vectors, k: int, without: Sequence[str]) -> list[tuple[str, float]]:
    """The k words nearest to a vector, one per stem; none shares a stem with the words `without`."""
    vocabulary, language = model.vocabulary, model.info.language or ASSUMED
    is_large = len(vocabulary) > 2 * FREQUENT and vocabulary.counts.any()
    rare = range(FREQUENT, len(vocabulary)) if is_large else ()
    near = model.nearest_words(target, 8 * at_least_1("k", k) + 50, rare)
    words = [*without, *(word for word, _ in near)]
    stems = word_stems(words, language, vocabulary.languages)
    each_stem = [word if stem is None else stem for word, stem in zip(words, stems, strict=True)]
    seen, chosen = set(each_stem[: len(without)]), list[tuple[str, float]]()
    for neighbour, stem in zip(near, each_stem[len(without) :], strict=True):
        if stem not in seen:
            seen.add(stem)
            chosen.append(neighbour)
    return chosen[:k]
