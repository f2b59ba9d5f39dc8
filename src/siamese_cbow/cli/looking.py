"""Small questions to a model: how similar two texts are, which words are near, what it is and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siamese_cbow.cli.options import (
    MOST_TOLD,
    batched,
    encoding_option,
    import_numpy_quickly,
    model_option,
    open_model,
    print_json,
    say,
    tell_unknown,
)
from siamese_cbow.errors import InputError

if TYPE_CHECKING:
    from siamese_cbow.base.arrays import Vectors
    from siamese_cbow.model.model import Model
    from siamese_cbow.text.encodings import Decoding

# What unknown words count as, in so many words: `neighbours` says more, and takes longer.
_COUNT_AS = {
    "none": "left out",
    "prefix": "each counts as the known word that begins alike, if there is one",
    "ngrams": "compared by their letters",
}


@click.command(name="similarity")
@click.argument("texts", metavar="[A B]", nargs=-1)
@model_option
@click.option("--other-language", metavar="NAME", help="The language of B, where it is not that of A.")
@click.option("--file", "path", metavar="FILE",
              help="Pairs: lines of two texts with a tab between, or a table; - is standard input.")  # fmt: skip
@click.option("--text-column", "columns", metavar="A,B",
              help="The two columns of --file, where it is JSON lines, CSV, TSV or Parquet.")  # fmt: skip
@encoding_option
def similarity(
    texts: tuple[str, ...],
    folder: Path | None,
    path: str | None,
    columns: str | None,
    other_language: str | None,
    encoding: str | None,
) -> None:
    """Print how similar two texts are, from -1 to 1.

    With --file, a number for each line of plain text, or for each record of a table.
    """
    if (len(texts) != 2) if path is None else texts:
        raise click.UsageError(f"got {len(texts)} texts; expected two, or --file FILE and none")
    import_numpy_quickly()
    model = open_model(folder)
    other = open_model(folder, language=other_language) if other_language else model
    if path is not None:
        from siamese_cbow.text.records import TextSettings

        decoding = TextSettings(encoding=encoding).decoding()
        for pairs in batched(_pairs(path, columns, decoding), length=lambda pair: len(pair[0]) + len(pair[1])):
            scores = model.similarity_pairwise(model.encode([a for a, _ in pairs]), other.encode([b for _, b in pairs]))
            click.echo("".join(f"{score:.6f}\n" for score in scores.tolist()), nl=False)
        for remark in decoding.remarks():
            say(remark)
        return
    vectors = [each.encode(text) for each, text in zip((model, other), texts, strict=True)]
    for each, text, vector in zip((model, other), texts, vectors, strict=True):
        if not vector.any():
            say(f"no word of {text!r} has a vector, so the similarity is 0")
        elif unknown := each.unknown_words(text)[:MOST_TOLD]:
            say(f"the model does not know {', '.join(unknown)} of {text!r}: {_COUNT_AS[each.fallback]}")
    click.echo(f"{float(model.similarity(*vectors)[0, 0]):.6f}")


def _pairs(path: str, columns: str | None, decoding: Decoding) -> Iterator[tuple[str, ...]]:
    """Two columns of a table; or the two texts of each line, also of .tsv files where no columns are named."""
    from siamese_cbow.text.reader import format_of, read_columns
    from siamese_cbow.text.row_reader import iter_lines

    if columns is not None:
        names = columns.split(",")
        if len(names) != 2:
            raise InputError(f"--text-column is {columns!r}; expected two columns of {path}: --text-column A,B")
        yield from read_columns(path, names, decoding=decoding)
        return
    if format_of(path).is_table and format_of(path).name != "TSV":
        raise InputError(f"{path} is a table; say which two columns to compare: --text-column A,B")
    for number, line in enumerate(iter_lines(path, decoding), start=1):
        fields = line.split("\t")
        if len(fields) < 2:
            raise InputError(f"{path} line {number:,} has no tab: {line[:60]!r}; expected two texts with a tab between")
        yield fields[0], fields[1]


@click.command(name="neighbours", context_settings={"show_default": True})
@click.argument("words", metavar="WORD...", nargs=-1)
@model_option
@click.option("--negative", metavar="WORD", multiple=True, help="A word to subtract; may be given several times.")
@click.option("-k", default=10, metavar="N", help="How many to print.")
@click.option("--all-forms", is_flag=True, help="Also rare words, and every form of a word: guitar's, guitars.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines.")
def neighbours(
    words: tuple[str, ...], folder: Path | None, negative: tuple[str, ...], k: int, all_forms: bool, as_json: bool
) -> None:
    """Print the words nearest to a word or a text, with their cosines; of each stem the nearest form.

    Of several words the sum is taken, less the --negative ones: neighbours king woman --negative man
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
    """A word as the vocabulary has it; of an unknown one what it counts as, unless that is nothing."""
    cut = model.tokenizer.words(word)
    if word in model.vocabulary or (len(cut) == 1 and cut[0] in model.vocabulary):
        return word if word in model.vocabulary else cut[0]
    vector: Vectors = model.encode(word)
    return vector if vector.any() else word


@click.command(name="info")
@click.argument("positional", metavar="[MODEL]", required=False, type=click.Path(path_type=Path))
@model_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--verify", is_flag=True, help="Also read all the vectors and compare them with their hash.")
def info(positional: Path | None, folder: Path | None, as_json: bool, verify: bool) -> None:
    """Describe a model: size, tokenizer, frequent words, recipe, corpus."""
    from siamese_cbow.model.card import describe

    folder = positional or folder
    name = "pretrained, the one that comes with the package" if folder is None else str(folder)
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
