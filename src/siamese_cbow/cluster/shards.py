"""How text is split into shards: the beginning of every file, its language, and where it may be split.

A shard is about 64 MB of text: pieces of a large file, or several whole files. Shards begin where the blocks of a
single process do, so each block of text is the same and gives the same sentences.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_cbow.base.arrays import Bytes, Counts, Ids, save_array
from siamese_cbow.cluster.session import Session
from siamese_cbow.cluster.sources import Source, paths_of
from siamese_cbow.stream.counting import WordCounter
from siamese_cbow.stream.preparation import Settings
from siamese_cbow.text.corpus import FileLook, chosen_layouts, first_of_blocks, look_at, n_pieces, piece_start
from siamese_cbow.text.languages import AUTO, Detected, detect, language
from siamese_cbow.text.reader import language_samples, telling_files
from siamese_cbow.text.records import BLOCK_BYTES, AnyLayout, NoText, TextSettings

SHARD_BYTES = 64 << 20
LOOKS = 32  # files per piece of work
GATHERED = 1 << 20  # words at a time


@dataclass(frozen=True)
class Shard:
    """Several whole files, or pieces of one."""

    sources: tuple[Source, ...]
    layouts: tuple[AnyLayout | None, ...]
    pieces: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """Its size on disk, in bytes."""
        if self.pieces is None:
            return sum(source.size for source in self.sources)
        return min(piece_start(self.pieces[1]), self.sources[0].size) - piece_start(self.pieces[0])


def shards_of(sources: Sequence[Source], looks: Sequence[FileLook]) -> list[Shard]:
    """The shards of the files, which depend on the files alone."""
    layouts = chosen_layouts(looks)
    begins = first_of_blocks(looks, layouts)
    shards: list[Shard] = []
    whole: list[int] = []  # files that go into the next shard

    def close() -> None:
        if whole:
            shards.append(Shard(tuple(sources[i] for i in whole), tuple(layouts[i] for i in whole)))
            whole.clear()

    for i, (source, look) in enumerate(zip(sources, looks, strict=True)):
        is_cut = look.is_cuttable and source.size > SHARD_BYTES
        if begins[i] and (is_cut or sum(sources[j].size for j in whole) + source.size > SHARD_BYTES):
            close()
        if is_cut:
            bounds = piece_ranges(source.size, SHARD_BYTES)
            shards += [Shard((source,), (layouts[i],), part) for part in pairwise(bounds)]
        else:
            whole.append(i)
    close()
    return shards


def piece_ranges(n_bytes: int, shard_bytes: int) -> list[int]:
    """Where a file is split, in pieces: 150 MB into shards of 64 MB -> [0, 16, 32, 39]."""
    return [*range(0, n_pieces(n_bytes), max(1, shard_bytes // BLOCK_BYTES)), n_pieces(n_bytes)]


def samples(source: Source, text: TextSettings) -> list[bytes]:
    """Samples of a file, to detect its language."""
    with paths_of(source) as [path]:
        return language_samples(path, text)


def look(sources: Sequence[Source], settings: Settings) -> list[FileLook | NoText]:
    """Step 1, for some files; for a table without a recognisable text column, the error."""
    looks: list[FileLook | NoText] = []
    for source in sources:
        try:
            with paths_of(source) as [path]:
                looks.append(look_at(path, settings.text))
        except NoText as error:
            if source.is_named:
                raise
            looks.append(error)
    return looks


def language_of(session: Session, sources: Sequence[Source], text: TextSettings) -> Detected:
    """The language named in the settings, or detected as `Corpus` does."""
    named = text.languages[0] if text.languages else text.language
    if named != AUTO:
        return Detected(language(named))
    taken = in_order(session, samples, [(source, text) for source in telling_files(sources)])
    return detect(sample for each in taken for sample in each)


def looks_of(session: Session, sources: Sequence[Source], settings: Settings) -> dict[str, FileLook]:
    """Layouts by name, without tables that have no text; an error if no other file is left."""
    groups = [sources[i : i + LOOKS] for i in range(0, len(sources), LOOKS)]
    seen = [each for looks in in_order(session, look, [(group, settings) for group in groups]) for each in looks]
    errors = [each for each in seen if isinstance(each, NoText)]
    if len(errors) == len(sources):
        raise errors[0]
    pairs = zip(sources, seen, strict=True)
    return {source.name: each for source, each in pairs if isinstance(each, FileLook)}


def in_order(session: Session, work: Callable[..., Any], items: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The results of all pieces of work, in the order of the items."""
    return [result for _, result in sorted(session.each(work, items), key=lambda pair: pair[0])]


# Word counts from counters on other nodes, summed one range of hashes at a time.


