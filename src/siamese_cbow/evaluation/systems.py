"""What can be evaluated by name: our models, other libraries' models, word vector files, and `random`.

A folder is told by what is in it, along `FOLDERS`; a file is a word vector file. Anything else with `.encode` can be
handed to `evaluate` directly. Names on the Hugging Face Hub are not resolved here: give the folder of a download.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siamese_cbow.baselines.random_vectors import RandomVectors
from siamese_cbow.baselines.skip_thought import load_encoder, read_published
from siamese_cbow.baselines.skip_thought.encoder import FORMAT as SKIP_THOUGHT
from siamese_cbow.errors import InputError, MissingExtra
from siamese_cbow.evaluation.evaluate import System
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.formats.vector_file import open_vector_file
from siamese_cbow.model.storage import FORMAT, VOCABULARY, load
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.words.tokenizer import Tokenizer

RANDOM = "random"
OWN = "pretrained"  # the model that comes with the package


@dataclass(frozen=True)
class Folder:
    """A kind of model that is a folder: how to tell it, from its file names and `config.json`, and how to open it."""

    kind: str
    is_it: Callable[[Collection[str], dict[str, Any]], bool]
    open: Callable[[Path], System]


def open_system(
    name: str, *, seed: int = 1, keep: Collection[str] | None = None, progress: Progress = SILENT
) -> System:
    """What `name` stands for, ready to encode.

    `open_system("random")`, `open_system("models/books")`, `open_system("glove.6B.300d.txt")`

    keep  of a word vector file, only these words: `words_of(sets)` is all an evaluation needs
    """
    path = Path(name)
    if name == RANDOM and not path.exists():
        return RandomVectors(seed=seed)
    if name == OWN and not path.exists():
        return load()
    if path.is_file():
        return open_vector_file(path, keep=keep, progress=progress)
    if not path.is_dir():
        raise InputError(
            f"no model {name}; expected the folder of a siamese-cbow, sentence-transformers or model2vec model, "
            "a word2vec, GloVe or fastText .vec file, or one of the words `pretrained` and `random`"
        )
    files, config = {file.name for file in path.iterdir()}, _config(path)
    for kind in FOLDERS:
        if kind.is_it(files, config):
            return kind.open(path)
    raise InputError(f"{path} is no folder of a {', '.join(kind.kind for kind in FOLDERS)} model; check the path")


def words_of(sets: Iterable[PairSet]) -> set[str]:
    """Every word of the sets, as it is written and in lower case: what must be read of a large word vector file."""
    words: set[str] = set()
    for pair_set in sets:
        for lowercase in (True, False):
            words.update(pair_set.text(Tokenizer(lowercase=lowercase)).counts)
    return words


def _config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads((path / "config.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


def _open_model2vec(path: Path) -> System:
    try:
        from model2vec import StaticModel
    except ImportError:
        raise MissingExtra("model2vec", "interop") from None
    model: System = StaticModel.from_pretrained(path)
    return model


def _open_sentence_transformers(path: Path) -> System:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise MissingExtra("sentence-transformers", "interop") from None
    # No code that comes with a model is run, and nothing is fetched.
    model: System = SentenceTransformer(str(path), device="cpu", trust_remote_code=False, local_files_only=True)
    return model


def _is_ours(files: Collection[str], config: dict[str, Any]) -> bool:
    return config.get("format") == FORMAT and VOCABULARY in files  # model2vec copies our config when it saves


def _is_skip_thought(files: Collection[str], config: dict[str, Any]) -> bool:
    return config.get("format") == SKIP_THOUGHT


def _is_published_skip_thought(files: Collection[str], config: dict[str, Any]) -> bool:
    return "uni_skip.npz" in files


def _is_model2vec(files: Collection[str], config: dict[str, Any]) -> bool:
    return config.get("model_type") == "model2vec" or "embedding_dtype" in config


def _is_sentence_transformers(files: Collection[str], config: dict[str, Any]) -> bool:
    return "modules.json" in files


# In this order: our folders can be opened by the other two libraries as well, and model2vec's by the third.
FOLDERS = (
    Folder("siamese-cbow", _is_ours, load),
    Folder("model2vec", _is_model2vec, _open_model2vec),
    Folder("skip-thought", _is_skip_thought, load_encoder),
    Folder("published skip-thought", _is_published_skip_thought, read_published),
    Folder("sentence-transformers", _is_sentence_transformers, _open_sentence_transformers),
)
