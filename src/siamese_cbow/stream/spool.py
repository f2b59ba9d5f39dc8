"""The first pass over a corpus: provisional word ids and line ends on disk, in the order of the text.

A block's position alone decides its counter, and blocks are written in order, so the spool is the same for any number
of threads. Does not choose the vocabulary: see `counting.merge`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from siamese_cbow.base.arrays import Ids, Offsets, append_array
from siamese_cbow.errors import counted
from siamese_cbow.progress import Progress
from siamese_cbow.stream.counting import WordCounter
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.records import Lines, RawBlock
from siamese_cbow.text.splitters import Splitters


@dataclass
class Tallies:
    """Layouts, and counts of whatever was unusual in the text, for messages to the user."""

    languages: tuple[str, ...] = ()
    layouts: Mapping[str, str] = field(default_factory=dict)  # source -> layout
    n_broken: int = 0
    n_cut: int = 0
    n_short: int = 0
    short_at: list[str] = field(default_factory=list)

    def add(self, lines: Lines | Tallies) -> None:
        """Adds the counts of one block, or of one part of the text."""
        self.n_broken += lines.n_broken
        self.n_cut += lines.n_cut
        self.n_short += lines.n_short
        self.short_at = [*self.short_at, *lines.short_at][:3]

    def messages(self) -> list[str]:
        """Messages for the user; none if nothing was unusual."""
        n_sources = Counter(self.layouts.values())
        messages = [f"read {counted(n, 'text')} as {layout}" for layout, n in n_sources.items()]
        if self.n_broken:
            messages.append(f"replaced {counted(self.n_broken, 'invalid UTF-8 sequence')}")
        if self.n_cut:
            messages.append(f"split {counted(self.n_cut, 'overlong paragraph')} at white space")
        if self.n_short:
            first = ", ".join(self.short_at)
            wrong = f"without a phrase for each of {', '.join(self.languages)}"
            wrong = wrong if self.languages else "with fewer than two phrases"
            messages.append(f"skipped {counted(self.n_short, 'line')} {wrong} (first: {first})")
        return messages


class Scanned(NamedTuple):
    """A block after its scan."""

    generation: int  # of its counter
    ids: Ids
    ends: Offsets
    lines: Lines  # without their text
    n_source_bytes: int


class Spool:
    """Provisional ids and line ends of a corpus in one file, block after block."""

    def __init__(self, path: Path, n_blocks: int = 0) -> None:
        self._path = path
        # The counter of each block, and its generation; an existing spool comes from one counter that dropped nothing.
        self._blocks: list[tuple[int, int]] = [(0, 0)] * n_blocks
        self.tallies = Tallies()

    def fill(self, corpus: Corpus, counters: Sequence[WordCounter], *, threads: int, progress: Progress) -> None:
        """Reads the corpus: while threads split and scan some blocks, the next is read and an earlier one is written.

        Block i is split as soon as a thread is free; then counter i modulo their number scans it, after its previous
        block.
        """

        def scan(counter: WordCounter, block: RawBlock, before: Future[Scanned] | None) -> Scanned:
            lines = corpus.lines(block, splitters.split)
            if before:
                before.result()  # its task began earlier, so it never waits for this one
            ids, ends = counter.scan(lines.text)
            return Scanned(counter.generation, ids, ends, replace(lines, text=b""), block.n_source_bytes)

        with Splitters(threads) as splitters, ThreadPoolExecutor(threads) as pool, self._path.open("wb") as file:
            scans: deque[Future[Scanned]] = deque()
            n_ahead = max(len(counters), threads) + 1
            for i, block in enumerate(corpus.blocks()):
                before = scans[-len(counters)] if len(scans) >= len(counters) else None
                scans.append(pool.submit(scan, counters[i % len(counters)], block, before))
                if len(scans) > n_ahead:
                    self._write(file, scans.popleft().result(), len(counters), progress)
            while scans:
                self._write(file, scans.popleft().result(), len(counters), progress)
        self.tallies.layouts, self.tallies.languages = corpus.layouts, corpus.settings.languages

    def _write(self, file: BinaryIO, scanned: Scanned, n_counters: int, progress: Progress) -> None:
        append_array(file, scanned.ids)
        append_array(file, scanned.ends)
        self._blocks.append((len(self._blocks) % n_counters, scanned.generation))
        self.tallies.add(scanned.lines)
        progress.advance(scanned.n_source_bytes)

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return len(self._blocks)

    def blocks(self, remaps: Sequence[Sequence[Ids]]) -> Iterator[tuple[Ids, Offsets]]:
        """Final ids and line ends, block by block; remaps[counter][generation] is provisional id -> final id."""
        with self._path.open("rb") as file:
            for number, generation in self._blocks:
                yield remaps[number][generation].take(_array(file)), _array(file)


def _array(file: BinaryIO) -> Any:
    return np.load(file, allow_pickle=False)
