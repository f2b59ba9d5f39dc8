"""The state of a run: exactly what a checkpoint must hold; and how it is initialised.

Everything else (order of sentences, negatives, learning rates) is a function of the recipe, the stream and the
counters. `loop` advances the state, `checkpoint` stores it. Rows start at random or from existing vectors:

    --init models/wikipedia      a model: training continues from it, and all its words stay in the result
    --init pretrained            the pretrained model, or any other name that `open_model` takes
    --init vectors.bin           a word2vec, GloVe or fastText file: vectors for the words of the text that it contains

The rows of a model are finished (see `transform.postprocessing`): finishing is undone first. A row shared by the words
of a stem starts as the mean of the known ones, so a new form of a known word starts near it.

Training from scratch needs a high learning rate, which moves a finished model far: on other text it forgets much. At a
fifth of that rate it forgot nothing and learnt the new text just as well (results/pairs.md). Rejected, because no
better: Adagrad state as if the model's own text had been seen before, and mixing in a tenth of that text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from itertools import count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors, thread_count
from siamese_cbow.errors import FormatError, InputError, SettingsError, counted
from siamese_cbow.formats.resolver import is_vector_file, open_model
from siamese_cbow.formats.vector_files import read_word_vectors
from siamese_cbow.kernels.batch.batch_records import Matrices
from siamese_cbow.kernels.batch.random import Purpose, draw_normals, key, ziggurat
from siamese_cbow.kernels.tables import OptimizerName
from siamese_cbow.machine.intrinsics import aligned
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.training.optimizers import state_shapes
from siamese_cbow.training.recipe import Recipe
from siamese_cbow.training.stems import NO_STEMS, Stems
from siamese_cbow.training.strips import StripLayout, joined, layout_of, spread
from siamese_cbow.transform.postprocessing import learnt_rows
from siamese_cbow.words.json_tokenizer import JsonTokenizer
from siamese_cbow.words.vocabulary import Vocabulary

STRETCH = 1 << 18  # random words that a thread turns into numbers at a time: a megabyte
FEW = 1 << 23  # numbers


@dataclass
class Counters:
    """The position of a run. Sums are float64 and don't depend on the number of threads."""

    epoch: int = 0  # of the next batch
    batch: int = 0  # of the next batch, in its epoch
    step: int = 0  # batches done in total
    examples: int = 0
    words: int = 0  # of all anchors, before subsampling
    words_cut: int = 0  # beyond max_tokens
    loss: float = 0.0  # sum over the examples of this epoch
    loss_examples: int = 0  # examples of this epoch

    @property
    def mean_loss(self) -> float:
        """The mean loss of this epoch's examples so far."""
        return self.loss / max(1, self.loss_examples)


@dataclass
class TrainingState:
    """Arrays and counters. `vectors` are the learnt rows, whatever their memory layout."""

    dim: int
    layout: StripLayout
    left: Matrices  # the anchors' side: this becomes the model
    right: Matrices  # the candidates' side; the same arrays when there is one matrix
    counters: Counters

    @property
    def vectors(self) -> Vectors:
        """The current rows, (n_rows, dim): words, then shared rows. May be a view that keeps changing."""
        return joined(self.left.vectors, self.layout, self.dim)

    def folded(self, stems: Stems) -> Vectors:
        """A copy of the current rows, one per word."""
        is_copy, rows = self.layout.n_strips > 1, self.vectors
        return rows if is_copy and not stems.n_shared else stems.fold(rows)

    @property
    def shared(self) -> bool:
        """Whether both sides use one matrix."""
        return self.right.vectors is self.left.vectors

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """The arrays by name, as in a checkpoint: vectors, vectors.first, ..."""
        sides = {"vectors": self.left} if self.shared else {"vectors": self.left, "candidates": self.right}
        return {
            name + suffix: array
            for name, side in sides.items()
            for suffix, array in (("", side.vectors), (".first", side.first), (".second", side.second))
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]], counters: Mapping[str, Any]) -> None:
        """Restores what `arrays()` and `asdict(counters)` gave for the same recipe and stream."""
        own = self.arrays()
        for name in own.keys() | arrays.keys():
            kinds = [(a[name].shape, a[name].dtype) if name in a else (None, None) for a in (arrays, own)]
            if kinds[0] != kinds[1]:
                (saved, _), (expected, _) = kinds
                raise FormatError(
                    f"the checkpoint's array {name!r} has shape {saved}, expected {expected}; it belongs to "
                    "another recipe or vocabulary: choose another output, or add --restart to start over"
                )
            own[name][...] = arrays[name]
        missing = [field.name for field in fields(Counters) if field.name not in counters]
        if missing:
            raise FormatError(
                f"the checkpoint lacks {', '.join(missing)}; another version of siamese-cbow wrote it: "
                "continue with that version, or add --restart to start over"
            )
        for field in fields(Counters):
            value = counters[field.name]
            if type(value) not in ((int, float) if field.name == "loss" else (int,)) or not abs(value) < np.inf:
                raise FormatError(
                    f"the checkpoint has {value!r} for {field.name}, expected a number; add --restart to start over"
                )
        self.counters = Counters(**{field.name: counters[field.name] for field in fields(Counters)})


