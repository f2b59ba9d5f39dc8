"""Text as rows with their vectors, block by block."""

from __future__ import annotations

from collections.abc import Iterator

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.model.model import Model
from siamese_cbow.progress import Progress
from siamese_cbow.text.row_reader import Rows, Source, finished


def row_blocks(source: Source, progress: Progress) -> Iterator[Rows]:
    """The rows of each block; the block counts as done once the next one is asked for."""
    for block in source.blocks():
        yield finished(block, source.settings)
        progress.advance(block.n_source_bytes)


def encoded_blocks(
    source: Source, model: Model, threads: int | None, progress: Progress
) -> Iterator[tuple[Rows, Vectors]]:
    """The rows of each block and their vectors of length 1, (n_rows, dim); zeros where a row has no known word."""
    for rows in row_blocks(source, progress):
        yield rows, model.encode(rows.texts(0, len(rows)), normalize_embeddings=True, threads=threads)
