"""A model as a folder, which sentence-transformers and model2vec load as it is.

    model.safetensors  tensor `embeddings`, (n_words + 1, dim), see `folder_format`; the last row (unknown words) is 0
    vocabulary.txt     `count word`, one word per line, in the order of the rows
    tokenizer.json     the tokenizer and the words again, for the `tokenizers` library
    config.json        format version, shape, tokenizer settings, where the model comes from, hashes of the files
    modules.json       tells sentence-transformers: mean of the words, then length 1
    README.md          the model card; may be edited or deleted
    training.jsonl     the training log, if any
    postprocessing.safetensors   how to undo the post-processing, if any
    ngrams.safetensors           n-gram vectors, if unknown words are composed from them

A 4-bit model, which other libraries can't read, is written with one byte per number, so that all three libraries get
the same vectors; on request it keeps its 4 bits, without tokenizer.json and modules.json. Nothing in the folder can run
code. The vectors are memory-mapped, not read: loading takes as long as reading the words. Other formats are in
`formats`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from siamese_cbow.base.disk import UNWRITABLE, as_path, written_by
from siamese_cbow.errors import FormatError, InputError, SiameseCBOWError
from siamese_cbow.model.folder_format import (
    ANEW,
    CONFIG,
    FolderFormat,
    map_rows,
    map_tensors,
    write_json,
    write_rows,
    write_tensors,
)
from siamese_cbow.model.geometry import Undo
from siamese_cbow.model.info import ModelInfo
from siamese_cbow.model.model import Model
from siamese_cbow.model.packed_rows import Dtype, PackedRows, check_numbers
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import LazyVocabulary, Vocabulary

if TYPE_CHECKING:
    from siamese_cbow.model.ngram_vectors import NGramVectors

MAKE_ONE = "train one: siamese-cbow train TEXT -o FOLDER"
FORMAT = FolderFormat("siamese-cbow model", 1, "model", f"a saved model: {MAKE_ONE}")

VECTORS, VOCABULARY, TOKENIZER, MODULES = "model.safetensors", "vocabulary.txt", "tokenizer.json", "modules.json"
CARD, LOG, UNDO = "README.md", "training.jsonl", "postprocessing.safetensors"
NGRAMS = "ngrams.safetensors"
RUN = "training"  # the folder of an unfinished run, which the model replaces
RUN_FILE = "run.json"
HASHED = (VECTORS, VOCABULARY, TOKENIZER, MODULES)
MODEL_FILES = (  # all that a model's folder may hold if another model is to replace it
    *(*HASHED, CONFIG, CARD, LOG, UNDO, NGRAMS),
    *(f"{RUN}/{name}" for name in (RUN_FILE, "log.jsonl", "checkpoint-*/state.json", "checkpoint-*/*.npy")),
    *(f"{RUN}/.*.tmp/{name}" for name in ("*", "new/*", "old/*")),  # left by a killed run
)
PRETRAINED = Path(__file__).parents[1] / "pretrained"

_MODULES = [
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"},
    {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
]


def save(model: Model, path: str | os.PathLike[str], *, int4: bool = False, log: Path | None = None) -> None:
    """Writes a model to a folder, completely or not at all; the same model gives the same bytes.

    An existing siamese-cbow model is replaced; anything else there, or an unfinished training run, is an error.

    int4  write a 4-bit model as it is, at half the size; other libraries can't read it then
    log   its training log, copied into the folder
    """
    from siamese_cbow.base.files import atomic_folder  # only writers need it
    from siamese_cbow.model.card import model_card

    check_is_model(model)
    target = as_path(path, home=False)
    check_target(target, trains=log is not None)
    if log is not None and not (log := as_path(log, "the log")).is_file():
        raise InputError(f"no file {log}; expected the log of a training, or leave it out")
    words = _as_bytes(model.vocabulary)
    if isinstance(model.rows, PackedRows) and model.dtype == "int4" and not int4:
        rows, ngrams = model.rows.as_int8(), model.given_ngrams
        model = Model(model.vocabulary, rows, model.tokenizer, model.info, undo=model.undo, ngrams=ngrams)
    with atomic_folder(target, ours=MODEL_FILES, what="a model") as folder:
        (folder / VOCABULARY).write_bytes(words)
        files = _files(model.dtype, model.tokenizer.settings())
        if TOKENIZER in files:
            (folder / TOKENIZER).write_text(model.tokenizer.to_json(model.vocabulary.words), "utf-8", newline="\n")
        if MODULES in files:
            write_json(folder / MODULES, _MODULES)
        write_rows(folder / VECTORS, model.rows)
        if model.undo is not None:
            write_tensors(folder / UNDO, model.undo.arrays())
        if model.fallback == "ngrams":
            write_tensors(folder / NGRAMS, model.ngrams.arrays())
        hashed = [name for name in (*HASHED, UNDO, NGRAMS) if (folder / name).is_file()]
        FORMAT.write_config(folder, _config(model), hashed)
        (folder / CARD).write_text(model_card(model, target.name), "utf-8", UNWRITABLE, newline="\n")
        if log is not None:
            (folder / LOG).write_bytes(log.read_bytes())


def load(path: str | os.PathLike[str] | None = None, *, verify: bool = False) -> Model:
    """The model that was saved in a folder; without a folder, the one that comes with the package.

    Missing, truncated and swapped files are errors. `verify` also reads all vectors and detects a single changed bit.
    """
    folder = PRETRAINED if path is None else Path(path)
    config = _read_config(folder)
    dtype: Dtype = config.get("embedding_dtype", "float32")
    if dtype not in get_args(Dtype):
        known = f"one of {', '.join(get_args(Dtype))}"
        raise FormatError(f"{folder / CONFIG} has {dtype!r} for 'embedding_dtype'; expected {known}; {ANEW}")
    extra = [name for name in (UNDO, NGRAMS) if name in config["files"]]
    for name in (*_files(dtype, config["tokenizer"]), *extra):
        FORMAT.check_file(folder / name, config["files"].get(name), whole=verify or name == VOCABULARY)
    try:
        tokenizer = _read_tokenizer(folder / TOKENIZER, config["tokenizer"])
        vocabulary = _read_vocabulary(folder / VOCABULARY, config["info"].languages or ())
    except SiameseCBOWError as error:
        raise FormatError(f"{error}; {ANEW}") from error
    if len(vocabulary) != config["n_words"]:
        raise FormatError(
            f"{folder / VOCABULARY} has {len(vocabulary):,} words but {CONFIG} says {config['n_words']:,}; {ANEW}"
        )
    rows = map_rows(folder / VECTORS, config["n_words"], config["dim"], dtype)
    undo = _read_undo(folder / UNDO, rows.shape) if UNDO in extra else None
    ngrams = _read_ngrams(folder / NGRAMS, config["dim"]) if NGRAMS in extra else None
    model = Model(vocabulary, rows, tokenizer, config["info"], undo=undo, ngrams=ngrams)
    if verify:
        check_numbers(model.vectors, vocabulary)
    return model


def _files(dtype: Dtype, tokenizer: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that every model has. Other libraries can't read 4 bits, so they get no files to misread."""
    if dtype != "int4":
        return HASHED
    return (VECTORS, VOCABULARY, TOKENIZER) if tokenizer.get("kind") == "json" else (VECTORS, VOCABULARY)