def normals(key: np.uint64, n: int, threads: int | None = None, *, few: int = FEW) -> Iterator[Vectors]:
    """n normal random numbers, piece by piece, on all cores: bit for bit those of NumPy's generator.

    NumPy draws one number after another while the other cores wait. Its random words are a function of their position
    (Philox), but which words make a number is not: most numbers take one word, one in a hundred takes more, so the
    first word of the millionth is unknown. But a number depends on nothing before its first word: a sequence that
    starts at the wrong word soon falls in step with the right one. So each thread draws a stretch of words as if a
    number started there; where none did, the few numbers before the two sequences agree are replaced.

    few  up to this many are drawn by NumPy, which is quicker than loading the kernel
    """
    if n <= few:
        yield np.random.Generator(np.random.Philox(key=int(key))).standard_normal(n, dtype=np.float32)
        return
    n_ahead = thread_count(threads) + 1
    memory = [(np.empty(STRETCH, np.uint32), np.empty(STRETCH, np.float32)) for _ in range(n_ahead + 1)]

    def draw(stretch: int) -> tuple[Vectors, int]:
        words, numbers = memory[stretch % len(memory)]
        n_drawn, end = draw_normals(key, stretch * STRETCH, (stretch + 1) * STRETCH, ziggurat(), words, numbers)
        return numbers[:n_drawn], end

    begin = 0
    with ThreadPoolExecutor(n_ahead - 1) as pool:
        drawing: deque[Future[tuple[Vectors, int]]] = deque()
        for stretch in count():
            while len(drawing) <= n_ahead and len(drawing) * STRETCH <= n + STRETCH:
                drawing.append(pool.submit(draw, stretch + len(drawing)))
            numbers, end = drawing.popleft().result()
            missed, n_wrong, in_step = _in_step(key, begin, stretch * STRETCH)
            begin = max(end, in_step)
            for some in (missed, numbers[n_wrong:]):
                yield some[:n]
                n -= len(some[:n])
            if n == 0:
                return


def _in_step(key: np.uint64, right: int, wrong: int) -> tuple[Vectors, int, int]:
    """Draw from word `right` and from word `wrong` until both are in step: the numbers of the first, how many the
    second has drawn, and the word that both have reached."""
    missed, n_wrong, number, no_words = [np.empty(0, np.float32)], 0, np.empty(1, np.float32), np.empty(0, np.uint32)
    while right != wrong:
        if wrong < right:
            n, wrong = draw_normals(key, wrong, wrong + 1, ziggurat(), no_words, number)
            n_wrong += n
        else:
            n, right = draw_normals(key, right, right + 1, ziggurat(), no_words, number)
            missed.append(number[:n].copy())
    return np.concatenate(missed), n_wrong, right


def random_matrices(
    n_rows: int, dim: int, layout: StripLayout, optimizer: OptimizerName, std: float, seed: int, side: int
) -> Matrices:
    """Rows of normal(0, std) numbers, and a fresh optimiser state; different for each side and seed."""
    shape = layout.n_strips * n_rows, layout.width
    try:
        vectors, memory = aligned(shape), [aligned(state) for state in state_shapes(optimizer, *shape)]
    except (MemoryError, ValueError) as error:
        raise SettingsError(
            f"not enough memory for {n_rows:,} vectors of {dim:,} dimensions and the state of {optimizer} "
            f"({error}); lower --dim, or prepare with a higher --min-count or with --max-words"
        ) from None
    first, rest = 0, np.empty(0, np.float32)
    for drawn in normals(key(seed, side, Purpose.VECTORS), n_rows * dim):
        numbers = np.concatenate([rest, np.multiply(drawn, np.float32(std))])
        n = len(numbers) // dim
        spread(numbers[: n * dim].reshape(n, dim), first, vectors, layout)
        first, rest = first + n, numbers[n * dim :]
    seen, moved = memory
    return Matrices(vectors, seen, moved, aligned((1, 1)))


