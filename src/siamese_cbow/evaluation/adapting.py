"""Vectors of a system that has been adapted to the text of the set that it is scored on; gold scores are never used.

    set       to all sentences of the set
    held-out  each tenth of the pairs to the sentences of the other nine tenths, less those that it has itself

Our models are adapted as `Model.adapt` does it. Of any other system only vectors are known: their directions are evened
out in the same way, the weights of words stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Ids, Offsets, Vectors
from siamese_cbow.model.geometry import gram_of
from siamese_cbow.model.model import Model
from siamese_cbow.transform.adaptation import adaptation, evened, not_adapted, scaled_along, shares_of

Adapt: TypeAlias = Literal["no", "set", "held-out"]
ADAPT: tuple[Adapt, ...] = get_args(Adapt)
N_PARTS = 10

Chosen: TypeAlias = NDArray[np.bool_]
# Which texts are to be learnt from, (n_texts,) -> the vectors of all texts, (n_texts, dim)
Adapted: TypeAlias = Callable[[Chosen], Vectors]


def adapted_vectors(adapted: Adapted, texts: Sequence[str], how: Adapt, rng: np.random.Generator) -> Vectors:
    """The vectors of texts (n_texts, dim), where the two of each pair stand one after the other."""
    if how == "set":
        return adapted(np.ones(len(texts), bool))
    parts = [np.where(scored[:, None], adapted(chosen), 0) for chosen, scored in _parts(texts, rng)]
    vectors: Vectors = np.sum(parts, axis=0)  # each text is in one of them
    return vectors


def _parts(texts: Sequence[str], rng: np.random.Generator) -> Iterator[tuple[Chosen, Chosen]]:
    """Texts to learn from, and those that are then scored: no text is in both, whatever pairs it stands in."""
    n_pairs = len(texts) // 2
    part_of = np.repeat(rng.permutation(n_pairs) % min(N_PARTS, n_pairs), 2)
    for part in range(part_of.max() + 1):
        scored = part_of == part
        own = {text for text, is_scored in zip(texts, scored, strict=True) if is_scored}
        yield np.array([text not in own for text in texts]), scored


def of_model(model: Model, texts: list[str]) -> Adapted:
    """Adapts as `model.adapt` does, but only the rows of words that stand in the texts."""
    from siamese_cbow.kernels.means import means

    model = not_adapted(model)
    ids, offsets = model.ids(texts)
    used, found_at = np.unique(ids, return_inverse=True)
    places: Ids = found_at.astype(np.int32)
    rows, shares = model.vectors[used], shares_of(model.vocabulary.counts)

    def adapted(chosen: Chosen) -> Vectors:
        change = adaptation(rows, None if shares is None else shares[used], *_part(places, offsets, chosen))
        vectors = np.empty((len(texts), model.dim), np.float32)
        means(rows * change.weights[:, None], places, offsets, False, vectors)
        return scaled_along(vectors, change.directions, change.factors)

    return adapted


def of_vectors(vectors: NDArray[Any]) -> Adapted:
    """Adapts the vectors of texts, wherever they come from."""
    plain = np.asarray(vectors, np.float32)

    def adapted(chosen: Chosen) -> Vectors:
        texts = plain[chosen]
        directions, factors = evened(gram_of(texts), int(texts.any(axis=1).sum()))
        return scaled_along(plain, directions, factors)

    return adapted


def _part(ids: Ids, offsets: Offsets, chosen: Chosen) -> tuple[Ids, Offsets]:
    """Some of the texts: [0, 0, 1], [0, 2, 2, 3], the first and the last -> [0, 0, 1], [0, 2, 3]."""
    lengths = np.diff(offsets)
    return ids[np.repeat(chosen, lengths)], np.r_[0, np.cumsum(lengths[chosen])]
