"""Starting from vectors that are there: going on with a model, or beginning with those of a word vector file.

    --init models/wikipedia      a model: training goes on with it, and all its words stay in the result
    --init pretrained            the model that comes with the package
    --init vectors.bin           a word2vec file: vectors for those words of the text that it has

A model's rows are finished ones (see `transform.postprocessing`): they are turned back into learnt ones first. A row
that words share with their kin starts as the mean of those that are known, so a new form of a known word starts beside
it.

Training from scratch wants a high rate, which moves a finished model far: on other text much of it is forgotten. At a
fifth of the rate nothing was, and the new text was learnt as well (results/pairs.md). What did not do better than that:
a memory of Adagrad as if the model's own text had been seen before, and mixing in a tenth of that text.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.errors import InputError
from siamese_cbow.formats.vector_files import read_word_vectors
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import load
from siamese_cbow.progress import Progress
from siamese_cbow.training.kin import Kin
from siamese_cbow.training.recipe import SiameseCBOW
from siamese_cbow.transform.postprocessing import learnt_rows
from siamese_cbow.words.vocabulary import Vocabulary

PRETRAINED = "pretrained"


def model_to_start_from(recipe: SiameseCBOW) -> Model | None:
    """The model that `init` names; None where it names none, or a word vector file."""
    if recipe.init is None:
        return None
    if Path(recipe.init).is_dir():
        return load(recipe.init).without_postprocessing()
    return load() if recipe.init == PRETRAINED and not Path(recipe.init).exists() else None


def with_dim_of_start(recipe: SiameseCBOW) -> SiameseCBOW:
    """The recipe with as many dimensions as the model that `init` names, if it names one."""
    model = model_to_start_from(recipe)
    return recipe if model is None else replace(recipe, dim=model.dim)


def inherited(model: Model) -> dict[str, Any]:
    """What a model says of itself that stays true of one that was trained further: its origin, and what it does.

    {"licence": "CC BY-SA", "unknown_words": "prefix"} -> {"unknown_words": "prefix", "start": {"licence": "CC BY-SA"}}
    """
    same = {name: model.info[name] for name in ("unknown_words",) if name in model.info}
    origin = {name: model.info[name] for name in ("data", "licence", "corpus", "start") if name in model.info}
    return {**same, "start": origin} if origin else same


def start_rows(recipe: SiameseCBOW, vocabulary: Vocabulary, progress: Progress) -> tuple[list[int], Vectors]:
    """The words of the vocabulary that have a vector to start from, and these vectors as they had been learnt."""
    model = model_to_start_from(recipe)
    if model is None:
        words, rows = read_word_vectors(str(recipe.init), keep=vocabulary.index, progress=progress)
    else:
        learnt = learnt_rows(model)
        words = [word for word in model.vocabulary.words if word in vocabulary.index]
        rows = learnt[[model.vocabulary.index[word] for word in words]]
    if rows.shape[1] != recipe.dim:
        raise InputError(
            f"{recipe.init} has vectors of {rows.shape[1]} dimensions and the recipe {recipe.dim}; "
            f"set dim to {rows.shape[1]} (--dim {rows.shape[1]})"
        )
    if not words:
        raise InputError(
            f"{recipe.init} has none of the vocabulary's words; check that it is of the same language and case"
        )
    progress.say(f"{len(words):,} of {len(vocabulary):,} words start from {recipe.init}, the others at random")
    if model is not None and recipe.learning_rate == SiameseCBOW.learning_rate:
        progress.say(f"learning rate {recipe.learning_rate} is for starting anew; --learning-rate 0.01 forgets less")
    return [vocabulary.index[word] for word in words], rows


def place(vectors: Vectors, places: list[int], rows: Vectors, kin: Kin) -> None:
    """Writes the rows of these words: what kin have in common into their shared row, and the rest into their own.

    words 0 and 1 share row 2, rows [[4], [6]] -> [[-1], [1], [5]]
    """
    vectors[places, : rows.shape[1]] = rows
    if not kin.n_shared:
        return
    shared = kin.rows[places]
    related = shared >= 0
    sums = np.zeros((kin.n_shared, rows.shape[1]), np.float32)
    numbers = shared[related] - (len(vectors) - kin.n_shared)
    np.add.at(sums, numbers, rows[related])
    n_known = np.maximum(1, np.bincount(numbers, minlength=kin.n_shared)).astype(np.float32)
    means: Vectors = sums / n_known[:, None]
    vectors[len(vectors) - kin.n_shared :, : rows.shape[1]] = means
    vectors[np.asarray(places)[related], : rows.shape[1]] -= means[numbers]
