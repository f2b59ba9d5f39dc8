"""Quick queries to a model: how similar two texts are, which words are near, what it is and where it comes from."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siamese_cbow.cli import Grouped
from siamese_cbow.cli.options import (
    PATH,
    batched,
    encoding_option,
    json_option,
    model_named_once,
    model_option,
    open_model,
    print_json,
    refuse_options,
    say,
)
from siamese_cbow.errors import InputError, counted, listed

if TYPE_CHECKING:
    from siamese_cbow.base.arrays import Vectors
    from siamese_cbow.model.model import Model
    from siamese_cbow.retrieval.index import Index
    from siamese_cbow.text.encodings import Decoding

BLAS_VARIABLE = "OPENBLAS_NUM_THREADS"
MOST_TOLD = 10  # unknown words named in a message

# How unknown words are treated, in general terms; `neighbours` gives details and takes longer.
_COUNT_AS = {
    "none": "ignored",
    "prefix": "each counts as the known word with the longest common prefix, if there is one",
    "ngrams": "vectors are built from their letters",
}


@click.command(name="similarity", cls=Grouped)
@click.argument("texts", metavar="[A B]", nargs=-1)
@model_option
@click.option("--other-language", metavar="NAME", help="Language of B if it differs from that of A.")
@click.option("--file", "path", metavar="FILE",
              help="File of pairs: two tab-separated texts per line, or a table; - for standard input.")  # fmt: skip
@click.option("--text-column", "text_columns", metavar="A,B",
              help="The two columns to compare, if --file is JSON lines, CSV, TSV or Parquet.")  # fmt: skip
@encoding_option
def similarity(
    texts: tuple[str, ...],
    folder: Path | None,
    path: str | None,
    text_columns: str | None,
    other_language: str | None,
    encoding: str | None,
) -> None:
    """Print the similarity of two texts, from -1 to 1.

    With --file, print one number per line of plain text or record of a table.
    """
    if path is None:
        refuse_options({"text_columns", "encoding"}, "only with --file FILE")
    if (len(texts) != 2) if path is None else texts:
        given = counted(len(texts), "text") + (" and --file" if path else "")
        raise click.UsageError(f"got {given}; expected two texts, or --file FILE alone")
    import_numpy_quickly()
    model = open_model(folder)
    other = open_model(folder, language=other_language) if other_language else model
    if path is not None:
        from siamese_cbow.text.records import TextSettings

        decoding = TextSettings(encoding=encoding).decoding()
        n = 0
        for pairs in batched(_pairs(path, text_columns, decoding), length=lambda pair: len(pair[0]) + len(pair[1])):
            scores = model.similarity_pairwise(model.encode([a for a, _ in pairs]), other.encode([b for _, b in pairs]))
            click.echo("".join(f"{score:.6f}\n" for score in scores.tolist()), nl=False)
            n += len(pairs)
        for remark in decoding.remarks():
            say(remark)
        if not n:
            say(f"{'standard input' if path == '-' else path} contains no text: 0 pairs")
        return
    vectors = [each.encode(text) for each, text in zip((model, other), texts, strict=True)]
    for each, text, vector in zip((model, other), texts, vectors, strict=True):
        if not vector.any():
            say(f"no word of {text!r} has a vector, so the similarity is 0")
        elif unknown := each.unknown_words(text)[:MOST_TOLD]:
            say(f"not in the model's vocabulary: {', '.join(unknown)} in {text!r}; {_COUNT_AS[each.fallback]}")
    click.echo(f"{float(model.similarity(*vectors)[0, 0]):.6f}")


def _pairs(path: str, columns: str | None, decoding: Decoding) -> Iterator[tuple[str, ...]]:
    """The two named columns of a table; if none are named, the two tab-separated texts of each line, also of a .tsv."""
    from siamese_cbow.text.reader import format_of, read_columns
    from siamese_cbow.text.row_reader import iter_lines

    if columns is not None:
        names = columns.split(",")
        if len(names) != 2:
            raise InputError(f"--text-column is {columns!r}; expected two columns of {path}: --text-column A,B")
        yield from read_columns(path, names, decoding=decoding)
        return
    if format_of(path).is_table and format_of(path).name != "TSV":
        raise InputError(f"{path} is a table; name the two columns to compare: --text-column A,B")
    for number, line in enumerate(iter_lines(path, decoding), start=1):
        fields = line.split("\t")
        if len(fields) < 2:
            raise InputError(f"{path} line {number:,} has no tab: {line[:60]!r}; expected two tab-separated texts")
        if len(fields) > 2:  # which two? a score or a number may come first
            raise InputError(
                f"{path} line {number:,} has {len(fields)} tab-separated fields: {line[:60]!r}; expected two texts: "
                f"choose them (cut -f2,3 {path} | siamese-cbow similarity --file -), or name columns: --text-column A,B"
            )
        yield fields[0], fields[1]


@click.command(name="neighbours", cls=Grouped)
@click.argument("words", metavar="WORD...", nargs=-1)
@model_option
@click.option("--negative", metavar="WORD", multiple=True, help="Word to subtract. Repeatable.")
@click.option("-k", "--topn", "k", default=10, metavar="N", help="Number of words to print.")
@click.option("--all-forms", is_flag=True, help="Include rare words and all forms of a word: guitar's, guitars.")
@json_option
def neighbours(
    words: tuple[str, ...], folder: Path | None, negative: tuple[str, ...], k: int, all_forms: bool, as_json: bool
) -> None:
    """Print the words nearest to a word or text, one form per stem, with their cosines.

    Several words are added up and --negative words subtracted: neighbours king woman --negative man
    """
    if not words and not negative:
        raise click.UsageError("got no word; expected at least one, or a text in quotes")
    model = open_model(folder)
    is_plain = len(words) == 1 and not negative
    if is_plain:
        nearest = model.neighbours(words[0], k, all_forms=all_forms)
        tell_unknown(model, words[0])
    elif model.languages:
        nearest = model.most_similar(words, negative, topn=k, all_forms=all_forms)
    else:
        plus, minus = ([_term(model, word) for word in each] for each in (words, negative))
        nearest = model.most_similar(plus, minus, topn=k, all_forms=all_forms)
        tell_unknown(model, " ".join((*words, *negative)))
    for word, cosine in nearest:
        if as_json:
            print_json({"word": word, "cosine": round(cosine, 6)})
        else:
            click.echo(f"{cosine:.4f}\t{word}")


def _term(model: Model, word: str) -> str | Vectors:
    """A word as the vocabulary spells it, or the vector of an unknown word."""
    term = model.word_or_vector(word)
    if isinstance(term, str) and term not in model:
        advice = "use --fallback ngrams, which builds a vector from its letters"
        raise InputError(f"{word!r} has no vector in this model; {advice}, or leave it out")
    return term


def import_numpy_quickly() -> None:
    """Import NumPy with one thread, unless it is already imported or the user has set the number of threads.

    This saves a third of the time of a small command. OpenBLAS reads the variable only while loading, so it is removed
    afterwards: child processes must not inherit it.
    """
    if "numpy" in sys.modules or BLAS_VARIABLE in os.environ:
        return
    os.environ[BLAS_VARIABLE] = "1"
    try:
        import numpy  # noqa: F401 (for its effect)
    finally:
        del os.environ[BLAS_VARIABLE]


def tell_unknown(model: Model, text: str) -> None:
    """Print one line about the words of a text that the model does not know, and how it treats them."""
    made = {word: model.made_of(word) for word in model.unknown_words(text)[:MOST_TOLD]}
    if left_out := [word for word, of in made.items() if of == "nothing"]:
        say(f"not in the model's vocabulary and ignored: {', '.join(left_out)}")
    if others := [f"{word} ({of})" for word, of in made.items() if of != "nothing"]:
        say(f"not in the model's vocabulary: {', '.join(others)}")


def tell_stale(index: Index) -> None:
    """Print one line about the files of an index that have changed."""
    if changed := index.stale():
        say(
            f"{counted(len(changed), 'file')} changed or deleted since {index.folder} was built ({listed(changed)}); "
            f"hits show the old text. To update: siamese-cbow index -o {index.folder}"
        )


@click.command(name="info", cls=Grouped)
@click.argument("positional", metavar="[MODEL]", required=False, type=PATH)
@model_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--verify", is_flag=True, help="Also check the vectors against their stored hash.")
def info(positional: Path | None, folder: Path | None, as_json: bool, verify: bool) -> None:
    """Describe a model: size, tokenizer, frequent words, recipe, corpus."""
    from siamese_cbow.model.card import describe

    folder = model_named_once(positional, folder)
    name = "pretrained, the model in the package" if folder is None else str(folder)
    described = {"model": name, **describe(open_model(folder, verify=verify))}
    if verify:
        described["verified"] = True
    if as_json:
        print_json(described)
        return
    for line in _lines(described):
        click.echo(line)


def _lines(entries: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """{"dim": 300, "recipe": {"epochs": 1}} -> "dim  300", "recipe", "  epochs  1"."""
    width = max(map(len, entries), default=0)
    for key, value in entries.items():
        if isinstance(value, Mapping):
            yield f"{indent}{key}"
            yield from _lines(value, indent + "  ")
        else:
            yield f"{indent}{key:<{width}}  {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return " ".join(map(_value, value)) if isinstance(value, list) else str(value)