# writing


def check_is_model(given: Any) -> None:
    """Raises an error for a model's name: only `load` takes names, other functions take models."""
    if not isinstance(given, Model):
        name = given if isinstance(given, str) else "models/NAME"
        raise InputError(f"the model is {given!r:.60} ({type(given).__name__}); expected a model: sc.load({name!r})")


def check_target(path: Path, *, trains: bool = False) -> None:
    """Raise an error unless a model may be written to `path`, whose content would be deleted.

    trains  the writer is a training run, which decides itself what to do with an unfinished one
    """
    from siamese_cbow.base.disk import check_replaceable

    check_replaceable(path, MODEL_FILES, "a model")
    if not trains and (path / RUN / RUN_FILE).exists():
        raise InputError(
            f"{path} holds a training run that is not finished; run its command again, or choose another folder"
        )
    if path.is_dir() and {entry.name for entry in path.iterdir()} - {RUN}:
        try:
            _read_config(path)
        except SiameseCBOWError:
            raise InputError(
                f"{path} is not empty and not a siamese-cbow model; choose another folder or delete it"
            ) from None


def _as_bytes(vocabulary: Vocabulary) -> bytes:
    """The content of vocabulary.txt; an error if a word could not be read back."""
    vocabulary.check_words()
    broken = next((word for word in vocabulary.words if not word or "\n" in word or "\r" in word), None)
    if broken is not None:
        raise InputError(f"the word {broken!r} can't be written to a file of one word per line; remove or rename it")
    try:
        return vocabulary.to_text().encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"the word {error.object[error.start - 9 : error.end]!r} is not valid Unicode; remove it"
        ) from None


