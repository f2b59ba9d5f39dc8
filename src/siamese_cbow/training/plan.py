"""What a training will do, worked out before any work: its words, how streams are cut, in which order batches come.

Every complaint about streams that can't be learnt from, or don't go together, is raised here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from siamese_cbow.errors import InputError
from siamese_cbow.kernels.batch.plans import Shape
from siamese_cbow.model.model import Model
from siamese_cbow.stream.mix import Mix, joined
from siamese_cbow.stream.stream import Stream
from siamese_cbow.training.batches import batch_shape
from siamese_cbow.training.course import Course
from siamese_cbow.training.kin import Kin, kin_of
from siamese_cbow.training.recipe import SiameseCBOW
from siamese_cbow.training.start import model_to_start_from
from siamese_cbow.transform.postprocessing import end_of_training
from siamese_cbow.transform.settings import Postprocess
from siamese_cbow.words.vocabulary import Vocabulary


@dataclass(frozen=True)
class Plan:
    """A training that has not begun."""

    recipe: SiameseCBOW
    mix: Mix
    vocabulary: Vocabulary  # of the model to come: the words of all streams, and of the model that is started from
    kin: Kin
    shapes: Sequence[Shape]  # of each stream
    course: Course
    start: Model | None = None  # the model that is gone on with

    @property
    def taken_out(self) -> int:
        """Common directions that the model to start from lacks already."""
        return 0 if self.start is None else end_of_training(self.start.info).common_directions

    @property
    def end(self) -> Postprocess:
        """What is done to the rows in the end, less what was done to those of the model to start from."""
        left = max(0, self.recipe.common_directions - self.taken_out)
        return replace(self.recipe.end, common_directions=left)

    @property
    def n_steps(self) -> int:
        """Batches of all epochs."""
        return self.recipe.epochs * self.course.n_batches


def plan_of(recipe: SiameseCBOW, streams: Stream | Mix | Sequence[Stream]) -> Plan:
    """The plan for a recipe and its streams; an error where it can't be carried out."""
    mix = Mix.of(streams)
    shapes = [batch_shape(recipe, stream) for stream in mix.streams]
    model = model_to_start_from(recipe)
    vocabulary = mix.vocabulary if model is None else _words(recipe, mix, model)
    kin = kin_of(recipe, vocabulary, mix.language)
    return Plan(recipe, mix, vocabulary, kin, shapes, Course.of(shapes, mix.passes), model)


def _words(recipe: SiameseCBOW, mix: Mix, model: Model) -> Vocabulary:
    """The words of the model and of the streams."""
    if model.vocabulary.languages != mix.vocabulary.languages:
        found, expected = (",".join(one.languages) or "none" for one in (model.vocabulary, mix.vocabulary))
        raise InputError(
            f"{recipe.init} has the languages {found} and the stream {expected}; "
            "prepare the text with the languages of the model, or start from another one"
        )
    return joined([model.vocabulary, mix.vocabulary])
