"""`encode` on a cluster: files in, a folder of Parquet files out, each row exactly once; `evaluate`, model by model.

    tickets.parquet   id, body             ->   vectors/part-000000.parquet   id, body, vector
    notes.txt         a line per row       ->   vectors/part-000001.parquet   text, vector

A part is a set of row groups of a Parquet file, some pieces of a plain file, or a whole file of any other kind. It is
written atomically into a hidden folder next to the output, which becomes the output when all parts are complete. So a
part that is computed twice, because a node was lost, is stored once, and the same command resumes with the missing
parts. The rows of all parts, in the order of their names, are the rows of the input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from siamese_cbow.base.disk import remove_ours
from siamese_cbow.base.files import atomic_file, one_writer
from siamese_cbow.cluster.session import Session
from siamese_cbow.cluster.shards import in_order, language_of, piece_ranges
from siamese_cbow.cluster.sources import UNFINISHED, Source, Sources, paths_of, scratch_of
from siamese_cbow.errors import InputError, needs
from siamese_cbow.evaluation.evaluate import evaluate
from siamese_cbow.evaluation.pair_sets import PairSet
from siamese_cbow.evaluation.scores import Scores
from siamese_cbow.evaluation.systems import open_system
from siamese_cbow.formats.resolver import open_model
from siamese_cbow.integrations.columns import arrow_vectors, parquet_writer
from siamese_cbow.model.model import Model
from siamese_cbow.progress import SILENT, Progress
from siamese_cbow.text.corpus import look_at, part_blocks
from siamese_cbow.text.parquet_files import arrow_cells
from siamese_cbow.text.reader import format_of
from siamese_cbow.text.records import TextSettings
from siamese_cbow.text.row_reader import RowReader, block_texts

ROWS = 16_384  # encoded at a time
# Per part: rows of a Parquet file, or bytes of plain text, that become about 100 MB of vectors. With parts twice as
# large, two workers waited longer for each other at the end.
PART_ROWS, PART_BYTES = 1 << 17, 8 << 20
TEXT = "text"


@dataclass(frozen=True)
class EncodeSettings:
    """How every row is encoded."""

    model: str | None
    text: TextSettings
    normalize: bool = False
    truncate_dim: int | None = None
    language: str | None = None
    fallback: Any = None
    vector_column: str = "vector"

    def opened(self) -> Model:
        """The model with these settings."""
        model = open_model(self.model)
        model = model if self.language is None else model.language(self.language)
        return model if self.fallback in (None, model.fallback) else model.with_fallback(self.fallback)


@dataclass(frozen=True)
class EncodePart:
    """Rows that become one file: row groups or pieces first <= i < last; the whole file if None."""

    source: Source
    span: tuple[int, int] | None


def encode(
    session: Session, given: Sources, settings: EncodeSettings, output: Path, progress: Progress = SILENT
) -> int:
    """Encode files into a folder of Parquet files; return the number of rows."""
    with needs("pyarrow", "ray"):
        import pyarrow  # noqa: F401 (an error comes before any work)
    output, sources = output.absolute(), given.files
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InputError(f"{output} already exists; choose another output or remove it")
    session.check_shared(output.parent)
    if settings.text.unit == "sentence":
        detected = language_of(session, sources, settings.text)
        settings = replace(settings, text=replace(settings.text, language=detected.language.code))
    model = settings.opened()  # fail before any work
    plan = {
        "sources": [source.entry() for source in sources],
        "settings": repr(settings),
        "parts": [PART_ROWS, PART_BYTES],  # files of other parts are not resumed
        "model": [len(model.vocabulary), model.dim, dict(model.info)],
    }
    with one_writer(output):
        scratch = scratch_of(output, plan)
        cuts = in_order(session, parts_of, [(source, settings.text, PART_ROWS, PART_BYTES) for source in sources])
        parts = [part for each in cuts for part in each]
        n_rows = n_done = 0
        for _, n in session.each(encode_part, [(scratch, i, part, settings) for i, part in enumerate(parts)]):
            n_rows, n_done = n_rows + n, n_done + 1
            progress.advance(n, f"{n_done} of {len(parts)} parts on {session.workers} workers")
        remove_ours(scratch, UNFINISHED)
        if output.exists():
            output.rmdir()
        scratch.rename(output)
    progress.say(f"{n_rows:,} rows in {len(parts):,} files: {output}")
    return n_rows


def evaluate_each(
    session: Session, names: Sequence[tuple[str, str]], sets: Sequence[PairSet], seed: int, how: Mapping[str, Any]
) -> list[Scores]:
    """The scores of models, each on some node; each pair of names is the one to open and the one to show."""
    items = [(name, shown, list(sets), seed, dict(how)) for name, shown in names]
    return in_order(session, _evaluate_one, items)


# On the nodes


def _evaluate_one(name: str, shown: str, sets: Sequence[PairSet], seed: int, how: Mapping[str, Any]) -> Scores:
    return evaluate(open_system(name, seed=seed), sets, name=shown, seed=seed, **how)


def parts_of(source: Source, text: TextSettings, part_rows: int, part_bytes: int) -> list[EncodePart]:
    """The parts of a file."""
    if format_of(source.name).name == "Parquet":
        with _table(source) as file:
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        bounds, rows = [0], 0
        for i, size in enumerate(sizes):
            rows += size
            if rows >= part_rows or i == len(sizes) - 1:
                bounds.append(i + 1)
                rows = 0
        return [EncodePart(source, span) for span in pairwise(bounds)] or [EncodePart(source, (0, 0))]
    if text.unit == "line":
        with paths_of(source) as [path]:
            if look_at(path, text).is_cuttable:
                return [EncodePart(source, span) for span in pairwise(piece_ranges(source.size, part_bytes))]
    return [EncodePart(source, None)]


def encode_part(scratch: Path, number: int, part: EncodePart, settings: EncodeSettings) -> int:
    """Write `part-N.parquet`; return the number of its rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = scratch / f"part-{number:06d}.parquet"
    if target.exists():
        return int(pq.read_metadata(target).num_rows)
    part.source.check()
    model, writer = _model(settings), None
    dim = len(model.encode("", truncate_dim=settings.truncate_dim))
    n_rows = 0
    with atomic_file(target) as path:
        try:
            for columns, texts in _batches(part, settings):
                vectors = model.encode(
                    texts, normalize_embeddings=settings.normalize, truncate_dim=settings.truncate_dim, threads=1
                )
                rows = arrow_vectors(vectors)
                table = columns.append_column(pa.field(settings.vector_column, rows.type), rows)
                writer = writer or parquet_writer(path, table.schema, settings.vector_column)
                writer.write_table(table)
                n_rows += len(texts)
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            schema = pa.schema([(TEXT, pa.string()), (settings.vector_column, pa.list_(pa.float32(), dim))])
            pq.write_table(schema.empty_table(), path)
    return n_rows


