"""Self-describing folders: config.json holds format, version, and the size and hash of each file.

MODEL = FolderFormat("siamese-cbow model", 1, noun="model", expected="a saved model")
MODEL.read_config(folder)      the table in config.json, unless it is of another format or version
MODEL.check_file(path, entry)  an error if a file is missing, truncated, swapped or damaged

Also writes the rows of a model to a safetensors file, which other libraries read, and maps them back into memory.

    float32        `embeddings` (n_words + 1, dim): a row of zeros for unknown words at the end
    float16, int8  the same in fewer bits, and `weights` (n_words + 1,) float32: the scales that model2vec and
                   sentence-transformers multiply the rows by
    int4           `codes` (n_words, half of dim) uint8, two numbers per byte, and `scales` (n_words,); other libraries
                   can't read it

Float32 is written by hand, because the library would need a second copy of all vectors to add that row. All files are
mapped by hand, because the library would read them into memory; the library still checks the header and trusts nothing
in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.base.disk import UNWRITABLE, file_hash, file_text, sample_hash, what_reads, written_by
from siamese_cbow.errors import FormatError, InputError
from siamese_cbow.model.packed_rows import STORED_AS, Dtype, PackedRows, Rows

CONFIG = "config.json"
ANEW = "copy the folder again, or save the model again"


class FolderFormat(NamedTuple):
    """One kind of folder."""

    name: str
    version: int
    noun: str  # for messages: "model" is written by `model.save`
    expected: str  # for messages: what a missing folder should have been
    sampled: bool = True  # whether files also have a sample hash, checked at every load

    def write_config(self, folder: Path, content: Mapping[str, Any], files: Iterable[str], *, indent: int = 2) -> None:
        """Write config.json, the last file: it holds size and hash of the others."""
        entries = {name: self.entry(folder / name) for name in files}
        head = {"format": self.name, "format_version": self.version, "written_by": written_by()}
        about = {**head, **content, "files": entries}
        write_json(folder / CONFIG, about, indent=indent)

    def entry(self, path: Path) -> dict[str, Any]:
        """The entry of a file in config.json."""
        sample = {"sample": sample_hash(path)} if self.sampled else {}
        return {"size": path.stat().st_size, "hash": file_hash(path), **sample}

    def read_config(self, folder: Path) -> dict[str, Any]:
        """The content of config.json."""
        if not folder.is_dir():
            raise InputError(f"no folder {folder}; expected {self.expected}")
        written = f"expected a folder written by `{self.noun}.save`"
        return read_table(folder / CONFIG, self.name, (self.version,), written=written, advice=ANEW)

    def is_in(self, folder: Path) -> bool:
        """Whether a folder is of this kind and this version can read it."""
        try:
            return bool(self.read_config(folder))
        except (FormatError, InputError):
            return False

    def check_file(self, path: Path, expected: Any, *, whole: bool) -> None:
        """Compare a file with its entry in config.json: its size, and the hash of a sample or of the whole file."""
        if not path.is_file():
            raise FormatError(f"{path} is missing; {ANEW}")
        if not isinstance(expected, dict):
            raise FormatError(f"{path.parent / CONFIG} does not list {path.name}; {ANEW}")
        size = path.stat().st_size
        if size != expected.get("size"):
            expectation = f"expected {expected.get('size')}: truncated or swapped"
            raise FormatError(f"{path} has {size:,} bytes, {expectation}; {ANEW}")
        sample_differs = self.sampled and sample_hash(path) != expected.get("sample")
        if sample_differs or (whole and file_hash(path) != expected.get("hash")):
            raise FormatError(f"{path} is not the file saved with this {self.noun}: damaged or swapped; {ANEW}")


def write_json(path: Path, content: Any, *, indent: int = 2) -> None:
    """Write JSON, with the same bytes on every system."""
    path.write_text(json.dumps(content, indent=indent, ensure_ascii=False) + "\n", "utf-8", UNWRITABLE, newline="\n")


def read_table(
    path: Path, name: str, readable: tuple[int, ...], *, written: str, advice: str, or_else: str = ""
) -> dict[str, Any]:
    """The table in a JSON file of ours; for another format or version, an error that says what to do.

    readable  versions that can be read, the newest last
    written   what to expect if the file is missing or something else
    advice    how to create it again
    or_else   what else helps if another version wrote it
    """
    try:
        table = json.loads(file_text(path))
    except FileNotFoundError:
        raise FormatError(f"{path} is missing; {written}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise FormatError(f"{path} is not JSON ({error}); {advice}") from None
    if not isinstance(table, dict) or table.get("format") != name:
        raise FormatError(f"{path} is not the {path.stem} of a {name}; {written}")
    version = table.get("format_version")
    if version not in readable:
        mismatch = f"format version {version!r}, but this siamese-cbow reads {' and '.join(map(str, readable))}"
        raise FormatError(f"{path} has {mismatch}; {what_reads(table)}{or_else}")
    return table


_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I8": "i1", "U8": "u1"}  # all types that we write


def write_rows(path: Path, rows: Rows) -> None:
    """Write the rows of a model, (n_words, dim)."""
    if not isinstance(rows, PackedRows):
        _write_float32(path, rows)
    elif rows.dtype == "int4":
        write_tensors(path, {"codes": rows.codes, "scales": rows.scales})
    else:
        # Unknown words have a row of zeros, so their weight has no effect; readers expect 1.
        codes = np.concatenate([rows.codes, np.zeros((1, rows.dim), rows.codes.dtype)])
        write_tensors(path, {"embeddings": codes, "weights": np.append(rows.scales, np.float32(1))})


def map_rows(path: Path, n_words: int, dim: int, dtype: Dtype) -> Rows:
    """The rows written by `write_rows`, memory-mapped, read-only."""
    if dtype == "float32":
        return map_float32(path, n_words, dim)
    if dtype == "int4":
        names, n_rows, width = ("codes", "scales"), n_words, (dim + 1) // 2
    else:  # with a row for unknown words
        names, n_rows, width = ("embeddings", "weights"), n_words + 1, dim
    shapes = [(STORED_AS[dtype], (n_rows, width)), (np.float32, (n_rows,))]
    codes, scales = _expect(path, dict(zip(names, shapes, strict=True))).values()
    return PackedRows(codes[:n_words], scales[:n_words], dim, dtype)


def map_float32(path: Path, n_words: int, dim: int) -> Vectors:
    """Memory-mapped float32 rows."""
    rows: Vectors = _expect(path, {"embeddings": (np.float32, (n_words + 1, dim))})["embeddings"]
    return rows[:-1]


def write_tensors(path: Path, tensors: dict[str, NDArray[Any]]) -> None:
    """Write small arrays as the library does, but to a file that all users can read."""
    from safetensors.numpy import save

    path.write_bytes(save({name: np.ascontiguousarray(array) for name, array in tensors.items()}))


def map_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of a safetensors file, memory-mapped, read-only."""
    try:
        with safe_open(path, framework="numpy") as file:  # checks that the header matches the file
            file.keys()
        with path.open("rb") as raw:
            size = int.from_bytes(raw.read(8), "little")
            header = json.loads(raw.read(size))
    except (SafetensorError, OSError, ValueError) as error:
        raise FormatError(f"{path} is not a valid safetensors file ({error}); {ANEW}") from None
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        if entry["dtype"] not in _DTYPES:
            raise FormatError(f"{path} has {entry['dtype']} for {name!r}, expected one of {', '.join(_DTYPES)}; {ANEW}")
        start, kind, shape = 8 + size + entry["data_offsets"][0], np.dtype(_DTYPES[entry["dtype"]]), entry["shape"]
        empty = 0 in shape  # an empty array can't be mapped
        array = np.empty(shape, kind) if empty else np.memmap(path, kind, "r", start, tuple(shape))
        arrays[name] = np.asarray(array)
    return arrays


def _expect(path: Path, expected: dict[str, tuple[Any, tuple[int, ...]]]) -> dict[str, NDArray[Any]]:
    """The arrays of a file in the order of `expected`; an error if names, types or shapes differ."""
    arrays = map_tensors(path)
    present = {name: (array.dtype.name, array.shape) for name, array in arrays.items()}
    wanted = {name: (np.dtype(dtype).name, shape) for name, (dtype, shape) in expected.items()}
    if present != wanted:
        raise FormatError(f"{path} has {present}, expected {wanted}; {ANEW}")
    return {name: arrays[name] for name in wanted}


def _write_float32(path: Path, vectors: Vectors) -> None:
    n_words, dim = vectors.shape
    size = (n_words + 1) * dim * 4
    entry = {"embeddings": {"dtype": "F32", "shape": [n_words + 1, dim], "data_offsets": [0, size]}}
    header = json.dumps(entry, separators=(",", ":")).encode()
    header += b" " * (-(8 + len(header)) % 64)  # so that mapped rows start on a cache line
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.write(vectors.astype("<f4", copy=False).data)
        file.write(bytes(dim * 4))
