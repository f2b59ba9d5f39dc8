"""What forms of one word have in common: the stem, by the Snowball algorithms, for the languages that these know."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from siamese_cbow.text.languages import find_language


def stemmer_of(language: str) -> Any | None:
    """The Snowball stemmer of a language, by its code or name; None where there is none.

    `stemmer_of("en").stemWord("plays")` -> "play"
    """
    from Stemmer import Stemmer

    known = find_language(language)  # of a stream that is older than the table, it may be no language
    if known and known.stemmer:
        with suppress(KeyError):  # some stemmers came with a later release
            return Stemmer(known.stemmer, 0)
    return None
