"""Which format a file or folder has, by looking at it; and which one a name asks for."""

from __future__ import annotations

import json
import re
import zlib
from lzma import LZMAError
from pathlib import Path

from siamese_cbow.errors import InputError, SettingsError
from siamese_cbow.formats.known_formats import BY_NAME, FORMATS, READABLE, WRITABLE, Format, ending_of
from siamese_cbow.formats.pickled import is_keyed_vectors
from siamese_cbow.formats.static_folder import find_table
from siamese_cbow.formats.vector_files import PACKERS
from siamese_cbow.formats.vector_layouts import find_layout
from siamese_cbow.model.storage import FORMAT, VOCABULARY

# Names that would make an odd folder: a file was meant, of a kind that is not written.
FILE_ENDINGS = re.compile(r"\.(npy|npz|csv|tsv|json|jsonl|h5|hdf5|pt|pth|ckpt|zip|tar|gz|bz2|xz|zst|model|safetensors)")


def format_to_read(path: Path, name: str | None = None) -> Format:
    """The format of what is there, or the one that was named; an InputError where it can't be read."""
    found = _named(name, READABLE) if name else _seen(path)
    if found.read is None:
        raise InputError(f"{path} is of the format {found.name}, which is only written; read {', '.join(READABLE)}")
    return found


def format_to_write(path: Path, name: str | None = None) -> Format:
    """The format that was named, or that the name of the target asks for: "words.vec.gz" -> fasttext."""
    if name:
        return _writable(path, _named(name, WRITABLE))
    ending = ending_of(path)
    if ending == ".txt" and path.name.lower().startswith("glove"):
        return BY_NAME["glove"]
    for one in FORMATS:
        if ending in one.endings:
            return _writable(path, one)
    if FILE_ENDINGS.fullmatch(ending.lower()) or path.suffix in PACKERS:
        known = ", ".join(ending for one in FORMATS if one.write for ending in one.endings)
        raise SettingsError(f"can't write {path}; expected a name for a folder, or one that ends in {known}, or --to")
    return BY_NAME["siamese-cbow"]


def _writable(path: Path, found: Format) -> Format:
    if found.write is None:
        raise SettingsError(f"can't write {path} as {found.name}: {found.instead}")
    if path.suffix in PACKERS and found.name not in ("word2vec", "word2vec-binary", "fasttext", "glove"):
        raise SettingsError(f"can't write {path}: {found.name} is not packed; leave out {path.suffix}")
    return found


def _named(name: str, choices: list[str]) -> Format:
    if name not in choices and (name not in BY_NAME or not BY_NAME[name].instead):
        raise SettingsError(f"format is {name!r}; expected one of {', '.join(choices)}")
    return BY_NAME[name]


def _seen(path: Path) -> Format:
    if path.is_dir():
        return _seen_folder(path)
    if not path.is_file():
        raise InputError(f"no file or folder {path}; expected a model to read: {', '.join(READABLE)}")
    with path.open("rb") as file:
        head = file.read(4)
    if head == b"PAR1":
        return BY_NAME["parquet"]
    if head[:1] == b"\x80" or path.suffix in BY_NAME["original"].endings + BY_NAME["gensim"].endings:
        return BY_NAME["gensim" if is_keyed_vectors(path) else "original"]
    if path.suffix in BY_NAME["onnx"].endings:
        return BY_NAME["onnx"]
    try:
        layout = find_layout(path)
    except (OSError, EOFError, LZMAError, zlib.error) as error:
        raise InputError(f"can't read {path}: {error}; check the path, or fetch the file again") from error
    if layout.n_words is None:
        return BY_NAME["glove"]
    return BY_NAME["word2vec-binary" if layout.binary else "fasttext" if ending_of(path) == ".vec" else "word2vec"]


def _seen_folder(path: Path) -> Format:
    try:
        config = json.loads((path / "config.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        config = {}
    config = config if isinstance(config, dict) else {}
    if config.get("format") == FORMAT and (path / VOCABULARY).is_file():  # model2vec copies our config when it saves
        return BY_NAME["siamese-cbow"]
    if (path / "meta.json").is_file() and (path / "config.cfg").is_file():
        return BY_NAME["spacy"]
    if find_table(path) is not None:
        return BY_NAME["model2vec" if "embedding_dtype" in config or "normalize" in config else "sentence-transformers"]
    raise InputError(
        f"{path} holds no model that can be read; expected a folder of siamese-cbow, model2vec or "
        "sentence-transformers (a static model), with model.safetensors and tokenizer.json in it"
    )