@lru_cache(1)
def _model(settings: EncodeSettings) -> Model:
    """The model of a job; a process that encodes several parts opens it once."""
    return settings.opened()


def _batches(part: EncodePart, settings: EncodeSettings) -> Iterator[tuple[Any, list[str]]]:
    """Tables of all columns, with the texts of their rows."""
    import pyarrow as pa

    if format_of(part.source.name).name == "Parquet":
        yield from _table_batches(part, settings.text.text_column, settings.vector_column)
        return
    for texts in _text_batches(part, settings.text):
        yield pa.table({TEXT: pa.array(texts, pa.string())}), texts


def _text_batches(part: EncodePart, text: TextSettings) -> Iterator[list[str]]:
    source = part.source
    if part.span is not None:
        blocks = part_blocks(source.read, source.name, source.size, range(*part.span), "sentences", "keep")
        yield from _some(each for block in blocks for each in block_texts(block))
        return
    with paths_of(source) as [path]:
        yield from _some(RowReader([path], text).texts())


def _some(texts: Iterator[str]) -> Iterator[list[str]]:
    return iter(lambda: list(islice(texts, ROWS)), [])


def _table_batches(part: EncodePart, column: str, vector: str) -> Iterator[tuple[Any, list[str]]]:
    import pyarrow as pa

    name = part.source.name
    with _table(part.source) as file:
        names = file.schema_arrow.names
        if column not in names:
            raise InputError(
                f"{name} has no column {column!r}; it has {', '.join(names)}: choose one with --text-column"
            )
        if vector in names:
            raise InputError(f"{name} already has a column {vector!r}; choose another name with --vector-column")
        for batch in file.iter_batches(ROWS, row_groups=list(range(*(part.span or (0, 0))))):
            yield pa.Table.from_batches([batch]), _texts(batch.column(column), name, column)


def _texts(values: Any, name: str, column: str) -> list[str]:
    """The texts of a column of a table in memory; nulls become empty texts."""
    import pyarrow as pa

    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    return [cell.decode("utf-8", "replace") for cell in arrow_cells(values, kind, Path(name), column)]


@contextmanager
def _table(source: Source) -> Iterator[Any]:
    """A Parquet file that is read lazily."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with source.open() as opened:
        try:
            file = pq.ParquetFile(opened)
        except pa.ArrowException as error:
            raise InputError(f"{source.name} is not a Parquet file ({str(error)[:200]}); check the file") from None
        yield file
