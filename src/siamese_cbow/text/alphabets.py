"""Which of several encodings fits: the one in which the letters are those of one language.

Windows-1252 and Windows-1250 both turn French into letters, but only one of them into letters that French has:

    best_fit("crème brûlée".encode("cp1252"), ["cp1250", "cp1252"])   ->  ("cp1252", 1.0); the other: "crčme brűlée"

Knows Latin letters, and which relatives of an encoding for others to try; those, charset-normalizer tells apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

# The frequent ones first.
LATIN = ("cp1252", "iso8859_15", "cp1250", "iso8859_2", "cp1254", "cp1257", "mac_roman", "cp850")
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


_IN_WORD = re.compile(r"(?<=[^\W\d_])[“”„‚«»…•†€£©®™×½¼¿¡](?=[^\W\d_])")  # "sch”ner": a letter in another encoding


def _shares(data: bytes, encoding: str) -> Iterator[float]:
    text = _IN_WORD.sub("\ufffd", data.decode(encoding, "replace").lower())
    counts = Counter(letter for letter in text if letter > "\x7f")
    for alphabet in _ALPHABETS.values():
        yield round(sum(counts[letter] for letter in {*alphabet, *_MARKS}) / max(1, counts.total()), 2)


_CYRILLIC = ("cp1251", "koi8_r", "koi8_u", "cp866", "iso8859_5")
_BROKEN_CYRILLIC = re.compile("[а-яёђ-џґ][А-ЯЁЂ-ЏҐ]|(?![а-яёђ-џґ])[^\\W\\d_A-Za-zЀ-ӿ]|[─-╿▀-▟]")
_KANA = re.compile("[ぁ-ゖァ-ー]")


def relative(data: bytes, encoding: str) -> str:
    """The encoding, or one that people take for it and that fits better, as far as short texts tell.

    Cyrillic: by capitals inside of words and drawing signs, "╨чЮпяшЛ". East Asian: by kana, which only Japanese has.
    """
    if encoding in _CYRILLIC:
        first = "koi8_r" if encoding == "koi8_u" else encoding  # of Russian they are equal
        return min((first, *_CYRILLIC), key=lambda name: len(_BROKEN_CYRILLIC.findall(data.decode(name, "replace"))))
    if encoding in ("cp949", "gb18030", "big5"):
        text = data.decode("euc_jp", "replace")
        letters = [letter for letter in text if letter > "\x7f"]
        if "\ufffd" not in text and len(_KANA.findall(text)) > 0.2 * len(letters):
            return "euc_jp"
    return encoding


def is_latin(data: bytes, encoding: str) -> bool:
    """Whether most letters of `data` that are not ASCII are Latin ones."""
    letters = [letter for letter in _beyond_ascii(data, encoding) if letter.isalpha()]
    return sum(letter <= "\u024f" for letter in letters) > 0.5 * len(letters)


def _beyond_ascii(data: bytes, encoding: str) -> list[str]:
    return [letter for letter in data.decode(encoding, "replace").lower() if letter > "\x7f"]
