"""`siamese-cbow convert`: from one format of models and word vectors to another."""

from __future__ import annotations

from pathlib import Path

import click

from siamese_cbow.formats.known_formats import READABLE, WRITABLE


@click.command(name="convert")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@click.option("--from", "source_format", type=click.Choice(READABLE), help="The format of IN.  [default: as it looks]")
@click.option("--to", "target_format", type=click.Choice(WRITABLE), help="The format of OUT.  [default: by its ending]")
def command(source: str, target: Path, source_format: str | None, target_format: str | None) -> None:
    """Turn a model or word vector file into another format.

    IN is a folder of siamese-cbow, model2vec or sentence-transformers (static models), a word2vec, fastText .vec or
    GloVe file, also compressed, a Parquet table, gensim's .kv, a pickle of the original Siamese CBOW program,
    user/name on the Hugging Face Hub, or `pretrained`, the model in the package. No code in a file is run.

    OUT says by its ending what is written: .txt word2vec text, .bin word2vec binary, .vec fastText, .glove GloVe (these
    four may be compressed: .gz .bz2 .xz), .parquet, .onnx, .spacy; without one it is a folder of siamese-cbow, which
    model2vec and sentence-transformers load as it is. The command says what is lost.
    """
    from siamese_cbow.formats.convert import convert
    from siamese_cbow.progress import bar

    with bar("reading", None, unit="words") as progress:
        done = convert(source, target, source_format=source_format, target_format=target_format, progress=progress)
        progress.say(f"{done.source} -> {done.target}: {len(done.model.vocabulary):,} words of dim {done.model.dim}")
        for note in done.notes:
            progress.say(note)
    click.echo(target)
