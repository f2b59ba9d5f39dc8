"""`siamese-cbow search` and `index`: grep by words and meaning, and an index on disk for large collections."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siamese_cbow.cli import SHARED, Grouped
from siamese_cbow.cli.looking import import_numpy_quickly, tell_stale, tell_unknown
from siamese_cbow.cli.options import (
    PATH,
    files_or_stdin,
    json_option,
    model_option,
    open_model,
    progress_bar,
    refuse_options,
    say,
    text_options_of,
    threads_option,
)
from siamese_cbow.errors import counted
from siamese_cbow.progress import bar
from siamese_cbow.text.records import TextSettings

if TYPE_CHECKING:
    from siamese_cbow.base.arrays import Vectors
    from siamese_cbow.model.model import Model
    from siamese_cbow.retrieval.search import Hit


@click.command(name="search", cls=Grouped)
@click.argument("query")
@click.argument("files", nargs=-1)
@model_option
@click.option("--index", "index", type=PATH, metavar="DIR",
              help="Search an index written by `siamese-cbow index` instead of FILES.")  # fmt: skip
@click.option("-k", default=10, metavar="N", type=click.IntRange(min=0),
              help="Number of hits; 0: all that reach --threshold.")  # fmt: skip
@click.option("--exact", is_flag=True, help="Match exact words only (BM25): codes, names, numbers.")
@click.option("--meaning", is_flag=True, help="Match meaning only; the score is the cosine.")
@click.option("--threshold", type=float, metavar="SCORE", help="Minimum score of a hit.")
@click.option(
    "-A", "--after-context", default=0, metavar="N", type=click.IntRange(min=0), help="Print N rows after each hit."
)
@click.option("-B", "--before-context", default=0, metavar="N", type=click.IntRange(min=0),
              help="Print N rows before each hit.")  # fmt: skip
@click.option(
    "-C", "--context", metavar="N", type=click.IntRange(min=0), help="Print N rows before and after each hit."
)
@click.option("-H/-I", "--with-filename/--no-filename", "with_file", default=None,
              help="Print the file name of each hit.  [default: if there are several files]")  # fmt: skip
@click.option("-n/-N", "--line-number/--no-line-number", "with_line", default=True, show_default=False,
              help="Print the line or record number of each hit.  [default: on]")  # fmt: skip
@text_options_of("auto")
@json_option
@click.option("--color", default="auto", type=click.Choice(["auto", "always", "never"]),
              help="auto: on a terminal, unless NO_COLOR is set.")  # fmt: skip
@threads_option
def search(
    query: str,
    files: tuple[str, ...],
    folder: Path | None,
    index: Path | None,
    k: int,
    exact: bool,
    meaning: bool,
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
    """Search text by exact words and by meaning, best match first.

    FILES are files, folders or globs, or - for standard input: plain text, HTML, Markdown, PDF, CSV, TSV, JSON lines or
    Parquet, optionally compressed (.gz .bz2 .xz .zst). Each hit shows its score, then file, line and text as grep does,
    and the reasons: how much exact words and meaning contribute, and which query words matched. The exit code is 1 if
    nothing matches.
    """
    if exact and meaning:
        raise click.UsageError("got both --exact and --meaning; expected one of them, or neither to combine both")
    mode = "exact" if exact else "meaning" if meaning else "hybrid"
    _check_swapped(query, files)
    before, after = (before_context, after_context) if context is None else (context, context)
    wanted: Any = {"k": k or None, "threshold": threshold, "before": before, "after": after, "mode": mode}
    if index is not None:
        if files:
            raise click.UsageError(f"got both FILES ({files[0]}) and --index; expected only one of them")
        refuse_options(SHARED["Reading text"], "only for FILES; an index keeps how its text was read")
        model, hits, several = _in_index(query, index, folder, wanted)
    else:
        model, hits, several = _in_files(query, files_or_stdin(files), folder, text, {**wanted, "threads": threads})
    if mode != "exact":
        tell_unknown(model, query)
        _tell_strange(model, query, hits)
    with_file = several if with_file is None else with_file
    lines = HitLines(model, query, color=color, with_file=with_file, with_line=with_line, context=bool(before + after))
    for i, hit in enumerate(hits):
        for line in [json_line(hit)] if as_json else lines.of(hit, first=i == 0):
            click.echo(line, color=lines.coloured)
    if not hits:
        click.get_current_context().exit(1)


def _check_swapped(query: str, files: tuple[str, ...]) -> None:
    """Catch `search notes.txt "a loud guitar"`, with query and file swapped."""
    from siamese_cbow.text.inputs import is_name

    others = [name for name in files if not is_name(name)]
    if len(others) == 1 and is_name(query) and query != "-":
        paths = " ".join([query, *(name for name in files if name != others[0])])
        raise click.UsageError(
            f"{query!r} is a file or folder and {others[0]!r} is not; the query comes first: "
            f"siamese-cbow search {others[0]!r} {paths}"
        )


def _tell_strange(model: Model, query: str, hits: list[Hit]) -> None:
    """Warn if all query words are unknown and no row contains one: words of similar spelling are rarely meant."""
    known = set(model.tokenizer.words(query)).difference(model.unknown_words(query))
    if hits and not any(map(str.isalpha, known)) and not any(hit.words for hit in hits):
        say("no row contains a word of the query, so hits are matched by the letters of unknown words; try other words")


def _in_files(
    query: str, files: list[str], folder: Path | None, text: TextSettings, wanted: Mapping[str, Any]
) -> tuple[Model, list[Hit], bool]:
    """The model, the hits, and whether there are several files."""
    from siamese_cbow.retrieval.manifest import NAME as INDEX_FILE
    from siamese_cbow.retrieval.search import search
    from siamese_cbow.text.row_reader import RowReader

    for name in files:
        if (Path(name) / INDEX_FILE).is_file():
            raise click.UsageError(
                f"{name} is an index, not text; search it with: siamese-cbow search {shlex.quote(query)} --index {name}"
            )
    model = open_model(folder)
    reader = RowReader(files, text, say=say)
    with progress_bar("searching", reader.total_bytes) as progress:
        return model, search(query, reader, model=model, progress=progress, **wanted), reader.names_help


def _in_index(query: str, index: Path, folder: Path | None, wanted: Mapping[str, Any]) -> tuple[Model, list[Hit], bool]:
    """The same for an index; without --model, the model is the one the index was built with."""
    import_numpy_quickly()
    from siamese_cbow.retrieval.index import Index
    from siamese_cbow.retrieval.manifest import kept_model

    model_folder, fallback = kept_model(index)
    opened = Index(index, model=open_model(folder or model_folder, fallback=fallback))
    tell_stale(opened)
    return opened.model, opened.search(query, **wanted), len(opened.manifest.files) > 1


LONGEST = 2_000  # characters of a line on a terminal


def json_line(hit: Hit) -> str:
    """{"score": 6.1, "source": "notes.txt", "line": 12, "text": "my cat sat", "exact": 2.1, "meaning": 4.0, ...}

    For a table, "record" replaces "line".
    """
    own = asdict(hit)
    number = {own.pop("counted"): own.pop("line")}
    context = {name: [line._asdict() for line in getattr(hit, name)] for name in ("before", "after")}
    rounded = {name: round(own[name], 6) for name in ("score", "exact", "meaning")}
    entries = {"score": 0, "source": 0, **number, **own, **context, **rounded, "words": list(hit.words)}
    return json.dumps(entries, ensure_ascii=False)


def reasons(hit: Hit) -> str:
    """Why a row is a hit: "[exact 2.1: cat; meaning 4.0]"."""
    words = f"exact {hit.exact:.1f}: {' '.join(hit.words)}" if hit.words else "no exact words"
    meaning = f"; meaning {hit.meaning:.{1 if abs(hit.meaning) >= 1 else 2}f}" if hit.meaning else ""
    return f"[{words}{meaning}]"


@dataclass
class HitLines:
    """Formats hits for the terminal. `color` is auto, always or never."""

    model: Model
    query: str
    color: str
    with_file: bool
    with_line: bool
    context: bool

    @cached_property
    def coloured(self) -> bool:
        """Whether to use colours: on a terminal, unless NO_COLOR is set (no-color.org)."""
        if self.color == "auto":
            return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        return self.color == "always"

    def of(self, hit: Hit, *, first: bool) -> Iterator[str]:
        r"""The lines of a hit: "6.1000\tnotes.txt:12:my cat sat\t[exact 2.1: cat; meaning 4.0]".

        Context rows have dashes instead of colons, as in grep.
        """
        if self.context and not first:
            yield self._style("--", fg="cyan")
        for number, text in hit.before:
            yield f"\t{self._place(hit, number, '-')}{self._cut(text)}"
        text = self._marked(self._cut(hit.text)) if self.coloured else self._cut(hit.text)
        score = self._style(f"{hit.score:.4f}", fg="yellow")
        yield f"{score}\t{self._place(hit, hit.line, ':')}{text}\t{self._style(reasons(hit), fg='cyan')}"
        for number, text in hit.after:
            yield f"\t{self._place(hit, number, '-')}{self._cut(text)}"

    def _place(self, hit: Hit, number: int, mark: str) -> str:
        file = self._style(hit.source, fg="magenta") + self._style(mark, fg="cyan") if self.with_file else ""
        line = f"record {number}" if hit.counted == "record" else str(number)
        return file + (self._style(line, fg="green") + self._style(mark, fg="cyan") if self.with_line else "")

    def _cut(self, text: str) -> str:
        return text if len(text) <= LONGEST or not sys.stdout.isatty() else f"{text[:LONGEST]}…"

    def _style(self, text: str, *, fg: str) -> str:
        return click.style(text, fg=fg) if self.coloured else text

    @cached_property
    def _vector(self) -> Vectors:
        return self.model.encode(self.query, normalize_embeddings=True)

    def _marked(self, text: str) -> str:
        """The words that contribute most, those with at least half the weight of the strongest, in bold red."""
        rows = {word: self.model.word_row(word) for word in self.model.tokenizer.words(text)}
        weights = {word: float(row @ self._vector) for word, row in rows.items() if row is not None}
        strongest = max(weights.values(), default=0.0)
        strong = [word for word, weight in weights.items() if weight >= 0.5 * strongest > 0]
        if not strong:
            return text
        spelled = "|".join(re.escape(word) for word in sorted(strong, key=len, reverse=True))
        whole = re.compile(rf"(?<!\w)(?:{spelled})(?!\w)", re.IGNORECASE)
        return whole.sub(lambda match: click.style(match[0], fg="red", bold=True), text)


@click.command(name="index", cls=Grouped)
@click.argument("files", nargs=-1)
@click.option("-o", "--output", "folder_of_index", required=True, type=PATH, metavar="DIR",
              help="Index folder.")  # fmt: skip
@model_option
@text_options_of("auto")
@click.option("--rebuild", is_flag=True, help="Rebuild the index from scratch.")
@click.option("--check", is_flag=True, help="Check the index for damage and measure its recall@10.")
@threads_option
def index(
    files: tuple[str, ...],
    folder_of_index: Path,
    folder: Path | None,
    text: TextSettings,
    rebuild: bool,
    check: bool,
    threads: int | None,
) -> None:
    """Create or update an index of text files for `search --index`.

    FILES are files, folders or globs. Repeat the command to update the index: it reads only new and changed files and
    drops deleted ones; without FILES, it checks those it already has. The files themselves are never changed.
    """
    from siamese_cbow.retrieval.index import Index
    from siamese_cbow.retrieval.manifest import NAME, kept_model
    from siamese_cbow.retrieval.updating import update

    is_new = not (folder_of_index / NAME).exists()
    if is_new and not files:
        raise click.UsageError(f"got no files, and {folder_of_index} is not an index yet; expected FILES to index")
    model_folder, fallback = kept_model(folder_of_index, forgiving=rebuild or is_new)
    folder = folder or model_folder
    model = open_model(folder, fallback=fallback)
    given_text = text if text != TextSettings(unit="auto") else None
    with bar("indexing", None, unit="B") as progress:
        changes = update(
            folder_of_index, files, model=model, text=given_text, rebuild=rebuild, model_folder=folder, threads=threads,
            progress=progress,
        )  # fmt: skip
    files_now = f"{changes.n_new:,} new, {changes.n_changed:,} changed, {changes.n_gone:,} deleted"
    say(f"{counted(changes.n_rows, 'row')}; files: {files_now}, {changes.n_same:,} unchanged")
    if check and (measured := Index(folder_of_index, model=model).check()):
        recall = f"recall@{measured['k']} {measured['recall']} of exact search over {measured['n_queries']} queries"
        say(f"no damage; {recall}, {measured['milliseconds']} ms per query")
    click.echo(folder_of_index)
