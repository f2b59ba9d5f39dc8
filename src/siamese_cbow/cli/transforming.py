"""Model in, model out: `siamese-cbow adapt`, `combine`, `compress` and `convert`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from siamese_cbow.base.disk import standard_stream
from siamese_cbow.cli import Grouped
from siamese_cbow.cli.options import (
    PATH,
    files_or_stdin,
    model_named_once,
    model_option,
    open_model,
    progress_bar,
    say,
    text_options,
)
from siamese_cbow.errors import SettingsError, counted
from siamese_cbow.formats.known_formats import READABLE, WRITABLE
from siamese_cbow.model.packed_rows import Dtype
from siamese_cbow.model.storage import check_target
from siamese_cbow.text.records import TextSettings

if TYPE_CHECKING:
    from siamese_cbow.model.model import Model


output_option = click.option("-o", "--output", required=True, type=PATH, help="Folder of the new model.")


@click.command(name="adapt", cls=Grouped)
@click.argument("files", nargs=-1)
@model_option
@output_option
@click.option("--dtype", type=click.Choice(get_args(Dtype)),
              help="Number format; only float32 can be undone later, and only siamese-cbow reads int4.  "
                   "[default: that of the model; int8 instead of int4]")  # fmt: skip
@text_options
def adapt(
    files: tuple[str, ...],
    folder: Path | None,
    output: Path,
    dtype: Dtype | None,
    text: TextSettings,
) -> None:
    """Adapt a model to a domain: headlines, tickets, captions.

    FILES are files, folders or globs, or - for standard input, as for `search`; each line is a text. Words that are
    common in the domain count for less, and directions that all its texts share are removed. Nothing is trained, so
    this takes seconds.
    """
    from siamese_cbow.text.row_reader import RowReader

    _check_output(output, folder)
    reader = RowReader(files_or_stdin(files), text, say=say)
    model = open_model(folder)
    with progress_bar("reading", reader.total_bytes) as progress:
        adapted = model.adapt(reader.texts(progress))
    basis = adapted.info["postprocessing"]["adapted_to"]
    if (dtype or model.dtype) != adapted.dtype:
        adapted = adapted.compress(dtype or model.dtype)
    adapted.save(output, int4=dtype == "int4")
    known = counted(basis["words"], "known word")
    say(f"adapted to {counted(basis['texts'], 'text')} with {known}")
    click.echo(output)


@click.command(name="combine", cls=Grouped)
@click.argument("folders", metavar="MODEL...", nargs=-1, required=True, type=PATH)
@output_option
@click.option("--dim", type=int, metavar="N", help="Dimensions of the result.  [default: as in the first model]")
@click.option("--weight", "weights", type=float, multiple=True, metavar="N",
              help="How much a model counts: one --weight per model, in their order.  [default: 1 each]")  # fmt: skip
@click.option("--whiten", type=float, default=0.0, metavar="N",
              help="How far to make the new dimensions equally strong: 0 not at all, 1 fully.")  # fmt: skip
def combine(
    folders: tuple[Path, ...], output: Path, dim: int | None, weights: tuple[float, ...], whiten: float
) -> None:
    """Merge several models with the same vocabulary into one.

    The models, trained with other seeds or recipes, are concatenated and reduced to N dimensions. This averages out
    random variation, and the result is no larger than a single model.
    """
    from siamese_cbow.transform.compression import combine

    _check_output(output, *folders)
    models = [open_model(folder) for folder in folders]
    combined = combine(models, dim=dim, weights=weights or None, whiten=whiten)
    combined.save(output)
    dims = " + ".join(str(model.dim) for model in models)
    say(f"{counted(len(combined.vocabulary), 'word')}, {dims} -> {combined.dim} dimensions")
    click.echo(output)


@click.command(name="compress", cls=Grouped)
@click.argument("positional", metavar="[MODEL]", required=False, type=PATH)
@model_option
@output_option
@click.option("--dtype", type=click.Choice(get_args(Dtype)), help="Number format; only siamese-cbow reads int4.")
@click.option("--dim", type=int, metavar="N", help="Keep N dimensions, chosen by principal component analysis.")
@click.option("--words", type=int, metavar="N", help="Keep the N most frequent words.")
def compress(
    positional: Path | None, folder: Path | None, output: Path, dtype: Dtype | None, dim: int | None, words: int | None
) -> None:
    """Shrink a model: fewer bits, dimensions or words.

    Options you leave out keep their value. `--dtype float32` expands a model for programs that read nothing else.
    """
    folder = model_named_once(positional, folder)
    _check_output(output, folder)
    model = open_model(folder)
    smaller = model.compress(dtype, dim=dim, words=words)
    smaller.save(output, int4=True)
    say(f"{_size(model)} -> {_size(smaller)}")
    if smaller.dtype == "int4":
        say("only siamese-cbow reads int4; for sentence-transformers and model2vec, add --dtype int8")
    click.echo(output)


def _check_output(output: Path, *sources: Path | None) -> None:
    """Raise an error, before any work, unless a model may be written there: not over its own source."""
    for source in sources:
        if source is not None and source.exists() and source.resolve() == output.resolve():
            raise SettingsError(f"{output} is both source and target; choose another name for the target")
    check_target(output)


def _size(model: Model) -> str:
    """The size of a model for people: "163,771 x 300 float32, 196.5 MB"."""
    return f"{len(model.vocabulary):,} x {model.dim} {model.dtype}, {model.rows.nbytes / 1e6:.1f} MB"


@click.command(name="convert", cls=Grouped)
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT", type=PATH)
@click.option("--from", "source_format", type=click.Choice(READABLE), help="Format of IN.  [default: detected]")
@click.option("--to", "target_format", type=click.Choice(WRITABLE), help="Format of OUT.  [default: by extension]")
def convert(source: str, target: Path, source_format: str | None, target_format: str | None) -> None:
    """Convert a model or word vector file to another format.

    IN is a folder of siamese-cbow, model2vec or sentence-transformers (static models), a word2vec, fastText .vec or
    GloVe file, optionally compressed, a Parquet table, gensim's .kv, a pickle of the original Siamese CBOW program,
    user/name on the Hugging Face Hub, or `pretrained`, the model in the package. Code inside a file is never run.

    The extension of OUT sets its format: .txt word2vec text, .bin word2vec binary, .vec fastText, .glove GloVe (these
    four optionally compressed: .gz .bz2 .xz), .parquet, .onnx, .spacy; no extension: a folder of siamese-cbow, which
    model2vec and sentence-transformers load too. The command reports what the format can't store.
    """
    from siamese_cbow.formats.convert import convert
    from siamese_cbow.progress import bar

    with bar("reading", None, unit="words") as progress:
        done = convert(source, target, source_format=source_format, target_format=target_format, progress=progress)
        n_words = counted(len(done.model.vocabulary), "word")
        progress.say(f"{done.source} -> {done.target}: {n_words} of dim {done.model.dim}")
        for note in done.notes:
            progress.say(note)
    if standard_stream(target) != 1:
        click.echo(target)
