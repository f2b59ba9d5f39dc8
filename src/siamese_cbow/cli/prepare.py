"""`siamese-cbow prepare`: text in, stream out."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from siamese_cbow.cli import SHARED, Grouped
from siamese_cbow.cli.options import (
    AUTO,
    PATH,
    Function,
    cluster_options,
    code_option,
    encoding_option,
    glob_option,
    none_if_auto,
    text_column_option,
    threads_option,
)
from siamese_cbow.stream.preparation import WORDS_ONLY
from siamese_cbow.stream.preparation import prepare as prepare_stream
from siamese_cbow.text.records import TextSettings
from siamese_cbow.words.tokenizer import Kind, Tokenizer

DEFAULTS = {name: parameter.default for name, parameter in inspect.signature(prepare_stream).parameters.items()}
TEXT = TextSettings()
HINTS = get_type_hints(TextSettings)
CHOICES = {name: click.Choice(get_args(hint)) for name, hint in HINTS.items() if get_origin(hint) is Literal}


# How text becomes a stream: for `prepare`, and for `train`, which prepares its text if it is not a stream.
PREPARING = (
    click.option("--min-count", type=AUTO, default="auto", callback=none_if_auto,
                 help="Drop words that occur less often; auto: 1, 2 or 5, depending on the size of the text."),
    click.option("--max-words", type=int, help="Keep only this many of the most frequent words.  [default: all]"),
    click.option("--vocabulary", type=PATH,
                 help="Take the vocabulary from this file of `count word` lines."),
    click.option("--layout", default=TEXT.layout, type=CHOICES["layout"],
                 help="sentences: one per line, an empty line between documents; paragraphs: one per line; "
                      "wrapped: running text with line breaks; auto: detect it."),
    click.option("--boundary", default=TEXT.boundary, type=CHOICES["boundary"],
                 help="Boundary that neighbouring sentences never cross."),
    click.option("--language", "--sentence-language", "language", default=TEXT.language, metavar="NAME",
                 help="Language of the text: German, de, pt-br, ...; auto: detect it. Determines sentence "
                      "splitting, stemming and tokenisation."),
    text_column_option,
    encoding_option,
    code_option,
    glob_option,
    click.option("--kind", default=TEXT.kind, type=CHOICES["kind"],
                 help="text: running text; groups: phrase pairs (PPDB or tab-separated)."),
    click.option("--languages", default="", metavar="LIST", show_default=False,
                 help="For groups of translations, the language of each column: en,de or English,German."),
    click.option("--tokenizer", default=WORDS_ONLY.kind, type=click.Choice(get_args(Kind)),
                 help="whitespace: for text that is already tokenised."),
    click.option("--lowercase/--cased", default=WORDS_ONLY.lowercase, help="Treat The and the as the same word."),
    click.option("--punctuation/--no-punctuation", default=WORDS_ONLY.punctuation,
                 help="Treat punctuation marks as words."),
    click.option("--max-distinct", default=DEFAULTS["max_distinct"],
                 help="Distinct words to hold in memory while counting; beyond that, the rarest are dropped."),
)  # fmt: skip


def preparing_options(command: Function) -> Function:
    """Add the options for turning text into a stream; `preparing` makes them arguments of `sc.prepare`."""
    for option in reversed(PREPARING):
        command = option(command)
    return command


def preparing(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of `preparing_options` out of a command's options, as arguments of `sc.prepare`."""
    names = ("layout", "boundary", "language", "text_column", "encoding", "kind", "globs", "code")
    languages = options.pop("languages")
    text = TextSettings(
        **{name: options.pop(name) for name in names},
        languages=tuple(code.strip() for code in languages.split(",") if languages),
    )
    marks = {name: options.pop(name) for name in ("lowercase", "punctuation")}
    passed = {name: options.pop(name) for name in ("min_count", "max_words", "vocabulary", "max_distinct")}
    return {"text": text, "tokenizer": Tokenizer(options.pop("tokenizer"), **marks), **passed}


@click.command(name="prepare", cls=Grouped)
@click.argument("text", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=PATH, help="Output folder.")
@preparing_options
@click.option("--restart", is_flag=True, help="Replace the stream in the output folder.")
@threads_option
@cluster_options
def prepare(text: tuple[str, ...], output: Path, cluster: str | None, workers: int | None, **options: Any) -> None:
    """Turn text into a stream of word ids on disk.

    TEXT is one or more files, folders or globs, or - for standard input: plain text, HTML, Markdown, PDF, CSV, TSV,
    JSON lines or Parquet, optionally compressed (.gz .bz2 .xz .zst). With --cluster, it may also be URLs (s3://...,
    gs://..., hdfs://...).

    If the output already holds a stream of the same text and settings, nothing is done; a stream of other text or
    settings is replaced only with --restart.
    """
    settings = preparing(options)
    if cluster is None:
        prepare_stream(list(text), output=output, progress=True, **settings, **options)
    else:
        from siamese_cbow.cluster import RayCluster

        options.pop("threads")
        RayCluster(cluster, workers).prepare(list(text), output=output, progress=True, **settings, **options)
    click.echo(output)


prepare.headings = {
    "Reading text": {"layout", "boundary", "language", "text_column", "encoding", "code", "globs", "kind", "languages"},
    "Words": {"min_count", "max_words", "vocabulary", "tokenizer", "lowercase", "punctuation", "max_distinct"},
    "Ray cluster": SHARED["Ray cluster"],
}
