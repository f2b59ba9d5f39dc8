"""`siamese-cbow cluster`: what a text is about."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siamese_cbow.cli.options import model_option, open_model
from siamese_cbow.cli.text_options import progress_bar, say, text_options
from siamese_cbow.text.records import TextSettings

if TYPE_CHECKING:
    from siamese_cbow.text.row_reader import Rows


@click.command(name="cluster", context_settings={"show_default": True})
@click.argument("files", nargs=-1, required=True)
@model_option
@click.option("-k", type=click.IntRange(min=1), metavar="N",
              help="How many groups.  [default: the root of half the number of lines, at most 20]")  # fmt: skip
@click.option("--lines", is_flag=True, help="Print every line with the number of its group instead, in order.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines, of the groups or of the lines.")
@click.option("--seed", default=1, help="Of the choice of the first centres.")
@text_options
@click.option("--threads", type=int, help="[default: all cores]")
def command(
    files: tuple[str, ...],
    folder: Path | None,
    k: int | None,
    lines: bool,
    as_json: bool,
    seed: int,
    text: TextSettings,
    threads: int | None,
) -> None:
    """Group lines by what they are about, and label the groups with their words.

    FILES: files, folders, globs or - for standard input, as for `search`. Prints the size of each group, its typical
    words, and the lines nearest to its centre.
    """
    from siamese_cbow.retrieval.clusters import clusters

    def show(rows: Rows, groups: Any) -> None:
        for i, group in enumerate(groups.tolist()):
            place = {"source": rows.source, "line": rows.number(i), "text": rows.row(i)}
            entry = {"group": group if group >= 0 else None, **place}
            line = f"{group if group >= 0 else ''}\t{place['source']}:{place['line']}:{place['text']}"
            click.echo(json.dumps(entry, ensure_ascii=False) if as_json else line)

    with progress_bar("grouping", None) as progress:
        groups = clusters(
            list(files), model=open_model(folder), k=k, text=text, seed=seed, threads=threads,
            progress=progress, assigned=show if lines else None,
        )  # fmt: skip
    for i, cluster in enumerate(groups):
        label = f"{i}\t{cluster.size:,}\t{', '.join(cluster.words)}"
        if lines:
            say(label)
        elif as_json:
            click.echo(json.dumps({"group": i, **_plain(asdict(cluster))}, ensure_ascii=False))
        else:
            click.echo(label)
            for hit in cluster.examples:
                click.echo(f"\t{hit.score:.4f}\t{hit.source}:{hit.line}:{hit.text}")


def _plain(cluster: dict[str, Any]) -> dict[str, Any]:
    examples = [{name: hit[name] for name in ("score", "source", "line", "text")} for hit in cluster["examples"]]
    return {**cluster, "examples": examples}
