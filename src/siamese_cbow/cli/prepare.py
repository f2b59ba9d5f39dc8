"""`siamese-cbow prepare`: text in, stream out."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from siamese_cbow.cli.options import encoding_option, text_column_option
from siamese_cbow.progress import bar
from siamese_cbow.stream.preparation import WORDS_ONLY
from siamese_cbow.stream.preparation import prepare as prepare_stream
from siamese_cbow.text.corpus import Corpus
from siamese_cbow.text.records import TextSettings
from siamese_cbow.words.tokenizer import Kind, Tokenizer

DEFAULTS = {name: parameter.default for name, parameter in inspect.signature(prepare_stream).parameters.items()}
TEXT = TextSettings()
HINTS = get_type_hints(TextSettings)
CHOICES = {name: click.Choice(get_args(hint)) for name, hint in HINTS.items() if get_origin(hint) is Literal}
TOKENIZER = WORDS_ONLY
PASSED = ("min_count", "max_words", "vocabulary", "max_distinct", "restart", "threads")  # to `prepare` as they are


@click.command(name="prepare", context_settings={"show_default": True})
@click.argument("text", nargs=-1, required=True)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder to write.")
@click.option("--min-count", default=DEFAULTS["min_count"], help="Words seen less often are left out.")
@click.option("--max-words", type=int, help="Keep at most this many words, the most frequent ones.  [default: all]")
@click.option(
    "--vocabulary", type=click.Path(path_type=Path), help="Use the words of this `count word` file instead of counting."
)
@click.option("--layout", default=TEXT.layout, type=CHOICES["layout"],
              help="sentences: one per line, an empty line between documents; paragraphs: one per line; wrapped: "
                   "running text in short lines; auto: look and choose.")  # fmt: skip
@click.option("--boundary", default=TEXT.boundary, type=CHOICES["boundary"],
              help="Sentences on its two sides are never neighbours.")  # fmt: skip
@click.option("--sentence-language", "--language", "language", default=TEXT.language, metavar="CODE",
              help="For splitting into sentences: en, de, zh, ...")  # fmt: skip
@text_column_option
@encoding_option
@click.option("--kind", default=TEXT.kind, type=CHOICES["kind"],
              help="groups: phrase pairs (PPDB, or tab-separated), not running text.")  # fmt: skip
@click.option("--languages", default="", metavar="LIST", show_default=False,
              help="For groups of translations, the language of each column: en,de.")  # fmt: skip
@click.option("--tokenizer", default=TOKENIZER.kind, type=click.Choice(get_args(Kind)),
              help="whitespace: for text that is tokenized already.")  # fmt: skip
@click.option("--lowercase/--cased", default=TOKENIZER.lowercase, help="Treat The and the as one word.")
@click.option("--punctuation/--no-punctuation", default=TOKENIZER.punctuation, help="Treat punctuation marks as words.")
@click.option("--max-distinct", default=DEFAULTS["max_distinct"],
              help="Different words to hold in memory while counting; beyond it, rare ones are forgotten.")  # fmt: skip
@click.option("--restart", is_flag=True, help="Replace the stream that the output holds.")
@click.option("--threads", type=int, help="[default: all cores]")
def prepare(text: tuple[str, ...], output: Path, **options: Any) -> None:
    """Turn text into a stream of word ids on disk.

    TEXT: files, folders, globs or - for standard input; plain text, JSON lines, CSV, TSV or Parquet, also
    compressed (.gz .bz2 .xz .zst).

    A stream of the same text and settings is not made again; one of other text or settings is replaced only with
    --restart.
    """
    settings = TextSettings(
        **{name: options[name] for name in ("layout", "boundary", "language", "text_column", "encoding", "kind")},
        languages=tuple(code.strip() for code in options["languages"].split(",") if options["languages"]),
    )
    tokenizer = Tokenizer(options["tokenizer"], lowercase=options["lowercase"], punctuation=options["punctuation"])
    corpus = Corpus(list(text), settings)
    with bar("preparing", corpus.total_bytes, unit="B") as progress:
        prepare_stream(
            corpus,
            output=output,
            tokenizer=tokenizer,
            progress=progress,
            **{name: options[name] for name in PASSED},
        )
    click.echo(output)
