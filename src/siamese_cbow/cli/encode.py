"""`siamese-cbow encode`: lines in, vectors out."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import click

from siamese_cbow.base.files import atomic_file
from siamese_cbow.cli.batched import N_LINES, batched
from siamese_cbow.cli.model_option import model_option, open_model
from siamese_cbow.cli.outputs import check_output, open_output
from siamese_cbow.progress import SILENT, Progress, bar
from siamese_cbow.text.chunks import iter_lines


@click.command(name="encode", context_settings={"show_default": True})
@click.argument("source", metavar="INPUT")
@model_option
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
              help="A .npy, .parquet or .jsonl file.  [default: JSON lines on standard output]")  # fmt: skip
@click.option("--normalize", is_flag=True, help="Vectors of length 1.")
@click.option("--truncate-dim", type=int, metavar="N", help="Only the first N dimensions.")
@click.option("--batch-size", type=click.IntRange(min=1), default=N_LINES, help="Lines in memory at a time.")
@click.option("--unknown", metavar="FILE", type=click.Path(path_type=Path),
              help="Write the words without a vector to this file, `count word` a line, by count.")  # fmt: skip
@click.option("--threads", type=int, help="[default: all cores]")
def command(
    source: str,
    folder: Path | None,
    output: Path | None,
    normalize: bool,
    truncate_dim: int | None,
    batch_size: int,
    unknown: Path | None,
    threads: int | None,
) -> None:
    """Turn each line of a text into a vector.

    INPUT: a file, also packed (.gz .bz2 .xz .zst), or - for standard input. Each line gives one row, whatever it
    holds; a line without a known word gives zeros.
    """
    output = None if output == Path("-") else output
    check_output(output)
    model = open_model(folder)
    unknown_counts: Counter[str] = Counter()
    dim = len(model.encode("", truncate_dim=truncate_dim))
    with open_output(output, dim) as write, _progress(source) as progress:
        for lines in batched(iter_lines(source), size=batch_size, length=len):
            vectors = model.encode(lines, normalize_embeddings=normalize, truncate_dim=truncate_dim, threads=threads)
            write(lines, vectors)
            if unknown is not None:
                unknown_counts.update(model.unknown_counts(lines))
            progress.advance(_n_bytes(lines))
    if unknown is not None:
        _write_unknown(unknown, unknown_counts)


def _write_unknown(path: Path, counts: Counter[str]) -> None:
    listed = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    with atomic_file(path) as file:
        file.write_text("".join(f"{n} {word}\n" for word, n in listed), encoding="utf-8", newline="\n")
    click.echo(f"{counts.total():,} words without a vector, {len(listed):,} different ones: {path}", err=True)


def _progress(source: str) -> AbstractContextManager[Progress]:
    """A bar over the bytes of the input, where somebody is watching and nothing else is written to the screen."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        return nullcontext(SILENT)
    path = Path(source)
    packed = path.suffix.lower() in (".gz", ".bz2", ".xz", ".zst")  # their size says little of the text's
    return bar("encoding", path.stat().st_size if path.is_file() and not packed else None, unit="B")


def _n_bytes(lines: list[str]) -> int:
    joined = "\n".join(lines)
    return 1 + (len(joined) if joined.isascii() else len(joined.encode()))
