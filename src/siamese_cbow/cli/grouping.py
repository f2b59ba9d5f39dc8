"""`siamese-cbow dedup` and `cluster`: remove near-duplicates, and group text by topic."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siamese_cbow.base.disk import check_file_replaceable
from siamese_cbow.cli import Grouped
from siamese_cbow.cli.options import (
    PATH,
    batched,
    files_or_stdin,
    json_option,
    model_option,
    open_model,
    print_json,
    progress_bar,
    say,
    text_options,
    threads_option,
)
from siamese_cbow.errors import counted
from siamese_cbow.text.records import TextSettings

if TYPE_CHECKING:
    from siamese_cbow.retrieval.duplicates import CheckedRow
    from siamese_cbow.text.row_reader import Rows


@click.command(name="dedup", cls=Grouped)
@click.argument("files", nargs=-1)
@model_option
@click.option(
    "--threshold", default=0.95, metavar="SCORE", help="Minimum cosine at which two lines count as duplicates."
)
@click.option(
    "--pairs",
    is_flag=True,
    help="Print the duplicates instead: cosine, location and text, location of the line kept.",
)
@click.option("--review", is_flag=True, help="Print each duplicate below the line it repeats, for review.")
@json_option
@click.option("-o", "--output", type=PATH, metavar="FILE",
              help="Write the remaining rows to a .csv, .jsonl or .parquet file, with all columns.")  # fmt: skip
@text_options
@threads_option
def dedup(
    files: tuple[str, ...],
    folder: Path | None,
    threshold: float,
    pairs: bool,
    review: bool,
    as_json: bool,
    output: Path | None,
    text: TextSettings,
    threads: int | None,
) -> None:
    """Print text without near-duplicate lines.

    FILES are files, folders or globs, or - for standard input, as for `search`. A line is dropped only if it agrees
    with an earlier one in numbers, names, unknown words, negations and word order, as far as these can be recognised:
    names by their capitals, negations in 16 languages. Other words may differ if the vectors are close enough, so check
    with --review before you delete anything. With -o, table rows keep all their columns.
    """
    from siamese_cbow.retrieval.duplicates import duplicates
    from siamese_cbow.text.row_reader import RowReader

    if output is not None and (pairs or as_json or review):
        raise click.UsageError(
            f"got -o {output} together with --pairs, --review or --json, which print; expected only one of them"
        )
    if pairs and review:
        raise click.UsageError("got both --pairs and --review; expected only one of them")
    reader = RowReader(files_or_stdin(files), text, say=say)
    if output is not None:
        from siamese_cbow.cli.row_files import check_output, refuse_input

        check_output(output, vectors=False)
        refuse_input(output, reader.files)
        # The kept rows of a table look like any table: an older output can't be told from the user's own rows.
        check_file_replaceable(output, lambda _: False, "may be the only copy of its rows")
    model = open_model(folder)
    with progress_bar("comparing", reader.total_bytes) as progress:
        rows = duplicates(reader, model=model, threshold=threshold, threads=threads, progress=progress)
        if output is not None:
            n, n_kept = _write_kept(rows, output, reader.files, text)
        else:
            n, n_kept = _print_rows(rows, pairs=pairs or review, review=review, as_json=as_json)
    say(f"kept {n_kept:,} of {counted(n, 'line')}")


def _print_rows(rows: Iterable[CheckedRow], *, pairs: bool, review: bool, as_json: bool) -> tuple[int, int]:
    """Print the kept rows, or the duplicates; return the number of rows and of kept rows."""
    n = n_kept = 0
    for row in rows:
        n += 1
        n_kept += row.of is None
        if (row.of is None) == pairs:
            continue
        of = (
            {"score": round(row.score, 6), "of": {"source": row.of[0], "line": row.of[1], "text": row.of_text}}
            if row.of
            else {}
        )
        if as_json:
            print_json({"source": row.source, "line": row.line, "text": row.text, **of})
        elif row.of and review:
            click.echo(f"{row.score:.4f}\tkept\t{row.of[0]}:{row.of[1]}:{row.of_text}")
            click.echo(f"\tdropped\t{row.source}:{row.line}:{row.text}\n")
        elif row.of:
            click.echo(f"{row.score:.4f}\t{row.source}:{row.line}:{row.text}\t{row.of[0]}:{row.of[1]}")
        else:
            click.echo(row.text)
    return n, n_kept


def _write_kept(rows: Iterable[CheckedRow], output: Path, files: Sequence[Path], text: TextSettings) -> tuple[int, int]:
    """Write the kept records with all their columns, or lines with their positions; return the same two numbers."""
    from siamese_cbow.cli.row_files import carried_columns, chosen_records, open_rows, valid_text

    columns = carried_columns(files, text, None, say)
    n = n_kept = 0
    with open_rows(output, columns, "", 0) as write:
        for batch in batched(rows, length=lambda row: len(row.text)):
            n, n_kept = n + len(batch), n_kept + sum(row.of is None for row in batch)
            if columns is None:
                unique_rows = [row for row in batch if row.of is None]
                write(
                    [[{"source": valid_text(row.source), "line": row.line, "text": row.text} for row in unique_rows]],
                    None,
                )
                continue
            for source, each in itertools.groupby(batch, key=lambda row: row.source):
                mask = [row.of is None for row in each]
                parts = columns.take(source, len(mask))
                ends = list(itertools.accumulate(map(len, parts)))
                masks = [mask[end - len(part) : end] for end, part in zip(ends, parts, strict=True)]
                write([chosen_records(part, mask) for part, mask in zip(parts, masks, strict=True)], None)
    return n, n_kept


@click.command(name="cluster", cls=Grouped)
@click.argument("files", nargs=-1, required=True)
@model_option
@click.option("-k", type=click.IntRange(min=1), metavar="N",
              help="Number of groups.  [default: the square root of half the number of lines, at most 20]")  # fmt: skip
@click.option("--lines", is_flag=True, help="Print every line with its group number instead.")
@json_option
@click.option("--seed", default=1, help="Random seed for the initial centres.")
@text_options
@threads_option
def cluster(
    files: tuple[str, ...],
    folder: Path | None,
    k: int | None,
    lines: bool,
    as_json: bool,
    seed: int,
    text: TextSettings,
    threads: int | None,
) -> None:
    """Group lines by topic and label each group with its typical words.

    FILES are files, folders or globs, or - for standard input, as for `search`. Prints the size of each group, its
    typical words and the lines nearest to its centre.
    """
    from siamese_cbow.retrieval.clusters import clusters

    def show(rows: Rows, groups: Any) -> None:
        for i, group in enumerate(groups.tolist()):
            source, line, row = rows.source, rows.number(i), rows.row(i)
            if as_json:
                print_json({"group": group if group >= 0 else None, "source": source, "line": line, "text": row})
            else:
                click.echo(f"{group if group >= 0 else ''}\t{source}:{line}:{row}")

    with progress_bar("grouping", None) as progress:
        groups = clusters(
            list(files), model=open_model(folder), k=k, text=text, seed=seed, threads=threads,
            progress=progress, assigned=show if lines else None,
        )  # fmt: skip
    if k is not None and len(groups) < k:
        say(f"{counted(len(groups), 'group')} instead of {k:,}: there are too few lines that differ enough")
    for i, cluster in enumerate(groups):
        label = f"{i}\t{cluster.size:,}\t{', '.join(cluster.words)}"
        if lines:
            say(label)
        elif as_json:
            names = ("score", "source", "line", "text")
            examples = [{name: getattr(hit, name) for name in names} for hit in cluster.examples]
            print_json({"group": i, **asdict(cluster), "examples": examples})
        else:
            click.echo(label)
            for hit in cluster.examples:
                click.echo(f"\t{hit.score:.4f}\t{hit.source}:{hit.line}:{hit.text}")
