"""Word vectors trained to be averaged: the mean of a sentence's word vectors is a good sentence vector.

    import siamese_cbow as sc

    model = sc.load("models/books")
    model.encode(["the cat sat", "a dog ran"])     # (2, dim) float32
    model.similarity("the cat sat", "a dog ran")   # a float

Each public name is imported on first use, so that small jobs start fast. Nothing is defined here.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from siamese_cbow.cluster import RayCluster
    from siamese_cbow.errors import ClusterError, FormatError, InputError, MissingExtra, SettingsError, SiameseCBOWError
    from siamese_cbow.evaluation.evaluate import evaluate
    from siamese_cbow.evaluation.pair_files import pairs
    from siamese_cbow.evaluation.pair_sets import PairSet
    from siamese_cbow.evaluation.scores import Scores
    from siamese_cbow.evaluation.sts import sts
    from siamese_cbow.formats.resolver import load, push_to_hub
    from siamese_cbow.model.info import ModelInfo
    from siamese_cbow.model.model import Model
    from siamese_cbow.model.storage import save
    from siamese_cbow.paper.document import Report
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
    from siamese_cbow.training.loop import Callback, Run
    from siamese_cbow.training.siamese_cbow import SiameseCBOW, read_recipe, write_recipe
    from siamese_cbow.transform.adaptation import adapt
    from siamese_cbow.transform.compression import combine, compress
    from siamese_cbow.transform.postprocessing import postprocess, without_postprocessing
    from siamese_cbow.transform.settings import Postprocess
    from siamese_cbow.words.tokenizer import Tokenizer
    from siamese_cbow.words.vocabulary import Vocabulary

# module -> the public names it defines
_HOMES = {
    name: home
    for home, names in {
        "cluster": "RayCluster",
        "errors": "ClusterError FormatError InputError MissingExtra SettingsError SiameseCBOWError",
        "evaluation.evaluate": "evaluate",
        "evaluation.pair_files": "pairs",
        "evaluation.pair_sets": "PairSet",
        "evaluation.scores": "Scores",
        "evaluation.sts": "sts",
        "formats.resolver": "load push_to_hub",
        "model.info": "ModelInfo",
        "model.model": "Model",
        "model.storage": "save",
        "paper.document": "Report",
        "paper.reproduce": "reproduce",
        "retrieval.clusters": "Cluster clusters",
        "retrieval.duplicates": "CheckedRow duplicates",
        "retrieval.index": "Index",
        "retrieval.search": "Hit search",
        "stream.mix": "Mix",
        "stream.preparation": "prepare",
        "stream.stream": "Stream",
        "text.corpus": "Corpus",
        "text.inputs": "Texts",
        "text.records": "Lines RawBlock TextSettings",
        "text.row_reader": "Line Rows",
        "training.loop": "Callback Run",
        "training.siamese_cbow": "SiameseCBOW read_recipe write_recipe",
        "transform.adaptation": "adapt",
        "transform.compression": "combine compress",
        "transform.postprocessing": "postprocess without_postprocessing",
        "transform.settings": "Postprocess",
        "words.tokenizer": "Tokenizer",
        "words.vocabulary": "Vocabulary",
    }.items()
    for name in names.split()
}

__all__ = [
    "Callback",
    "CheckedRow",
    "Cluster",
    "ClusterError",
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
    "ModelInfo",
    "PairSet",
    "Postprocess",
    "RawBlock",
    "RayCluster",
    "Report",
    "Rows",
    "Run",
    "Scores",
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
    "load",
    "pairs",
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
    if name == "__version__":
        from importlib.metadata import version

        return version("siamese-cbow")
    if name not in _HOMES:
        # With its name and this module, Python itself suggests similar names.
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value  # the next lookup finds it directly
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
