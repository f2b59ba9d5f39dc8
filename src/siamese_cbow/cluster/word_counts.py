"""Counts of words that travel: what counters on other nodes have seen, added up range by range of their hashes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Counts, Ids, save_array
from siamese_cbow.stream.counting import WordCounter


class CountedWords:
    """Words with their counts, by rising hash: what counters of other processes have seen."""

    def __init__(self, hashes: Any, counts: Any, columns: Any, starts: Any, letters: Any, order: Any = None) -> None:
        self._hashes: NDArray[np.uint64] = hashes
        self.counts: Counts = counts
        self.columns: NDArray[np.int16] = columns
        self._starts, self._letters = starts, letters  # word i is letters[starts[i, 0] : starts[i, 1]]
        self._order = np.arange(len(hashes)) if order is None else order  # provisional id of each
        self.n_words = len(hashes)

    @classmethod
    def of(cls, counter: WordCounter) -> CountedWords:
        """What a counter has seen."""
        order = np.argsort(counter.hashes())
        spelled = counter.words(order)
        ends = np.cumsum([len(word) for word in spelled], dtype=np.int64)
        starts = np.stack([np.append(0, ends)[:-1], ends], axis=1).reshape(-1, 2)
        letters = np.frombuffer(b"".join(spelled), np.uint8)
        return cls(counter.hashes()[order], counter.counts[order], counter.columns[order], starts, letters, order)

    @classmethod
    def load(cls, folder: Path) -> CountedWords:
        """What `arrays` gave, from files."""
        return cls(*(load_array(folder, name) for name in ("hashes", "counts", "columns", "starts", "letters")))

    @classmethod
    def sum_of(cls, parts: Sequence[CountedWords]) -> CountedWords:
        """All words of some, each once."""
        bounds = np.cumsum([0, *(len(part._letters) for part in parts)])
        hashes, first, inverse = np.unique(
            np.concatenate([part._hashes for part in parts]), return_index=True, return_inverse=True
        )
        counts = np.zeros(len(hashes), np.int64)
        np.add.at(counts, inverse, np.concatenate([part.counts for part in parts]))
        columns = np.concatenate([part.columns for part in parts])[first]
        starts = np.concatenate([part._starts + bound for part, bound in zip(parts, bounds, strict=False)])[first]
        return cls(hashes, counts, columns, starts, np.concatenate([part._letters for part in parts]))

    def between(self, part: int, n_parts: int) -> CountedWords:
        """Those whose hashes fall into one of n equal ranges."""
        edges = [np.uint64(i * ((1 << 64) - 1) // n_parts) for i in (part, part + 1)]
        first = int(np.searchsorted(self._hashes, edges[0], "right" if part else "left"))
        last = int(np.searchsorted(self._hashes, edges[1], "right"))
        return self.some(np.arange(first, last))

    def some(self, chosen: NDArray[np.int64]) -> CountedWords:
        """Some of them."""
        starts = np.asarray(self._starts[chosen]).reshape(-1, 2)
        letters = [self._letters[a:b] for a, b in starts.tolist()]
        ends = np.cumsum([len(each) for each in letters], dtype=np.int64)
        return CountedWords(
            np.asarray(self._hashes[chosen]),
            np.asarray(self.counts[chosen]),
            np.asarray(self.columns[chosen]),
            np.stack([np.append(0, ends)[:-1], ends], axis=1).reshape(-1, 2),
            np.concatenate([np.zeros(0, np.uint8), *letters]),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of it, for files."""
        return {
            "hashes": self._hashes, "counts": self.counts, "columns": self.columns,
            "starts": self._starts, "letters": self._letters, "order": self._order,
        }  # fmt: skip

    def hashes(self) -> NDArray[np.uint64]:
        """The hash of each, rising."""
        return self._hashes

    def words(self, ids: NDArray[np.integer[Any]]) -> list[bytes]:
        """The spelling of some."""
        return [self._letters[a:b].tobytes() for a, b in self._starts[ids].tolist()]

    def remaps(self, last: Ids) -> list[Ids]:
        """Nothing was forgotten."""
        return [last]


def save_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Writes arrays into a folder, which is there whole or not at all."""
    new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".new-"))
    for name, array in arrays.items():
        save_array(new / f"{name}.npy", array)
    if folder.exists():
        shutil.rmtree(folder)
    new.rename(folder)


def load_array(folder: Path, name: str) -> Any:
    """One of them, mapped where it is large."""
    path = folder / f"{name}.npy"
    return np.load(path, mmap_mode="r" if path.stat().st_size > 1 << 12 else None, allow_pickle=False)
