"""Which of several encodings fits: the one in which the letters are those of one language.

Windows-1252 and Windows-1250 both turn French into letters, but only one of them into letters that French has:

    best_fit("crème brûlée".encode("cp1252"), ["cp1250", "cp1252"])   ->  ("cp1252", 1.0); the other: "crčme brűlée"

Knows Latin letters only; what else there is, charset-normalizer tells apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

LATIN = ("cp1252", "cp1250", "iso8859_2", "cp1254", "cp1257", "mac_roman", "cp850")  # the frequent ones first
_MARKS = "“”‘’„‚«»–—…•·†€£©®™°§×½¼²´¿¡ºª\xa0"
_ALPHABETS = {  # what each language has beside the letters of ASCII
    "English": "éï",
    "German": "äöüß",
    "French": "àâçéèêëîïôùûüÿœæ",
    "Spanish": "áéíñóúü",
    "Portuguese": "áâãàçéêíóôõúü",
    "Italian": "àèéìíîòóùú",
    "Swedish, Finnish": "åäöé",
    "Danish, Norwegian": "æøåéèòôó",
    "Dutch": "éëïöüèáóíêç",
    "Icelandic": "áðéíóúýþæö",
    "Catalan": "àçèéíïòóúü",
    "Polish": "ąćęłńóśźż",
    "Czech": "áčďéěíňóřšťúůýž",
    "Slovak": "áäčďéíĺľňóôŕšťúýž",
    "Hungarian": "áéíóöőúüű",
    "Romanian": "ăâîşţșț",
    "Croatian, Slovene": "čćđšž",
    "Turkish": "çğıi̇öşüâîû",
    "Lithuanian": "ąčęėįšųūž",
    "Latvian": "āčēģīķļņšūž",
    "Estonian": "äöõüšž",
}


def best_fit(data: bytes, encodings: Sequence[str]) -> tuple[str, float]:
    """The encoding in which most of what is not ASCII is of one alphabet, and how much of it; the first of equals."""
    shares = {encoding: max(_shares(data, encoding)) for encoding in sorted(encodings, key=_rank)}
    return max(shares.items(), key=lambda item: item[1])


def _rank(encoding: str) -> int:
    return LATIN.index(encoding) if encoding in LATIN else len(LATIN)


def _shares(data: bytes, encoding: str) -> Iterator[float]:
    counts = Counter(_beyond_ascii(data, encoding))
    for alphabet in _ALPHABETS.values():
        yield round(sum(counts[letter] for letter in {*alphabet, *_MARKS}) / max(1, counts.total()), 2)


def is_latin(data: bytes, encoding: str) -> bool:
    """Whether most letters of `data` that are not ASCII are Latin ones."""
    letters = [letter for letter in _beyond_ascii(data, encoding) if letter.isalpha()]
    return sum(letter <= "\u024f" for letter in letters) > 0.5 * len(letters)


def _beyond_ascii(data: bytes, encoding: str) -> list[str]:
    return [letter for letter in data.decode(encoding, "replace").lower() if letter > "\x7f"]
