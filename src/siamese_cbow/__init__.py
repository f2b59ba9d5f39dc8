"""Word vectors that are learnt for being averaged.

    import siamese_cbow as sc

    model = sc.load("models/books")
    model.encode(["the cat sat", "a dog ran"])     # (2, dim) float32
    model.similarity("the cat sat", "a dog ran")   # a float

Each public name is imported when it is first used, so that a small job never waits for what only a large one needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from siamese_cbow.errors import FormatError, InputError, MissingExtra, SettingsError, SiameseCBOWError
    from siamese_cbow.evaluation.evaluate import evaluate
    from siamese_cbow.evaluation.sts import sts
    from siamese_cbow.model.model import Model
    from siamese_cbow.model.storage import load
    from siamese_cbow.paper.reproduce import reproduce
    from siamese_cbow.retrieval.clusters import Cluster, clusters
    from siamese_cbow.retrieval.duplicates import CheckedRow, duplicates
    from siamese_cbow.retrieval.index import Index
    from siamese_cbow.retrieval.search import Hit, search
    from siamese_cbow.stream.mix import Mix
    from siamese_cbow.stream.preparation import prepare
    from siamese_cbow.stream.stream import Stream
    from siamese_cbow.text.corpus import Corpus
    from siamese_cbow.text.inputs import Texts
    from siamese_cbow.text.records import Lines, RawBlock, TextSettings
    from siamese_cbow.text.row_reader import Line, Rows
    from siamese_cbow.training.callbacks import Callback
    from siamese_cbow.training.recipe import SiameseCBOW
    from siamese_cbow.training.recipe_file import read_recipe, write_recipe
    from siamese_cbow.transform.combination import combine
    from siamese_cbow.words.tokenizer import Tokenizer
    from siamese_cbow.words.vocabulary import Vocabulary

# name -> the module below this package that defines it
_HOMES = {
    "Callback": "training.callbacks",
    "CheckedRow": "retrieval.duplicates",
    "Cluster": "retrieval.clusters",
    "Corpus": "text.corpus",
    "FormatError": "errors",
    "Hit": "retrieval.search",
    "Index": "retrieval.index",
    "InputError": "errors",
    "Line": "text.row_reader",
    "Lines": "text.records",
    "MissingExtra": "errors",
    "Mix": "stream.mix",
    "Model": "model.model",
    "RawBlock": "text.records",
    "Rows": "text.row_reader",
    "SettingsError": "errors",
    "SiameseCBOW": "training.recipe",
    "SiameseCBOWError": "errors",
    "Stream": "stream.stream",
    "TextSettings": "text.records",
    "Texts": "text.inputs",
    "Tokenizer": "words.tokenizer",
    "Vocabulary": "words.vocabulary",
    "clusters": "retrieval.clusters",
    "combine": "transform.combination",
    "duplicates": "retrieval.duplicates",
    "evaluate": "evaluation.evaluate",
    "load": "model.storage",
    "prepare": "stream.preparation",
    "read_recipe": "training.recipe_file",
    "reproduce": "paper.reproduce",
    "search": "retrieval.search",
    "sts": "evaluation.sts",
    "write_recipe": "training.recipe_file",
}

__all__ = [
    "Callback",
    "CheckedRow",
    "Cluster",
    "Corpus",
    "FormatError",
    "Hit",
    "Index",
    "InputError",
    "Line",
    "Lines",
    "MissingExtra",
    "Mix",
    "Model",
    "RawBlock",
    "Rows",
    "SettingsError",
    "SiameseCBOW",
    "SiameseCBOWError",
    "Stream",
    "TextSettings",
    "Texts",
    "Tokenizer",
    "Vocabulary",
    "clusters",
    "combine",
    "duplicates",
    "evaluate",
    "load",
    "prepare",
    "read_recipe",
    "reproduce",
    "search",
    "sts",
    "write_recipe",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value  # the next time it is found at once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
