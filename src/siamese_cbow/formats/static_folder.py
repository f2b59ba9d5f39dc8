"""Read folders of model2vec, and of sentence-transformers if the model is a table of vectors, as our models.

Both keep a vector for each token of a `tokenizer.json`. model2vec leaves unknown tokens out of the mean, as we do;
sentence-transformers includes them, so there the unknown token stays a word with its own vector. model2vec's weights
and its mapping from tokens to fewer vectors are folded into the rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.base.disk import file_text
from siamese_cbow.errors import InputError
from siamese_cbow.model.folder_format import ANEW, CONFIG
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.words.json_tokenizer import JsonTokenizer, known_tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

TENSORS, TOKENIZER, MODULES = "model.safetensors", "tokenizer.json", "modules.json"
HARMLESS = ("StaticEmbedding", "Normalize")  # sentence-transformers modules that a mean of rows can replace


def read_static_folder(path: Path, progress: Progress = SILENT) -> Model:
    """The model in a folder of model2vec or sentence-transformers; differences are reported through `progress`."""
    folder = find_table(path)
    if folder is None:
        raise InputError(f"{path} has no {TENSORS} and {TOKENIZER}; {ANEW}")
    if others := other_modules(path):
        raise InputError(
            f"{path} is a sentence-transformers model with {', '.join(others)}; siamese-cbow reads only "
            f"static models ({' and '.join(HARMLESS)}), but it can evaluate any: siamese-cbow evaluate {path}"
        )
    tensors = _tensors(folder / TENSORS)
    tokenizer = JsonTokenizer(json=_text(folder / TOKENIZER))
    vectors = _folded(tensors, folder / TENSORS)
    if len(vectors) != len(tokenizer.ids):
        raise InputError(
            f"{folder / TOKENIZER} has {len(tokenizer.ids):,} tokens but {TENSORS} has {len(vectors):,} "
            f"vectors; expected one per token; {ANEW}"
        )
    counted = "embeddings" not in tensors and tokenizer.unknown is not None
    words = list(tokenizer.ids)
    if tokenizer.unknown is not None and not (counted and vectors[tokenizer.ids[tokenizer.unknown]].any()):
        words.remove(tokenizer.unknown)
        vectors = np.delete(vectors, tokenizer.ids[tokenizer.unknown], axis=0)
    library = "sentence-transformers" if "embeddings" not in tensors else "model2vec"
    for message in _differences(path, tensors, library):
        progress.say(message)
    info = {"recipe": {"name": library, "folder": path.resolve().name}}
    return Model(Vocabulary.of_words(words), vectors, known_tokenizer(tokenizer.json) or tokenizer, info)


def find_table(path: Path) -> Path | None:
    """The folder with vectors and tokenizer: the model's own, or its first module's."""
    places = [path, path / "0_StaticEmbedding"]
    return next((place for place in places if (place / TENSORS).is_file() and (place / TOKENIZER).is_file()), None)


def other_modules(path: Path) -> list[str]:
    """The sentence-transformers modules that a mean of rows can't replace: ["Transformer", "Pooling"]."""
    modules = read_json(path / MODULES, [])
    kinds = [str(module.get("type")).rpartition(".")[2] for module in modules if isinstance(module, dict)]
    return [kind for kind in kinds if kind not in HARMLESS]


def _tensors(path: Path) -> dict[str, NDArray[Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is not a mapping)
    except (SafetensorError, OSError, TypeError, AttributeError) as error:  # the last two: bfloat16 in NumPy
        raise InputError(f"can't read {path} ({error}); expected float32, float16 or int8; {ANEW}") from None


def _folded(tensors: dict[str, NDArray[Any]], path: Path) -> Vectors:
    """One float32 row for each token: vectors[mapping[token]] * weights[token]."""
    table = tensors.get("embeddings", tensors.get("embedding.weight"))
    if table is None or table.ndim != 2 or 0 in table.shape or table.dtype.kind not in "fi":
        shapes = {name: f"{tensor.dtype} {tensor.shape}" for name, tensor in tensors.items()}
        raise InputError(f"{path} has {shapes}; expected a table `embeddings` or `embedding.weight`; {ANEW}")
    rows = table.astype(np.float32)
    mapping, weights = tensors.get("mapping"), tensors.get("weights")
    if mapping is not None:
        if mapping.ndim != 1 or mapping.dtype.kind not in "iu" or (mapping >= len(rows)).any() or (mapping < 0).any():
            raise InputError(f"{path} has a mapping beyond its {len(rows):,} rows; {ANEW}")
        rows = rows[mapping]
    if weights is not None:
        if weights.shape != (len(rows),):
            raise InputError(f"{path} has weights of shape {weights.shape}, expected ({len(rows)},); {ANEW}")
        rows = rows * weights.astype(np.float32)[:, np.newaxis]
    return rows


def _differences(path: Path, tensors: dict[str, NDArray[Any]], library: str) -> Iterator[str]:
    config = read_json(path / CONFIG, {})
    table = tensors.get("embeddings", tensors.get("embedding.weight"))
    if table is not None and table.dtype != np.float32:
        yield f"converted {table.dtype} to float32: nothing is lost, but the model is larger"
    if config.get("normalize") or "Normalize" in json.dumps(read_json(path / MODULES, [])):
        yield (
            f"{library} returns this model's vectors at length 1; for the same, use encode(..., "
            "normalize_embeddings=True)"
        )
    limit = config.get("max_length", 512) if library == "model2vec" else None
    if limit is not None:
        yield f"model2vec truncates texts to {limit} tokens; siamese-cbow reads them to the end"


def read_json(path: Path, default: Any) -> Any:
    """The content of a JSON file; `default` if it is missing, malformed or of another type than `default`."""
    try:
        content = json.loads(file_text(path))
    except (OSError, ValueError, RecursionError):
        return default
    return content if isinstance(content, type(default)) else default


def _text(path: Path) -> str:
    try:
        return file_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"can't read {path} ({error}); {ANEW}") from None
