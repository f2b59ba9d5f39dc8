"""What a run will do, worked out in advance: its words, how streams are divided, the order of the batches.

Every error about streams that have nothing to learn from, or that don't fit together, is raised here, before training.

An epoch of several streams is divided into rounds of about 256 batches. Each round takes its share of every stream,
one stream after the other:

    90 batches of text, 30 of pairs, 3 rounds  ->  30 text, 10 pairs, 30 text, 10 pairs, 30 text, 10 pairs

A batch comes from one stream: among captions, an encyclopedia sentence would be too easy a negative to learn from.
(Rounds are long because short series of batches cost speed: the threads start and stop for each.)

Batches are counted per stream across epochs: after its last batch, a stream starts over in another order. So an epoch
may pass over a stream several times, or over a tenth of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.errors import InputError
from siamese_cbow.formats.resolver import is_vector_file, open_model
from siamese_cbow.kernels.batch.batch_records import Shape
from siamese_cbow.kernels.tables import OBJECTIVES
from siamese_cbow.model.model import Model
from siamese_cbow.stream.mix import Mix, joined
from siamese_cbow.stream.stream import Stream
from siamese_cbow.text.languages import find_language
from siamese_cbow.training.batches import ALL_ALIKE, batch_shape, batches_per_epoch
from siamese_cbow.training.recipe import NEW_RATE, Recipe
from siamese_cbow.training.state import initial_model
from siamese_cbow.training.stems import Stems, stems_of
from siamese_cbow.transform.estimates import information
from siamese_cbow.transform.postprocessing import end_of_training
from siamese_cbow.transform.settings import Postprocess
from siamese_cbow.words.vocabulary import Vocabulary

R = TypeVar("R", bound=Recipe)

ROUND = 256  # batches
LITTLE_TEXT = 50_000  # words: below this, the pretrained model as it is beats a new one
PRETRAINED_LANGUAGE = "en"
LITTLE = "this is little text; `siamese-cbow adapt TEXT` or --init pretrained may give better vectors"
LITTLE_OTHER = (
    "this is little text, so expect weak vectors: add more, or --init a model of {} (`pretrained` is English)"
)


def epochs_of(n_tokens: int) -> int:
    """The number of epochs for a text of this many words: `epochs_of(4_000_000)` -> 5; at most 20.

    Aims at 20 million words in total: up to two million words, 20 epochs are better than 5, and 5 better than one; with
    64 million, one is enough.
    """
    return max(1, min(20, round(20_000_000 / max(1, n_tokens))))


def rate_of_init(n_tokens: int) -> float:
    """The learning rate for continuing from a model, on a text of this many words: `rate_of_init(15_000)` -> 0.002.

    A fresh optimiser has no state and takes long steps: at the rate of a new model, a small text spoils the rows of all
    its words before it has improved any. The less text, the shorter the steps.
    """
    return float(f"{0.01 * min(1.0, (n_tokens / 150_000) ** 0.7):.2g}")


def fitted_to(recipe: R, mix: Mix) -> R:
    """The recipe with epochs and learning rate chosen by the size of the text, unless it sets them.

    Training that continues from a model makes one pass over the text, at `rate_of_init`.
    """
    n, goes_on = mix.n_tokens, recipe.init is not None
    if recipe.epochs is None:
        recipe = replace(recipe, epochs=1 if goes_on else epochs_of(n))
    if recipe.learning_rate is None:
        from_model = recipe.init is not None and not is_vector_file(recipe.init)
        recipe = replace(recipe, learning_rate=rate_of_init(n) if from_model else NEW_RATE)
    return recipe


def remarks_on_fit(recipe: Recipe, fitted: Recipe, mix: Mix) -> list[str]:
    """Messages about a recipe that `fitted_to` has fitted to a text."""
    remarks, n, own = [], mix.n_tokens, find_language(mix.known_language or "")
    if recipe.epochs is None and fitted.n_epochs > 1:
        remarks.append(f"epochs: {fitted.epochs}, chosen for {n:,} words (--epochs)")
    if recipe.epochs is None and recipe.init is None and n < LITTLE_TEXT:
        is_english = own is None or own.code == PRETRAINED_LANGUAGE
        remarks.append(LITTLE if is_english else LITTLE_OTHER.format(own))
    if recipe.init is not None and not is_vector_file(recipe.init):
        remarks += _remarks_on_start(recipe.init, open_model(recipe.init), mix)
        if recipe.learning_rate is not None and recipe.rate > 2 * (suited := rate_of_init(n)):
            remarks.append(
                f"learning rate {recipe.rate:g} is high for {n:,} words; --learning-rate {suited:g} forgets less of "
                f"{recipe.init}"
            )
    if recipe.learning_rate is None and fitted.rate != NEW_RATE:
        spoil = f"low enough that {n:,} words don't overwrite {recipe.init}"
        remarks.append(f"learning rate: {fitted.rate:g}, {spoil} (--learning-rate)")
    return remarks


def _remarks_on_start(name: str, model: Model, mix: Mix) -> list[str]:
    """Messages about a starting model whose language differs from the text's, or whose tokenizer rule is newer."""
    remarks, rule = [], getattr(model.tokenizer, "rule", 0)  # foreign tokenizers have none
    own, start = (find_language(code or "") for code in (mix.known_language, model.info.language))
    if own is not None and start is not None and own != start:
        remarks.append(
            f"the text is {own}, but {name} is {start}: its word vectors are of little use for this text; "
            "start from a model of the same language, or train without --init"
        )
    if mix.tokenizer.rule < rule:
        remarks.append(
            f"the stream splits words by rule {mix.tokenizer.rule} of the tokenizer, {name} by rule {rule}: the new "
            "model keeps the older rule, which splits c++ or a mail address; to avoid it, prepare the text again"
        )
    return remarks


