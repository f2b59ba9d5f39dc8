"""The first pass over a corpus: provisional word ids and line ends on disk, in the order of the text.

Which counter a block belongs to is decided by its position, never by a thread, and blocks are written in order: the
spool is the same for any number of threads.
"""

from __future__ import annotations

import collections
import shutil
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
        said = [f"read {n:,} {'text' if n == 1 else 'texts'} as {layout}" for layout, n in n_sources.items()]
        if self.n_broken:
            said.append(f"{self.n_broken:,} broken UTF-8 sequences were replaced")
        if self.n_cut:
            said.append(f"{self.n_cut:,} overlong paragraphs were cut into pieces at white space")
        if self.n_short:
            first = ", ".join(self.short_at)
            wrong = f"without a phrase for each of {', '.join(self.languages)}"
            wrong = wrong if self.languages else "with fewer than two phrases"
            said.append(f"{self.n_short:,} lines {wrong} were left out (first: {first})")
        return said


@dataclass(frozen=True)
class SpooledBlock:
    """Whose provisional ids a block holds, and how many."""

    counter: int
    generation: int
    n_ids: int
    n_lines: int


class Spool:
    """Provisional ids and line ends of a corpus, on disk."""

    def __init__(self, folder: Path, counters: Sequence[WordCounter]) -> None:
        self._folder = folder
        self._counters = counters
        self._blocks: list[SpooledBlock] = []
        self.tallies = Tallies()

    def fill(self, corpus: Corpus, *, threads: int, progress: Progress) -> None:
        """Reads the corpus: while the threads scan a round of blocks, the next is read and the last one is written."""

        def scan(which: int, block: RawBlock) -> tuple[SpooledBlock, Ids, Offsets, Lines, int]:
            lines, counter = corpus.lines(block), self._counters[which]
            ids, ends = counter.scan(lines.text)
            spooled = SpooledBlock(which, counter.generation, len(ids), len(ends))
            return spooled, ids, ends, lines, block.n_source_bytes

        with (
            ThreadPoolExecutor(threads) as pool,
            (self._folder / "ids").open("wb") as ids_file,
            (self._folder / "ends").open("wb") as ends_file,
        ):
            blocks = corpus.blocks()
            current = list(islice(blocks, len(self._counters)))
            scanned: list[tuple[SpooledBlock, Ids, Offsets, Lines, int]] = []
            while current or scanned:
                scans = [pool.submit(scan, which, block) for which, block in enumerate(current)]
                current = list(islice(blocks, len(self._counters)))
                for spooled, ids, ends, lines, n_source_bytes in scanned:
                    ids.tofile(ids_file)
                    ends.tofile(ends_file)
                    self._blocks.append(spooled)
                    self.tallies.add(lines)
                    progress.advance(n_source_bytes)
                scanned = [future.result() for future in scans]
        self.tallies.layouts, self.tallies.languages = corpus.layouts, corpus.settings.languages

    def blocks(self) -> Iterator[tuple[SpooledBlock, Ids, Offsets]]:
        """What `fill` has written, block by block."""
        with (self._folder / "ids").open("rb") as ids_file, (self._folder / "ends").open("rb") as ends_file:
            for block in self._blocks:
                ids = np.fromfile(ids_file, np.int32, block.n_ids)
                yield block, ids, np.fromfile(ends_file, np.int64, block.n_lines)

    def remove(self) -> None:
        """Deletes its files."""
        shutil.rmtree(self._folder)
