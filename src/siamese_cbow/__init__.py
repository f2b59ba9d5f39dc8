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
    from siamese_cbow.formats.hub import from_pretrained, push_to_hub
    from siamese_cbow.model.info import ModelInfo
    from siamese_cbow.model.model import Model
    from siamese_cbow.model.storage import load, save
    from siamese_cbow.paper.reproduce import reproduce
    from siamese_cbow.retrieval.clusters import clusters
    from siamese_cbow.retrieval.duplicates import duplicates
    from siamese_cbow.retrieval.index import Index
    from siamese_cbow.retrieval.search import search
    from siamese_cbow.stream.mix import Mix
    from siamese_cbow.stream.preparation import prepare
    from siamese_cbow.stream.stream import Stream
    from siamese_cbow.text.corpus import Corpus, Texts, TextSettings
    from siamese_cbow.training.callbacks import Callback
    from siamese_cbow.training.recipe import SiameseCBOW
    from siamese_cbow.training.recipe_file import read_recipe, write_recipe
    from siamese_cbow.transform.adaptation import adapt
    from siamese_cbow.transform.combination import combine
    from siamese_cbow.transform.compression import compress
    from siamese_cbow.transform.postprocessing import postprocess, without_postprocessing
    from siamese_cbow.transform.settings import Postprocess
    from siamese_cbow.words.tokenizer import Tokenizer
    from siamese_cbow.words.vocabulary import Vocabulary

# name -> the module below this package that defines it
_HOMES = {
    "Callback": "training.callbacks",
    "Corpus": "text.corpus",
    "FormatError": "errors",
    "Index": "retrieval.index",
    "InputError": "errors",
    "MissingExtra": "errors",
    "Mix": "stream.mix",
    "Model": "model.model",
    "ModelInfo": "model.info",
    "Postprocess": "transform.settings",
    "SettingsError": "errors",
    "SiameseCBOW": "training.recipe",
    "SiameseCBOWError": "errors",
    "Stream": "stream.stream",
    "TextSettings": "text.corpus",
    "Texts": "text.corpus",
    "Tokenizer": "words.tokenizer",
    "Vocabulary": "words.vocabulary",
    "adapt": "transform.adaptation",
    "clusters": "retrieval.clusters",
    "combine": "transform.combination",
    "compress": "transform.compression",
    "duplicates": "retrieval.duplicates",
    "evaluate": "evaluation.evaluate",
    "from_pretrained": "formats.hub",
    "load": "model.storage",
    "postprocess": "transform.postprocessing",
    "prepare": "stream.preparation",
    "push_to_hub": "formats.hub",
    "read_recipe": "training.recipe_file",
    "reproduce": "paper.reproduce",
    "save": "model.storage",
    "search": "retrieval.search",
    "sts": "evaluation.sts",
    "without_postprocessing": "transform.postprocessing",
    "write_recipe": "training.recipe_file",
}

__all__ = [
    "Callback",
    "Corpus",
    "FormatError",
    "Index",
    "InputError",
    "MissingExtra",
    "Mix",
    "Model",
    "ModelInfo",
    "Postprocess",
    "SettingsError",
    "SiameseCBOW",
    "SiameseCBOWError",
    "Stream",
    "TextSettings",
    "Texts",
    "Tokenizer",
    "Vocabulary",
    "adapt",
    "clusters",
    "combine",
    "compress",
    "duplicates",
    "evaluate",
    "from_pretrained",
    "load",
    "postprocess",
    "prepare",
    "push_to_hub",
    "read_recipe",
    "reproduce",
    "save",
    "search",
    "sts",
    "without_postprocessing",
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