class Stretch(NamedTuple):
    """Consecutive batches of one stream."""

    stream: int
    turn: int  # complete passes over the stream before this one
    first: int  # batch of this turn
    n: int


class Schedule:
    """The order of the batches of a run: `Schedule([10, 2], [1, 2]).n_batches` -> 14."""

    def __init__(self, sizes: Sequence[int], passes: Sequence[float]) -> None:
        self._sizes = sizes  # batches of each stream
        self._shares = [max(1, round(n * size)) for n, size in zip(passes, sizes, strict=True)]  # of an epoch
        self.n_batches = sum(self._shares)  # of an epoch
        self._n_rounds = max(1, self.n_batches // ROUND)
        rounds = np.arange(self._n_rounds + 1)
        self._starts = np.sum([rounds * share // self._n_rounds for share in self._shares], axis=0)

    def stretch(self, epoch: int, batch: int) -> Stretch:
        """The batches of an epoch from number `batch` on, up to another stream or the next pass over this one."""
        number = int(np.searchsorted(self._starts[:-1], batch, side="right")) - 1
        at = int(self._starts[number])
        for stream, share in enumerate(self._shares):
            begin, end = (i * share // self._n_rounds for i in (number, number + 1))
            if batch < at + end - begin:
                turn, first = divmod(epoch * share + begin + batch - at, self._sizes[stream])
                return Stretch(stream, turn, first, min(at + end - begin - batch, self._sizes[stream] - first))
            at += end - begin
        raise IndexError(f"batch {batch} of {self.n_batches}")


@dataclass(frozen=True)
class Plan:
    """A run that has not started."""

    recipe: Recipe
    mix: Mix
    vocabulary: Vocabulary  # of the result: the words of all streams and of the starting model
    stems: Stems
    shapes: Sequence[Shape]  # of each stream
    schedule: Schedule
    start: Model | None = None  # the model that training continues from
    in_turn: bool = True  # epochs take the offsets of runs in turn; training runs begun by 0.1.0 draw them

    @property
    def taken_out(self) -> int:
        """Common directions already removed from the starting model."""
        return 0 if self.start is None else end_of_training(self.start.info).common_directions

    @property
    def end(self) -> Postprocess:
        """The final steps on the rows, without the directions that the starting model already lacks."""
        left = max(0, self.recipe.common_directions - self.taken_out)
        return replace(self.recipe.end, common_directions=left)

    @property
    def spelling(self) -> float:
        """How strongly rare words are then pulled towards their n-grams; 0 if n-grams are no better guess.

        Rows of a starting model have counts of their own, which this text doesn't show; and n-grams don't tell which
        words of two languages are translations.
        """
        return 0.0 if self.recipe.init is not None or self.vocabulary.languages else self.recipe.spelling

    @cached_property
    def word_weights(self) -> NDArray[np.float32]:
        """(n_words,) the weights of words in training sentences; empty if all are 1."""
        if self.recipe.word_weights == "none":
            return ALL_ALIKE
        return information(np.asarray(self.vocabulary.counts)).astype(np.float32)

    @property
    def n_steps(self) -> int:
        """Batches of all epochs."""
        return self.recipe.n_epochs * self.schedule.n_batches


def plan_of(recipe: Recipe, streams: Stream | Mix | Sequence[Stream]) -> Plan:
    """The plan for a recipe, fitted to its streams; an error if it can't be carried out."""
    mix = Mix.of(streams)
    recipe = fitted_to(recipe, mix)
    shapes = [shape_of(recipe, stream) for stream in mix.streams]
    model = initial_model(recipe)
    vocabulary = mix.vocabulary if model is None else _words(recipe, mix, model)
    schedule = Schedule([batches_per_epoch(shape) for shape in shapes], mix.passes)
    return Plan(recipe, mix, vocabulary, stems_of(recipe, vocabulary, mix.language), shapes, schedule, model)


def shape_of(recipe: Recipe, stream: Stream) -> Shape:
    """How the recipe divides a stream into batches."""
    sampled = OBJECTIVES[recipe.objective].sampled
    return batch_shape(
        stream,
        batch_size=recipe.batch_size,
        run_length=recipe.run_length,
        max_tokens=recipe.max_tokens,
        negatives=recipe.negatives if sampled else 0,
        from_batch=not sampled or recipe.negatives_from == "batch",
        triples=recipe.triples,
        any_negative=recipe.any_negative,
    )


def _words(recipe: Recipe, mix: Mix, model: Model) -> Vocabulary:
    """The words of the model and of the streams."""
    if model.vocabulary.languages != mix.vocabulary.languages:
        languages, expected = (",".join(words.languages) or "none" for words in (model.vocabulary, mix.vocabulary))
        raise InputError(
            f"{recipe.init} has the languages {languages}, but the stream has {expected}; prepare the text "
            "with the languages of the model, or start from another model"
        )
    return joined([model.vocabulary, mix.vocabulary])
