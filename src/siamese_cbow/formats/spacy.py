"""A model as a spaCy pipeline whose `doc.vector` is ours, to the last bit.

Word vectors alone don't give that: spaCy cuts text by other rules (don't -> do n't), looks words up as they are
written, and counts words without a vector into the mean. So the pipeline brings our tokenizer, which keeps the text
as it is and notes each token's word as its norm, and a component that hooks the vectors of documents, spans and tokens.

    nlp = to_spacy(model)
    nlp("The cat sat.").vector                      model.encode("The cat sat.")
    nlp.to_disk("cat"); spacy.load("cat")           finds both parts by itself where siamese-cbow is installed
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from siamese_cbow.base.files import atomic_folder
from siamese_cbow.errors import InputError, MissingExtra
from siamese_cbow.model.model import Model
from siamese_cbow.words.tokenizer import Tokenizer


def to_spacy(model: Model, *, language: str = "xx") -> Any:
    """A pipeline with the model's tokenizer and vectors; `language` is spaCy's code, for stop words and the like."""
    spacy = _spacy()
    from spacy.vectors import Vectors as SpacyVectors

    from siamese_cbow.formats.spacy_parts import COMPONENT, TOKENIZER

    if type(model.tokenizer) is not Tokenizer:
        raise InputError(f"the model has {model.tokenizer!r}; a spaCy pipeline can have our own tokenizers only")
    if model.languages:
        raise InputError(f'the model has words of several languages; take one: model.language("{model.languages[0]}")')
    nlp = spacy.blank(language, config={"nlp": {"tokenizer": {"@tokenizers": TOKENIZER, **model.tokenizer.settings()}}})
    keys = [nlp.vocab.strings.add(word) for word in model.vocabulary.words]
    # Lower-cased words are found by the norm that our tokenizer gives each token, others as they are written.
    attribute = "NORM" if model.tokenizer.lowercase else "ORTH"
    data = np.array(model.vectors)  # spaCy wants to write into it
    nlp.vocab.vectors = SpacyVectors(
        strings=nlp.vocab.strings, data=data, keys=keys, name="siamese-cbow", attr=attribute
    )
    nlp.add_pipe(COMPONENT)
    return nlp


def write_spacy(model: Model, path: Path) -> None:
    """Writes the pipeline as a folder for `spacy.load`; an older pipeline there is replaced."""
    path = Path(path)
    if path.exists() and not (path.is_dir() and (path / "meta.json").is_file() and (path / "config.cfg").is_file()):
        raise InputError(f"{path} is there already and no spaCy pipeline; choose another name, or delete it")
    nlp = to_spacy(model)
    with atomic_folder(path) as folder:
        nlp.to_disk(folder / "new")
        for file in (folder / "new").iterdir():
            shutil.move(file, folder)
        (folder / "new").rmdir()


def _spacy() -> Any:
    try:
        import spacy
    except ImportError:
        raise MissingExtra("spaCy", "spacy") from None
    return spacy
