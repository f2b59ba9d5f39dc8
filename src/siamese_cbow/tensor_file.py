"""A safetensors file with one tensor, `embeddings`: rows of float32, and a row of zeros for unknown words at the end.

Written by hand, as the library would need a second copy of all vectors to add that row, and mapped by hand, as it
would read the file into memory; but checked by the library, which trusts nothing in a header.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from siamese_cbow.arrays import Vectors
from siamese_cbow.errors import FormatError

ANEW = "copy the folder anew, or save the model again"


def write_rows(path: Path, vectors: Vectors) -> None:
    """Writes vectors (n_words, dim) and a row of zeros below them, as tensor `embeddings`."""
    n_words, dim = vectors.shape
    size = (n_words + 1) * dim * 4
    entry = {"embeddings": {"dtype": "F32", "shape": [n_words + 1, dim], "data_offsets": [0, size]}}
    header = json.dumps(entry, separators=(",", ":")).encode()
    header += b" " * (-(8 + len(header)) % 64)  # so that the rows, once mapped, start on a cache line
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.write(vectors.astype("<f4", copy=False).data)
        file.write(bytes(dim * 4))


def map_rows(path: Path, n_rows: int, dim: int) -> Vectors:
    """The rows of a safetensors file, mapped into memory, read-only."""
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (it is no mapping)
            found = {name: (tensor.get_dtype(), tensor.get_shape()) for name, tensor in tensors.items()}
    except (SafetensorError, OSError) as error:
        raise FormatError(f"{path} is no valid safetensors file ({error}); {ANEW}") from None
    if found != {"embeddings": ("F32", [n_rows, dim])}:
        raise FormatError(f"{path} has {found}, expected 'embeddings' with ('F32', [{n_rows}, {dim}]); {ANEW}")
    # The format allows no holes and nothing behind the tensors, so the only one fills the end of the file.
    start = path.stat().st_size - n_rows * dim * 4
    rows: Vectors = np.asarray(np.memmap(path, np.dtype("<f4"), "r", start, (n_rows, dim)))
    return rows
