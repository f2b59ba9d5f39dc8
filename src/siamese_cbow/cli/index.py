"""`siamese-cbow index`: an index on disk, for searching in large collections."""

from __future__ import annotations

from pathlib import Path

import click

from siamese_cbow.cli.options import model_option, open_model
from siamese_cbow.cli.text_options import text_options
from siamese_cbow.progress import bar
from siamese_cbow.text.records import TextSettings


@click.command(name="index", context_settings={"show_default": True})
@click.argument("files", nargs=-1)
@click.option("-o", "--output", "folder_of_index", required=True, type=click.Path(path_type=Path), metavar="DIR",
              help="The folder of the index.")  # fmt: skip
@model_option
@text_options
@click.option("--rebuild", is_flag=True, help="Make it anew, whatever is there.")
@click.option("--check", is_flag=True, help="Look for damage, and measure how many of the true ten nearest are found.")
@click.option("--threads", type=int, help="[default: all cores]")
def command(
    files: tuple[str, ...],
    folder_of_index: Path,
    folder: Path | None,
    text: TextSettings,
    rebuild: bool,
    check: bool,
    threads: int | None,
) -> None:
    """Make or update an index of text files, for `search --index`.

    FILES: files, folders or globs. Given again, only files that are new or have changed are read, and those that are
    gone leave the index; without FILES, those it knows are looked at. The files themselves are never changed.
    """
    from siamese_cbow.retrieval.index import Index
    from siamese_cbow.retrieval.manifest import NAME, kept_model
    from siamese_cbow.retrieval.updating import update

    is_new = not (folder_of_index / NAME).exists()
    kept, fallback = kept_model(folder_of_index, forgiving=rebuild or is_new)
    folder = folder or kept
    model = open_model(folder, fallback=fallback)
    with bar("indexing", None, unit="B") as progress:
        changes = update(
            folder_of_index, files, model=model, text=text if text != TextSettings() else None, rebuild=rebuild,
            model_folder=folder, threads=threads, progress=progress,
        )  # fmt: skip
    files_now = f"{changes.n_new:,} new, {changes.n_changed:,} changed, {changes.n_gone:,} gone"
    click.echo(f"{changes.n_rows:,} rows; files: {files_now}, {changes.n_same:,} as before", err=True)
    if check and (measured := Index(folder_of_index, model=model).check()):
        recall = f"recall@{measured['k']} {measured['recall']} of exact search over {measured['n_queries']} queries"
        click.echo(f"no damage; {recall}, {measured['milliseconds']} ms a query", err=True)
    click.echo(folder_of_index)
