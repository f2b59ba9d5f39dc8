"""The first pass over a corpus: provisional word ids and line ends on disk, in the order of the text.

Which counter a block belongs to is decided by its position, never by a thread, and blocks are written in order: the
spool is the same for any number of threads.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from siamese_cbow.base.arrays import Ids, Offsets
from siamese_cbow.progress import Progress
from siamese_cbow.stream.counting import WordCounter
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.records import Lines, RawBlock


@dataclass
class Tallies:
    """What was met on the way and has to be said."""

    languages: tuple[str, ...] = ()
    layouts: Mapping[str, str] = field(default_factory=dict)  # source -> layout
    n_broken: int = 0
    n_cut: int = 0
    n_short: int = 0
    short_at: list[str] = field(default_factory=list)

    def add(self, lines: Lines) -> None:
        """Takes in one block."""
        self.n_broken += lines.n_broken
        self.n_cut += lines.n_cut
        self.n_short += lines.n_short
        self.short_at = [*self.short_at, *lines.short_at][:3]

    def messages(self) -> list[str]:
        """Sentences for the user; none where nothing odd was met."""
        n_sources = collections.Counter(self.layouts.values())
        messages = [f"read {n:,} {'text' if n == 1 else 'texts'} as {layout}" for layout, n in n_sources.items()]
        if self.n_broken:
            messages.append(f"{self.n_broken:,} broken UTF-8 sequences were replaced")
        if self.n_cut:
            messages.append(f"{self.n_cut:,} overlong paragraphs were cut into pieces at white space")
        if self.n_short:
            first = ", ".join(self.short_at)
            wrong = f"without a phrase for each of {', '.join(self.languages)}"
            wrong = wrong if self.languages else "with fewer than two phrases"
            messages.append(f"{self.n_short:,} lines {wrong} were left out (first: {first})")
        return messages


class Spool:
    """Provisional ids and line ends of a corpus, in one file: the arrays of a block after those of the one before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._blocks: list[tuple[int, int]] = []  # the counter of each, and its generation
        self.tallies = Tallies()

    def fill(self, corpus: Corpus, counters: Sequence[WordCounter], *, threads: int, progress: Progress) -> None:
        """Reads the corpus: while the threads scan a round of blocks, the next is read and the last one is written."""

        def scan(counter: WordCounter, block: RawBlock) -> tuple[int, Ids, Offsets, Lines, int]:
            lines = corpus.lines(block)
            ids, ends = counter.scan(lines.text)
            return counter.generation, ids, ends, lines, block.n_source_bytes

        with ThreadPoolExecutor(threads) as pool, self._path.open("wb") as file:
            blocks = corpus.blocks()
            current = list(islice(blocks, len(counters)))
            scanned: list[tuple[int, Ids, Offsets, Lines, int]] = []
            while current or scanned:
                scans = [pool.submit(scan, counter, block) for counter, block in zip(counters, current, strict=False)]
                current = list(islice(blocks, len(counters)))
                for number, (generation, ids, ends, lines, n_source_bytes) in enumerate(scanned):
                    np.save(file, ids)
                    np.save(file, ends)
                    self._blocks.append((number, generation))
                    self.tallies.add(lines)
                    progress.advance(n_source_bytes)
                scanned = [future.result() for future in scans]
        self.tallies.layouts, self.tallies.languages = corpus.layouts, corpus.settings.languages

    def blocks(self, remaps: Sequence[Sequence[Ids]]) -> Iterator[tuple[Ids, Offsets]]:
        """Final ids and line ends, block by block; remaps[counter][generation] is provisional id -> final id."""
        with self._path.open("rb") as file:
            for number, generation in self._blocks:
                yield remaps[number][generation].take(np.load(file)), np.load(file)