class CountedWords:
    """Words with their counts, sorted by hash: the result of counters in other processes."""

    def __init__(self, hashes: Any, counts: Any, columns: Any, starts: Any, letters: Any, order: Any = None) -> None:
        self._hashes: NDArray[np.uint64] = hashes
        self.counts: Counts = counts
        self.columns: NDArray[np.int16] = columns
        self._starts, self._letters = starts, letters  # word i is letters[starts[i, 0] : starts[i, 1]]
        self._order = np.arange(len(hashes)) if order is None else order  # provisional id of each
        self.n_words = len(hashes)

    @classmethod
    def of(cls, counter: WordCounter) -> CountedWords:
        """The words and counts of a counter."""
        order = np.argsort(counter.hashes())
        spelled = counter.words(order)
        ends = np.cumsum([len(word) for word in spelled], dtype=np.int64)
        starts = np.stack([np.append(0, ends)[:-1], ends], axis=1).reshape(-1, 2)
        letters = np.frombuffer(b"".join(spelled), np.uint8)
        return cls(counter.hashes()[order], counter.counts[order], counter.columns[order], starts, letters, order)

    @classmethod
    def load(cls, folder: Path) -> CountedWords:
        """Load the arrays that `arrays` returned."""
        return cls(*(load_array(folder, name) for name in ("hashes", "counts", "columns", "starts", "letters")))

    @classmethod
    def sum_of(cls, parts: Sequence[CountedWords]) -> CountedWords:
        """The sum of several, each word once."""
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
        """The words of one counter whose hashes fall into one of n equal ranges."""
        edges = [np.uint64(i * ((1 << 64) - 1) // n_parts) for i in (part, part + 1)]
        first = int(np.searchsorted(self._hashes, edges[0], "right" if part else "left"))
        last = int(np.searchsorted(self._hashes, edges[1], "right"))
        starts = np.asarray(self._starts[first:last])  # in the order of the hashes, as are the letters
        begin, end = (int(starts[0, 0]), int(starts[-1, 1])) if len(starts) else (0, 0)
        hashes, counts, columns = (np.asarray(a[first:last]) for a in (self._hashes, self.counts, self.columns))
        return CountedWords(hashes, counts, columns, starts - begin, np.asarray(self._letters[begin:end]))

    def some(self, chosen: NDArray[np.int64]) -> CountedWords:
        """A selection of the words."""
        letters, starts = gathered_letters(self._letters, np.asarray(self._starts[chosen]).reshape(-1, 2))
        return CountedWords(
            np.asarray(self._hashes[chosen]),
            np.asarray(self.counts[chosen]),
            np.asarray(self.columns[chosen]),
            starts,
            letters,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays, for files."""
        return {
            "hashes": self._hashes, "counts": self.counts, "columns": self.columns,
            "starts": self._starts, "letters": self._letters, "order": self._order,
        }  # fmt: skip

    def hashes(self) -> NDArray[np.uint64]:
        """The hashes, sorted."""
        return self._hashes

    def words(self, ids: NDArray[np.integer[Any]]) -> list[bytes]:
        """The spelling of selected words."""
        return [self._letters[a:b].tobytes() for a, b in self._starts[ids].tolist()]

    def remaps(self, last: Ids) -> list[Ids]:
        """The given map alone, because no words were dropped."""
        return [last]


def gathered_letters(letters: Bytes, starts: NDArray[np.int64]) -> tuple[Bytes, NDArray[np.int64]]:
    """The letters of some words, one after the other, and where each word is now.

    b"catdog", [[3, 6], [0, 3]] -> b"dogcat", [[0, 3], [3, 6]]
    """
    sizes = starts[:, 1] - starts[:, 0]
    ends = np.cumsum(sizes)
    gathered = np.empty(int(sizes.sum()), np.uint8)
    for first in range(0, len(starts), GATHERED):  # an index of 8 bytes per letter, of some words at a time
        some = slice(first, first + GATHERED)
        begins, last = ends[some] - sizes[some], int(ends[some][-1])
        shifts = np.repeat(starts[some, 0] - begins, sizes[some])
        gathered[begins[0] : last] = letters[np.arange(begins[0], last) + shifts]
    return gathered, np.stack([ends - sizes, ends], axis=1)


def save_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays into a folder atomically."""
    new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".new-"))
    for name, array in arrays.items():
        save_array(new / f"{name}.npy", array)
    if folder.exists():
        shutil.rmtree(folder)
    new.rename(folder)


def load_array(folder: Path, name: str) -> Any:
    """One of the arrays, memory-mapped if it is large."""
    path = folder / f"{name}.npy"
    return np.load(path, mmap_mode="r" if path.stat().st_size > 1 << 12 else None, allow_pickle=False)
