"""What can be evaluated by name: every model that `open_model` opens, and a few things that only encode.

Those few are `random`, folders of skip-thought, and models of sentence-transformers that are not a table of vectors:
they give vectors of sentences, but not the words that make a `Model`. Anything else with `.encode` can be handed to
`evaluate` directly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from siamese_cbow.baselines.random_vectors import RandomVectors
from siamese_cbow.baselines.skip_thought import load_encoder, read_published
from siamese_cbow.baselines.skip_thought.encoder import FORMAT as SKIP_THOUGHT
from siamese_cbow.errors import MissingExtra
from siamese_cbow.evaluation.evaluate import System
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.formats.known_formats import Look
from siamese_cbow.formats.resolver import local_path, open_model
from siamese_cbow.formats.static_folder import other_modules
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.words.tokenizer import Tokenizer

RANDOM = "random"


@dataclass(frozen=True)
class EncoderFolder:
    """A kind of folder that holds sentence vectors only: how to tell it, and how to open it."""

    is_it: Callable[[Look], bool]
    open: Callable[[Path], System]


def open_system(
    name: str, *, seed: int = 1, keep: Collection[str] | None = None, progress: Progress = SILENT
) -> System:
    """What `name` stands for, ready to encode.

    `open_system("random")`, `open_system("models/books")`, `open_system("glove.6B.300d.txt")`

    keep  of a word vector file, only these words: `words_of(sets)` is all an evaluation needs
    """
    if name == RANDOM and not Path(name).exists():
        return RandomVectors(seed=seed)
    path = local_path(name)
    look = Look(path)
    for kind in ENCODER_FOLDERS:
        if kind.is_it(look):
            return kind.open(path)
    return open_model(path, keep=keep, progress=progress)


def words_of(sets: Iterable[PairSet]) -> set[str]:
    """Every word of the sets, as it is written and in lower case: what must be read of a large word vector file."""
    words: set[str] = set()
    for pair_set in sets:
        for lowercase in (True, False):
            words.update(pair_set.text(Tokenizer(lowercase=lowercase)).counts)
    return words


def _open_sentence_transformers(path: Path) -> System:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise MissingExtra("sentence-transformers", "interop") from None
    # No code that comes with a model is run, and nothing is fetched.
    model: System = SentenceTransformer(str(path), device="cpu", trust_remote_code=False, local_files_only=True)
    return model


def _is_no_table(look: Look) -> bool:
    return "modules.json" in look.names and (not look.is_static() or bool(other_modules(look.path)))


ENCODER_FOLDERS = (
    EncoderFolder(lambda look: look.config.get("format") == SKIP_THOUGHT, load_encoder),
    EncoderFolder(lambda look: "uni_skip.npz" in look.names, read_published),
    EncoderFolder(lambda look: not look.is_ours() and _is_no_table(look), _open_sentence_transformers),
)
