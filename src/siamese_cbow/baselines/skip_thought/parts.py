"""The parts of an encoder: matrices and tables of word vectors, in memory and in a folder. Plain arrays.

    weights.safetensors   the matrices of the parts: 0.0.inputs is the first part's forward one
    words-0.safetensors   the first part's table of word vectors; mapped into memory, not read

`read_sentence` is the NumPy reference that the network is compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from siamese_cbow.base.arrays import Floats, Vectors
from siamese_cbow.baselines.skip_thought.examples import Rows
from siamese_cbow.model.folder_format import map_float32, write_rows

WEIGHTS = "weights.safetensors"


@dataclass(frozen=True, eq=False)
class Direction:
    """The matrices of one GRU; their columns belong to r, z and g, in this order. Names as in `network.gru`."""

    inputs: Vectors  # (dim_word, 3 * dim)
    gates: Vectors  # (dim, 2 * dim)
    candidate: Vectors  # (dim, dim)
    bias: Vectors | None = None  # (3 * dim,); published models only

    @property
    def dim(self) -> int:
        """The size of its state."""
        return len(self.candidate)


@dataclass(frozen=True, eq=False)
class Part:
    """One trained encoder: uni-skip (one direction) or bi-skip (two)."""

    table: Vectors  # (n_words, dim_word)
    end: Vectors  # (dim_word,): follows the last word of a sentence
    unknown: Vectors | None  # (dim_word,): for words outside the table; if None, they are ignored
    directions: tuple[Direction, ...]  # forward, backward
    reset_first: bool = True

    @property
    def dim(self) -> int:
        """The size of its vectors."""
        return sum(direction.dim for direction in self.directions)

    def is_same(self, other: Part) -> bool:
        """Whether all numbers are equal."""
        mine, theirs = self.arrays(), other.arrays()
        return (
            self.reset_first == other.reset_first
            and mine.keys() == theirs.keys()
            and all(np.array_equal(mine[name], theirs[name]) for name in mine)
        )

    def arrays(self) -> dict[str, Vectors]:
        """All arrays by name; those of the first direction are 0.inputs, 0.gates, 0.candidate."""
        arrays = {"table": self.table, "end": self.end, "unknown": self.unknown}
        for place, direction in enumerate(self.directions):
            arrays |= {f"{place}.{name}": array for name, array in vars(direction).items()}
        return {name: array for name, array in arrays.items() if array is not None}

    def vectors(self, rows: Rows) -> Vectors:
        """Word vectors, (n, dim_word): row n_words is the end, row n_words + 1 the unknown word."""
        n_words = len(self.table)
        vectors: Vectors = np.asarray(self.table[np.minimum(rows, n_words - 1)], dtype=np.float32)
        vectors[rows == n_words] = self.end
        if self.unknown is not None:
            vectors[rows > n_words] = self.unknown
        return vectors


def read_sentence(direction: Direction, words: NDArray[np.floating], *, reset_first: bool = True) -> Floats:
    """The state after the last of the words' vectors, (n_words, dim_word) -> (dim,), in double precision.

    The paper's letters, with row vectors: `x W` is the paper's W x.
    """
    w_r, w_z, w = np.split(direction.inputs.astype(np.float64), 3, axis=1)
    u_r, u_z = np.split(direction.gates.astype(np.float64), 2, axis=1)
    u = direction.candidate.astype(np.float64)
    b_r, b_z, b = np.zeros((3, len(u))) if direction.bias is None else np.split(direction.bias.astype(np.float64), 3)
    h = np.zeros(len(u))
    for x in words.astype(np.float64):
        r = _sigmoid(x @ w_r + h @ u_r + b_r)
        z = _sigmoid(x @ w_z + h @ u_z + b_z)
        recurrent = (r * h) @ u if reset_first else r * (h @ u)
        h = (1 - z) * h + z * np.tanh(x @ w + recurrent + b)
    return h


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


def write_parts(folder: Path, parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Write the files of some parts; return what `read_parts` needs to read them."""
    weights = {
        f"{number}.{name}": np.ascontiguousarray(array, np.float32)
        for number, part in enumerate(parts)
        for name, array in part.arrays().items()
        if name != "table"
    }
    save_file(weights, folder / WEIGHTS)
    for number, part in enumerate(parts):
        write_rows(folder / _table(number), np.require(part.table, np.float32, "C"))
    return [
        {"dim_word": part.table.shape[1], "directions": len(part.directions), "reset_first": part.reset_first}
        for part in parts
    ]


def read_parts(folder: Path, described: Sequence[dict[str, Any]], n_words: int) -> tuple[Part, ...]:
    """The parts that `write_parts` has written."""
    weights = load_file(folder / WEIGHTS)

    def direction(prefix: str) -> Direction:
        inputs, gates, candidate = (weights[f"{prefix}.{name}"] for name in ("inputs", "gates", "candidate"))
        return Direction(inputs, gates, candidate, weights.get(f"{prefix}.bias"))

    return tuple(
        Part(
            map_float32(folder / _table(number), n_words, about["dim_word"]),
            weights[f"{number}.end"],
            weights.get(f"{number}.unknown"),
            tuple(direction(f"{number}.{place}") for place in range(about["directions"])),
            about["reset_first"],
        )
        for number, about in enumerate(described)
    )


def _table(number: int) -> str:
    return f"words-{number}.safetensors"
