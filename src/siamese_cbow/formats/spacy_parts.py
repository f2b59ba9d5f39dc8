"""The two parts of our spaCy pipelines, which spaCy finds by their entry points when it loads one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import get_words_and_spaces, registry

from siamese_cbow.base.arrays import Vectors
from siamese_cbow.kernels.means_reference import mean_of_rows
from siamese_cbow.words.tokenizer import Kind, Tokenizer

TOKENIZER, COMPONENT = "siamese_cbow.tokenizer.v1", "siamese_cbow_vectors"


class SpacyTokenizer:
    """Our tokenizer in spaCy's shape: "The  cat’s" -> The · (space) · cat’s, with the norms the and cat's."""

    def __init__(self, vocab: Any, tokenizer: Tokenizer) -> None:
        self.vocab = vocab
        self._tokenizer = tokenizer
        self._cased = replace(tokenizer, lowercase=False)

    def __call__(self, text: str) -> Any:
        """A document that keeps the text; each token has its word as its norm."""
        pieces, words = self._pieces(text)
        found, spaces = get_words_and_spaces(pieces, text)
        doc = Doc(self.vocab, words=found, spaces=spaces)
        following = iter(zip(pieces, words, strict=True))
        piece, word = next(following, (None, None))
        for token in doc:
            if token.text == piece:  # the others are white space
                token.norm_ = word if word is not None else f" {piece}"  # a norm that no word has
                piece, word = next(following, (None, None))
        return doc

    def _pieces(self, text: str) -> tuple[list[str], list[str | None]]:
        """Everything but white space, as it is written, and the word that each piece is, if it is one."""
        straight = text.replace("’", "'") if self._tokenizer.kind == "words" else text
        pieces: list[str] = []
        words: list[str | None] = []
        end = 0
        # A capital and its small letter are of one kind, so both ways cut at the same places.
        for cased, word in zip(self._cased.words(text), self._tokenizer.words(text), strict=True):
            start = straight.index(cased, end)
            between = text[end:start].split()  # marks that are no words here, and control characters
            end = start + len(cased)
            pieces += [*between, text[start:end]]
            words += [*(None for _ in between), word]
        rest = text[end:].split()
        return pieces + rest, words + [None for _ in rest]

    def pipe(self, texts: Iterable[str], **options: Any) -> Iterable[Any]:
        """Many texts, one after the other."""
        return map(self, texts)

    # There is nothing to keep beside the settings, which stand in the pipeline's config.

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
def make_tokenizer(kind: Kind, lowercase: bool, punctuation: bool, rule: int = 1) -> Callable[[Any], SpacyTokenizer]:
    """What spaCy calls for `@tokenizers = "siamese_cbow.tokenizer.v1"` in a pipeline's config."""
    tokenizer = Tokenizer(kind, lowercase, punctuation, rule)
    return lambda nlp: SpacyTokenizer(nlp.vocab, tokenizer)


@Language.factory(COMPONENT)
def make_component(nlp: Any, name: str) -> Callable[[Any], Any]:
    """The component: documents, spans and tokens get the mean of their known words' vectors."""
    return hook_vectors


def hook_vectors(doc: Any) -> Any:
    """Lets a document answer with our vectors."""
    doc.user_hooks["vector"] = doc.user_span_hooks["vector"] = _mean
    doc.user_token_hooks["vector"] = lambda token: _mean([token])
    doc.user_token_hooks["has_vector"] = lambda token: token.norm in token.vocab.vectors.key2row
    return doc


def _mean(tokens: Any) -> Vectors:
    vectors = (tokens[0] if isinstance(tokens, list) else tokens).vocab.vectors
    row_of = vectors.key2row
    # White space has a norm too, which may be the word of another model; ours are never white space.
    ids = [row_of[token.norm] for token in tokens if token.norm in row_of and not token.is_space]
    return mean_of_rows(vectors.data, ids, vectors.shape[1])
