"""`siamese-cbow dedup`: text without its near-duplicates."""

from __future__ import annotations

import json
from pathlib import Path

import click

from siamese_cbow.cli.options import model_option, open_model
from siamese_cbow.cli.text_options import files_or_stdin, progress_bar, say, text_options
from siamese_cbow.text.records import TextSettings


@click.command(name="dedup", context_settings={"show_default": True})
@click.argument("files", nargs=-1)
@model_option
@click.option("--threshold", default=0.95, metavar="SCORE", help="Lines with at least this cosine say the same.")
@click.option(
    "--pairs", is_flag=True, help="Print the duplicates instead: cosine, place and text, place of the kept one."
)
@click.option("--json", "as_json", is_flag=True, help="JSON lines, of what is kept or of the pairs.")
@text_options
@click.option("--threads", type=int, help="[default: all cores]")
def command(
    files: tuple[str, ...],
    folder: Path | None,
    threshold: float,
    pairs: bool,
    as_json: bool,
    text: TextSettings,
    threads: int | None,
) -> None:
    """Print text without lines that say what an earlier line has said.

    FILES: files, folders, globs or - for standard input, as for `search`. Lines without a known word are kept.
    """
    from siamese_cbow.retrieval.duplicates import duplicates
    from siamese_cbow.text.row_reader import RowReader

    reader, n, n_kept = RowReader(files_or_stdin(files), text, say=say), 0, 0
    with progress_bar("comparing", reader.total_bytes) as progress:
        for row in duplicates(
            reader, model=open_model(folder), threshold=threshold, threads=threads, progress=progress
        ):
            n += 1
            n_kept += row.of is None
            if (row.of is None) == pairs:
                continue
            of = {"score": round(row.score, 6), "of": {"source": row.of[0], "line": row.of[1]}} if row.of else {}
            if as_json:
                entry = {"source": row.source, "line": row.line, "text": row.text, **of}
                click.echo(json.dumps(entry, ensure_ascii=False))
            elif row.of:
                click.echo(f"{row.score:.4f}\t{row.source}:{row.line}:{row.text}\t{row.of[0]}:{row.of[1]}")
            else:
                click.echo(row.text)
    say(f"kept {n_kept:,} of {n:,} lines")
