"""A small corpus and the arrays that kernels take, for the kernel tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from siamese_cbow.kernels.batch.batch_records import Keys, Matrices, Objective, Rule, Shape, Text
from siamese_cbow.kernels.batch.random import Purpose, half_bits, key
from siamese_cbow.kernels.tables import OBJECTIVES, OPTIMIZERS, SCORES, ObjectiveName, OptimizerName
from siamese_cbow.machine.intrinsics import aligned, padded_width
from siamese_cbow.training.batches import document_starts
from siamese_cbow.training.stems import NO_STEMS
from siamese_cbow.training.strips import StripLayout, spread

DIM, N_WORDS = 20, 60
MARGIN = 0.4
WHOLE, STRIPS = StripLayout(1, padded_width(DIM)), StripLayout(2, padded_width(DIM // 2))


def rule(name: OptimizerName = "sgd", **numbers: float) -> Rule:
    values = {"momentum": 0.9, "decay": 0.999, "epsilon": 1e-8, "clip": 0, "l2": 0, "to_start": False} | numbers
    figures = (np.float32(values[field]) for field in Rule._fields[2:-1])
    return Rule(OPTIMIZERS[name].number, np.float32(DIM), *figures, bool(values["to_start"]))


def corpus(seed: int = 0, n_documents: int = 6, empty: bool = False) -> Text:
    rng = np.random.default_rng(seed)
    documents = np.concatenate([[0], np.cumsum(rng.integers(1, 8, n_documents))])
    lengths = rng.integers(0 if empty else 1, 9, documents[-1])
    sentences = np.concatenate([[0], np.cumsum(lengths)])
    ids = (N_WORDS * rng.random(sentences[-1]) ** 2).astype(np.int32)
    starts = document_starts(documents, len(sentences) - 1)
    return Text(
        ids, sentences, documents, starts, np.ones(N_WORDS, np.float32), NO_STEMS.rows, np.zeros(0, np.float32), N_WORDS
    )


def keys(shape: Shape, epoch: int = 0, shift: int = 0) -> Keys:
    draws = [key(1, epoch, purpose) for purpose in (Purpose.SUBSAMPLE, Purpose.NEGATIVES, Purpose.POSITIVES)]
    return Keys(key(1, epoch, Purpose.ORDER), shift, half_bits(shape.n_units), *draws)


def shape_of(text: Text, batch: int, run_length: int, **options: Any) -> Shape:
    groups = options.get("groups", False)
    n_units = len(text.documents) - 1 if groups else (len(text.sentences) - 3 + run_length) // run_length + 1
    values = {
        "groups": False,
        "halo": False,
        "negatives": 0,
        "negatives_from_batch": True,
        "max_tokens": 1000,
        "triples": False,
        "any_negative": False,
    } | options
    return Shape(run_length, batch // run_length, n_units, *(values[name] for name in Shape._fields[3:]))


def matrices(rng: np.random.Generator, like: Rule, layout: StripLayout = WHOLE) -> Matrices:
    n_rows = layout.n_strips * N_WORDS
    vectors = aligned((n_rows, layout.width))
    spread(rng.normal(size=(N_WORDS, DIM)).astype(np.float32), 0, vectors, layout)
    light = {OPTIMIZERS["sgd"].number, OPTIMIZERS["adagrad"].number}
    columns = 1 if like.kind in light else layout.width
    start = aligned(vectors.shape if like.to_start else (1, 1))
    if like.to_start:
        start[...] = vectors
    return Matrices(vectors, aligned((n_rows, columns)), aligned((n_rows, columns)), start)


def objective_of(name: ObjectiveName, *, shared: bool = True, sharpness: float = 1.0) -> Objective:
    kind = OBJECTIVES[name]
    return Objective(kind.number, kind.sampled, np.float32(sharpness), np.float32(MARGIN), SCORES[kind.score], shared)
