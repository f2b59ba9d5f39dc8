"""The experiments of the quality search: changes to the default recipe, to the stream and to the training procedure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks import quality_parts as parts
from benchmarks import quality_streams as streams
from benchmarks import quality_ways as ways
from siamese_cbow.evaluation.evaluate import System
from siamese_cbow.model.model import Model
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.siamese_cbow import SiameseCBOW

PLAIN: dict[str, Any] = {"share_stems": False, "idf_power": 0.0, "length_power": 1.0, "common_directions": 0}
LEARNT: dict[str, Any] = {"idf_power": 0.0, "length_power": 1.0, "common_directions": 0}
NO_DIRECTIONS: dict[str, Any] = {"common_directions": 0}
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Row:
    """One experiment."""

    name: str
    changes: Mapping[str, Any]  # to the default recipe
    cut: Callable[[Stream], Stream] | None = None
    punctuated: bool = False
    seeds: tuple[int, ...] = (1,)
    way: Callable[[SiameseCBOW, Stream], Model] | None = None  # replaces `recipe.train`; returns rows as learnt
    after: Callable[[Model, Stream], System] | None = None  # applied to the finished model
    beside: tuple[Row, ...] = ()  # other runs, and how all are combined
    combine: Callable[[list[Model]], Model] = ways.side_by_side
    needs: str = ""  # a script option; the row is left out without it


def seed(number: int) -> Row:
    return Row("", {"seed": number})


def postprocessed(name: str, changes: Mapping[str, Any], **steps: Any) -> Row:
    return Row(name, changes, after=lambda model, stream: model.postprocess(stream, **steps))


VIEWS = Row("words of a sentence dealt into two views", {"run_length": 8}, streams.dealt)
PIECES = Row("sentences cut into pieces of about 6 words", {"run_length": 8}, lambda stream: stream.in_pieces(6))
COOLING, WARMING = (0.1, 0.084, 0.071, 0.06, 0.05), (0.035, 0.042, 0.05, 0.06, 0.07)
THREE = "groups of three: up to two sentences away, the nearer ones twice as often"
TO_300 = partial(ways.side_by_side, dim=300)
FASTSENT = Row("FastSent instead", {"share_stems": False}, way=ways.fastsent)
SKIPGRAM = Row("word2vec skip-gram instead, as learnt", PLAIN, way=ways.skipgram)

SECTIONS: dict[str, list[Row]] = {
    "Step by step": [
        Row("one row a word, lengths as learnt, with punctuation", PLAIN, punctuated=True, seeds=SEEDS),
        Row("+ no punctuation", PLAIN, seeds=SEEDS),
        Row("+ stems share a row", LEARNT, seeds=SEEDS),
        Row("+ square roots of lengths, times information", NO_DIRECTIONS, seeds=SEEDS),
        Row("+ two common directions removed: the default", {}, seeds=SEEDS),
    ],
    "Weights and directions, all from the same training run": [
        Row("lengths as learnt", LEARNT),
        Row("information alone", {"length_power": 1.0, "common_directions": 0}),
        Row("square roots of lengths alone", {"idf_power": 0.0, "common_directions": 0}),
        Row("information and square roots of lengths", NO_DIRECTIONS),
        Row("the same, 2 common directions removed: the default", {}),
        Row("information, lengths^.75", {"length_power": 0.75, "common_directions": 0}),
        Row("information, lengths^.25", {"length_power": 0.25, "common_directions": 0}),
        Row("information, all lengths 1", {"length_power": 0.0, "common_directions": 0}),
        Row("information^1.5, square roots", {"idf_power": 1.5, "common_directions": 0}),
        Row("information^.5, square roots", {"idf_power": 0.5, "common_directions": 0}),
        *(Row(f"{n} common directions removed", {"common_directions": n}) for n in (1, 3, 5, 8)),
        *(postprocessed(f"directions of sentences removed instead: {n}", NO_DIRECTIONS, components=n)
          for n in (1, 2, 3)),
        *(Row(f"rows drawn towards their 10 nearest by {share:g}", {},
              after=partial(ways.towards_neighbours, share=share)) for share in (0.25, 0.5)),
        Row("words without kin 1.3 times as long", {}, seeds=SEEDS,
            after=partial(ways.longer_without_kin, factor=1.3)),
        postprocessed("SIF instead (weights .001, one direction of sentences)", LEARNT, weights="sif", components=1),
        postprocessed("uSIF instead", LEARNT, weights="usif", components=5, by_share=True),
        postprocessed("whitened by a tenth on top", {}, whiten=0.1),
        postprocessed("whitened by half on top", {}, whiten=0.5),
        postprocessed("whitened in full on top", {}, whiten=1.0),
    ],
    "The objective": [
        Row("temperature .04", {"temperature": 0.04}),
        Row("temperature .07", {"temperature": 0.07}),
        Row("temperature .05, in five stages", {}, way=partial(ways.in_stages, temperatures=(0.05,) * 5)),
        Row("temperature .1 down to .05", {}, way=partial(ways.in_stages, temperatures=COOLING)),
        Row("temperature .035 up to .07", {}, way=partial(ways.in_stages, temperatures=WARMING)),
        Row("batches of 128", {"batch_size": 128}),
        Row("batches of 512", {"batch_size": 512}),
        Row("batches of 1024", {"batch_size": 1024}, seeds=SEEDS),
        Row("batches of 1024, runs of 8", {"batch_size": 1024, "run_length": 8}, seeds=SEEDS),
        Row("runs of 2", {"run_length": 2}),
        Row("runs of 8", {"run_length": 8}),
        Row("two matrices", {"separate_matrices": True}),
        Row("margin, hardest negative", {"objective": "margin"}),
        FASTSENT,
        SKIPGRAM,
    ],
    "Choice of positives": [
        Row("groups of two sentences", {}, partial(streams.groups, size=2)),
        Row(THREE, {}, partial(streams.groups, size=3)),
        Row("groups of four: up to three sentences away", {}, partial(streams.groups, size=4)),
        Row("any four sentences of an article", {}, lambda stream: streams.groups(streams.shuffled(stream), 4)),
        Row("neighbours inside a paragraph only", {}, needs="paragraphs"),
        Row("up to four sentences of a paragraph", {}, lambda stream: streams.groups(stream, 4), needs="paragraphs"),
        Row("harder negatives: three further pieces of the same article in a batch", {"run_length": 16},
            partial(streams.blocks, size=4)),
    ],
    "Text": [
        Row("subsampling 1e-5", {"subsample": 1e-5}),
        Row("subsampling 3e-5", {"subsample": 3e-5}, seeds=SEEDS),
        Row("subsampling 3e-4", {"subsample": 3e-4}),
        Row("subsampling 3e-5, 2 epochs", {"subsample": 3e-5, "epochs": 2}),
        Row("sentences cut into halves", {"run_length": 8}, streams.halves),
        PIECES,
        Row("sentences cut into pieces of about 12 words", {"run_length": 8}, lambda stream: stream.in_pieces(12)),
        VIEWS,
        Row("all numbers are one word", {}, ways.one_number, after=ways.one_number_for_all),
        Row("numbers with as many digits share a row", {}, way=ways.numbers_by_shape),
        Row("50,000 pairs of words have rows too", {}, way=parts.train_with_pairs, after=parts.with_pairs),
        Row("hashed pieces of five letters have rows too", {}, way=parts.train_with_pieces),
    ],
    "Optimiser and initialisation": [
        Row("learning rate .02", {"learning_rate": 0.02}),
        Row("learning rate .1", {"learning_rate": 0.1}),
        Row("linear decay", {"decay": "linear"}),
        Row("Adam, .001", {"optimizer": "adam", "learning_rate": 0.001}),
        Row("Adam, .003", {"optimizer": "adam", "learning_rate": 0.003}),
        Row("SGD, 5", {"optimizer": "sgd", "learning_rate": 5.0}),
        Row("SGD, 50", {"optimizer": "sgd", "learning_rate": 50.0}),
        Row("rows start ten times smaller", {"init_std": 0.001}),
        Row("rows start three times larger", {"init_std": 0.03}),
        Row("start from word2vec of the same text", {}, way=ways.from_word2vec),
    ],
    "Epochs and dimensions": [
        Row("2 epochs", {"epochs": 2}),
        Row("3 epochs", {"epochs": 3}),
        Row("mean of eight checkpoints", {}, way=ways.mean_of_checkpoints),
        Row("100 dimensions", {"dim": 100}),
        Row("200 dimensions", {"dim": 200}),
        Row("600 dimensions", {"dim": 600}),
        *(Row(f"turned and cut to {n} dimensions", {}, after=lambda model, stream, n=n: model.compress(dim=n))
          for n in (200, 100, 50)),
    ],
    "Several models combined": [
        Row("two seeds, 600 dimensions", {}, beside=(seed(2),)),
        Row("two seeds, reduced to 300 dimensions", {}, beside=(seed(2),), combine=TO_300),
        Row("three seeds, turned onto the first, their mean", {}, beside=(seed(2), seed(3)),
            combine=ways.mean_of_aligned),
        Row("the default and dealt words, 600 dimensions", {}, beside=(VIEWS,)),
        Row("the default and pieces, 600 dimensions", {}, beside=(PIECES,)),
        Row("the default and FastSent, 600 dimensions", {}, beside=(FASTSENT,)),
        Row("the default and word2vec skip-gram, 600 dimensions", {}, beside=(SKIPGRAM,)),
        Row("the default, dealt words and pieces, 900 dimensions", {}, beside=(VIEWS, PIECES)),
        Row("the same, reduced to 300 dimensions", {}, beside=(VIEWS, PIECES), combine=TO_300),
    ],
}  # fmt: skip
FINAL = [
    Row("before: one row a word, lengths as learnt, with punctuation", PLAIN, punctuated=True, seeds=SEEDS),
    Row("the default", {}, seeds=SEEDS),
    Row("the default, 2 epochs", {"epochs": 2}, seeds=SEEDS),
]
