"""A model as a spaCy pipeline with a bit-identical `doc.vector`, and the pipeline's two components.

    nlp = to_spacy(model)
    nlp("The cat sat.").vector                      model.encode("The cat sat.")
    nlp.to_disk("cat"); spacy.load("cat")           finds both components if siamese-cbow is installed

Word vectors alone are not enough: spaCy tokenises by other rules (don't -> do n't), looks words up as written, and
includes words without a vector in the mean. So the pipeline has our tokenizer, which keeps the text as it is and stores
each token's word as its norm, and a component that hooks the vectors of documents, spans and tokens.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.base.disk import check_replaceable
from siamese_cbow.base.files import atomic_folder
from siamese_cbow.errors import InputError, needs
from siamese_cbow.kernels.means_reference import mean_of_rows
from siamese_cbow.model.model import Model
from siamese_cbow.words.tokenizer import Kind, Tokenizer

with needs("spaCy", "spacy"):
    import spacy
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.util import get_words_and_spaces, registry
    from spacy.vectors import Vectors as SpacyVectors

TOKENIZER, COMPONENT = "siamese_cbow.tokenizer.v1", "siamese_cbow_vectors"
PIPELINE = "a spaCy pipeline"
META, CONFIG = "meta.json", "config.cfg"
VOCAB = ("vectors", "vectors.cfg", "key2row", "lookups.bin", "strings.json")
OURS = (META, CONFIG, *(f"vocab/{name}" for name in VOCAB))


def to_spacy(model: Model, *, language: str = "xx") -> Any:
    """A pipeline with the model's tokenizer and vectors; `language` is spaCy's code, for stop words and the like."""
    if type(model.tokenizer) is not Tokenizer:
        raise InputError(
            f"the model has {model.tokenizer!r}; a spaCy pipeline supports only tokenizers of siamese-cbow"
        )
    if model.languages:
        raise InputError(f'the model has several languages; choose one: model.language("{model.languages[0]}")')
    nlp = spacy.blank(language, config={"nlp": {"tokenizer": {"@tokenizers": TOKENIZER, **model.tokenizer.settings()}}})
    keys = [nlp.vocab.strings.add(word) for word in model.vocabulary.words]
    # Lowercased words are found by the norm that our tokenizer gives each token, others as written.
    attribute = "NORM" if model.tokenizer.lowercase else "ORTH"
    data = np.array(model.vectors)  # spaCy needs a writable copy
    named = {"name": "siamese-cbow", "attr": attribute}
    nlp.vocab.vectors = SpacyVectors(strings=nlp.vocab.strings, data=data, keys=keys, **named)
    nlp.add_pipe(COMPONENT)
    return nlp


def write_spacy(model: Model, path: Path) -> None:
    """Write the pipeline as a folder for `spacy.load`; an older one of ours is replaced."""
    path = Path(path)
    if path.exists() and not _is_ours(path):
        raise InputError(f"{path} already exists and is not a spaCy pipeline of siamese-cbow; choose another name")
    check_replaceable(path, OURS, PIPELINE)
    nlp = to_spacy(model)
    with atomic_folder(path, ours=OURS, what=PIPELINE) as folder:
        nlp.to_disk(folder / "new")
        for file in (folder / "new").iterdir():
            shutil.move(file, folder)
        (folder / "new").rmdir()


def _is_ours(path: Path) -> bool:
    try:
        return (path / META).is_file() and COMPONENT in (path / CONFIG).read_text("utf-8")
    except (OSError, ValueError):
        return False


class SpacyTokenizer:
    """Our tokenizer with spaCy's interface: "The  cat’s" -> The · (space) · cat’s, with the norms the and cat's."""

    def __init__(self, vocab: Any, tokenizer: Tokenizer) -> None:
        self.vocab = vocab
        self._tokenizer = tokenizer
        self._cased = replace(tokenizer, lowercase=False)

    def __call__(self, text: str) -> Any:
        """A document that keeps the text; each token has its word as its norm."""
        text, pieces, words = self._pieces(text)
        tokens, spaces = get_words_and_spaces(pieces, text)
        doc = Doc(self.vocab, words=tokens, spaces=spaces)
        following = iter(zip(pieces, words, strict=True))
        piece, word = next(following, (None, None))
        for token in doc:
            if token.text == piece:  # the others are white space
                token.norm_ = word if word is not None else f" {piece}"  # a norm that matches no word
                piece, word = next(following, (None, None))
        return doc

    def _pieces(self, text: str) -> tuple[str, list[str], list[str | None]]:
        """The text, its pieces without white space, and the word of each piece, if it is one.

        The text stays as written, unless its normal form (without soft hyphens, with composed accents) has another
        length: then the document has the normal form.
        """
        straight = self._cased.spelled(text)
        text = text if len(straight) == len(text) else straight
        all_cased, all_words = self._cased.words(text), self._tokenizer.words(text)
        if len(all_cased) != len(all_words):  # @İ is a handle only in lower case, as @i
            all_cased, straight = all_words, self._tokenizer.spelled(text)
            text = text if len(straight) == len(text) else straight
        pieces: list[str] = []
        words: list[str | None] = []
        end = 0
        # A letter has the same class in upper and lower case, so both ways split at the same positions.
        for cased, word in zip(all_cased, all_words, strict=True):
            start = straight.index(cased, end)
            between = text[end:start].split()  # punctuation that is not a word here, and control characters
            end = start + len(cased)
            pieces += [*between, text[start:end]]
            words += [*(None for _ in between), word]
        rest = text[end:].split()
        return text, pieces + rest, words + [None for _ in rest]

    def pipe(self, texts: Iterable[str], **options: Any) -> Iterable[Any]:
        """The documents of many texts, one after the other."""
        return map(self, texts)

    # The only state is the settings, which are in the pipeline's config.

    def to_disk(self, path: Any, **options: Any) -> None:
        """Nothing to write."""

    def from_disk(self, path: Any, **options: Any) -> SpacyTokenizer:
        """Nothing to read."""
        return self

    def to_bytes(self, **options: Any) -> bytes:
        """Nothing to write."""
        return b""

    def from_bytes(self, data: bytes, **options: Any) -> SpacyTokenizer:
        """Nothing to read."""
        return self


@registry.tokenizers(TOKENIZER)
def make_tokenizer(
    kind: Kind, lowercase: bool, punctuation: bool, rule: int = 1, language: str = ""
) -> Callable[[Any], SpacyTokenizer]:
    """The factory that spaCy calls for `@tokenizers = "siamese_cbow.tokenizer.v1"` in a pipeline's config."""
    tokenizer = Tokenizer(kind, lowercase, punctuation, rule, language)
    return lambda nlp: SpacyTokenizer(nlp.vocab, tokenizer)


@Language.factory(COMPONENT)
def make_component(nlp: Any, name: str) -> Callable[[Any], Any]:
    """The component: documents, spans and tokens get the mean of their known words' vectors."""
    return hook_vectors


def hook_vectors(doc: Any) -> Any:
    """Make a document return our vectors."""
    doc.user_hooks["vector"] = doc.user_span_hooks["vector"] = _mean
    doc.user_token_hooks["vector"] = lambda token: _mean([token])
    doc.user_token_hooks["has_vector"] = lambda token: token.norm in token.vocab.vectors.key2row
    return doc


def _mean(tokens: Any) -> Vectors:
    vectors = (tokens[0] if isinstance(tokens, list) else tokens).vocab.vectors
    row_of = vectors.key2row
    # White space has a norm too, which may be a word of another model; our words are never white space.
    ids = [row_of[token.norm] for token in tokens if token.norm in row_of and not token.is_space]
    return mean_of_rows(vectors.data, ids, vectors.shape[1])