def _config(model: Model) -> dict[str, Any]:
    import platform

    return {
        "n_words": len(model.vocabulary),
        "dim": model.dim,
        "tokenizer": model.tokenizer.settings(),
        # The next three are for model2vec, which would otherwise truncate texts to 512 words.
        "normalize": True,
        "embedding_dtype": model.dtype,
        "max_length": None,
        "info": dict(model.info),
        "written_by": {**written_by(), "numpy": np.__version__, "python": platform.python_version()},
    }


# reading


def _read_config(folder: Path) -> dict[str, Any]:
    """The content of config.json, checked to hold everything that `load` relies on."""
    path, config = folder / CONFIG, FORMAT.read_config(folder)
    for key, kind in (("n_words", int), ("dim", int), ("tokenizer", dict), ("info", dict), ("files", dict)):
        if not isinstance(config.get(key), kind):
            raise FormatError(f"{path} has {config.get(key)!r} for {key!r}, expected {kind.__name__}; {ANEW}")
    try:
        return config | {"info": ModelInfo.of(config["info"])}
    except InputError as error:
        raise FormatError(f"{path}: {error}; correct it there") from None


def _read_vocabulary(path: Path, languages: Sequence[str]) -> Vocabulary:
    """The words of a file with a verified hash: no need to check every line, as `Vocabulary.read` does."""
    text = path.read_bytes().decode("utf-8", "replace")
    if not LazyVocabulary.plain(text):  # for instance a word with a space, from another program's vectors
        return Vocabulary.read(path, languages=languages)
    return LazyVocabulary(text, languages, str(path))


def _read_tokenizer(path: Path, settings: dict[str, Any]) -> Tokenizer:
    """The tokenizer with these settings, or the one in the file if they say so, for models of other programs."""
    if settings.get("kind") != "json":
        return Tokenizer.from_settings(settings)
    from siamese_cbow.words.json_tokenizer import JsonTokenizer

    return JsonTokenizer(json=path.read_text("utf-8"))


def _read_undo(path: Path, shape: tuple[int, ...]) -> Undo:
    """How to undo the post-processing of a model of this shape."""
    arrays = map_tensors(path)
    try:
        undo = Undo(**arrays)
    except TypeError:
        raise FormatError(f"{path} has {', '.join(arrays)}, expected other arrays; {ANEW}") from None
    if not undo.fits(*shape):
        raise FormatError(f"{path} has arrays whose shapes don't fit a model of shape {shape}; {ANEW}")
    return undo


def _read_ngrams(path: Path, dim: int) -> NGramVectors:
    """The vectors of n-grams of a model of `dim` dimensions, mapped into memory."""
    from siamese_cbow.model.ngram_vectors import NGramVectors  # models without them start faster

    try:
        return NGramVectors.of_arrays(map_tensors(path), dim)
    except InputError as error:
        raise FormatError(f"{path}: {error}; {ANEW}") from None
