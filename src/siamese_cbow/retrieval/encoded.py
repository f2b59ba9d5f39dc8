"""Text as rows with their vectors, block by block."""

from __future__ import annotations

from collections.abc import Iterator

from siamese_cbow.arrays import Vectors
from siamese_cbow.model import Model
from siamese_cbow.progress import Progress
from siamese_cbow.retrieval.rows import Rows, Source, finished


def encoded_blocks(
    source: Source, model: Model, threads: int | None, progress: Progress
) -> Iterator[tuple[Rows, Vectors]]:
    """The rows of each block and their vectors of length 1, (n_rows, dim); zeros where a row has no known word."""
    for block in source.blocks():
        rows = finished(block, source.settings)
        yield rows, model.encode(rows.texts(0, len(rows)), normalize_embeddings=True, threads=threads)
        progress.advance(block.n_source_bytes)
