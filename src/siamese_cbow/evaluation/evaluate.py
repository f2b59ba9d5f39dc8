"""Score a system: encode every sentence once, take cosines, correlate with the gold scores (`scores`).

A system is anything with `.encode(list of str) -> (n, dim) array`. Its vectors are checked, because a NaN or a missing
row would otherwise surface as a slightly wrong number. A zero vector (no known word) has cosine 0 with all others.

A system may first be adapted to the text of the set it is scored on; gold scores are never used:

    set       to all sentences of the set
    held-out  for each tenth of the pairs, to the sentences of the other nine tenths, except those that it also contains

Our models are adapted as by `Model.adapt`. For any other system, only vectors are known: their directions are evened
out in the same way, while word weights stay unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, runtime_checkable
from typing import Protocol as Interface

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats, Ids, Vectors
from siamese_cbow.base.option_fields import checked_value
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.evaluation.correlation import bootstrap as resample
from siamese_cbow.evaluation.correlation import set_rng
from siamese_cbow.evaluation.pair_sets import Flags, PairSet, Protocol, checked_protocol, counted
from siamese_cbow.evaluation.scores import ADAPTED, Adapt, Scores, SetScore
from siamese_cbow.model.geometry import gram_of, units
from siamese_cbow.model.model import Model
from siamese_cbow.transform.adaptation import adaptation, evened, not_adapted, scaled_along, shares_of
from siamese_cbow.words.tokenizer import Tokenizer

N_PARTS = 10  # folds of a set for `held-out`

# Mask of the texts to adapt to, (n_texts,) -> the vectors of all texts, (n_texts, dim)
Adapted: TypeAlias = Callable[[Flags], Vectors]


class System(Interface):
    """Anything that turns sentences into vectors. With `vocabulary` and `tokenizer`, unknown words are counted."""

    def encode(self, sentences: list[str], /) -> Any:
        """(n, dim) array, one row for each sentence."""


@runtime_checkable
class PairSystem(Interface):
    """A system that compares texts without dense vectors, such as tf-idf; fitted to each set."""

    def cosines(self, pairs: Sequence[tuple[str, str]], /) -> tuple[Floats, Flags]:
        """(n_pairs,) cosines, and (n_pairs,) whether one of the two texts is empty."""


def evaluate(
    system: System | PairSystem,
    sets: Iterable[PairSet],
    *,
    protocol: Protocol = "official",
    name: str | None = None,
    bootstrap: int = 0,
    adapt: Adapt = "no",
    seed: int = 1,
) -> Scores:
    """The scores of `system` on `sets`; `bootstrap=1000` adds 95% intervals.

    `evaluate(model, sts("data/sts")).mean_pearson` -> 0.71

    protocol  "official": only pairs with a gold score; "paper": pairs without one score 0, as in the paper
    name      of the system, for tables
    adapt     first adapt the system to the text of each set ("set") or to the other nine tenths of it ("held-out").
              Never compare such scores with plain ones
    seed      for the resampling of `bootstrap` and the parts of "held-out"
    """
    if adapt not in tuple(ADAPTED):
        raise SettingsError(f"adapt is {adapt!r}; expected one of {', '.join(ADAPTED)}")
    if isinstance(system, str | Path):  # a string has an `encode`, too
        raise InputError(
            f"the model is {str(system)!r}, a name; expected a model: evaluate(load({str(system)!r}), sets)"
        )
    if isinstance(sets, str | Path):
        raise InputError(f"the sets are {str(sets)!r}, a name; expected sets: evaluate(model, sts({str(sets)!r}))")
    several: Any = [sets] if isinstance(sets, PairSet) else list(sets) if isinstance(sets, Iterable) else [sets]
    for each in several:
        if not isinstance(each, PairSet):
            raise InputError(f"a set is {each!r:.60} ({type(each).__name__}); expected sets: sts(folder), pairs(file)")
    if not isinstance(system, PairSystem) and not callable(getattr(system, "encode", None)):
        kind = type(system).__name__
        raise InputError(f"the model is {system!r:.60} ({kind}); expected one with a method encode: load(name)")
    checked_value("bootstrap", bootstrap, int, at_least=0)
    checked_value("seed", seed, int, at_least=0)
    sets = [counted(pair_set, checked_protocol(protocol)) for pair_set in several]
    if not sets:
        raise InputError("there are no sets to evaluate on; read some with `sts(folder)`")
    name = name or getattr(system, "name", None) or type(system).__name__
    plainly = adapt == "no" or isinstance(system, PairSystem)
    cosines = _cosines(system, sets, name) if plainly else _adapted_cosines(system, sets, name, adapt, seed)
    scores = []
    for pair_set, (predictions, is_empty) in zip(sets, cosines, strict=True):
        score = SetScore(pair_set, predictions, is_empty, unknown_words(system, pair_set))
        if bootstrap and score.pearson is not None:
            rng = set_rng(pair_set.name, seed)
            score = replace(score, replicates=resample(predictions, pair_set.gold, n=bootstrap, rng=rng))
        scores.append(score)
    return Scores(name, protocol, tuple(scores), adapt)


def unit_vectors(system: System, texts: Sequence[str]) -> Vectors:
    """The vectors of texts at length 1, (n_texts, dim); zeros for a text without a known word."""
    return units(np.asarray(system.encode(list(texts)), np.float32))


def unknown_words(system: System | PairSystem, pair_set: PairSet) -> int | None:
    """How many words of a set a system does not know; None if it can't tell."""
    tokenizer = getattr(system, "tokenizer", None)
    if not isinstance(tokenizer, Tokenizer):
        return None
    return pair_set.text(tokenizer).n_unknown(getattr(system, "vocabulary", None))


