"""Stems, which the forms of a word share, by the Snowball algorithms; None for languages that these don't support.

Does not decide which words share a row: see `training.stems`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from siamese_cbow.text.languages import find_language


def stemmer_of(language: str) -> Any | None:
    """The Snowball stemmer of a language, by its code or name; None if there is none.

    `stemmer_of("en").stemWord("plays")` -> "play"
    """
    from Stemmer import Stemmer

    known = find_language(language)  # a stream older than the table may name no language
    if known and known.stemmer:
        with suppress(KeyError):  # some stemmers came with a later release
            return Stemmer(known.stemmer, 0)
    return None


def word_stems(words: Sequence[str], language: str, languages: Sequence[str] = ()) -> Iterator[str | None]:
    """The stem of each word, None if its language has no stemmer: plays -> play.

    languages  of a multilingual vocabulary, whose words name theirs: de:spielt -> de:spielt, en:plays -> en:play
    """
    stemmers = {code: stemmer for code in languages or (language,) if (stemmer := stemmer_of(code))}
    if not languages and language in stemmers:  # one call is four times as fast
        yield from stemmers[language].stemWords([word.lower() for word in words])
        return
    for word in words:
        code, _, bare = word.partition(":")
        yield f"{code}:{stemmers[code].stemWord(bare.lower())}" if languages and code in stemmers else None
