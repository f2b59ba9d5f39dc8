"""An encoder as a folder. Nothing in it can run code.

config.json           format, sizes, tokenizer, where the encoder comes from, hashes of the files
vocabulary.txt        `count word`, in the order of the tables' rows
weights.safetensors   the matrices of the parts: 0.0.inputs is the first part's forward one
words-0.safetensors   the first part's table of word vectors; mapped into memory, not read
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.base.files import atomic_folder, file_hash
from siamese_cbow.baselines.skip_thought.encoder import Direction, Part, SkipThoughtEncoder
from siamese_cbow.errors import FormatError, InputError
from siamese_cbow.model.tensor_file import ANEW, map_float32, write_rows
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

FORMAT = "siamese-cbow skip-thought encoder"
FORMAT_VERSION = 1
CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocabulary.txt", "weights.safetensors"


def save_encoder(encoder: SkipThoughtEncoder, path: Path) -> None:
    """Writes an encoder to a folder, whole or not at all. The same encoder gives the same bytes."""
    if path.exists() and not (path.is_dir() and (not any(path.iterdir()) or is_encoder(path))):
        raise InputError(f"{path} is there already and no skip-thought encoder; choose another folder, or delete it")
    broken = next((word for word in encoder.vocabulary.words if not word or "\n" in word), None)
    if broken is not None:
        raise InputError(f"the word {broken!r} can't be written to a file of one word a line; remove or rename it")
    with atomic_folder(path) as folder:
        encoder.vocabulary.write(folder / VOCABULARY)
        save_file(_weights(encoder), folder / WEIGHTS)
        for number, part in enumerate(encoder.parts):
            write_rows(folder / _table(number), np.require(part.table, np.float32, "C"))
        files = {file.name: {"size": file.stat().st_size, "hash": file_hash(file)} for file in sorted(folder.iterdir())}
        config = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "n_words": len(encoder.vocabulary),
            "n_trained": encoder.n_trained,
            "dim": encoder.dim,
            "parts": [_described(part) for part in encoder.parts],
            "tokenizer": encoder.tokenizer.settings(),
            "info": dict(encoder.info),
            "files": files,
        }
        (folder / CONFIG).write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n", "utf-8", newline="\n")


def load_encoder(path: str | Path, *, verify: bool = False) -> SkipThoughtEncoder:
    """The encoder that was saved in a folder. `verify` also compares the hashes of the tables."""
    folder = Path(path)
    config = _read_config(folder)
    try:
        for name, about in config["files"].items():
            _check_file(folder / name, about, whole=verify or not name.startswith("words-"))
        vocabulary = Vocabulary.read(folder / VOCABULARY)
        weights = load_file(folder / WEIGHTS)
        parts = tuple(
            _part(about, number, weights, map_float32(folder / _table(number), config["n_words"], about["dim_word"]))
            for number, about in enumerate(config["parts"])
        )
        tokenizer = Tokenizer.from_settings(config["tokenizer"])
        return SkipThoughtEncoder(vocabulary, parts, tokenizer, config["n_trained"], config["info"])
    except (KeyError, TypeError, AttributeError, ValueError, SafetensorError, OSError, InputError) as error:
        raise FormatError(f"{folder} can't be read ({error}); {ANEW}") from None


def is_encoder(folder: Path) -> bool:
    """Whether a folder was written by `save_encoder`."""
    try:
        _read_config(folder)
    except (FormatError, InputError):
        return False
    return True


def _weights(encoder: SkipThoughtEncoder) -> dict[str, Vectors]:
    return {
        f"{number}.{name}": np.ascontiguousarray(array, np.float32)
        for number, part in enumerate(encoder.parts)
        for name, array in part.arrays().items()
        if name != "table"
    }


def _described(part: Part) -> dict[str, Any]:
    return {"dim_word": part.table.shape[1], "directions": len(part.directions), "reset_first": part.reset_first}


def _part(about: dict[str, Any], number: int, weights: dict[str, Vectors], table: Vectors) -> Part:
    def direction(place: int) -> Direction:
        prefix = f"{number}.{place}"
        inputs, gates, candidate = (weights[f"{prefix}.{name}"] for name in ("inputs", "gates", "candidate"))
        return Direction(inputs, gates, candidate, weights.get(f"{prefix}.bias"))

    directions = tuple(direction(place) for place in range(about["directions"]))
    end, unknown = weights[f"{number}.end"], weights.get(f"{number}.unknown")
    return Part(table, end, unknown, directions, about["reset_first"])


def _table(number: int) -> str:
    return f"words-{number}.safetensors"


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not folder.is_dir():
        raise InputError(f"no folder {folder}; expected one written by `encoder.save`")
    try:
        config = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(
            f"{path} is missing or no JSON ({error}); expected a folder written by `encoder.save`"
        ) from None
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise FormatError(f"{path} is not the config of a skip-thought encoder; expected one written by `encoder.save`")
    if config.get("format_version") != FORMAT_VERSION:
        raise FormatError(
            f"{path} has format version {config.get('format_version')!r}, this siamese-cbow reads {FORMAT_VERSION}; "
            "upgrade with `pip install -U siamese-cbow`"
        )
    return config


def _check_file(path: Path, about: dict[str, Any], *, whole: bool) -> None:
    if not path.is_file():
        raise FormatError(f"{path} is missing; {ANEW}")
    if path.stat().st_size != about["size"] or (whole and file_hash(path) != about["hash"]):
        raise FormatError(f"{path} is not the file that was saved with this encoder: damaged or swapped; {ANEW}")
