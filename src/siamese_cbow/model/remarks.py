"""What to know before texts are compared: most of their words are unknown, or of another language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from siamese_cbow.model.info import ModelInfo
from siamese_cbow.text.languages import detect, find_language
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

LOOK_AT = 300  # texts, and characters of each, to see whether their words are known
FEW_WORDS = 20  # say nothing
MANY, MOST = 0.1, 0.5  # a share of unknown words that makes another language likely, and one that is worth a line


class _HasTokenizer(Protocol):
    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def tokenizer(self) -> Tokenizer: ...

    @property
    def info(self) -> ModelInfo: ...


def remark(model: _HasTokenizer, texts: Sequence[str]) -> str:
    """See `WordVectors.remark_on`."""
    chosen = [text[:LOOK_AT] for text in texts[:LOOK_AT]]
    words = [word for text in chosen for word in model.tokenizer.words(text)]
    share = sum(word not in model.vocabulary for word in words) / max(1, len(words))
    if len(words) < FEW_WORDS or share <= MANY:
        return ""
    found = detect(["\n".join(chosen).encode("utf-8", "replace")])
    known = find_language(model.info.language or "")
    own = known or detect([" ".join(model.vocabulary.frequent(LOOK_AT)).encode("utf-8", "replace")]).language
    if not found.doubt and found.language != own:
        why = f"the text looks {found.language}, the model {own}"
    elif share > MOST:
        why = "choose a model of such text, or train one"
    else:
        return ""
    return f"{share:.0%} of the words have no vector of their own: {why}"
