"""Warns once about text that does not suit a model: in another language, or of mostly unknown words.

    English model, German texts  ->  43% of the words are not in the model's vocabulary: the text looks German (de), ...
    "qapla batlh jajvam"         ->  none of the words is in the model's vocabulary (qapla, batlh, jajvam); ...

Every `Encoder` has a watch and shows it the texts it encodes, on either path, so that all commands, the server and the
library give the same warning. It inspects only the first few hundred texts: after that it costs nothing. It changes and
refuses no text.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from siamese_cbow.text.languages import Language, detect, find_language
from siamese_cbow.words.tokenizer import Tokenizer
from siamese_cbow.words.vocabulary import Vocabulary

LOOK_AT = 300  # texts, and characters of each
SINGLE = 50  # single texts that are collected before they are inspected: the first results should be fast
FEW_WORDS = 20  # a warning about fewer words may be repeated once there are more
MANY, MOST = 0.1, 0.5  # shares of unknown words: another language is likely; worth a warning
NAMED, LETTERS = 3, 40  # unknown words quoted, and letters of each


class TextWatch:
    """Inspects texts and logs a warning about them: `TextWatch(words, tokenizer, "en").look(["Der Hund"])`."""

    def __init__(self, vocabulary: Vocabulary, tokenizer: Tokenizer, language: str | None) -> None:
        self._vocabulary, self._tokenizer, self._language = vocabulary, tokenizer, language
        self._waiting: list[str] = []
        self._seen: list[str] = []
        self._unknown: list[str] = []
        self._n_words = 0
        self._has_said = ""
        self._is_done = False
        self._lock = threading.Lock()

    def look(self, texts: str | Sequence[str]) -> None:
        """Inspect one or more texts, and warn through the logger `siamese_cbow` if needed."""
        if self._is_done:
            return
        with self._lock:
            if isinstance(texts, str):
                self._waiting.append(texts[:LOOK_AT])
                if len(self._waiting) < SINGLE:
                    return
            else:
                self._waiting += [text[:LOOK_AT] for text in texts[: LOOK_AT - len(self._seen)]]
            self._note(self._waiting)
            self._waiting = []
            remark = self.remark()
            if remark and self._has_said in ("", "few"):
                self._has_said = "few" if self._n_words < FEW_WORDS else "all"
                _warn(remark)
            self._is_done = len(self._seen) >= LOOK_AT or self._has_said == "all"

    def _note(self, texts: Sequence[str]) -> None:
        words = [word for text in texts for word in self._tokenizer.words(text)]
        self._seen += texts
        self._n_words += len(words)
        self._unknown += [word for word in words if word not in self._vocabulary]

    def remark(self) -> str:
        """The warning about the texts seen so far; "" if there is none."""
        share = len(self._unknown) / max(1, self._n_words)
        if 0 < self._n_words < FEW_WORDS and share == 1:
            named = ", ".join(f"{word:.{LETTERS}}" for word in list(dict.fromkeys(self._unknown))[:NAMED]) + (
                " ..." if len(self._unknown) > NAMED else ""
            )
            return (
                f"none of the words is in the model's vocabulary ({named}); choose a model for such text, or train one"
            )
        if share <= MANY:
            return ""
        detected = detect(["\n".join(self._seen).encode("utf-8", "replace")])
        own = language_of(self._vocabulary, self._language)
        if not detected.doubt and detected.language != own:
            why = f"the text looks {detected.language}, but the model is {own}"
        elif share > MOST:
            why = "choose a model for such text, or train one"
        else:
            return ""
        return f"{share:.0%} of the words are not in the model's vocabulary: {why}"


def language_of(vocabulary: Vocabulary, name: str | None) -> Language:
    """The language of a model: the one it records, otherwise that of its frequent words."""
    frequent = " ".join(vocabulary.frequent(LOOK_AT))
    return find_language(name or "") or detect([frequent.encode("utf-8", "replace")]).language


def remark_on(texts: Sequence[str], vocabulary: Vocabulary, tokenizer: Tokenizer, language: str | None) -> str:
    """The warning about these texts alone."""
    watch = TextWatch(vocabulary, tokenizer, language)
    watch._note([text[:LOOK_AT] for text in texts[:LOOK_AT]])
    return watch.remark()


def _warn(remark: str) -> None:
    import logging  # only needed for a warning

    logging.getLogger("siamese_cbow").warning("siamese-cbow: %s", remark)


def not_a_word(word: Any, vocabulary: Vocabulary, tokenizer: Tokenizer) -> str:
    """The error message for an unknown word: "the word 'Cat' is not in the model's vocabulary; did you mean 'cat'?"."""
    if not isinstance(word, str):
        return f"the word is {word!r:.60}; expected a string"
    known = [form for form in tokenizer.words(word) if form in vocabulary]
    hint = f"did you mean {known[0]!r}?" if len(known) == 1 else "`word in model` tests for it"
    if vocabulary.languages:
        hint = f"words of this model carry their language: '{vocabulary.languages[0]}:{word}'"
    return f"the word {word!r} is not in the model's vocabulary; {hint}"
