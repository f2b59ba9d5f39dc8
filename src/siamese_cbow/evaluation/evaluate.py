"""Score a system: encode every sentence once, take cosines, correlate with the gold scores.

A system is anything with `.encode(list of str) -> (n, dim) array`. What it returns is checked, because a NaN or a
missing row would otherwise surface as a slightly wrong number. A zero vector (no known word) has cosine 0 with all.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from typing import Protocol as Interface

import numpy as np

from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.evaluation.adapting import ADAPT, Adapt, adapted_vectors, of_model, of_vectors
from siamese_cbow.evaluation.correlation import Floats, is_constant, pearson, spearman
from siamese_cbow.evaluation.correlation import bootstrap as resample
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.protocol import Protocol, counted
from siamese_cbow.evaluation.scores import Scores, SetScore
from siamese_cbow.model.model import Model
from siamese_cbow.words.tokenizer import Tokenizer


class System(Interface):
    """Anything that turns sentences into vectors. With `vocabulary` and `tokenizer`, unknown words are counted."""

    def encode(self, sentences: list[str], /) -> Any:
        """(n, dim) array, one row for each sentence."""


def evaluate(
    system: System,
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

    adapt  first make the system fit the text of each set: see `adapting`. Never compare with scores that don't
    """
    if adapt not in ADAPT:
        raise SettingsError(f"adapt is {adapt!r}; expected one of {', '.join(ADAPT)}")
    sets = [counted(pair_set, protocol) for pair_set in sets]
    if not sets:
        raise InputError("there are no sets to evaluate on; read some with `sts(folder)`")
    name = name or getattr(system, "name", None) or type(system).__name__
    rows = []
    found = _cosines(system, sets, name) if adapt == "no" else _adapted_cosines(system, sets, name, adapt, seed)
    for pair_set, (cosines, n_empty) in zip(sets, found, strict=True):
        row = _score(pair_set, cosines, n_empty, _unknown(system, pair_set))
        rows.append(_with_replicates(row, bootstrap, seed) if bootstrap else row)
    return Scores(name, protocol, tuple(rows), adapt)


def _score(pair_set: PairSet, predictions: Floats, n_empty: int, n_unknown: int | None) -> SetScore:
    note, gold = "", pair_set.gold
    if is_constant(predictions):
        note = f"undefined: every pair has the same cosine, {predictions[0]:.4f}"
    elif is_constant(gold):
        note = f"undefined: every pair has the same gold score, {gold[0]:g}"
    return SetScore(
        year=pair_set.year,
        dataset=pair_set.dataset,
        collection=pair_set.collection,
        name=pair_set.name,
        predictions=predictions,
        gold=gold,
        text=pair_set.text(),
        n_unknown=n_unknown,
        n_empty=n_empty,
        pearson=pearson(predictions, gold),
        spearman=spearman(predictions, gold),
        note=note,
    )


def _with_replicates(row: SetScore, n: int, seed: int) -> SetScore:
    if row.pearson is None:
        return row
    replicates = resample(row.predictions, row.gold, n=n, rng=set_rng(row.name, seed))
    return SetScore(**{**vars(row), "replicates": replicates})


def set_rng(name: str, seed: int) -> np.random.Generator:
    """Randomness for one set, the same whichever other sets are evaluated with it."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def _unknown(system: System, pair_set: PairSet) -> int | None:
    tokenizer = getattr(system, "tokenizer", None)
    if not isinstance(tokenizer, Tokenizer):
        return None
    return pair_set.text(tokenizer).n_unknown(getattr(system, "vocabulary", None))


def _cosines(system: System, sets: Sequence[PairSet], name: str) -> list[tuple[Floats, int]]:
    """For each set the cosines (n_pairs,) and how many pairs have a zero vector; `encode` is called once for all."""
    place: dict[str, int] = {}
    for pair_set in sets:
        for sentence in pair_set.sentences:
            place.setdefault(sentence, len(place))
    vectors = _encoded(system, list(place), name)
    rows = [np.array([[place[left], place[right]] for left, right in pair_set.pairs]) for pair_set in sets]
    return [_paired_cosines(vectors[pairs[:, 0]], vectors[pairs[:, 1]]) for pairs in rows]


def _adapted_cosines(
    system: System, sets: Sequence[PairSet], name: str, how: Adapt, seed: int
) -> Iterator[tuple[Floats, int]]:
    """The same, with the system adapted to the text of each set."""
    for pair_set in sets:
        texts = pair_set.sentences
        adapted = of_model(system, texts) if isinstance(system, Model) else of_vectors(_encoded(system, texts, name))
        vectors = adapted_vectors(adapted, texts, how, set_rng(pair_set.name, seed))
        yield _paired_cosines(vectors[::2], vectors[1::2])


def _paired_cosines(left: Any, right: Any) -> tuple[Floats, int]:
    """The cosines of the rows of two arrays, and how many of them have a side that is zero."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", a, a) * np.einsum("ij,ij->i", b, b))
    cosines = np.einsum("ij,ij->i", a, b) / np.where(lengths > 0, lengths, 1.0)
    return np.clip(cosines, -1.0, 1.0), int((lengths == 0).sum())


def _encoded(system: System, sentences: list[str], name: str) -> Any:
    vectors = system.encode(sentences)
    if hasattr(vectors, "detach"):  # a torch tensor, perhaps on a GPU
        vectors = vectors.detach().cpu().float().numpy()
    vectors = np.asarray(vectors)
    if vectors.ndim != 2 or len(vectors) != len(sentences) or not np.issubdtype(vectors.dtype, np.number):
        raise InputError(
            f"{name}.encode gave an array of shape {vectors.shape} ({vectors.dtype}) for {len(sentences)} sentences; "
            f"expected ({len(sentences)}, dim) numbers"
        )
    if (bad := np.flatnonzero(~np.isfinite(vectors).all(axis=1))).size:
        raise InputError(
            f"{name}.encode gave NaN or infinity for {bad.size} of {len(sentences)} sentences, the first of them "
            f"{sentences[bad[0]][:60]!r}; a sentence without known words should be a row of zeros"
        )
    return vectors
