"""From one format to another, saying what is lost on the way.

convert("glove.6B.300d.txt", "models/glove")     a model of ours, which model2vec and sentence-transformers load too
convert("models/books", "books.bin")             word2vec binary, for gensim
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.formats.guessing import format_to_read, format_to_write
from siamese_cbow.formats.known_formats import COUNTS, INFO, OURS, SPACES, TOKENIZER, Format, spaced_words
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import PRETRAINED
from siamese_cbow.progress import SILENT, Progress, Silent
from siamese_cbow.words.json_tokenizer import JsonTokenizer

HUB = "hf://"
OWN = "pretrained"  # the model that comes with the package


@dataclass(frozen=True)
class Conversion:
    """What was done: the two formats, the model in between, and what there is to know, a sentence each."""

    source: str
    target: str
    model: Model
    notes: tuple[str, ...]


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    progress: Progress = SILENT,
) -> Conversion:
    """Reads a model in one format and writes it in another, whole or not at all.

    `convert("models/books", "books.vec").notes` -> ("how often each word was seen is not kept", ...)

    Formats are guessed: of the source by its content, of the target by its ending; without one it is a folder of ours.
    A source `hf://user/name` is fetched from the Hugging Face Hub; `pretrained` is the model in the package.
    """
    here = Path(target)
    writing = format_to_write(here, target_format)  # a wrong name is said before minutes of reading
    there = _local(source)
    reading = format_to_read(there, source_format)
    if there.resolve() == here.resolve():
        raise SettingsError(f"{there} is both source and target; choose another name for the target")
    heard = _Heard(progress)
    model = _read(reading, there, heard)
    notes = (*heard.messages, *_absent(model, reading), *_lost(model, writing))
    _write(writing, model, here)
    return Conversion(reading.name, writing.name, model, notes)


def read_model(
    path: str | os.PathLike[str],
    *,
    kind: str | None = None,
    progress: Progress = SILENT,
) -> Model:
    """The model in a file or folder of any format that can be read: `read_model("glove.6B.300d.txt")`."""
    local = _local(path)
    return _read(format_to_read(local, kind), local, progress)


def write_model(model: Model, path: str | os.PathLike[str], *, kind: str | None = None) -> tuple[str, ...]:
    """Writes a model in any format that can be written; returns what is lost: `write_model(model, "books.bin")`."""
    writing = format_to_write(Path(path), kind)
    _write(writing, model, Path(path))
    return tuple(_lost(model, writing))


def _local(source: str | os.PathLike[str]) -> Path:
    """The path itself; of `hf://user/name` the folder that was fetched from the Hugging Face Hub."""
    if source == OWN and not Path(source).exists():
        return PRETRAINED
    if isinstance(source, str) and source.startswith(HUB):
        from siamese_cbow.formats.hub import download

        return download(source.removeprefix(HUB))
    return Path(source)


def _read(reading: Format, path: Path, progress: Progress) -> Model:
    if reading.read is None:
        raise InputError(f"{path} is of the format {reading.name}, which is only written")
    return reading.read(path, progress)


def _write(writing: Format, model: Model, path: Path) -> None:
    if writing.write is None:
        raise SettingsError(f"can't write {path} as {writing.name}: {writing.instead}")
    if writing.endings and writing.name != "spacy" and path.is_dir():
        raise InputError(f"{path} is a folder, and {writing.name} is a file; choose another name")
    try:
        "".join(model.vocabulary.words).encode()
    except UnicodeEncodeError as error:
        around = error.object[max(0, error.start - 9) : error.end]
        raise InputError(f"{around!r} in the words is no valid Unicode; remove that word") from None
    writing.write(model, path)


def _absent(model: Model, reading: Format) -> Iterator[str]:
    """What the source did not have, and what was put in its place."""
    if COUNTS not in reading.keeps and not model.vocabulary.counts.any():
        yield f"{reading.name} has no counts: every word counts as seen 0 times"
    if TOKENIZER not in reading.keeps:
        case = "in lower case" if model.tokenizer.lowercase else "in the case it is written in, as the words are"
        yield f"{reading.name} has no tokenizer: text will be cut by ours, {case}"


def _lost(model: Model, writing: Format) -> Iterator[str]:
    if COUNTS not in writing.keeps and model.vocabulary.counts.any():
        yield f"not kept in {writing.name}: how often each word was seen"
    if TOKENIZER not in writing.keeps:
        settings = ", ".join(f"{key} {value}" for key, value in model.tokenizer.settings().items())
        how = "its words are parts of words, which no other tokenizer finds" if _is_subword(model) else settings
        yield f"not kept in {writing.name}: the tokenizer ({how})"
    if model.dtype != "float32" and (not writing.is_ours or (model.dtype == "int4" and writing.name != OURS)):
        yield f"{model.dtype} numbers become float32 in {writing.name}: the same numbers, in more bytes"
    if model.undo is not None and not writing.is_ours:
        yield f"not kept in {writing.name}: how to undo the post-processing"
    if model.fallback != "none" and INFO not in writing.keeps:
        yield f"not kept in {writing.name}: what unknown words count as (fallback {model.fallback}); they are left out"
    if INFO not in writing.keeps and model.info:
        yield f"not kept in {writing.name}: where the model comes from ({', '.join(model.info)})"
    spaced = {} if SPACES in writing.keeps else spaced_words(model)
    if spaced:
        yield f"left out: {len(spaced):,} words with white space in them, such as {next(iter(spaced))!r}"


def _is_subword(model: Model) -> bool:
    return isinstance(model.tokenizer, JsonTokenizer)


class _Heard(Silent):
    """Keeps what a reader says, and passes its progress on."""

    def __init__(self, progress: Progress) -> None:
        self.messages: list[str] = []
        self._progress = progress

    def advance(self, amount: float, note: str = "") -> None:
        self._progress.advance(amount, note)

    def say(self, message: str) -> None:
        self.messages.append(message)
