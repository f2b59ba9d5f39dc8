"""`siamese-cbow convert`: from one format of models and word vectors to another."""

from __future__ import annotations

from pathlib import Path

import click

SOURCES = (
    *("siamese-cbow", "model2vec", "sentence-transformers", "word2vec", "word2vec-binary", "fasttext", "glove"),
    *("parquet", "gensim", "original"),
)
TARGETS = (
    *("siamese-cbow", "model2vec", "sentence-transformers", "word2vec", "word2vec-binary", "fasttext", "glove"),
    *("parquet", "onnx", "spacy"),
)


@click.command(name="convert")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@click.option("--from", "source_format", type=click.Choice(SOURCES), help="The format of IN.  [default: as it looks]")
@click.option("--to", "target_format", type=click.Choice(TARGETS), help="The format of OUT.  [default: by its ending]")
def command(source: str, target: Path, source_format: str | None, target_format: str | None) -> None:
    """Turn a model or word vector file into another format.

    IN is a folder of siamese-cbow, model2vec or sentence-transformers (static models), a word2vec, fastText .vec or
    GloVe file, also packed, a Parquet table, gensim's .kv, a pickle of the original Siamese CBOW program, hf://user/name
    on the Hugging Face Hub, or the word `pretrained` for the model in the package. No code in a file is run.

    OUT says by its ending what is written: .txt word2vec text, .bin word2vec binary, .vec fastText, .glove GloVe (these
    four may be packed: .gz .bz2 .xz), .parquet, .onnx, .spacy; without one it is a folder of siamese-cbow, which
    model2vec and sentence-transformers load as it is. What is lost on the way is said.
    """
    from siamese_cbow.formats.convert import convert
    from siamese_cbow.progress import bar

    with bar("reading", None, unit="words") as progress:
        done = convert(source, target, source_format=source_format, target_format=target_format, progress=progress)
        progress.say(f"{done.source} -> {done.target}: {len(done.model.vocabulary):,} words of dim {done.model.dim}")
        for note in done.notes:
            progress.say(note)
    click.echo(target)
