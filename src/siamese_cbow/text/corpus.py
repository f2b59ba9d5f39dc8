"""A corpus: files, folders, globs, standard input or any iterable of text, read block by block.

    corpus = Corpus("books/", TextSettings(layout="sentences"))
    for block in corpus.blocks():          # sequential and cheap: reading and decompressing
        lines = corpus.lines(block)        # pure and heavy: any thread may do it

Nothing is read until `blocks()`. Does not tokenise, does not count words, keeps nothing of the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from siamese_cbow.text.chunks import TextStream, line_chunks
from siamese_cbow.text.lines import finished_lines
from siamese_cbow.text.opening import open_bytes
from siamese_cbow.text.records import MARK, Lines, RawBlock, TextSettings
from siamese_cbow.text.sources import find_files

__all__ = ["Corpus", "Lines", "RawBlock", "TextSettings"]


class Corpus:
    """Text to be read: `inputs` as given, `files` as found, `total_bytes` for a progress bar."""

    def __init__(self, inputs: str | Path | list[str | Path], settings: TextSettings | None = None) -> None:
        self.inputs = inputs
        self.settings = settings or TextSettings()
        self._found = find_files([inputs] if isinstance(inputs, str | Path) else inputs)
        self.files: list[Path] = [path for path in self._found if path is not None]

    @property
    def total_bytes(self) -> int | None:
        """Size on disk, or None when it can't be known (standard input, an iterable)."""
        return sum(path.stat().st_size for path in self.files) if None not in self._found else None

    def blocks(self) -> Iterator[RawBlock]:
        """The text in order, about 4 MB at a time."""
        for path in self._found:
            yield from self._file_blocks(path)

    def lines(self, block: RawBlock) -> Lines:
        """The sentences of a block; pure and safe in any thread."""
        return finished_lines(block, self.settings)

    def _file_blocks(self, path: Path | None) -> Iterator[RawBlock]:
        with open_bytes(path) as stream:
            text = TextStream(stream)
            before = 0
            for chunk in line_chunks(text.reads(), text.name, cut_long=False):
                position = text.position()
                yield RawBlock(chunk.data, text.name, "sentences", position - before, chunk.first_line)
                before = position
            yield RawBlock(MARK, text.name, "sentences", text.position() - before)