def first_state(
    recipe: Recipe, vocabulary: Vocabulary, progress: Progress = SILENT, *, stems: Stems = NO_STEMS
) -> TrainingState:
    """The initial state: random rows, or those of `init`; shared rows follow those of the words."""
    layout, n_rows = layout_of(recipe), len(vocabulary) + stems.n_shared
    sides = [
        random_matrices(n_rows, recipe.dim, layout, recipe.optimizer, recipe.init_std, recipe.seed, side)
        for side in range(2 if recipe.separate_matrices else 1)
    ]
    if recipe.init is not None:
        words, rows = _initial_rows(recipe, vocabulary, progress)
        for matrices in sides:
            vectors = joined(matrices.vectors, layout, recipe.dim)
            stems.unfold(words, rows, vectors)
            spread(vectors, 0, matrices.vectors, layout)
    if recipe.l2 and recipe.l2_towards == "start":  # not part of a checkpoint: a resumed run makes this copy, too
        sides = [side._replace(start=_copied(side.vectors)) for side in sides]
    return TrainingState(recipe.dim, layout, sides[0], sides[-1], Counters())


def _copied(vectors: Vectors) -> Vectors:
    copy = aligned(vectors.shape)
    copy[...] = vectors
    return copy


def initial_model(recipe: Recipe) -> Model | None:
    """The model that `init` names; None if it names none, or a word vector file."""
    if recipe.init is None or is_vector_file(recipe.init):
        return None
    model = open_model(recipe.init)
    if isinstance(model.tokenizer, JsonTokenizer):
        raise InputError(
            f"{recipe.init} uses a tokenizer of another program, which can't prepare text; start from a model "
            f"of whole words, or from its vectors: siamese-cbow convert {recipe.init} vectors.bin"
        )
    return model.without_postprocessing()


def _in_pieces(model: Model, vocabulary: Vocabulary) -> dict[str, list[int]]:
    """The words that the model lacks because its tokenizer splits them, and the ids of the known pieces.

    "c++" is one word by rule 2, and "c" by rule 1 -> {"c++": [412]}
    """
    new = [] if vocabulary.languages else [word for word in vocabulary.words if word not in model.vocabulary.index]
    cut = {word: model.tokenizer.words(word) for word in new}
    known = {word: [model.vocabulary.index[piece] for piece in pieces if piece in model.vocabulary.index]
             for word, pieces in cut.items() if pieces != [word]}  # fmt: skip
    return {word: ids for word, ids in known.items() if ids}


def _initial_rows(recipe: Recipe, vocabulary: Vocabulary, progress: Progress) -> tuple[list[int], Vectors]:
    """The ids of the words that have a vector to start from, and these vectors before finishing."""
    model = initial_model(recipe)
    if model is None:
        words, rows = read_word_vectors(str(recipe.init), keep=vocabulary.index, progress=progress)
    else:
        learnt = learnt_rows(model)
        words = [word for word in model.vocabulary.words if word in vocabulary.index]
        rows = learnt[[model.vocabulary.index[word] for word in words]]
        pieces = _in_pieces(model, vocabulary)
        if pieces:
            words += pieces
            rows = np.concatenate([rows, [learnt[ids].mean(axis=0) for ids in pieces.values()]]).astype(np.float32)
            some = ", ".join(islice(pieces, 3))
            progress.say(
                f"{recipe.init} splits {counted(len(pieces), 'word')} of the text into pieces ({some}), by its own "
                "tokenizer; each starts from the mean of its pieces"
            )
    if rows.shape[1] != recipe.dim:
        raise InputError(
            f"{recipe.init} has {rows.shape[1]} dimensions but the recipe has {recipe.dim}; set dim to "
            f"{rows.shape[1]} (--dim {rows.shape[1]})"
        )
    if not words:
        raise InputError(
            f"{recipe.init} contains none of the words in the vocabulary; check that its language and case match"
        )
    progress.say(
        f"{len(words):,} of {len(vocabulary):,} words start from {recipe.init}, the others from random vectors"
    )
    return [vocabulary.index[word] for word in words], rows
