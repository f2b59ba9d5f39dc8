"""What can be evaluated by name: every model that `open_model` opens, and a few systems that only encode.

Those few are `random`, `tf-idf` and `tf-idf-characters`, folders of skip-thought, and models of sentence-transformers
that are not a table of vectors: they compare sentences, but have no word vectors for a `Model`. Anything else with
`.encode` can be passed to `evaluate` directly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Floats
from siamese_cbow.baselines.random_vectors import RandomVectors
from siamese_cbow.baselines.skip_thought import load_encoder, read_published
from siamese_cbow.baselines.skip_thought.encoder import FORMAT as SKIP_THOUGHT
from siamese_cbow.errors import needs
from siamese_cbow.evaluation.evaluate import PairSystem, System
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.ranking import PLAIN_WORDS, count_table
from siamese_cbow.formats.known_formats import Look
from siamese_cbow.formats.resolver import local_path, open_model
from siamese_cbow.formats.static_folder import other_modules
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.transform.estimates import idf
from siamese_cbow.words.tokenizer import Tokenizer

RANDOM = "random"


@dataclass(frozen=True)
class TfIdfCosines:
    """The cosine of counts, each weighted by its idf (`transform.estimates`), as in scikit-learn.

    The features are words, or n-grams of 3 to 5 characters within words padded with spaces. The weights come from the
    compared texts: `TfIdfCosines().cosines([("a cat", "a dog"), ("the cat", "a cat")])`.
    """

    characters: bool = False

    def cosines(self, pairs: Sequence[tuple[str, str]]) -> tuple[Floats, NDArray[np.bool_]]:
        """(n_pairs,) cosines, and (n_pairs,) whether one of the two texts has no word; its cosine is 0."""
        n_texts = 2 * len(pairs)
        place, rows, columns, counts = count_table(self._features(text) for pair in pairs for text in pair)
        weights = counts * idf(np.bincount(columns, minlength=len(place)), n_texts)[columns]
        lengths = np.sqrt(np.bincount(rows, weights**2, minlength=n_texts))
        # One key for each feature of each pair: the weights of features that both texts have are multiplied.
        keys, is_second = rows // 2 * len(place) + columns, rows % 2 == 1
        shared, first, second = np.intersect1d(
            keys[~is_second], keys[is_second], assume_unique=True, return_indices=True
        )
        both_weights = weights[~is_second][first] * weights[is_second][second]
        products = np.bincount(shared // max(1, len(place)), both_weights, minlength=len(pairs))
        both = lengths[::2] * lengths[1::2]
        return np.clip(products / np.where(both > 0, both, 1.0), -1.0, 1.0), both == 0

    def _features(self, text: str) -> Iterator[str]:
        words = PLAIN_WORDS.words(text)
        if not self.characters:
            yield from words
            return
        for word in words:
            padded = f" {word} "
            for n in range(3, 6):
                yield from (padded[i : i + n] for i in range(max(1, len(padded) - n + 1)))
                if n >= len(padded):
                    break  # a short word is a single n-gram


TFIDF = {"tf-idf": TfIdfCosines(), "tf-idf-characters": TfIdfCosines(characters=True)}


def open_system(
    name: str, *, seed: int = 1, keep: Collection[str] | None = None, progress: Progress = SILENT
) -> System | PairSystem:
    """The system called `name`, ready to encode.

    `open_system("random")`, `open_system("models/books")`, `open_system("glove.6B.300d.txt")`

    keep  the words to read from a word vector file: `words_of(sets)` is all an evaluation needs
    """
    if name == RANDOM and not Path(name).exists():
        return RandomVectors(seed=seed)
    if name in TFIDF and not Path(name).exists():
        return TFIDF[name]
    path = local_path(name)
    look = Look(path)
    for is_it, opened in ENCODER_FOLDERS:
        if is_it(look):
            return opened(path)
    return open_model(path, keep=keep, progress=progress)


def open_systems(
    names: Sequence[str], *, seed: int = 1, keep: Collection[str] | None = None, progress: Progress = SILENT
) -> Iterator[tuple[str, System | PairSystem]]:
    """Each system with its short name; `progress` advances when the next one is asked for."""
    for name, shown in zip(names, short_names(names), strict=True):
        yield shown, open_system(name, seed=seed, keep=keep, progress=progress)
        progress.advance(1, shown)


def short_names(names: Sequence[str]) -> list[str]:
    """The last part of each path if these are distinct: ["models/a", "models/b"] -> ["a", "b"]."""
    short = [Path(name).name or name for name in names]
    return [name if short.count(last) > 1 else last for name, last in zip(names, short, strict=True)]


def words_of(sets: Iterable[PairSet]) -> set[str]:
    """Every word of the sets, as written and in lower case: what must be read from a large word vector file."""
    words: set[str] = set()
    for pair_set in sets:
        for lowercase in (True, False):
            words.update(pair_set.text(Tokenizer(lowercase=lowercase)).counts)
    return words


def _open_sentence_transformers(path: Path) -> System:
    with needs("sentence-transformers", "interop"):
        from sentence_transformers import SentenceTransformer
    # Code that comes with a model is never run, and nothing is downloaded.
    model: System = SentenceTransformer(str(path), device="cpu", trust_remote_code=False, local_files_only=True)
    return model


# How to recognise the folder of a system that only encodes sentences, and how to open it
ENCODER_FOLDERS: tuple[tuple[Callable[[Look], bool], Callable[[Path], System]], ...] = (
    (lambda look: look.config.get("format") == SKIP_THOUGHT.name, load_encoder),
    (lambda look: "uni_skip.npz" in look.names, read_published),
    (
        lambda look: (
            not look.is_ours()
            and "modules.json" in look.names
            and (not look.is_static() or bool(other_modules(look.path)))
        ),
        _open_sentence_transformers,
    ),
)
