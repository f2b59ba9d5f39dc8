"""Every format that a model can be read from or written to, as data: how to recognise, read and write it.

For reading, the content decides first and the extension second, in the order of `FORMATS`; for writing, the extension
decides. A name such as "glove" (`--from`, `--to`) overrides both. A new format is one more record. `resolver` turns
names into models.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from lzma import LZMAError
from pathlib import Path
from typing import Any, TypeAlias

from siamese_cbow.base.disk import check_file_replaceable
from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.formats.onnx import is_our_graph, write_onnx
from siamese_cbow.formats.pickled import is_keyed_vectors, read_keyed_vectors, read_original
from siamese_cbow.formats.static_folder import find_table, read_json, read_static_folder
from siamese_cbow.formats.vector_files import holds_word_vectors, read_vector_file, write_vector_file
from siamese_cbow.formats.vector_layouts import COMPRESSIONS, VectorLayout, find_layout
from siamese_cbow.formats.word_table import is_word_table, read_word_table, write_word_table
from siamese_cbow.model.folder_format import CONFIG
from siamese_cbow.model.model import Model
from siamese_cbow.model.storage import FORMAT, MODEL_FILES, VOCABULARY, load, save
from siamese_cbow.progress import Progress

# What `open_model` takes, for error messages
ACCEPTED = (
    "`pretrained`, a folder of siamese-cbow, model2vec or sentence-transformers (a static model), a "
    "word2vec, GloVe or fastText .vec file, a Parquet table of words, gensim's .kv, a pickle of the original "
    "Siamese CBOW, or user/name on the Hugging Face Hub (with siamese-cbow[hub]); `siamese-cbow train TEXT "
    "-o FOLDER` trains a model, and `evaluate` also takes transformers, skip-thought and `random`"
)
OURS = "siamese-cbow"
# A file that distinguishes another folder of ours -> what that is.
OTHER_FOLDERS = {
    "stream.json": "it is a stream; train a model on it: siamese-cbow train {folder} -o MODEL",
    "index.json": "it is an index; search it: siamese-cbow search QUERY --index {folder}",
    "training": "it is an unfinished training run; repeat its `siamese-cbow train` command to finish it",
}
# What a format may keep besides words and vectors, which it always keeps.
COUNTS, TOKENIZER, INFO, SPACES, UNDO, DTYPE = "counts", "tokenizer", "info", "words with spaces", "undo", "dtype"
GRAPH = frozenset({TOKENIZER, SPACES})
TABLE = GRAPH | {COUNTS, INFO}
FOLDER = TABLE | {UNDO, DTYPE}

# File extensions, not parts of a folder's name (v1.2, books-2026.10): the user meant a format that we don't write.
FILE_ENDINGS = re.compile(r"\.([a-z]{2,5}|h5|hdf5|bz2|safetensors)")

Read: TypeAlias = Callable[[Path, Progress], Model]
Write: TypeAlias = Callable[[Model, Path], None]


class Look:
    """What a file or folder shows of its format without being read completely."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names = {file.name for file in path.iterdir()} if path.is_dir() else set()

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The config.json of a folder; empty if there is none."""
        config: dict[str, Any] = read_json(self.path / CONFIG, {})
        return config

    @cached_property
    def head(self) -> bytes:
        """The first bytes of a file."""
        if self.path.is_dir():
            return b""
        with self.path.open("rb") as file:
            return file.read(4)

    @cached_property
    def layout(self) -> VectorLayout:
        """The layout of a word vector file; a file that matches no other format must be one."""
        if self.path.is_dir():
            raise InputError(f"{self.path} contains no readable model; {self._instead()}")
        return find_layout(self.path)

    def _instead(self) -> str:
        """What a folder of ours holds instead of a model, and what to do with it; for any other, what is expected."""
        for marker, advice in OTHER_FOLDERS.items():
            if marker in self.names:
                return advice.format(folder=self.path)
        return f"expected {ACCEPTED}"

    def is_ours(self) -> bool:
        """Whether siamese-cbow wrote it. A copy by model2vec has our config, too, but no vocabulary.txt, and its files
        differ in size."""
        if "stream.json" in self.names:  # a stream has a vocabulary, too
            return False
        if VOCABULARY in self.names or self.config.get("format") != FORMAT.name:
            return VOCABULARY in self.names
        files = self.config["files"] if isinstance(self.config.get("files"), dict) else {}
        sizes = {name: entry.get("size") for name, entry in files.items() if isinstance(entry, dict)}
        return all((self.path / name).stat().st_size == sizes[name] for name in self.names & sizes.keys())

    def is_static(self) -> bool:
        """Whether it is a table of vectors and a tokenizer, from model2vec or sentence-transformers."""
        return find_table(self.path) is not None

    def is_pickle(self) -> bool:
        """Whether it is a pickle, judged by its first byte, which the oldest pickles lack, or by its extension."""
        return self.head[:1] == b"\x80" or (self.path.is_file() and self.path.suffix in (".pickle", ".pkl", ".kv"))


@dataclass(frozen=True)
class Format:
    """One format; `keeps` lists what it keeps of a model."""

    name: str
    is_it: Callable[[Look], bool]
    read: Read | None
    write: Write | None
    endings: tuple[str, ...] = ()
    keeps: frozenset[str] = frozenset()
    instead: str = ""  # if it can't be written: what to do instead

    @property
    def is_vector_file(self) -> bool:
        """Whether it is a file of words and vectors, which can be compressed and read selectively."""
        return self.read is read_vector_file


def _write_spacy(model: Model, path: Path) -> None:
    from siamese_cbow.formats.spacy_parts import write_spacy  # which imports spaCy

    write_spacy(model, path)


def _write_words(*, binary: bool = False, header: bool = True) -> Write:
    return lambda model, path: write_vector_file(model, path, binary=binary, header=header)


_AS_BINARY = "write word2vec-binary (.bin) and load that with KeyedVectors.load_word2vec_format(file, binary=True)"
_NO_PICKLE = "it is a pickle, which siamese-cbow never writes; choose another format"

# The order matters: our folders look like folders of model2vec and sentence-transformers as well.
FORMATS = (
    Format(OURS, Look.is_ours, lambda path, progress: load(path), save, (), FOLDER),
    Format("spacy", lambda look: {"meta.json", "config.cfg"} <= look.names, None, _write_spacy, (".spacy",), GRAPH),
    Format("model2vec", lambda look: look.is_static() and bool({"embedding_dtype", "normalize"} & look.config.keys()),
           read_static_folder, save, (), FOLDER),
    Format("sentence-transformers", Look.is_static, read_static_folder, save, (), FOLDER),
    Format("parquet", lambda look: look.head == b"PAR1", read_word_table, write_word_table, (".parquet",), TABLE),
    Format("gensim", lambda look: look.is_pickle() and is_keyed_vectors(look.path), read_keyed_vectors, None, (".kv",),
           frozenset({COUNTS}), _AS_BINARY),
    Format("original", Look.is_pickle, read_original, None, (".pickle", ".pkl"), instead=_NO_PICKLE),
    Format("onnx", lambda look: look.path.suffix == ".onnx", None, write_onnx, (".onnx",), GRAPH),
    Format("glove", lambda look: look.layout.n_words is None, read_vector_file, _write_words(header=False),
           (".glove",)),
    Format("word2vec-binary", lambda look: look.layout.binary, read_vector_file, _write_words(binary=True), (".bin",)),
    Format("fasttext", lambda look: ending_of(look.path) == ".vec", read_vector_file, _write_words(), (".vec",)),
    Format("word2vec", lambda look: True, read_vector_file, _write_words(), (".txt", ".w2v")),
)  # fmt: skip
BY_NAME = {form.name: form for form in FORMATS}
READABLE = [form.name for form in FORMATS if form.read]
WRITABLE = [form.name for form in FORMATS if form.write]


def format_to_read(path: Path, name: str | None = None) -> Format:
    """The detected format, or the one that was named: a file "3 2\\nthe 0.1 0.2..." -> word2vec."""
    if name:
        return _named(name, READABLE)
    if path.is_file() and path.name in MODEL_FILES and (path.parent / CONFIG).is_file():
        raise InputError(f"{path} is one file of a model; pass the folder, {path.parent}")
    look = Look(path)
    try:
        return next(form for form in FORMATS if form.is_it(look))
    except (OSError, EOFError, LZMAError, zlib.error) as error:
        raise InputError(f"can't read {path}: {error}; check the path, or download the file again") from error


def check_output(form: Format, path: Path) -> None:
    """Raise an error unless `path` is free for this format; for a folder, its writer decides."""
    if form.name == "parquet":
        check_file_replaceable(path, is_word_table, "is not a table of words and vectors")
    elif form.name == "onnx":
        check_file_replaceable(path, is_our_graph, "is not a graph that siamese-cbow wrote")
    elif form.is_vector_file:
        check_file_replaceable(path, holds_word_vectors, "holds no word vectors")


def format_to_write(path: Path, name: str | None = None) -> Format:
    """The format that was named, or the one that the target's name implies: "words.vec.gz" -> fasttext."""
    ending = ending_of(path)
    if str(path) == "-":
        raise SettingsError("can't write -; expected a name, or /dev/stdout and --to for standard output")
    if name:
        form = _named(name, WRITABLE)
    elif ending == ".txt" and path.name.lower().startswith("glove"):
        form = BY_NAME["glove"]
    else:
        form = next((form for form in FORMATS if ending in form.endings), BY_NAME[OURS])
        if form.name == OURS and (FILE_ENDINGS.fullmatch(ending.lower()) or path.suffix in COMPRESSIONS):
            endings = ", ".join(ending for form in FORMATS if form.write for ending in form.endings)
            raise SettingsError(
                f"can't write {path}; expected a folder name, one of the extensions {endings}, or --to FORMAT"
            )
    if form.write is None:
        raise SettingsError(f"can't write {path} as {form.name}: {form.instead}")
    if path.suffix in COMPRESSIONS and not form.is_vector_file:
        raise SettingsError(f"can't write {path}: {form.name} is never compressed; drop {path.suffix}")
    return form


def _named(name: str, choices: Sequence[str]) -> Format:
    if name not in choices and (name not in list(BY_NAME) or not BY_NAME[name].instead):
        raise SettingsError(f"format is {name!r}; expected one of {', '.join(choices)}")
    return BY_NAME[name]


def ending_of(path: Path) -> str:
    """The extension that determines the format: `words.vec.gz` -> ".vec"; `models/v1.2` -> ".2"."""
    return path.with_suffix("").suffix if path.suffix in COMPRESSIONS else path.suffix
