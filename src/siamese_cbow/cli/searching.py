"""`siamese-cbow search`: semantic grep."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siamese_cbow.cli.hit_lines import HitLines, json_line
from siamese_cbow.cli.options import model_option, open_model
from siamese_cbow.cli.quick_numpy import import_numpy_quickly
from siamese_cbow.cli.text_options import files_or_stdin, progress_bar, say, text_options
from siamese_cbow.text.records import TextSettings

if TYPE_CHECKING:
    from siamese_cbow.model.model import Model
    from siamese_cbow.retrieval.search import Hit


@click.command(name="search", context_settings={"show_default": True, "help_option_names": ["--help"]})
@click.argument("query")
@click.argument("files", nargs=-1)
@model_option
@click.option("--index", "index", type=click.Path(path_type=Path), metavar="DIR",
              help="Search in an index that `siamese-cbow index` has made, instead of FILES.")  # fmt: skip
@click.option("-k", default=10, metavar="N", type=click.IntRange(min=0),
              help="How many to print; 0 for all that reach --threshold.")  # fmt: skip
@click.option("--threshold", type=float, metavar="SCORE", help="Only hits with at least this cosine.")
@click.option("-A", "--after-context", default=0, metavar="N", type=click.IntRange(min=0), help="Lines after each hit.")
@click.option("-B", "--before-context", default=0, metavar="N", type=click.IntRange(min=0),
              help="Lines before each hit.")  # fmt: skip
@click.option("-C", "--context", metavar="N", type=click.IntRange(min=0), help="Lines before and after each hit.")
@click.option("-H/-h", "--with-filename/--no-filename", "with_file", default=None,
              help="Whether hits tell their file.  [default: where there are several]")  # fmt: skip
@click.option("-n/-N", "--line-number/--no-line-number", "with_line", default=True,
              help="Whether hits tell their line.")  # fmt: skip
@text_options
@click.option("--json", "as_json", is_flag=True, help="JSON lines.")
@click.option("--color", default="auto", type=click.Choice(["auto", "always", "never"]),
              help="auto: on a terminal, unless NO_COLOR is set.")  # fmt: skip
@click.option("--threads", type=int, help="[default: all cores]")
def command(
    query: str,
    files: tuple[str, ...],
    folder: Path | None,
    index: Path | None,
    k: int,
    threshold: float | None,
    after_context: int,
    before_context: int,
    context: int | None,
    with_file: bool | None,
    with_line: bool,
    text: TextSettings,
    as_json: bool,
    color: str,
    threads: int | None,
) -> None:
    """Find the lines that are nearest in meaning to a query, best first.

    FILES: files, folders, globs or - for standard input; plain text, JSON lines, CSV, TSV or Parquet, also compressed
    (.gz .bz2 .xz .zst). Prints the cosine, then file, line and text as grep does; leaves with exit code 1 where
    nothing was found.
    """
    before, after = (before_context, after_context) if context is None else (context, context)
    wanted: Any = {"k": k or None, "threshold": threshold, "before": before, "after": after}
    if index is not None:
        if files:
            raise click.UsageError(f"got FILES ({files[0]}) and --index; expected one of them")
        model, hits, several = _in_index(query, index, folder, wanted)
    else:
        model, hits, several = _in_files(query, files_or_stdin(files), folder, text, {**wanted, "threads": threads})
    tell_unknown(model, query)
    with_file = several if with_file is None else with_file
    lines = HitLines(model, query, color=color, with_file=with_file, with_line=with_line, context=bool(before + after))
    for i, hit in enumerate(hits):
        for line in [json_line(hit)] if as_json else lines.of(hit, first=i == 0):
            click.echo(line, color=lines.coloured)
    if not hits:
        click.get_current_context().exit(1)


def _in_files(
    query: str, files: list[str], folder: Path | None, text: TextSettings, wanted: Mapping[str, Any]
) -> tuple[Model, list[Hit], bool]:
    """The model, the hits, and whether there are several files."""
    from siamese_cbow.retrieval.search import search
    from siamese_cbow.text.row_reader import RowReader

    model = open_model(folder)
    reader = RowReader(files, text, say=say)
    with progress_bar("searching", reader.total_bytes) as progress:
        return model, search(query, reader, model=model, progress=progress, **wanted), reader.names_help


def _in_index(query: str, index: Path, folder: Path | None, wanted: Mapping[str, Any]) -> tuple[Model, list[Hit], bool]:
    """The same; without --model, the model is where it was when the index was made."""
    import_numpy_quickly()
    from siamese_cbow.retrieval.index import Index
    from siamese_cbow.retrieval.manifest import kept_model

    kept, fallback = kept_model(index)
    opened = Index(index, model=open_model(folder or kept, fallback=fallback))
    return opened.model, opened.search(query, **wanted), len(opened.manifest.files) > 1


def tell_unknown(model: Model, query: str) -> None:
    """One line about words of the query that the model does not know, and what becomes of them."""
    counted = {word: model.counts_as(word) for word in model.unknown_words(query)}
    if left_out := [word for word, other in counted.items() if other is None]:
        say(f"the model does not know {', '.join(left_out)}: left out of the query")
    if others := [f"{word} counts as {other}" for word, other in counted.items() if other is not None]:
        say(f"the model does not know some words: {', '.join(others)}")