def _cosines_of_pairs(left: Vectors, right: Vectors) -> tuple[Floats, Flags]:
    """The cosine of each row of one array with that of the other, (n,), and which have a zero vector: cosine 0."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", a, a) * np.einsum("ij,ij->i", b, b))
    cosines = np.einsum("ij,ij->i", a, b) / np.where(lengths > 0, lengths, 1.0)
    return np.clip(cosines, -1.0, 1.0), lengths == 0


def _cosines(system: System | PairSystem, sets: Sequence[PairSet], name: str) -> list[tuple[Floats, Flags]]:
    """For each set the cosines (n_pairs,) and which pairs have a zero vector; `encode` is called once for all."""
    if isinstance(system, PairSystem):
        return [system.cosines(pair_set.pairs) for pair_set in sets]
    sentences = dict.fromkeys(sentence for pair_set in sets for sentence in pair_set.sentences)
    place = {sentence: i for i, sentence in enumerate(sentences)}
    vectors = _encoded(system, list(place), name)
    rows = [np.array([[place[left], place[right]] for left, right in pair_set.pairs]) for pair_set in sets]
    return [_cosines_of_pairs(vectors[pairs[:, 0]], vectors[pairs[:, 1]]) for pairs in rows]


def _adapted_cosines(
    system: Any, sets: Sequence[PairSet], name: str, how: Adapt, seed: int
) -> Iterator[tuple[Floats, Flags]]:
    """The same, with the system adapted to the text of each set."""
    for pair_set in sets:
        texts = pair_set.sentences
        adapted = _of_model(system, texts) if isinstance(system, Model) else _of_vectors(_encoded(system, texts, name))
        if how == "set":
            vectors = adapted(np.ones(len(texts), bool))
        else:
            parts = held_out_parts(texts, set_rng(pair_set.name, seed))
            vectors = np.sum([np.where(scored[:, None], adapted(chosen), 0) for chosen, scored in parts], axis=0)
        yield _cosines_of_pairs(vectors[::2], vectors[1::2])


def held_out_parts(texts: Sequence[str], rng: np.random.Generator) -> Iterator[tuple[Flags, Flags]]:
    """For each part, the texts to adapt to and those to score: no text is in both, even if it is in several pairs.

    The two texts of a pair are adjacent, and each text is scored once.
    """
    n_pairs = len(texts) // 2
    part_of = np.repeat(rng.permutation(n_pairs) % min(N_PARTS, n_pairs), 2)
    for part in range(part_of.max() + 1):
        scored = part_of == part
        own = {text for text, is_scored in zip(texts, scored, strict=True) if is_scored}
        yield np.array([text not in own for text in texts]), scored


def _of_model(model: Model, texts: list[str]) -> Adapted:
    """Adapt as `model.adapt` does, but only the rows of words that occur in the texts."""
    from siamese_cbow.kernels.means import means

    model = not_adapted(model)
    ids, offsets, unknown = model.words(texts)
    used, positions = np.unique(ids, return_inverse=True)
    places: Ids = positions.astype(np.int32)
    rows, shares, lengths = model.vectors[used], shares_of(model.vocabulary.counts), np.diff(offsets)

    def adapted(chosen: Flags) -> Vectors:
        chosen_ids, chosen_offsets = places[np.repeat(chosen, lengths)], np.r_[0, np.cumsum(lengths[chosen])]
        change = adaptation(rows, None if shares is None else shares[used], chosen_ids, chosen_offsets)
        vectors, extra = np.empty((len(texts), model.dim), np.float32), None
        if len(unknown.keys):
            extra = model.ngrams.along(change.directions, change.factors).as_asked_for(unknown)
        known = scaled_along(rows * change.weights[:, None], change.directions, change.factors)
        means(known, places, offsets, False, vectors, extra)
        return vectors

    return adapted


def _of_vectors(vectors: NDArray[Any]) -> Adapted:
    """Adapt the vectors of texts, from any system."""
    plain = np.asarray(vectors, np.float32)

    def adapted(chosen: Flags) -> Vectors:
        texts = plain[chosen]
        directions, factors = evened(gram_of(texts), int(texts.any(axis=1).sum()))
        return scaled_along(plain, directions, factors)

    return adapted


def _encoded(system: Any, sentences: list[str], name: str) -> Any:
    vectors = system.encode(sentences)
    if hasattr(vectors, "detach"):  # a torch tensor, perhaps on a GPU
        vectors = vectors.detach().cpu().float().numpy()
    vectors = np.asarray(vectors)
    if vectors.ndim != 2 or len(vectors) != len(sentences) or not np.issubdtype(vectors.dtype, np.number):
        raise InputError(
            f"{name}.encode returned an array of shape {vectors.shape} ({vectors.dtype}) for {len(sentences)} "
            f"sentences; expected ({len(sentences)}, dim) numbers"
        )
    if (bad := np.flatnonzero(~np.isfinite(vectors).all(axis=1))).size:
        raise InputError(
            f"{name}.encode returned NaN or infinity for {bad.size} of {len(sentences)} sentences, the first "
            f"of them {sentences[bad[0]][:60]!r}; expected finite numbers, and zeros for a sentence without "
            "known words"
        )
    return vectors
