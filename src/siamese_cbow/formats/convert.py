"""Convert from one format to another, reporting what is lost.

convert("glove.6B.300d.txt", "models/glove")     a model of ours, which model2vec and sentence-transformers load too
convert("models/books", "books.bin")             word2vec binary, for gensim
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from siamese_cbow.errors import InputError, SettingsError, counted
from siamese_cbow.formats import known_formats as known
from siamese_cbow.formats.resolver import local_path, open_model
from siamese_cbow.formats.vector_files import spaced_words
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.words.json_tokenizer import JsonTokenizer


@dataclass(frozen=True)
class Conversion:
    """The result: the two formats, the model in between, and notes on differences, one sentence each."""

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
    """Read a model in one format and write it in another, atomically.

    `convert("models/books", "books.vec").notes` -> ("not stored in fasttext: word counts", ...)

    Formats are detected: the source's from its content, the target's from its extension; without one, it is our folder.
    The source may be any name that `open_model` takes, such as "pretrained" or "user/name" on the Hugging Face Hub.
    """
    output = Path(target)
    writing = known.format_to_write(output, target_format)  # reject a wrong name before minutes of reading
    path = local_path(source)
    reading = known.format_to_read(path, source_format)
    if path.resolve() == output.resolve():
        raise SettingsError(f"{path} is both source and target; choose another name for the target")
    known.check_output(writing, output)
    messages = _Messages(progress)
    model = open_model(path, kind=reading.name, progress=messages)
    notes = (*messages.said, *_absent(model, reading), *_lost(model, writing))
    _write(writing, model, output)
    return Conversion(reading.name, writing.name, model, notes)


def write_model(model: Model, path: str | os.PathLike[str], *, kind: str | None = None) -> tuple[str, ...]:
    """Write a model in any writable format; return what is lost: `write_model(model, "books.bin")`."""
    writing = known.format_to_write(Path(path), kind)
    known.check_output(writing, Path(path))
    _write(writing, model, Path(path))
    return tuple(_lost(model, writing))


def _write(writing: known.Format, model: Model, path: Path) -> None:
    assert writing.write  # `format_to_write` refuses others
    if writing.endings and writing.name != "spacy" and path.is_dir():
        raise InputError(f"{path} is a folder, but {writing.name} is a file; choose another name")
    try:
        "".join(model.vocabulary.words).encode()
    except UnicodeEncodeError as error:
        around = error.object[max(0, error.start - 9) : error.end]
        raise InputError(f"{around!r} in the words is not valid Unicode; remove that word") from None
    writing.write(model, path)


def _absent(model: Model, reading: known.Format) -> Iterator[str]:
    """What the source lacked, and what replaces it."""
    if known.COUNTS not in reading.keeps and not model.vocabulary.counts.any():
        yield f"{reading.name} has no word counts: every count is 0"
    if known.TOKENIZER not in reading.keeps:
        case = "in lower case" if model.tokenizer.lowercase else "case-sensitively, as the words are"
        yield f"{reading.name} has no tokenizer: text is tokenised by siamese-cbow, {case}"


def _lost(model: Model, writing: known.Format) -> Iterator[str]:
    if known.COUNTS not in writing.keeps and model.vocabulary.counts.any():
        yield f"not stored in {writing.name}: word counts"
    if known.TOKENIZER not in writing.keeps:
        settings = ", ".join(f"{key} {value}" for key, value in model.tokenizer.settings().items())
        is_subword = isinstance(model.tokenizer, JsonTokenizer)
        how = "its tokens are parts of words, which no other tokenizer produces" if is_subword else settings
        yield f"not stored in {writing.name}: the tokenizer ({how})"
    keeps_dtype = known.DTYPE in writing.keeps and (model.dtype != "int4" or writing.name == known.OURS)
    if model.dtype != "float32" and not keeps_dtype:
        becomes = "int8" if known.DTYPE in writing.keeps else "float32"
        yield f"{model.dtype} numbers become {becomes} in {writing.name}: the same values in more bytes"
    if model.undo is not None and known.UNDO not in writing.keeps:
        yield f"not stored in {writing.name}: how to undo the post-processing"
    if model.fallback != "none" and known.INFO not in writing.keeps:
        made = ", and the n-gram vectors that build them" if model.fallback == "ngrams" else ""
        fallback = f"the treatment of unknown words (fallback {model.fallback}){made}"
        yield f"not stored in {writing.name}: {fallback}; they are ignored"
    if known.INFO not in writing.keeps and model.info:
        yield f"not stored in {writing.name}: where the model comes from ({', '.join(model.info)})"
    if known.SPACES not in writing.keeps and (spaced := spaced_words(model.vocabulary.words)):
        yield f"skipped {counted(len(spaced), 'word')} with white space inside, such as {spaced[0]!r}"


class _Messages:
    """Collects the messages of a reader, and passes its progress on."""

    def __init__(self, progress: Progress) -> None:
        self.said: list[str] = []
        self.advance, self.say = progress.advance, self.said.append
