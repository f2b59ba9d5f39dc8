"""Chooses among several encodings: the right one gives the letters of a single language.

Windows-1252 and Windows-1250 both turn French into letters, but only one of them into letters that French has:

    best_fit("crème brûlée".encode("cp1252"), ["cp1250", "cp1252"])   ->  ("cp1252", 1.0); the other: "crčme brűlée"

Knows the common names of encodings and the letters of languages in Latin script; for Cyrillic and East Asian text, only
which related encodings to try. Does not tell scripts apart: charset-normalizer does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

LABELS = {f"cp125{i}": f"Windows-125{i}" for i in range(8)} | {
    "cp932": "Shift-JIS", "cp949": "EUC-KR", "cp866": "DOS (cp866)", "cp850": "DOS (cp850)", "tis_620": "TIS-620",
    "gb18030": "GB 18030", "big5": "Big5", "euc_jp": "EUC-JP", "koi8_r": "KOI8-R", "iso8859_2": "ISO-8859-2",
    "mac_roman": "Mac Roman", "iso2022_jp": "ISO-2022-JP", "iso8859_15": "ISO-8859-15", "koi8_u": "KOI8-U",
    "iso8859_5": "ISO-8859-5",
}  # fmt: skip
# The most common ones first.
LATIN = ("cp1252", "iso8859_15", "cp1250", "iso8859_2", "cp1254", "cp1257", "mac_roman", "cp850")
_MARKS = "“”‘’„‚«»–—…•·†€£©®™°§×½¼²´¿¡ºª\xa0"
_ALPHABETS = {  # the letters of each language beyond ASCII
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


def label(encoding: str) -> str:
    """Its common name: `label("cp1252")` -> 'Windows-1252'."""
    return LABELS.get(encoding, encoding.upper())


def best_fit(data: bytes, encodings: Sequence[str]) -> tuple[str, float]:
    """The encoding that puts most of the non-ASCII text in one alphabet, and its share; of equals, the first."""
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
    """The encoding, or a related one that fits better, as far as a short text shows.

    Cyrillic: by capitals inside words and box drawing, "╨чЮпяшЛ". East Asian: by kana, which only Japanese has.
    """
    if encoding in _CYRILLIC:
        first = "koi8_r" if encoding == "koi8_u" else encoding  # equal for Russian
        return min((first, *_CYRILLIC), key=lambda name: len(_BROKEN_CYRILLIC.findall(data.decode(name, "replace"))))
    if encoding in ("cp949", "gb18030", "big5"):
        text = data.decode("euc_jp", "replace")
        letters = [letter for letter in text if letter > "\x7f"]
        if "\ufffd" not in text and len(_KANA.findall(text)) > 0.2 * len(letters):
            return "euc_jp"
    return encoding


def is_latin(data: bytes, encoding: str) -> bool:
    """Whether most non-ASCII letters of `data` are Latin: `is_latin("Łódź".encode("cp1250"), "cp1250")` -> True."""
    letters = [letter for letter in data.decode(encoding, "replace").lower() if letter > "\x7f" and letter.isalpha()]
    return sum(letter <= "\u024f" for letter in letters) > 0.5 * len(letters)
